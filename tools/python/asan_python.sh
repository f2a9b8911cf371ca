#!/bin/sh
# Runs the tests of the Python package under AddressSanitizer, which aborts on invalid memory accesses.
# Run it manually: it rebuilds all crates with flags that stable Rust accepts only in this way.
#
#     tools/python/asan_python.sh [TEST]...
#
# TEST is a file of bindings/python/tests or any other argument of pytest; the default is all files
# except those for pages, examples and Spark. Needs the libasan of gcc, and the program: FPSTORE_BIN, or
# target/debug/fpstore by default.
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
# Without --target the flags would also apply to build scripts, which do not load libasan.
(
    cd bindings/python
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$environment/build \
        CARGO_PROFILE_DEV_OPT_LEVEL=1 maturin build --locked --profile dev --target "$triple" --out "$wheels"
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
# The interpreter frees nothing at exit, which is not a leak of this package.
LD_PRELOAD=$(cc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 python -m pytest "$@"
