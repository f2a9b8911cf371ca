# Emulators of other processors and systems. Scripts read this file with `.`, in the root of the
# project, after tools/platforms/cross.sh.
#
# `emulator_add TARGET` fetches what runs programs for this target of Rust, and sets `emulator` to the
# command, which is empty where this machine runs them itself. Nothing is installed: packages of Debian
# are unpacked in target/emulators, or in the folder that EMULATORS names. Removing that folder removes
# everything. Needs apt-get and dpkg-deb, whose lists of packages are there (`apt-get update`).

emulators=${EMULATORS:-$PWD/target/emulators}

# The tests of the library that qemu cannot run, as options: two that start programs of their kind, and
# one that starts so many threads that what the emulator keeps of each fills the memory.
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
        echo "emulators: nothing here runs programs for $1" >&2
        return 2
        ;;
    esac
}

# Unpacks packages once.
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

# A Windows of wine in a folder of its own, and `emulator` for programs there.
emulator_wine() {
    emulator=$emulators/wine
    [ ! -e "$emulators/windows/ready" ] || return 0
    libraries=$emulators/usr/lib/x86_64-linux-gnu
    # The script in its place looks for the program where it is installed.
    ln -sf wineserver64 "$emulators/usr/lib/wine/wineserver"
    zlib=$emulators/usr/x86_64-w64-mingw32/lib/zlib1.dll
    cp "$zlib" "$libraries/wine/x86_64-windows"
    cat >"$emulator" <<SCRIPT
#!/bin/sh
# No page of Gecko or Mono, no menu, no screen.
export WINEPREFIX='$emulators/windows' WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe='
export LD_LIBRARY_PATH='$libraries'
unset DISPLAY
exec '$emulators/usr/lib/wine/wine64' "\$@"
SCRIPT
    chmod +x "$emulator"
    rm -rf "$emulators/windows"
    # It complains of what nothing here needs, such as programs of 32 bits.
    "$emulator" wineboot --init >/dev/null 2>&1 || true
    system=$emulators/windows/drive_c/windows/system32
    cp "$zlib" "$system"
    cross_cc x86_64-windows-gnu -O2 -s -shared -o "$system/bcryptprimitives.dll" tools/platforms/wine_random.c -ladvapi32
    "$emulator" cmd /c exit
    : >"$emulators/windows/ready"
}
