#!/bin/sh
# Tests the Python package without the global lock: tools/python/check_free_threaded.sh PYTHON
#
# PYTHON is a free-threaded interpreter, version 3.14 or later, such as python3.14t. Builds a wheel for
# it, and runs the tests of the package with the lock disabled, in a clean environment. Libraries without
# a wheel for it are not installed, and their tests are skipped. FPSTORE_BIN is the path of the program.
set -eu
cd "$(dirname "$0")/../.."
python=${1:?check_free_threaded: name a free-threaded Python, such as python3.14t}
if ! "$python" -c 'import sys; sys.exit(sys._is_gil_enabled())' 2>/dev/null; then
    echo "check_free_threaded.sh: $python has the global lock" >&2
    exit 2
fi
FPSTORE_BIN=${FPSTORE_BIN:-$PWD/target/debug/fpstore}
export FPSTORE_BIN
. tools/python/python_package.sh
environment=$PWD/target/tools/free-threaded
wheels=$PWD/target/tools/wheels-free-threaded
rm -rf "$environment"
"$python" -m venv "$environment"
PATH=$environment/bin:$PATH
# The build backend runs under any Python.
command -v maturin >/dev/null || pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
pip install --quiet --disable-pip-version-check numpy pytest
site=$(python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
left_out= plugins= docstring=
for library in pyarrow pandas polars duckdb hypothesis imagehash matplotlib nbclient nbformat ipykernel; do
    if ! pip install --quiet --disable-pip-version-check --only-binary :all: "$library" 2>/dev/null; then
        echo "check_free_threaded.sh: $library has no wheel for $python" >&2
        cp tools/python/absent_library.py "$site/$library.py"
        left_out="${left_out:+$left_out and }not $library" plugins="$plugins -p $library"
        # A test with a process pool and a doctest need polars, but have no polars in their names.
        [ "$library" != polars ] || left_out="$left_out and not come_back_from_other_processes" \
            docstring='--deselect tests/test_docs.py::test_docstrings_are_there_and_true[Store]'
    fi
done
install_package "$wheels" --interpreter "$environment/bin/python"
copy_tests
cd "$copy/bindings/python"
# Libraries that are not declared thread-safe, such as DuckDB, do not enable the lock again.
# shellcheck disable=SC2086
PYTHON_GIL=0 python -m pytest $plugins --ignore tests/engines ${left_out:+-k "$left_out"} $docstring
