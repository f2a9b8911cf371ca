#!/bin/sh
# Installs the C library into a temporary folder and runs each example whose language is installed:
#
#     bindings/c/try_examples.sh PROGRAM
#
# PROGRAM is fpstore. Every example must print the lines of `fpstore query`. Go needs
# pkg-config, Node npm, Java jna.jar of Debian's libjna-java.
set -eu
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sh "$here/install.sh" "$folder/usr" >/dev/null
export LD_LIBRARY_PATH="$folder/usr/lib" PKG_CONFIG_PATH="$folder/usr/lib/pkgconfig"
cp -r "$here/examples" "$folder/"
cd "$folder/examples"

printf 'c0f1789bed2eb9b8\tone\nc0f1789bed2eb9b9\ttwo\n00ff00ff00ff00ff\t\346\226\207\n' |
    "$program" build - -s pages.fps --quiet
needles="c0f1789bed2eb9b8 0000000000000000 00ff00ff00ff00fe"
for needle in $needles; do
    "$program" query "$needle" -s pages.fps -k 3 --quiet || [ $? -eq 1 ]
done >expected

# Runs a command on the needles, compares, and checks the message for a missing store.
try() {
    name=$1
    shift
    # shellcheck disable=SC2086
    "$@" ../pages.fps $needles >found
    cmp ../expected found
    if "$@" missing.fps 00 2>message || [ $? -ne 2 ] || ! grep -q missing.fps message; then
        echo "$name: a missing store is not reported" >&2
        exit 1
    fi
    echo "$name: same answers as the program"
}

cd cpp
c++ -std=c++17 -Wall -Wextra -Werror search.cpp -I"$folder/usr/include" -L"$folder/usr/lib" -lfpstore -o search
try C++ ./search
cd ..
if command -v go >/dev/null && command -v pkg-config >/dev/null; then
    cd go && go build -o search . && try Go ./search && cd ..
fi
if command -v npm >/dev/null; then
    cd node && npm install --silent --no-audit --no-fund
    FPSTORE_LIB="$folder/usr/lib/libfpstore.so" try Node node search.mjs
    cd ..
fi
jna=/usr/share/java/jna.jar
if command -v java >/dev/null && [ -e $jna ]; then
    cd java
    try Java java -cp $jna -Djna.library.path="$folder/usr/lib" -Dfile.encoding=UTF-8 Search.java
    cd ..
fi
