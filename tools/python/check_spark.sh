#!/bin/sh
# Tests fpstore.spark with real executors: tools/python/check_spark.sh [VERSION of pyspark, 4.3.0 by default]
#
# Makes an environment with this package and pyspark below target/tools, and runs the tests of
# bindings/python/tests/engines there, on two executors, one of which is killed during a job. Then it
# runs them on a standalone cluster of two workers, whose executors have only a packed environment.
# WITH_ENGINES=1 also installs Ray and Dask and runs their examples. Takes some minutes and 1 GB of
# downloads.
set -eu
cd "$(dirname "$0")/../.."
version=${1:-4.3.0}

if ! java -version >/dev/null 2>&1; then
    echo "check_spark.sh: Spark needs Java 17: on Debian 'apt-get install openjdk-17-jre-headless'" >&2
    exit 2
fi
. tools/python/python_package.sh
environment=$PWD/target/tools/spark-$version
wheels=$PWD/target/tools/wheels-spark
[ -d "$environment" ] || python3 -m venv "$environment"
PATH=$environment/bin:$PATH
pip install --quiet --disable-pip-version-check -r bindings/python/requirements-test.txt \
    "pyspark==$version" venv-pack ${WITH_ENGINES:+"ray[data]" distributed}
install_package "$wheels"
copy_tests
(cd "$copy/bindings/python" && timeout 3000 python -m pytest tests/engines)

# The environment that is packed for the executors: fpstore with its dependencies, and the Python
# part of pyspark.
python3 -m venv "$copy/small"
"$copy/small/bin/pip" install --quiet --disable-pip-version-check numpy pyarrow "$wheels"/fpstore-*.whl
site=$(python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
target=$("$copy/small/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
tar -C "$site" --exclude=pyspark/jars -cf - pyspark py4j | tar -C "$target" -xf -
venv-pack --quiet --prefix "$copy/small" --output "$copy/environment.tar.gz"
timeout 600 python "$copy/bindings/python/tests/engines/standalone.py" \
    "$copy/environment.tar.gz" "$copy"
