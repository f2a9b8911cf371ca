# Emulators of other processors and systems. Scripts read this file with `.`, in the root of the
# project, after tools/platforms/cross.sh.
#
# `emulator_add TARGET` fetches an emulator for programs of this Rust target, and sets `emulator` to its
# command, which is empty if this machine runs the programs natively. Nothing is installed: Debian
# packages are unpacked in target/emulators, or in the folder EMULATORS. Removing that folder removes
# everything. Needs apt-get and dpkg-deb, with downloaded package lists (`apt-get update`).

emulators=${EMULATORS:-$PWD/target/emulators}

# Options that skip tests of the library that qemu cannot run: two start programs for the target, and
# one starts so many threads that the emulator runs out of memory.
emulator_skips="--skip dies_at_any_operation --skip join::tests::pairs_are_those_of_each_with_each"

emulator_add() {
    case $1 in
    x86_64-unknown-linux-musl) emulator= ;;
    aarch64-unknown-linux-musl) emulator_unpack qemu-user-static && emulator=$emulators/usr/bin/qemu-aarch64-static ;;
    s390x-unknown-linux-gnu)
        emulator_unpack qemu-user-static libc6-s390x-cross libgcc-s1-s390x-cross
        emulator="$emulators/usr/bin/qemu-s390x-static -L $emulators/usr/s390x-linux-gnu"
        ;;
    x86_64-pc-windows-gnu)
        emulator_unpack wine64 libwine libz-mingw-w64
        emulator_wine
        ;;
    *)
        echo "emulators: no emulator for $1" >&2
        return 2
        ;;
    esac
}

# Downloads Debian packages and unpacks them, unless that was done before.
emulator_unpack() {
    mkdir -p "$emulators/got"
    for package in "$@"; do
        [ ! -e "$emulators/got/$package" ] || continue
        echo "emulators: fetching $package" >&2
        rm -f "$emulators"/got/*.deb
        (cd "$emulators/got" && apt-get --quiet --quiet download "$package")
        dpkg-deb --extract "$emulators"/got/*.deb "$emulators"
        rm "$emulators"/got/*.deb
        : >"$emulators/got/$package"
    done
}

# Makes a wine prefix in $emulators, and sets `emulator` for Windows programs.
emulator_wine() {
    emulator=$emulators/wine
    [ ! -e "$emulators/windows/ready" ] || return 0
    libraries=$emulators/usr/lib/x86_64-linux-gnu
    # Debian's script wineserver looks for the program in the installation path, so a link replaces
    # it.
    ln -sf wineserver64 "$emulators/usr/lib/wine/wineserver"
    zlib=$emulators/usr/x86_64-w64-mingw32/lib/zlib1.dll
    cp "$zlib" "$libraries/wine/x86_64-windows"
    cat >"$emulator" <<SCRIPT
#!/bin/sh
# Runs wine without Gecko, Mono, menu entries and a display.
export WINEPREFIX='$emulators/windows' WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe='
export LD_LIBRARY_PATH='$libraries'
unset DISPLAY
exec '$emulators/usr/lib/wine/wine64' "\$@"
SCRIPT
    chmod +x "$emulator"
    rm -rf "$emulators/windows"
    # The output contains only complaints about unneeded features, such as 32-bit programs.
    "$emulator" wineboot --init >/dev/null 2>&1 || true
    system=$emulators/windows/drive_c/windows/system32
    cp "$zlib" "$system"
    cross_cc x86_64-windows-gnu -O2 -s -shared -o "$system/bcryptprimitives.dll" tools/platforms/wine_random.c -ladvapi32
    "$emulator" cmd /c exit
    : >"$emulators/windows/ready"
}
