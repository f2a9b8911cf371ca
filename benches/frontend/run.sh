#!/bin/sh
# Measures a search from each language, in turns, and prints the medians of the turns as a table:
#
#     benches/frontend/run.sh PROGRAM [TURNS]
#
# PROGRAM is fpstore. For the other requirements see bindings/c/try_examples.sh. The store has 10^6
# random fingerprints with text ids. Half of 20 000 queries are random, half are near a stored
# fingerprint; k is 3.
set -eu
program=$(realpath "$1") turns=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
folder=$(mktemp -d)
trap 'kill $server 2>/dev/null || true; rm -rf "$folder"' EXIT
sh bindings/c/install.sh "$folder/usr" >/dev/null
cargo build --quiet --release --locked --package fpstore-capi --features bench --bin frontend
extension=bindings/c/examples/sqlite/Cargo.toml
cargo build --quiet --release --locked --manifest-path $extension --target-dir target/examples
# The crate libsqlite3-sys contains the source of a new SQLite.
sqlite=$(cargo metadata --format-version 1 --locked --manifest-path $extension | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["name"] == "libsqlite3-sys":
        print(package["manifest_path"].replace("Cargo.toml", "sqlite3"))')
export LD_LIBRARY_PATH="$folder/usr/lib" PKG_CONFIG_PATH="$folder/usr/lib/pkgconfig"
export FPSTORE_LIB="$folder/usr/lib/libfpstore.so"
flags="-O2 $(pkg-config --cflags --libs fpstore)"
cp -r bindings/c/examples/go bindings/c/examples/java bindings/c/examples/java-jna bindings/c/examples/node "$folder"
cd "$folder"
# shellcheck disable=SC2086
cc -std=gnu11 "$here/bench.c" $flags -o c
# shellcheck disable=SC2086
c++ -std=gnu++17 -x c++ "$here/bench.c" $flags -o c++
cc -std=gnu11 -O2 "$here/sqlite.c" "$sqlite/sqlite3.c" -I"$sqlite" -lm -o sqlite
rm go/main.go && cp "$here/bench.go" go && (cd go && go build -o ../bench_go .)
cp "$here/bench.mjs" node && (cd node && npm install --silent --no-audit --no-fund)
jna=/usr/share/java/jna.jar
for java in /usr/lib/jvm/*/bin/java; do
    newest=$java
    [ "$("$java" --version | sed -n '1s/^[^0-9]*\([0-9]*\).*/\1/p')" -lt 22 ] || break
done
for kind in java java-jna; do
    "${newest}c" -cp $jna -d "$kind" "$kind/Store.java" java/Hit.java "$here/Bench.java"
done
python3 - >records.tsv <<'P'
import random, struct
random.seed(7)
values = [random.getrandbits(64) for _ in range(10**6)]
for number, value in enumerate(values):
    print(f"{value:016x}\tpage-{number:07d}.html")
with open("queries", "wb") as file:
    for number in range(20_000):
        near = random.choice(values)
        for _ in range(random.randrange(4)):
            near ^= 1 << random.randrange(64)
        file.write(struct.pack("<Q", near if number % 2 else random.getrandbits(64)))
P
"$program" build records.tsv -s pages.fps --quiet
"$program" serve -s pages.fps --listen 127.0.0.1:0 >log 2>&1 &
server=$!
while ! url=$(grep -o 'http://127[0-9.:]*' log | head -n 1) || [ -z "$url" ]; do kill -0 $server; sleep 0.1; done

native="--enable-native-access=ALL-UNNAMED"
for turn in $(seq "$turns"); do
    while IFS='|' read -r name command; do
        # shellcheck disable=SC2086
        echo "$name|$($command 2>/dev/null)" >>turns
    done <<L
Rust|$here/../../target/release/frontend pages.fps queries
C|./c pages.fps queries
C++|./c++ pages.fps queries
Go, cgo|./bench_go pages.fps queries
Java, foreign functions|$newest $native -cp java Bench pages.fps queries
Java, JNA|$newest $native -cp java-jna:$jna -Djna.library.path=usr/lib Bench pages.fps queries
Node, koffi|node node/bench.mjs pages.fps queries
SQLite, from C|./sqlite pages.fps queries $here/../../target/examples/release/libfpstore_sqlite
HTTP, from Go|./bench_go $url queries
L
done
python3 - <<'P'
import statistics
rows = {}
for line in open("turns"):
    name, numbers = line.rstrip().split("|")
    rows.setdefault(name, []).append([float(it) for it in numbers.split()])
print("| caller | us a search | with ids | us a batch of 1 000 | of Rust |\n|---|---:|---:|---:|---:|")
base = None
for name, turns in rows.items():
    one, ids, batch = (statistics.median(column) for column in zip(*turns))
    base = base or batch
    print(f"| {name} | {one:.2f} | {ids:.2f} | {batch:.0f} | {batch / base:.2f} |".replace(" nan |", " |"))
P
