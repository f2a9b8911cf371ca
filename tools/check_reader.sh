#!/bin/sh
# Makes stores of many shapes with the program and reads them with tools/fpstore_reader.py, which
# was written from format-spec.md alone. Both must give the same dumps and answers, and find the
# stores sound. FPSTORE_BIN names a program that is built already.
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

def write(name, lines):
    with open(f"{folder}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)

spread = [random.getrandbits(64) for _ in range(3000)]
write("bare", [f"{value:016x}" for value in spread])
write("numbers", [f"{value:016x}\t{random.getrandbits(random.choice([3, 40]))}" for value in spread + spread[:500]])
write("texts", [f"{value:016x}\tpage {i} \u4e2d\u6587" for i, value in enumerate(spread[:1500] + spread[:900])]
      + ["0000000000000000", "ffffffffffffffff\tones"])
write("crowded", [f"{0xabcd << 48 | i:016x}\t{i}" for i in range(6000)] + [f"{v >> 20:016x}" for v in spread])
write("one", ["8000000000000001 x"])
write("none", [])
PYTHON

for input in bare numbers texts crowded one none; do
    for scheme in 1 2 4 14 halves-syndrome12 14-syndrome6; do
        store="$folder/$input-$scheme.fps"
        "$fpstore" build "$folder/$input.tsv" -s "$store" --scheme "$scheme" --quiet 2>/dev/null
        "$fpstore" dump -s "$store" >"$folder/ours"
        python3 tools/fpstore_reader.py dump "$store" >"$folder/theirs"
        cmp "$folder/ours" "$folder/theirs"
        "$fpstore" verify -s "$store" --quiet
        python3 tools/fpstore_reader.py verify "$store" >/dev/null
        for needle in 0000000000000000 abcd000000000123 8000000000000003; do
            "$fpstore" query "$needle" -k 9 -s "$store" >"$folder/ours" || [ $? -eq 1 ]
            python3 tools/fpstore_reader.py query "$store" "$needle" 9 >"$folder/theirs" || [ $? -eq 1 ]
            cmp "$folder/ours" "$folder/theirs"
        done
    done
    # The same records added and deleted: two segments with deletions, then one without.
    store="$folder/$input-grown.fps"
    later=4
    [ "$input" != texts ] || later=halves-syndrome
    half=$(($(wc -l <"$folder/$input.tsv") / 2))
    head -n "$half" "$folder/$input.tsv" | "$fpstore" build - -s "$store" --scheme 2 --quiet 2>/dev/null
    tail -n "+$half" "$folder/$input.tsv" | "$fpstore" add - -s "$store" --scheme "$later" --label later --no-compact --quiet
    sed -n '3~7p' "$folder/$input.tsv" | cut -f 2 >"$folder/gone-ids"
    sed -n '5~9p' "$folder/$input.tsv" >"$folder/gone"
    "$fpstore" delete --ids "$folder/gone-ids" -s "$store" --quiet || [ $? -eq 1 ]
    "$fpstore" delete --fingerprints "$folder/gone" -s "$store" --quiet || [ $? -eq 1 ]
    "$fpstore" dump -s "$store" >"$folder/ours"
    python3 tools/fpstore_reader.py dump "$store" >"$folder/theirs"
    cmp "$folder/ours" "$folder/theirs"
    "$fpstore" verify -s "$store" --quiet
    python3 tools/fpstore_reader.py verify "$store" >/dev/null
    "$fpstore" compact --one -s "$store" --quiet
    "$fpstore" dump -s "$store" >"$folder/theirs"
    cmp "$folder/ours" "$folder/theirs"
    echo "$input: same dump and answers for schemes 1, 2, 4, 14, with syndromes"
done
