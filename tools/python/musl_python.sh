#!/bin/sh
# Builds a Python with musl, and tests the Python package with it.
#
#     sh tools/python/musl_python.sh FOLDER
#     MUSL_PYTHON=FOLDER/python3 sh tools/release/wheels.sh --target x86_64-unknown-linux-musl WHEELS
#     sh tools/python/musl_python.sh FOLDER WHEEL [ARGUMENT OF PYTEST]...
#
# FOLDER gets the Python of this Debian, compiled with zig (tools/platforms/cross.sh) from its source
# package, zlib, the musl of Debian, the musl wheels of NumPy, PyArrow and pytest, and a `python3` that
# uses them; existing parts are not rebuilt. This Python has neither ctypes nor ssl, so test files that
# need them, for example through pandas, fail to import. Nothing is installed. Takes some minutes and
# 1 GB of disk; needs Debian with its Python, apt-get and dpkg-deb.
set -eu
cd "$(dirname "$0")/../.."
. tools/platforms/cross.sh

mkdir -p "${1:?the folder of the Python; see the head of this script}"
folder=$(cd "$1" && pwd)
wheel=
[ $# -eq 1 ] || wheel=$(realpath "$2")
shift
[ -z "$wheel" ] || shift
triple=x86_64-linux-musl
native=/usr/bin/python3
version=$($native -c 'import sys; print("%d.%d" % sys.version_info[:2])')
loader=$folder/ld-musl-x86_64.so.1
python=$folder/python/bin/python$version

# Runs apt-get with separate sources, whose package lists are in FOLDER.
apt_sources() {
    apt-get --quiet --quiet -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- \
        -o "Dir::State::lists=$folder/lists" -o APT::Sandbox::User=root "$@"
}

compile() {
    cross_add
    work=$folder/work
    rm -rf "$work"
    mkdir -p "$folder/lists/partial" "$work"
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # Wheels use relocations that need musl 1.2.4, which is in Debian since trixie.
    # The mirror that this machine uses for its own packages.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" | head -1)
    cat >"$folder/sources.list" <<LIST
deb-src $mirror $suite main
deb $mirror trixie main
LIST
    apt_sources update
    cd "$work"
    # Only the original sources, without the patches of Debian, which are specific to its builds.
    apt_sources source --download-only "python$version" zlib
    for source in *.orig.tar.*; do tar -xf "$source"; done
    apt_sources download musl/trixie
    dpkg-deb --extract musl_*.deb musl
    cp "musl/usr/lib/$triple/libc.so" "$loader"
    # Python contains its build date, which zig rejects; and for the header search path, zig prints
    # folders of the C library of this machine.
    cat >"$triple-cc" <<SCRIPT
#!/bin/sh
case " \$* " in *" -v "*) exit 1 ;; esac
exec "$cross_tools/bin/python" -m ziglang cc -target $triple -dynamic "\$@" -Wno-date-time
SCRIPT
    printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$cross_tools/bin/python" >"$triple-ar"
    chmod +x "$triple-cc" "$triple-ar"
    ln -s "$(command -v readelf)" "$triple-readelf"
    # dpkg-architecture would print folders of this machine, too, so a failing command replaces it.
    printf '#!/bin/sh\nexit 1\n' >dpkg-architecture
    chmod +x dpkg-architecture
    PATH=$work:$PATH
    export PATH
    (
        cd zlib-*/
        CC="$triple-cc -fPIC" AR="$triple-ar" RANLIB=: ./configure --static --prefix="$work/zlib"
        make -s libz.a install
    )
    # Sets the platform suffix that modules in musl wheels have.
    sed -i 's/^\( *\)x86_64-linux-gnu$/\1x86_64-linux-musl/' Python-*/configure
    mkdir build
    cd build
    "$work"/Python-*/configure --quiet --prefix="$folder/python" --build=x86_64-pc-linux-gnu \
        --host="$triple" --with-build-python="$native" --without-ensurepip --disable-test-modules \
        CC="$triple-cc" AR="$triple-ar" CPPFLAGS="-I$work/zlib/include" \
        LDFLAGS="-L$work/zlib/lib -Wl,--dynamic-linker=$loader" LINKFORSHARED=-rdynamic \
        ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no
    make -s -j "$(nproc)" >make.log 2>&1 || { tail -40 make.log; exit 1; }
    make -s install >install.log 2>&1 || { tail -40 install.log; exit 1; }
    cd "$folder"
    rm -rf "$work"
    : >"$folder/ready"
}

[ -e "$folder/ready" ] || (compile)
packages=$folder/packages
if [ ! -d "$packages" ]; then
    python3 -m pip install --quiet --disable-pip-version-check --target "$packages" --only-binary=:all: \
        --implementation cp --python-version "$version" --platform musllinux_1_2_x86_64 \
        --platform musllinux_1_1_x86_64 numpy pyarrow pytest hypothesis
fi
cat >"$folder/python3" <<SCRIPT
#!/bin/sh
export PYTHONPATH="\${PYTHONPATH:+\$PYTHONPATH:}$packages"
exec "$python" "\$@"
SCRIPT
chmod +x "$folder/python3"
[ -n "$wheel" ] || exit 0

rm -rf "$folder/wheel"
"$native" -m zipfile -e "$wheel" "$folder/wheel"
. tools/python/python_package.sh
copy_tests
cd "$copy/bindings/python"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$folder/wheel "$folder/python3" -m pytest -q -p no:cacheprovider \
    --continue-on-collection-errors "$@"
