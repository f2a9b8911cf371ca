#!/bin/sh
# Makes the release files of the last commit in a folder, by default target/dist:
#
# - the source, from which everything else is built;
# - for each target an archive with the program, completions, manual pages and licences, and for this
#   machine with the C library, which is in the packages, too;
# - for each target a bill of materials;
# - packages for Debian and for RPM systems;
# - SHA256SUMS.
#
# Then it tests these files in environments where nothing else is installed. docs/releasing.md
# explains the steps.
#
#   sh tools/release/release.sh [--twice] [--no-deb] [--no-rpm] [--target TARGET]... [FOLDER]
#
# The default --target is this machine; --target all selects all targets of docs/releasing.md. --twice
# builds again in another directory and fails if a byte differs. Needs cargo-about and cargo-cyclonedx,
# for the packages cargo-deb 3 and cargo-generate-rpm. The Debian package has the program of this
# machine, the RPM package the one of x86_64-unknown-linux-musl. MAINTAINER overrides the maintainer of
# the Debian package. Targets other than this machine have the requirements of tools/platforms/cross.sh.
set -eu
umask 022
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.."
. tools/platforms/cross.sh

host=$(rustc -vV | sed -n 's/^host: //p')
static=x86_64-unknown-linux-musl
twice=no deb=yes rpm=yes dist=target/dist targets=
while [ $# -gt 0 ]; do
    case $1 in
        --twice) twice=yes ;;
        --no-deb) deb=no ;;
        --no-rpm) rpm=no ;;
        --target)
            shift
            case ${1:?release: --target needs a target} in
                all) targets="$host $static aarch64-unknown-linux-musl x86_64-pc-windows-gnu" ;;
                *) targets="$targets $1" ;;
            esac
            ;;
        -*) echo "release: unknown option $1" >&2; exit 2 ;;
        *) dist=$1 ;;
    esac
    shift
done
: "${targets:=$host}"
has_target() { case " $targets " in *" $1 "*) ;; *) return 1 ;; esac; }
has_target "$host" || deb=no
has_target "$static" || rpm=no
tools="cargo-about cargo-cyclonedx"
[ "$deb" = no ] || tools="$tools cargo-deb"
[ "$rpm" = no ] || tools="$tools cargo-generate-rpm"
for tool in $tools; do
    command -v "$tool" >/dev/null || { echo "release: no $tool; docs/releasing.md installs it" >&2; exit 2; }
done
if [ -e "$dist" ] && [ -n "$(ls -A "$dist")" ]; then
    echo "release: $dist already exists and is not empty; choose another folder" >&2
    exit 2
fi
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)
for target in $targets; do
    [ "$target" = "$host" ] || cross_add "$target"
done

# All files of all builds of this commit get the time of the commit.
commit=$(git rev-parse HEAD)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct "$commit")}"
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Builds the program for a target from the source in a folder. Local paths are remapped, because panic
# messages of Rust and C contain source paths.
build_program() {
    place=$1 target=$2 cargo_home=${CARGO_HOME:-$HOME/.cargo}
    export CARGO_TARGET_DIR="$place/target" CARGO_INCREMENTAL=0
    export RUSTFLAGS="--remap-path-prefix=$place/source=/fpstore --remap-path-prefix=$place/target=/target --remap-path-prefix=$cargo_home=/cargo $(cross_remap)"
    export CFLAGS="-ffile-prefix-map=$place/target=/target -ffile-prefix-map=$cargo_home=/cargo"
    unset FPSTORE FPSTORE_THREADS COLUMNS
    if [ "$target" = "$host" ]; then
        cargo build --release --locked --bin fpstore
        # Built by a separate command, so that the library contains only the reader.
        cargo build --release --locked --package fpstore-capi
    else
        cross_cargo build --release --locked --bin fpstore --target "$target"
    fi
}

# Lets the program write its manual pages and completions.
write_pages() {
    fpstore=$1 made=$2
    mkdir -p "$made/completions"
    "$fpstore" man --quiet "$made/man/man1"
    "$fpstore" completions bash >"$made/completions/fpstore.bash"
    "$fpstore" completions zsh >"$made/completions/_fpstore"
    "$fpstore" completions fish >"$made/completions/fpstore.fish"
    "$fpstore" completions elvish >"$made/completions/fpstore.elv"
    "$fpstore" completions powershell >"$made/completions/_fpstore.ps1"
    # The packages need compressed manual pages.
    mkdir "$made/man.gz"
    for page in "$made"/man/man1/*.1; do
        gzip --no-name -9 --stdout "$page" >"$made/man.gz/${page##*/}.gz"
    done
}

# Makes the archive for a target: the program and the common files.
pack() {
    place=$1 target=$2 made=$3 program=$4
    name=fpstore-$version-$target
    cargo about generate --locked --fail --config tools/release/about.toml --target "$target" \
        --manifest-path crates/cli/Cargo.toml --output-file "$made/THIRD-PARTY.txt" tools/release/about.hbs
    mkdir "$place/$name"
    cp -R "$program" "$made/completions" "$made/man" "$made/THIRD-PARTY.txt" LICENSE "$place/$name"
    [ "$target" != "$host" ] || cp -R "$made/c/include" "$made/c/lib" "$place/$name"
    # The Markdown pages keep their paths in the project, so that links between them work.
    tar --create README.md CHANGELOG.md ARCHITECTURE.md format-spec.md docs tools/operations \
        benches/README.md benches/peers/README.md bindings/python/README.md \
        bindings/c/README.md bindings/c/fpstore.h bindings/c/examples \
        bindings/python/benches/README.md tests/data/README.md |
        tar --extract --directory "$place/$name"
    case $target in
        *-windows-*)
            chmod -R u=rwX,go=rX "$place/$name"
            find "$place/$name" -exec touch --date "@$SOURCE_DATE_EPOCH" {} +
            (cd "$place" && python3 -m zipfile --create "out/$name.zip" "$name")
            ;;
        *)
            tar --create --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
                --numeric-owner --mode=u=rwX,go=rX --directory "$place" "$name" |
                gzip --no-name -9 >"$place/out/$name.tar.gz"
            ;;
    esac
}

# Builds the commit in a directory, with all files of the release.
build() {
    mkdir -p "$1/source" "$1/out"
    source=$1/out/fpstore-$version-source.tar.gz
    git archive --prefix="fpstore-$version/" "$commit" | gzip --no-name -9 >"$source"
    tar -xzf "$source" -C "$1/source" --strip-components=1
    (
        cd "$1/source"
        # This program writes the manual pages for all targets.
        build_program "$1" "$host"
        write_pages "$1/target/release/fpstore" "$1/target/release/release-files"
        FPSTORE_BUILT=$1/target/release sh bindings/c/install.sh "$1/target/release/release-files/c"
        for target in $targets; do
            folder=$1/target/$target/release
            case $target in
                "$host") folder=$1/target/release program=fpstore ;;
                *-windows-*) program=fpstore.exe ;;
                *) program=fpstore ;;
            esac
            [ "$target" = "$host" ] || build_program "$1" "$target"
            bill=fpstore-$version-$target.cdx
            # Writes a bill of materials next to the Cargo.toml of each package.
            cargo cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --target "$target" --format json \
                --spec-version 1.5 --override-filename "$bill"
            sed -f tools/release/plain_bill.sed "crates/cli/$bill.json" >"$1/out/$bill.json"
            if grep -aqF -e "$work" -e "$HOME/" "$folder/$program" "$1"/target/release/libfpstore_capi.*[ao] \
                "$1/out/$bill.json"; then
                echo "release: the files for $target contain paths of this machine" >&2
                exit 1
            fi
            pack "$1" "$target" "$1/target/release/release-files" "$folder/$program"
            # Each package contains the licences of its own program.
            if [ "$target" = "$host" ] && [ "$deb" = yes ]; then
                cargo deb --package fpstore-cli --no-build --no-strip --locked --quiet \
                    ${MAINTAINER:+--maintainer "$MAINTAINER"} --output "$1/out/"
            fi
            if [ "$target" = "$static" ] && [ "$rpm" = yes ]; then
                cp -R "$1/target/release/release-files" "$folder"
                cargo generate-rpm --package crates/cli --target "$static" --target-dir "$1/target" --auto-req disabled \
                    --source-date "$SOURCE_DATE_EPOCH" --output "$1/out/"
            fi
        done
    )
}

build "$work/one"
if [ "$twice" = yes ]; then
    build "$work/another-place"
    for file in "$work"/one/out/*; do
        cmp "$file" "$work/another-place/out/${file##*/}"
        echo "release: ${file##*/} is identical when built in another directory"
    done
fi
cp "$work"/one/out/* "$dist"
(cd "$dist" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" SHA256SUMS)
sh tools/release/try_release.sh "$dist"
ls -l "$dist"
