#!/bin/sh
# Builds wheels of the Python package into a folder, by default target/wheels. The default targets are
# Linux on x86-64, with glibc 2.17 or later and with musl. --target selects other targets, such as
# aarch64-unknown-linux-gnu or x86_64-pc-windows-gnu. --source makes the source distribution, in addition
# to any given targets, and builds and tests a wheel only from its unpacked files, in an empty folder.
#
#     sh tools/release/wheels.sh [--source] [--target TARGET]... [FOLDER]
#
# The wheels contain only the library; tools/release/finish_wheel.sh adds a program. The build needs
# rustup, python3, cargo-about and the network: maturin and zig, which compiles and links C, are Python
# packages in target/zig. PROFILE=dev builds faster, and the result is slower. Each wheel is tested if
# possible: the wheel for this machine by python3, or by the Pythons in PYTHONS, separated by spaces; the
# musl wheel by MUSL_PYTHON, a Python of a musl system with numpy; glibc wheels for arm64 and Windows
# wheels by the Pythons of tools/python/pythons.sh.
set -eu
umask 022
export LC_ALL=C
cd "$(dirname "$0")/../.."
. tools/platforms/cross.sh
. tools/platforms/emulators.sh
. tools/python/pythons.sh
folder=target/wheels profile=${PROFILE:-release} targets= source=no
while [ $# -gt 0 ]; do
    case $1 in
        --source) source=yes ;;
        --target) shift; targets="$targets ${1:?wheels: --target needs a target}" ;;
        -*) echo "wheels: unknown option $1" >&2; exit 2 ;;
        *) folder=$1 ;;
    esac
    shift
done
[ "$source" = yes ] || : "${targets:=x86_64-unknown-linux-gnu x86_64-unknown-linux-musl}"
for python in ${PYTHONS:-python3}; do
    "$python" -c 'import numpy' 2>/dev/null ||
        { echo "wheels: $python has no numpy to test a wheel; set PYTHONS to Pythons with numpy" >&2; exit 2; }
done
# shellcheck disable=SC2086
cross_add $targets
# From 1.13 on maturin exports `PyInit_fpstore._fpstore` from a library for windows-gnu. The library has
# no such function: the module is `_fpstore` of the package.
"$cross_tools/bin/pip" install --quiet --disable-pip-version-check maturin==1.12.6 wheel==0.48.0 lief==1.0.0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Reproducible wheels: no local paths, and the time of the commit in all files.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="--remap-path-prefix=$PWD=/fpstore --remap-path-prefix=$CARGO_TARGET_DIR=/target --remap-path-prefix=$cargo_home=/cargo $(cross_remap)"
export CFLAGS="-ffile-prefix-map=$CARGO_TARGET_DIR=/target -ffile-prefix-map=$cargo_home=/cargo"
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH

# Builds a wheel, checks its contents, and prints its path.
build() {
    target=$1 kind=$2 asked=${3:-}
    place=$(mktemp -d "$work/build.XXXXXX")
    (cd bindings/python &&
        PATH=$cross_tools/bin:$PATH maturin build --locked --profile "$profile" --zig \
            --target "$target" ${kind:+--compatibility "$kind"} ${asked:+--interpreter "$asked"} \
            --out "$place" >&2)
    wheel=$(ls "$place"/fpstore-*.whl)
    cargo about generate --locked --fail --config tools/release/about.toml --target "$target" \
        --manifest-path bindings/python/Cargo.toml --output-file "$place/THIRD-PARTY.txt" tools/release/about.hbs
    PATH=$cross_tools/bin:$PATH sh tools/release/finish_wheel.sh "$wheel" "$place/THIRD-PARTY.txt"
    rm "$place/THIRD-PARTY.txt"
    python3 -m zipfile -e "$wheel" "$place/unpacked"
    if grep -raqF -e "$HOME/" -e "$PWD/" -e "$CARGO_TARGET_DIR/" "$place/unpacked"; then
        echo "wheels: ${wheel##*/} contains paths of this machine" >&2
        exit 1
    fi
    rm -r "$place/unpacked"
    mv "$wheel" "$folder"
    rmdir "$place"
    printf '%s\n' "$folder/${wheel##*/}"
}

# Tests a wheel with a Python, without installing it.
try() {
    wheel=$1 python=$2
    place=$work/tried
    python3 -m zipfile -e "$wheel" "$place"
    PYTHONPATH=$place${PYTHONPATH:+:$PYTHONPATH} "$python" tools/release/try_wheel.py
    rm -rf "$place"
}

if [ "$source" = yes ]; then
    empty=$work/empty
    mkdir "$empty"
    (cd bindings/python && PATH=$cross_tools/bin:$PATH maturin sdist --out "$empty")
    archive=$(ls "$empty"/fpstore-*.tar.gz)
    mkdir "$empty/unpacked"
    tar -xzf "$archive" -C "$empty/unpacked" --strip-components=1
    # Builds in a copy, so that cargo finds only the files of the archive. Without --locked, because
    # cargo removes packages from Cargo.lock whose crates are not in the archive.
    (cd "$empty/unpacked" && PATH=$cross_tools/bin:$PATH maturin build --profile "$profile" --out "$empty")
    for python in ${PYTHONS:-python3}; do try "$(ls "$empty"/fpstore-*.whl)" "$python"; done
    mv "$archive" "$folder"
    ls -l "$folder/${archive##*/}"
fi

for target in $targets; do
    case $target in
        *-linux-gnu)
            wheel=$(build "$target" manylinux2014)
            if [ "${target%%-*}" = "$(uname -m)" ]; then
                for python in ${PYTHONS:-python3}; do try "$wheel" "$python"; done
            elif [ "$target" = aarch64-unknown-linux-gnu ]; then
                python_add "$target"
                try "$wheel" "$python"
            fi
            ;;
        *-linux-musl)
            wheel=$(build "$target" musllinux_1_2)
            # The module needs no library of glibc.
            "$cross_tools/bin/python" tools/release/needed.py "$wheel" libc.so libgcc_s.so.1 libunwind.so.1
            if [ "${target%%-*}" = "$(uname -m)" ] && [ -n "${MUSL_PYTHON:-}" ]; then
                try "$wheel" "$MUSL_PYTHON"
            fi
            ;;
        x86_64-pc-windows-gnu)
            # maturin requires a version number of a Python for Windows, but uses no files of it.
            wheel=$(build "$target" "" python3.11)
            python_add "$target"
            try "$wheel" "$python"
            ;;
        *-apple-darwin)
            cross_frameworks "$CARGO_TARGET_DIR/frameworks" CoreFoundation IOKit
            wheel=$(RUSTFLAGS="$RUSTFLAGS -L framework=$CARGO_TARGET_DIR/frameworks" build "$target" "")
            # The module needs only libraries of the system.
            "$cross_tools/bin/python" tools/release/needed.py "$wheel" /usr/lib/libSystem.B.dylib /usr/lib/libiconv.2.dylib /usr/lib/libcharset.1.dylib \
                /System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation \
                /System/Library/Frameworks/IOKit.framework/Versions/A/IOKit
            ;;
        *) wheel=$(build "$target" "") ;;
    esac
    ls -l "$wheel"
done
