#!/bin/sh
# Tests the files made by tools/release/release.sh in otherwise empty roots: the archives, and the
# packages, installed by dpkg, by rpm and by cargo-binstall if available. Programs for another system or
# processor run under an emulator; for programs without an emulator it prints a message and checks only
# the digest. Needs the right to change the root, or user namespaces.
#
#   sh tools/release/try_release.sh FOLDER
set -eu
export LC_ALL=C
dist=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
. tools/platforms/cross.sh
. tools/platforms/emulators.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$(id -u)" = 0 ]; then
    in_root() { env -i PATH="$PATH" chroot "$@" 2>&1; }
else
    in_root() { env -i PATH="$PATH" unshare --user --map-root-user chroot "$@" 2>&1; }
fi

(cd "$dist" && sha256sum --check --quiet SHA256SUMS)

# Copies the shared libraries of a program into a root.
add_libraries() {
    ldd "$2" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | while read -r library; do
        mkdir -p "$1$(dirname "$library")"
        cp -L "$library" "$1$library"
    done
}

# Takes the first steps of a user, with the program alone, which `run` starts in a root.
use() {
    tmp=$1/tmp
    mkdir -p "$tmp"
    printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six!"}\n' >"$tmp/docs.jsonl"
    printf '{"id":"c","text":"seven eight nine ten"}\n' >"$tmp/more.jsonl"
    run --version | grep -q '^fpstore '
    run build --docs tmp/docs.jsonl -s tmp/docs.fps --quiet
    run add --docs tmp/more.jsonl -s tmp/docs.fps --quiet
    run verify -s tmp/docs.fps >/dev/null
    run query --text 'one two three four five six' -s tmp/docs.fps | tr -d '\r' | grep -q 'b$'
    run pairs --docs tmp/docs.jsonl -k 12 --quiet | tr -d '\r' | grep -q 'a.*b'
    run cluster tmp/docs.fps --texts tmp/docs.jsonl --html tmp/page.html --quiet
    grep -q 'one two three' "$tmp/page.html"
    run clean tmp/docs.jsonl --within -o tmp/kept.jsonl --quiet
    run man tmp/man --quiet
    # All archives must write the same segments; the manifest differs, because its store id is random.
    (cd "$tmp/docs.fps" && sha256sum -- *.fps) >"$tmp/segments"
    [ -e "$work/segments" ] || cp "$tmp/segments" "$work/segments"
    cmp "$work/segments" "$tmp/segments"
}

# Compiles an example with the C library in a folder, by pkg-config and with its static library, and searches
# the store of `use` in a root.
use_library() {
    library=$1 store=$2/tmp/docs.fps
    needle=$(run query --text 'one two three four five six' -s tmp/docs.fps | tr -d '\r' | head -n 1 | cut -f 1)
    flags=$(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --cflags --libs fpstore)
    for link in "$flags" "${flags% -lfpstore} $library/libfpstore.a -lm -ldl -lpthread"; do
        # shellcheck disable=SC2086
        c++ -std=c++17 bindings/c/examples/cpp/search.cpp $link -o "$work/search"
        LD_LIBRARY_PATH=$library "$work/search" "$store" "$needle" | grep -q 'b$'
    done
    echo "release: the C library in ${3##*/} works, shared and static"
}

for archive in "$dist"/*.tar.gz "$dist"/*.zip; do
    [ -e "$archive" ] || continue
    file=${archive##*/}
    case $file in *-source.tar.gz) continue ;; esac
    root=$work/archive
    rm -rf "$root"
    mkdir "$root"
    case $file in
    *.zip) python3 -m zipfile -e "$archive" "$work/unzipped" && mv "$work"/unzipped/*/* "$root" ;;
    *) tar -xzf "$archive" -C "$root" --strip-components=1 ;;
    esac
    case $file in
    *-x86_64-unknown-linux-gnu.tar.gz)
        echo "release: needs $(ldd "$root/fpstore" | sed 's/^[[:space:]]*//; s/ .*//' | tr '\n' ' ')"
        echo "release: needs glibc $(objdump -T "$root/fpstore" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1) or later"
        add_libraries "$root" "$root/fpstore"
        run() { in_root "$root" /fpstore "$@"; }
        how="in an empty root"
        ;;
    *-x86_64-unknown-linux-musl.tar.gz)
        run() { in_root "$root" /fpstore "$@"; }
        how="in an empty root, without any library"
        ;;
    *-aarch64-unknown-linux-musl.tar.gz)
        emulator_add aarch64-unknown-linux-musl
        cp "$emulator" "$root/emulator"
        run() { in_root "$root" /emulator /fpstore "$@"; }
        how="in an empty root but for qemu"
        ;;
    *-x86_64-pc-windows-gnu.zip)
        emulator_add x86_64-pc-windows-gnu
        run() { (cd "$root" && env -i PATH="$PATH" HOME="$work" "$emulator" fpstore.exe "$@" 2>&1); }
        how="under wine"
        ;;
    *)
        echo "release: $file was built, but cannot be run here"
        continue
        ;;
    esac
    use "$root"
    [ ! -e "$root/lib/libfpstore.a" ] || use_library "$root/lib" "$root" "$archive"
    cmp "$root/tmp/man/fpstore.1" "$root/man/man1/fpstore.1"
    echo "release: $file works $how"
done

for package in "$dist"/*.deb; do
    [ -e "$package" ] || continue
    root=$work/debian
    mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers"
    : >"$root/var/lib/dpkg/status"
    # The required libraries are copied to the root and not installed as packages.
    dpkg --root="$root" --force-depends --force-not-root --log=/dev/null --install "$package" >/dev/null 2>&1
    dpkg --root="$root" --status fpstore | grep -E '^(Version|Depends|Maintainer)'
    add_libraries "$root" "$root/usr/bin/fpstore"
    run() { in_root "$root" /usr/bin/fpstore "$@"; }
    use "$root"
    use_library "$root/usr/lib" "$root" "$package"
    for file in man/man1/fpstore.1.gz man/man1/fpstore-query.1.gz doc/fpstore/copyright \
        bash-completion/completions/fpstore zsh/vendor-completions/_fpstore; do
        [ -e "$root/usr/share/$file" ] || { echo "release: no $file in $package" >&2; exit 1; }
    done
    dpkg --root="$root" --force-not-root --log=/dev/null --remove fpstore >/dev/null 2>&1
    [ ! -e "$root/usr/bin/fpstore" ]
    echo "release: ${package##*/} can be installed, used and removed in an empty root"
done

for package in "$dist"/*.rpm; do
    [ -e "$package" ] || continue
    if ! command -v rpm >/dev/null; then
        echo "release: ${package##*/} was built, but rpm is not installed here"
        continue
    fi
    root=$work/rpm
    mkdir "$root"
    rpm --root "$root" --install "$package"
    run() { in_root "$root" /usr/bin/fpstore "$@"; }
    use "$root"
    use_library "$root/usr/lib64" "$root" "$package"
    rpm --root "$root" --erase fpstore
    [ ! -e "$root/usr/bin/fpstore" ]
    echo "release: ${package##*/} can be installed, used and removed in an empty root"
done

if ! ls "$dist"/fpstore-*-"$(uname -m)"-unknown-linux-*.tar.gz >/dev/null 2>&1; then
    echo "release: no archive for this machine, so cargo binstall is not tested"
elif command -v cargo-binstall >/dev/null; then
    python3 -B tools/release/try_binstall.py "$dist"
else
    echo "release: cargo-binstall is not installed, so it is not tested"
fi
