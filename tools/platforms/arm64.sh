#!/bin/sh
# Builds and runs fpstore for 64-bit ARM on an x86-64 machine, under an emulator.
#
#     sh tools/platforms/arm64.sh                                  # all but three tests of the library
#     sh tools/platforms/arm64.sh test --locked --test exact       # any command of cargo
#     sh tools/platforms/arm64.sh clippy --locked --all-targets -- -D warnings
#     sh tools/platforms/arm64.sh count query-2 batch              # instructions of the fixed workloads
#     QEMU_PAGESIZE=65536 sh tools/platforms/arm64.sh              # emulates memory pages of 64 KiB
#
# Needs Debian on x86-64 (or another system with its apt-get, dpkg and archive keyring), cargo, a C
# compiler and 2 GB of disk; the first run fetches about 260 MB. Nothing is installed: the packages
# of Debian 12 listed below and their dependencies are unpacked in target/arm64, from a separate apt
# root, and cargo is configured to use them. Removing that folder removes everything. Exit status 3
# means that the packages or the network are missing.
#
# rustc-web is the newer compiler that Debian provides for its browsers. The compiler and the standard
# library for arm64 must have the same version, so the compiler of the host cannot be used.
set -eu

packages="rustc-web rust-web-clippy gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
arm64_packages="libstd-rust-web-dev:arm64"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
target=aarch64-unknown-linux-gnu

cd "$(dirname "$0")/../.."
. tools/platforms/emulators.sh
home=$PWD/target/arm64
root=$home/root
bin=$home/bin

say() { echo "arm64.sh: $*" >&2; }

cannot() {
    say "$*"
    exit 3
}

# A separate apt root, independent of the host, and the packages in it.
fetch() {
    [ "$(uname -m)" = x86_64 ] || cannot "this machine is no x86-64 one; on arm64 plain cargo does"
    for program in apt-get dpkg; do
        command -v "$program" >/dev/null || cannot "no $program here: this needs a Debian"
    done
    [ -r "$keyring" ] || cannot "no $keyring here: install debian-archive-keyring"
    apt=$home/apt
    rm -rf "$home/root" "$apt" "$bin"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" \
        "$apt/etc/sources.list.d" "$root" "$bin"
    : >"$apt/status"
    # The mirror that the host uses for its own packages.
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sort -u |
        grep -E ' bookworm(-security)?$' |
        while read -r archive; do
            echo "deb [signed-by=$keyring] $archive main"
        done >"$apt/etc/sources.list"
    [ -s "$apt/etc/sources.list" ] || cannot "apt-get knows no archive of Debian 12"
    cat >"$apt/apt.conf" <<END
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::State::extended_states "$apt/extended_states";
Dir::Cache "$apt";
Dir::Etc "$apt/etc";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Architecture "amd64";
APT::Architectures { "amd64"; "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
END
    say "fetching packages of Debian 12"
    (
        export APT_CONFIG="$apt/apt.conf"
        # shellcheck disable=SC2086  # names, to be split
        apt-get -qq update &&
            apt-get -qq -y --download-only install $packages >/dev/null &&
            cd "$apt/archives" &&
            apt-get -qq download $arm64_packages
    ) || cannot "the packages cannot be had"
    say "unpacking them in $home"
    for package in "$apt"/archives/*.deb; do
        case ${package##*/} in
        # The C library and the compiler of the host are used instead.
        libc6_* | libc6-dev_* | gcc-12_* | cpp-12_*) ;;
        *) dpkg-deb --extract "$package" "$root" ;;
        esac
    done
    rm -rf "$apt"
    # libc.so is a linker script with absolute paths of the C library: they must be in `$root`.
    sed -i "s# /usr/aarch64-linux-gnu/# $root/usr/aarch64-linux-gnu/#g" "$root/usr/aarch64-linux-gnu/lib/libc.so"
}

# Writes a wrapper for a program in `$root`, which makes it use the Debian libraries in `$root`.
wrap() {
    {
        echo '#!/bin/sh'
        echo "LD_LIBRARY_PATH='$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu'"
        echo 'export LD_LIBRARY_PATH'
        echo "exec '$root/usr/bin/$2' $3 \"\$@\""
    } >"$bin/$1"
    chmod +x "$bin/$1"
}

prepare() {
    if [ ! -e "$bin/ready" ]; then
        fetch
        for program in rustc rustdoc clippy-driver cargo-clippy aarch64-linux-gnu-ar; do
            wrap "$program" "$program" ""
        done
        wrap aarch64-linux-gnu-gcc aarch64-linux-gnu-gcc-12 ""
        wrap qemu qemu-aarch64 "-L '$root/usr/aarch64-linux-gnu'"
        # The linker of the host must not use the Debian libraries in `$root`.
        printf '#!/bin/sh\nunset LD_LIBRARY_PATH\nexec cc "$@"\n' >"$bin/host-cc"
        chmod +x "$bin/host-cc"
        : >"$bin/ready"
    fi
    export RUSTC="$bin/rustc" RUSTDOC="$bin/rustdoc"
    export CARGO_BUILD_TARGET="$target" CARGO_TARGET_DIR="$home/target"
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER="$bin/host-cc"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$bin/aarch64-linux-gnu-gcc"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$bin/qemu"
    export CC_aarch64_unknown_linux_gnu="$bin/aarch64-linux-gnu-gcc"
    export AR_aarch64_unknown_linux_gnu="$bin/aarch64-linux-gnu-ar"
}

# Counts instructions on all threads between the first entry of a function and its return.
count() {
    cargo build --locked --quiet --profile test --package fpstore --example workload
    cc -O2 -Wall -shared -fPIC -o "$home/count.so" tools/platforms/arm64_count.c
    program=$home/target/$target/debug/examples/workload
    for name in "$@"; do
        case $name in
        build | pairs | batch) function=counted_$name ;;
        *) function=counted_queries ;;
        esac
        "$bin/qemu" -plugin "$home/count.so,function=$function" -d plugin "$program" "$name" 2>&1 |
            sed "s/^/$name /"
    done
}

prepare
# shellcheck disable=SC2086  # words, to be split
case ${1:-} in
"") set -- test --locked --lib --package fpstore --package fpstore-corpus -- $emulator_skips ;;
count)
    shift
    [ $# -gt 0 ] || set -- query-2 query-4 crowded batch build pairs
    count "$@"
    exit
    ;;
clippy) exec "$bin/cargo-clippy" "$@" ;;
esac
exec cargo "$@"
