#!/bin/sh
# Installs the C library into a temporary folder and runs each example whose language is installed:
#
#     bindings/c/try_examples.sh PROGRAM [PYTHON]
#
# PROGRAM is fpstore. Every example must print the lines of `fpstore query`. Go needs pkg-config; Node
# needs npm; Java 17 needs javac and jna.jar of Debian's libjna-java; java.lang.foreign needs any Java
# from 22 on in /usr/lib/jvm; SQLite needs a PYTHON with the package apsw. Rust examples are built in
# target/examples.
set -eu
program=$(realpath "$1")
python=${2:-python3}
case $python in /*) ;; */*) python=$PWD/$python ;; esac
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$folder"' EXIT
sh "$here/install.sh" "$folder/usr" >/dev/null
export LD_LIBRARY_PATH="$folder/usr/lib" PKG_CONFIG_PATH="$folder/usr/lib/pkgconfig"
export CARGO_TARGET_DIR="$here/../../target/examples"
cp -r "$here/examples" "$folder/"
cd "$folder/examples"

printf 'c0f1789bed2eb9b8\tone\nc0f1789bed2eb9b9\ttwo\n00ff00ff00ff00ff\t\346\226\207\n' |
    "$program" build - -s pages.fps --quiet
printf 'c0f1789bed2eb9b8\t7\nc0f1789bed2eb9b8\t18446744073709551615\n00ff00ff00ff00ff\t0\n' |
    "$program" build - -s numbers.fps --quiet
needles="c0f1789bed2eb9b8 0000000000000000 00ff00ff00ff00fe"
for store in pages numbers; do
    for needle in $needles; do
        "$program" query "$needle" -s $store.fps -k 3 --quiet || [ $? -eq 1 ]
    done >expected.$store
done

# Waits until a server has written its first line to the file `address`, and prints the line.
address() {
    while [ ! -s address ]; do
        kill -0 "$server"
        sleep 0.1
    done
    head -n 1 address
}

# Runs a command on both stores, compares, and checks the message for a missing store.
try() {
    name=$1
    shift
    for store in pages numbers; do
        # shellcheck disable=SC2086
        "$@" ../$store.fps $needles >found
        cmp ../expected.$store found
    done
    if "$@" missing.fps 00 2>message || [ $? -ne 2 ] || ! grep -q missing.fps message; then
        echo "$name: a missing store is not reported" >&2
        exit 1
    fi
    echo "$name: same answers as the program"
}

cd cpp
c++ -std=c++17 -Wall -Wextra -Werror search.cpp -I"$folder/usr/include" -L"$folder/usr/lib" -lfpstore -o search
try C++ ./search
if command -v cmake >/dev/null; then
    cmake -S . -B build -DCMAKE_PREFIX_PATH="$folder/usr" >/dev/null && cmake --build build >/dev/null
    try "C++ by CMake" build/search
fi
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
if command -v javac >/dev/null && [ -e $jna ]; then
    cd java-jna && javac -cp $jna -d . Store.java ../java/Hit.java ../java/Search.java
    try "Java with JNA" java -cp $jna:. -Djna.library.path="$folder/usr/lib" -Dfile.encoding=UTF-8 Search
    cd ..
fi
for java in /usr/lib/jvm/*/bin/java; do
    version=$("$java" --version 2>/dev/null | sed -n '1s/^[^0-9]*\([0-9]*\).*/\1/p')
    [ "${version:-0}" -ge 22 ] || continue
    cd java
    try "Java $version" "$java" --enable-native-access=ALL-UNNAMED -Dstdout.encoding=UTF-8 Search.java
    cd ..
    break
done

cargo build --quiet --locked --manifest-path "$here/examples/axum/Cargo.toml"
"$CARGO_TARGET_DIR/debug/fpstore-axum" pages.fps 127.0.0.1:0 >address &
server=$!
url=$(address)
near() { curl -sS "$url/near?fingerprint=$1&k=$2"; }
for needle in $needles; do
    near "$needle" 3 | "$python" -c 'import json, sys
for row in json.load(sys.stdin):
    for id in row["ids"]:
        sys.stdout.buffer.write("\t".join([sys.argv[1], row["fingerprint"], str(row["distance"]), id]).encode() + b"\n")' "$needle"
done >found
cmp expected.pages found
near 00 65 | grep -q '65' && near zz 3 | grep -q 'zz'
printf '123456789abcdef0\tadded\n' | "$program" add - -s pages.fps --quiet
until near 123456789abcdef0 0 | grep -q added; do sleep 0.1; done
kill $server
echo "axum: same answers as the program, also after a change"

"$program" serve -s pages.fps --listen 127.0.0.1:0 >address 2>log &
server=$!
while ! url=$(grep -o 'http://[0-9.:]*' address log | head -n 1 | sed 's/^[^:]*://') || [ -z "$url" ]; do
    kill -0 $server
    sleep 0.1
done
cut -f 1-3 expected.pages >without_ids
for command in "go run http/batch.go" "node http/batch.mjs"; do
    command -v "${command%% *}" >/dev/null || continue
    # shellcheck disable=SC2086
    $command "$url" $needles >found
    cmp without_ids found
    echo "${command%% *} over HTTP: same answers as the program"
done
kill $server

if "$python" -c 'import apsw' 2>/dev/null && command -v sqlite3 >/dev/null; then
    cargo build --quiet --locked --manifest-path "$here/examples/sqlite/Cargo.toml"
    # shellcheck disable=SC2086
    "$python" "$here/examples/sqlite/check.py" "$CARGO_TARGET_DIR/debug/libfpstore_sqlite.so" "$program" pages.fps $needles
fi
