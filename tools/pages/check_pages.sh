#!/bin/sh
# Makes pages with 'stats', 'cluster', 'pairs' and 'compare' --html for many kinds of data and checks
# them in a browser; see tools/pages/check_page.py, check_groups.py and check_judge.py. With a folder as
# argument it writes screenshots to it. FPSTORE_BIN is the path of a built program.
set -eu
cd "$(dirname "$0")/../.."
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
    "$fpstore" stats "$folder/$name.tsv" --html "$folder/$name.html" >/dev/null 2>&1
done
for name in tang_store.tsv noto_emoji_phash64.hex tlsh_malware_w0.hex; do
    "$fpstore" build "tests/data/$name.zst" -s "$folder/store" --scheme 14 --force --quiet
    "$fpstore" stats -s "$folder/store" --html "$folder/$name.html" >/dev/null 2>&1
done
# A store without ids cannot report duplicates.
"$fpstore" build tests/data/tang_store.tsv.zst -s "$folder/store" --id-type none --force --quiet
"$fpstore" stats -s "$folder/store" --html "$folder/no-ids.html" >/dev/null 2>&1

# Groups of near-duplicates: versions of texts in several scripts, with pictures, and with ids and
# texts that would be parsed as markup if they were not escaped.
python3 - "$folder" <<'PYTHON'
import json, random, sys
random.seed(20261122)
folder = sys.argv[1]
words = [f"{a}{b}" for a in "ka ne mo ri su ta vu wo".split() for b in "lan der mis tov quu".split()]
words += ["\u660e\u6708", "\u5149", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "\U0001f600", "e\u0301", "\n\n", "\u202e"]
bad = ["<script>window.ran = 1</script>", "</script><img src=x onerror='window.ran=1'>", "<!-- <script>", "<b>bold</b>",
       "javascript:window.ran=1//", "&lt;i&gt;", "'\"><svg onload=window.ran=1>", "\u2028"]
with open(f"{folder}/versions.jsonl", "w", encoding="utf-8") as out:
    for group in range(90):
        text = random.choices(words, k=random.choice([30, 120, 600]))
        text += [random.choice(bad)] * (group % 3)
        for version in range(random.choice([1, 2, 2, 3, 15])):
            name = f"{group}/{version}" + (bad[group % len(bad)] if group % 4 == 0 else "")
            print(json.dumps({"id": name, "text": " ".join(text)}), file=out)
            if random.random() < 0.7:
                text[random.randrange(len(text))] = random.choice(words)
pictures = ["#c33", "#3a6"]
for number in range(40):
    with open(f"{folder}/{number}.svg", "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"><rect width="90" height="60" fill="{pictures[number % 2]}"/></svg>')
with open(f"{folder}/pictures.tsv", "w") as out:
    out.writelines(f"{0x9e3779b97f4a7c15 * (1 + number // 8) % 2**64:016x}\t{number}\n" for number in range(40))
with open(f"{folder}/many.tsv", "w") as out:
    out.writelines(f"{0x9e3779b97f4a7c15 * (1 + number // 3) % 2**64:016x}\tpage-{number}\n" for number in range(30_000))
PYTHON
"$fpstore" cluster --docs "$folder/versions.jsonl" -k 12 --link '{id}' --html "$folder/versions.html" \
    -o "$folder/versions.rows" --quiet
"$fpstore" cluster "$folder/pictures.tsv" --image '{id}.svg' --link 'https://example.org/{id}' \
    --html "$folder/pictures.html" --quiet
"$fpstore" clean "$folder/versions.jsonl" -k 12 -o "$folder/kept.jsonl" \
    --html "$folder/removed.html" --quiet
"$fpstore" clean tests/data/licences --confirm 0.6 -o "$folder/kept.txt" \
    --html "$folder/removed-licences.html" --quiet
"$fpstore" cluster "$folder/many.tsv" --html "$folder/many.html" --html-groups 20000 --quiet
"$fpstore" cluster "$folder/many.tsv" --html "$folder/cut.html" --html-max 200KB --quiet
# A page of pairs to judge.
"$fpstore" pairs --docs "$folder/versions.jsonl" --html "$folder/judge.html" --quiet
"$fpstore" pairs "$folder/pictures.tsv" --image '{id}.svg' --html "$folder/judge-pictures.html" --quiet
head -n 1 "$folder/versions.jsonl" >"$folder/a.jsonl"
sed -n 3p "$folder/versions.jsonl" >"$folder/b.jsonl"
"$fpstore" compare "$folder/a.jsonl" "$folder/b.jsonl" --html "$folder/compare.html" >/dev/null 2>&1
"$fpstore" compare tests/data/licences/go-dedup+simhash.LICENSE \
    tests/data/licences/chinese-poetry+chinese-poetry.LICENSE --html "$folder/licences.html" \
    >/dev/null 2>&1

python3 tools/pages/check_page.py "$folder"/*.html ${1:+--pictures "$1"}
python3 tools/pages/check_groups.py "$folder/versions.html" "$folder/versions.jsonl" \
    "$folder/versions.rows"
python3 tools/pages/check_judge.py "$folder/judge.html" "$folder/labels.tsv"
"$fpstore" evaluate --docs "$folder/versions.jsonl" --pairs "$folder/labels.tsv" --keys 1 --quiet \
    >/dev/null

# Injects a fault into a page: the check must detect it.
broken() {
    name=$1 expected=$2
    mkdir -p "$folder/broken"
    sed "$3" "$folder/uniform.html" >"$folder/broken/$name.html"
    if python3 tools/pages/check_page.py "$folder/broken/$name.html" >/dev/null 2>"$folder/faults"; then
        echo "check_pages: $name was not caught" >&2
        exit 1
    fi
    grep -q "$expected" "$folder/faults"
    echo "$name: caught"
}
broken console-error 'console: ' 's|</body>|<script>throw 1</script></body>|'
# Firefox reports no missing pictures, so this fault is not tested with it.
[ "${FPSTORE_BROWSER:-}" = firefox ] ||
    broken request 'console: ' 's|</body>|<img src="file:///missing.png" alt=""></body>|'
broken no-marks 'marks are drawn' 's|</style>|.marks { display: none }</style>|'
broken sideways 'scrolls sideways' 's|</body>|<div style="width: 2000px">wide</div></body>|'
broken no-dark 'looks like the light one' 's|prefers-color-scheme: dark|prefers-color-scheme: none|'
broken_compare() {
    sed "$3" "$folder/licences.html" >"$folder/broken/$1.html"
    if python3 tools/pages/check_page.py "$folder/broken/$1.html" >/dev/null 2>"$folder/faults"; then
        echo "check_pages: $1 was not caught" >&2
        exit 1
    fi
    grep -q "$2" "$folder/faults"
    echo "$1: caught"
}
broken_compare open-folds 'folds hide nothing' 's/:not(\[open\])::details-content { display: inline-block; }/::details-content { display: inline; }/'
broken_compare no-paper 'on paper: ' 's/@media print/@media none/'
broken no-title 'no title or description' 's|-title plot-[a-z0-9-]*-text"|-none"|'

# A page in which one displayed text has a wrong word.
sed '0,/"parts":\[\([0-9]*\),/s//"parts":[\1,"lost",/' "$folder/versions.html" >"$folder/broken/parts.html"
if python3 tools/pages/check_groups.py "$folder/broken/parts.html" "$folder/versions.jsonl" \
    "$folder/versions.rows" >/dev/null 2>&1; then
    echo "check_pages: a wrong text was not caught" >&2
    exit 1
fi
echo "wrong-text: caught"
# A modified script must not run.
sed "s/'use strict'/'use  strict'/" "$folder/versions.html" >"$folder/broken/script.html"
if python3 tools/pages/check_page.py "$folder/broken/script.html" >/dev/null 2>"$folder/faults"; then
    echo "check_pages: another script ran" >&2
    exit 1
fi
grep -q "Content.Security.Policy" "$folder/faults"
echo "other-script: caught"
