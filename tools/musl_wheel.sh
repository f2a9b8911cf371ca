#!/bin/sh
# Builds a wheel of the Python package for Linux with musl, such as Alpine, into a folder: target/musl
# if none is named. It has the library alone, as the program is of another C library.
#
#     sh tools/musl_wheel.sh [FOLDER]
#
# Needs the target x86_64-unknown-linux-musl of rustup, python3 and the network: maturin and zig, which
# links for musl, are packages of Python in target/musl-tools. PROFILE=dev builds faster and runs
# slower. PYTHON names a Python of a musl system, with numpy, which tries the wheel.
set -eu
umask 022
export LC_ALL=C
cd "$(dirname "$0")/.."
folder=${1:-target/musl}
profile=${PROFILE:-release}
tools=$PWD/target/musl-tools
rustup --quiet target add x86_64-unknown-linux-musl 2>/dev/null ||
    echo "musl_wheel: rustup adds no target, so it must be there already" >&2
[ -x "$tools/bin/maturin" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 'maturin>=1.9,<2'
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
rm -f "$folder"/fpstore-*-musllinux_*.whl
(
    cd bindings/python
    PATH=$tools/bin:$PATH CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$OLDPWD/target} maturin build --locked \
        --profile "$profile" --zig --target x86_64-unknown-linux-musl \
        --compatibility musllinux_1_2 --out "$folder"
)
wheel=$(ls "$folder"/fpstore-*-musllinux_*.whl)
python3 tools/plain_sbom.py "$wheel"
# What it was linked with, of itself: nothing of glibc.
python3 tools/needed.py "$wheel" libc.so libgcc_s.so.1 libunwind.so.1
[ -n "${PYTHON:-}" ] || exit 0
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m zipfile -e "$wheel" "$place"
PYTHONPATH=$place${PYTHONPATH:+:$PYTHONPATH} "$PYTHON" tools/try_wheel.py
