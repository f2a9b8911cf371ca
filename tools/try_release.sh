#!/bin/sh
# Tries the files that tools/release.sh made in roots that hold nothing else: the archive, with the
# libraries that 'ldd' names, and the Debian package, installed by dpkg. Needs the rights to change
# the root, or user namespaces.
set -eu
export LC_ALL=C
dist=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$(id -u)" = 0 ]; then
    in_root() { env -i PATH="$PATH" chroot "$@" 2>&1; }
else
    in_root() { env -i PATH="$PATH" unshare --user --map-root-user chroot "$@" 2>&1; }
fi

(cd "$dist" && sha256sum --check --quiet SHA256SUMS)

# Copies the libraries that a program needs into a root.
add_libraries() {
    ldd "$2" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | while read -r library; do
        mkdir -p "$1$(dirname "$library")"
        cp -L "$library" "$1$library"
    done
}

# What a user does first, with nothing but the program.
use() {
    root=$1 program=$2
    mkdir -p "$root/tmp"
    printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six!"}\n' >"$root/tmp/docs.jsonl"
    run() { in_root "$root" "$program" "$@"; }
    run --version | grep -q '^fpstore '
    run build --docs /tmp/docs.jsonl -s /tmp/docs.fps --quiet
    run verify -s /tmp/docs.fps >/dev/null
    run query --text 'one two three four five six' -s /tmp/docs.fps | grep -q 'b$'
    run cluster /tmp/docs.fps --texts /tmp/docs.jsonl --html /tmp/page.html --quiet
    grep -q 'one two three' "$root/tmp/page.html"
    run dedup --docs /tmp/docs.jsonl --within -o /tmp/kept.jsonl --quiet
    run man /tmp/man --quiet
}

for archive in "$dist"/*.tar.gz; do
    mkdir "$work/archive"
    tar -xzf "$archive" -C "$work/archive" --strip-components=1
    echo "release: needs $(ldd "$work/archive/fpstore" | sed 's/^[[:space:]]*//; s/ .*//' | tr '\n' ' ')"
    echo "release: needs glibc $(objdump -T "$work/archive/fpstore" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1) or later"
    add_libraries "$work/archive" "$work/archive/fpstore"
    use "$work/archive" /fpstore
    cmp "$work/archive/tmp/man/fpstore.1" "$work/archive/man/man1/fpstore.1"
    echo "release: ${archive##*/} works in an empty root"
done

for package in "$dist"/*.deb; do
    [ -e "$package" ] || continue
    root=$work/debian
    mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers"
    : >"$root/var/lib/dpkg/status"
    # The libraries on which it depends are copied, not installed.
    dpkg --root="$root" --force-depends --force-not-root --log=/dev/null --install "$package" >/dev/null 2>&1
    dpkg --root="$root" --status fpstore | grep -E '^(Version|Depends|Maintainer)'
    add_libraries "$root" "$root/usr/bin/fpstore"
    use "$root" /usr/bin/fpstore
    for file in man/man1/fpstore.1.gz man/man1/fpstore-query.1.gz doc/fpstore/copyright \
        bash-completion/completions/fpstore zsh/vendor-completions/_fpstore; do
        [ -e "$root/usr/share/$file" ] || { echo "release: no $file in $package" >&2; exit 1; }
    done
    dpkg --root="$root" --force-not-root --log=/dev/null --remove fpstore >/dev/null 2>&1
    [ ! -e "$root/usr/bin/fpstore" ]
    echo "release: ${package##*/} can be installed, used and removed in an empty root"
done
