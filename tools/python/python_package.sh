# Read by check_python.sh, check_spark.sh and check_free_threaded.sh, from the project's root, with an environment on the path.

# Builds the wheel into the folder $1, as the tests of the workspace are built, with what these have
# built already, with the program that FPSTORE_BIN names and a bill of materials without paths of this
# machine, and installs it. What follows the folder are options of maturin.
install_package() {
    wheel_folder=$1
    shift
    rm -rf "$wheel_folder"
    target=$PWD/target
    (cd bindings/python &&
        CARGO_TARGET_DIR=$target maturin build --locked --profile test --out "$wheel_folder" "$@")
    python3 tools/release/plain_sbom.py "$wheel_folder"/fpstore-*.whl
    if [ -n "${FPSTORE_BIN:-}" ]; then
        python3 tools/release/add_program.py "$wheel_folder"/fpstore-*.whl "$FPSTORE_BIN"
    fi
    pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
        "$wheel_folder"/fpstore-*.whl
}

# Copies tests, examples and pages of the package to a new folder, $copy, which is removed at the
# end: there the installed package is tested and not the folder of its sources.
copy_tests() {
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    mkdir -p "$copy/bindings/python"
    ln -s "$PWD/tests" "$PWD/tools" "$copy"
    (cd bindings/python && tar --exclude=./target --exclude=./fpstore --exclude=./src -cf - .) |
        tar -C "$copy/bindings/python" -xf -
}
