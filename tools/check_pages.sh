#!/bin/sh
# Makes pages of 'fpstore stats --html' for many kinds of data and checks them in a browser; see
# tools/check_page.py. With a folder as argument it writes screenshots to it. FPSTORE_BIN names a
# program that is built already.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${FPSTORE_BIN:-}" ]; then
    cargo build --release --locked --quiet
fi
fpstore=${FPSTORE_BIN:-target/release/fpstore}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder" <<'PYTHON'
import random, sys
random.seed(20261121)
folder = sys.argv[1]

def write(name, values):
    with open(f"{folder}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines(f"{value:016x}\t{i}\n" for i, value in enumerate(values))

spread = [random.getrandbits(64) for _ in range(50_000)]
write("uniform", spread)
write("zero-extended", [value >> 32 for value in spread])
write("dead-bits", [value & ~(0xFFFFF << 30) for value in spread])
write("half-in-one", [value if i % 2 else 0 for i, value in enumerate(spread)])
write("counters", range(1, 3000))
write("two", spread[:2])
write("one", spread[:1])
write("none", [])
PYTHON

for name in uniform zero-extended dead-bits half-in-one counters two one none; do
    "$fpstore" stats --input "$folder/$name.tsv" --html "$folder/$name.html" >/dev/null 2>&1
done
for name in tang_store.tsv noto_emoji_phash64.hex tlsh_malware_w0.hex; do
    "$fpstore" build "tests/data/$name.zst" -s "$folder/store" --scheme 14 --force --quiet
    "$fpstore" stats -s "$folder/store" --html "$folder/$name.html" >/dev/null 2>&1
done
# A store without ids cannot report duplicates.
"$fpstore" build tests/data/tang_store.tsv.zst -s "$folder/store" --ids none --force --quiet
"$fpstore" stats -s "$folder/store" --html "$folder/no-ids.html" >/dev/null 2>&1

python3 tools/check_page.py "$folder"/*.html ${1:+--pictures "$1"}

# A check that always passes proves nothing: it must catch each of these faults.
broken() {
    name=$1 expected=$2
    mkdir -p "$folder/broken"
    sed "$3" "$folder/uniform.html" >"$folder/broken/$name.html"
    if python3 tools/check_page.py "$folder/broken/$name.html" >/dev/null 2>"$folder/faults"; then
        echo "check_pages: $name was not caught" >&2
        exit 1
    fi
    grep -q "$expected" "$folder/faults"
    echo "$name: caught"
}
broken console-error 'console: ' 's|</body>|<script>throw 1</script></body>|'
broken request 'console: ' 's|</body>|<img src="file:///missing.png" alt=""></body>|'
broken no-marks 'marks are drawn' 's|</style>|.marks { display: none }</style>|'
broken sideways 'scrolls sideways' 's|</body>|<div style="width: 2000px">wide</div></body>|'
broken no-dark 'looks like the light one' 's|prefers-color-scheme: dark|prefers-color-scheme: none|'
broken no-title 'no title or description' 's|-title plot-[a-z0-9-]*-text"|-none"|'
