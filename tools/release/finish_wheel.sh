#!/bin/sh
# Finishes a wheel of maturin: removes local paths from its bill of materials, and adds files. The
# wheel is replaced.
#
#     sh tools/release/finish_wheel.sh WHEEL [FILE]...
#
# THIRD-PARTY.txt is added to the licences, any other FILE as a command that pip installs. Needs the
# Python package wheel, on the path.
set -eu
wheel=$1
shift
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
wheel unpack --dest "$place" "$wheel" >/dev/null
folder=$(echo "$place"/*)
info=$(echo "$folder"/*.dist-info)
sed -i -f "$(dirname "$0")/plain_bill.sed" "$info"/sboms/*.json
for file in "$@"; do
    case $file in
        *THIRD-PARTY.txt)
            cp "$file" "$info/licenses"
            sed -i "0,/^License-File: /s//License-File: THIRD-PARTY.txt\n&/" "$info/METADATA"
            ;;
        *)
            mkdir -p "${info%.dist-info}.data/scripts"
            install -m 755 "$file" "${info%.dist-info}.data/scripts"
            ;;
    esac
done
mkdir "$place/packed"
wheel pack --dest-dir "$place/packed" "$folder" >/dev/null
mv "$place"/packed/*.whl "$wheel"
