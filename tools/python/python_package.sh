# Read with `.` by check_python.sh, check_spark.sh and check_free_threaded.sh, in the root of the project,
# with an activated environment.

# Builds the wheel into the folder $1, with the profile and the build cache of the workspace tests, with
# the program FPSTORE_BIN and a bill of materials without local paths, and installs it. Further arguments
# are options of maturin.
install_package() {
    wheel_folder=$1
    shift
    rm -rf "$wheel_folder"
    target=$PWD/target
    (cd bindings/python &&
        CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_LTO=off CARGO_TARGET_DIR=$target \
            maturin build --locked --profile dev --out "$wheel_folder" "$@")
    pip install --quiet --disable-pip-version-check wheel
    sh tools/release/finish_wheel.sh "$wheel_folder"/fpstore-*.whl ${FPSTORE_BIN:+"$FPSTORE_BIN"}
    pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
        "$wheel_folder"/fpstore-*.whl
}

# Copies tests, examples and pages of the package to a new folder, $copy, which is removed at exit:
# tests there use the installed package and not the source folder.
copy_tests() {
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    mkdir -p "$copy/bindings/python"
    ln -s "$PWD/tests" "$PWD/tools" "$copy"
    (cd bindings/python && tar --exclude=./target --exclude=./fpstore --exclude=./src -cf - .) |
        tar -C "$copy/bindings/python" -xf -
}
