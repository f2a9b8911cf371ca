#!/bin/sh
# Builds the C library and installs it below a folder, /usr/local by default:
#
#     sh bindings/c/install.sh [PREFIX]
#
# Installs include/fpstore.h, lib/libfpstore.so with its versioned names, lib/libfpstore.a, and the files by
# which pkg-config and CMake find the library; the folder can be moved later. DESTDIR, if set, is
# put before every path.
# FPSTORE_BUILT is a folder of libraries that are already built.
set -eu
cd "$(dirname "$0")/../.."
to=${DESTDIR:-}${1:-/usr/local}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' bindings/c/Cargo.toml | head -1)
abi=$(sed -n 's/^#define FPS_ABI //p' bindings/c/fpstore.h)

if [ -z "${FPSTORE_BUILT:-}" ]; then
    cargo build --release --locked --package fpstore-capi
    FPSTORE_BUILT=${CARGO_TARGET_DIR:-target}/release
fi
install -d "$to/include" "$to/lib/pkgconfig" "$to/lib/cmake/fpstore"
install -m 644 bindings/c/fpstore.h "$to/include/"
install -m 644 "$FPSTORE_BUILT/libfpstore_capi.a" "$to/lib/libfpstore.a"
case $(uname -s) in
    Darwin)
        install -m 755 "$FPSTORE_BUILT/libfpstore_capi.dylib" "$to/lib/libfpstore.$abi.dylib"
        ln -sf "libfpstore.$abi.dylib" "$to/lib/libfpstore.dylib"
        ;;
    *)
        install -m 755 "$FPSTORE_BUILT/libfpstore_capi.so" "$to/lib/libfpstore.so.$version"
        ln -sf "libfpstore.so.$version" "$to/lib/libfpstore.so.$abi"
        ln -sf "libfpstore.so.$abi" "$to/lib/libfpstore.so"
        ;;
esac
for file in pkgconfig/fpstore.pc cmake/fpstore/fpstore-config.cmake cmake/fpstore/fpstore-config-version.cmake; do
    sed "s|@VERSION@|$version|g" "bindings/c/$(basename "$file").in" >"$to/lib/$file"
done
echo "installed libfpstore $version (ABI $abi) below $to"
