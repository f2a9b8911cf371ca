#!/bin/sh
# Makes the files of a release of the last commit in a folder, target/dist if none is named: an
# archive with the program, completions, manual pages and licences, a Debian package, and
# SHA256SUMS. Then it tries both where nothing else is installed. docs/releasing.md explains it.
#
#   sh tools/release.sh [--twice] [--no-deb] [FOLDER]
#
# --twice builds again in another directory and fails if a byte differs. The package needs
# cargo-deb 3 (on the path, or CARGO_DEB names it). MAINTAINER overrides that of the package.
set -eu
umask 022
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/.."

twice=no deb=yes dist=target/dist
for argument in "$@"; do
    case $argument in
        --twice) twice=yes ;;
        --no-deb) deb=no ;;
        -*) echo "release: unknown option $argument" >&2; exit 2 ;;
        *) dist=$argument ;;
    esac
done
cargo_deb=${CARGO_DEB:-$(command -v cargo-deb || true)}
if [ "$deb" = yes ] && [ -z "$cargo_deb" ]; then
    echo "release: no cargo-deb; cargo install --locked cargo-deb, or --no-deb" >&2
    exit 2
fi
if [ -e "$dist" ] && [ -n "$(ls -A "$dist")" ]; then
    echo "release: $dist is there already, and not empty; name another folder" >&2
    exit 2
fi
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)

# The same time in every file of every build of this commit.
commit=$(git rev-parse HEAD)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct "$commit")}"
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=$(rustc -vV | sed -n 's/^host: //p')
name=fpstore-$version-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Builds the commit in a directory, with all files of the release.
build() {
    place=$1
    mkdir -p "$place/source" "$place/out"
    git archive "$commit" | tar -x -C "$place/source"
    cargo_home=${CARGO_HOME:-$HOME/.cargo}
    (
        cd "$place/source"
        # Paths of this machine stand in messages of panics, in Rust and in C.
        export CARGO_TARGET_DIR="$place/target" CARGO_INCREMENTAL=0
        export RUSTFLAGS="--remap-path-prefix=$place/source=/fpstore --remap-path-prefix=$place/target=/target --remap-path-prefix=$cargo_home=/cargo"
        export CFLAGS="-ffile-prefix-map=$place/target=/target -ffile-prefix-map=$cargo_home=/cargo"
        unset FPSTORE FPSTORE_THREADS COLUMNS
        cargo build --release --locked --features full --bin fpstore
        made=$place/target/release/release-files
        fpstore=$place/target/release/fpstore
        mkdir -p "$made/completions"
        "$fpstore" man --quiet "$made/man/man1"
        "$fpstore" completions bash >"$made/completions/fpstore.bash"
        "$fpstore" completions zsh >"$made/completions/_fpstore"
        "$fpstore" completions fish >"$made/completions/fpstore.fish"
        "$fpstore" completions elvish >"$made/completions/fpstore.elv"
        "$fpstore" completions powershell >"$made/completions/_fpstore.ps1"
        # As Debian wants them.
        mkdir "$made/man.gz"
        for page in "$made"/man/man1/*.1; do
            gzip --no-name -9 --stdout "$page" >"$made/man.gz/${page##*/}.gz"
        done
        python3 tools/third_party.py "$target" >"$made/THIRD-PARTY.txt"

        mkdir "$place/$name"
        cp -R "$fpstore" "$made/completions" "$made/man" "$made/THIRD-PARTY.txt" LICENSE "$place/$name"
        # The pages where they are in the project, so that their links hold.
        tar --create README.md CHANGELOG.md ARCHITECTURE.md format-spec.md docs tools/operations \
            benches/README.md benches/peers/README.md bindings/python/README.md \
            bindings/python/benches/README.md tests/data/README.md |
            tar --extract --directory "$place/$name"
        tar --create --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
            --numeric-owner --mode=u=rwX,go=rX --directory "$place" "$name" |
            gzip --no-name -9 >"$place/out/$name.tar.gz"
        if [ "$deb" = yes ]; then
            "$cargo_deb" --no-build --no-strip --locked --quiet ${MAINTAINER:+--maintainer "$MAINTAINER"} \
                --output "$place/out/"
        fi
    )
}

build "$work/one"
if [ "$twice" = yes ]; then
    build "$work/another-place"
    for file in "$work"/one/out/*; do
        cmp "$file" "$work/another-place/out/${file##*/}"
        echo "release: ${file##*/} has the same bytes when it is built in another directory"
    done
fi
if grep -aqF -e "$work" -e "$HOME/" "$work/one/target/release/fpstore"; then
    echo "release: the program holds paths of this machine" >&2
    exit 1
fi
cp "$work"/one/out/* "$dist"
(cd "$dist" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" SHA256SUMS)
sh tools/try_release.sh "$dist"
ls -l "$dist"
