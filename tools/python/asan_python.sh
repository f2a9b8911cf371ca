#!/bin/sh
# The tests of the Python package under AddressSanitizer: what reads or writes memory that is not its
# own ends them. By hand: it builds all crates once more, with flags that stable Rust takes only so.
#
#     tools/python/asan_python.sh [TEST]...
#
# TEST is a file of bindings/python/tests or any other argument of pytest; without any, all files run
# but those for pages, examples and Spark. It needs the libasan of gcc, and the program: FPSTORE_BIN,
# else target/debug/fpstore.
set -eu
cd "$(dirname "$0")/../.."
FPSTORE_BIN=${FPSTORE_BIN:-$PWD/target/debug/fpstore}
export FPSTORE_BIN
. tools/python/python_package.sh
environment=$PWD/target/tools/python-asan
wheels=$PWD/target/tools/wheels-asan
triple=$(rustc -vV | sed -n 's/^host: //p')

[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
PATH=$environment/bin:$PATH
pip install --quiet --disable-pip-version-check -r bindings/python/requirements-test.txt
# Without --target the flags would reach build scripts, which load no libasan.
(
    cd bindings/python
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$environment/build \
        maturin build --locked --profile test --target "$triple" --out "$wheels"
)
pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/fpstore-*.whl

copy_tests
cd "$copy/bindings/python"
if [ $# -eq 0 ]; then
    for name in build clean consumers doors effects errors foreign inputs joins query refusals \
        tasks texts threads; do
        set -- "$@" "tests/test_$name.py"
    done
fi
# The interpreter frees nothing at its end, which is no leak of ours.
LD_PRELOAD=$(cc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 python -m pytest "$@"
