#!/bin/sh
# Computes fingerprints of texts in many scripts with the program and with
# tools/readers/fpstore_recipe.py, which was written only from docs/recipe-spec.md, and compares them.
# FPSTORE_BIN is the path of a built program; FPSTORE_PYTHON a Python with the package uniseg.
set -eu
cd "$(dirname "$0")/../.."
if [ -z "${FPSTORE_BIN:-}" ]; then
    cargo build --release --locked --quiet
fi
fpstore=${FPSTORE_BIN:-target/release/fpstore}
python=${FPSTORE_PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# 467 texts, many of them short or unusual, and a few longer ones.
"$fpstore" fingerprint tests/data/text/simhash_1e0ng_text.jsonl.zst --id-field simhash --show-text --quiet \
    >"$folder/texts.jsonl"
"$fpstore" fingerprint tests/data/licences --show-text --quiet >>"$folder/texts.jsonl"
cat >>"$folder/texts.jsonl" <<'TEXTS'
{"id": "folded", "text": "Stra\u00dfe STRASSE \u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03bf\u03c2 \u0643\u064e\u062a\u0640\u064e\u0628\u064e \u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd"}
{"id": "seen", "text": "L\u2019\u00e9quipe s\u02bcest it\uff07s \u2018so\u2019 Land\u00adwirt\u200bschaft\ufeff \u845b\udb40\udd00 \u2764\ufe0f\u200d \u3164 cafe\u034f\u0301 Hawai\u02bbi \u0149 \u03b1\u1fbd\u03b5 \u0645\u06cc\u200c\u062e"}
{"id": "code", "text": "x_1 += a-b; if (x != Y) { return \"\u00e9t\u0301\"; } // \u4e2d\u6587"}
{"id": "thai", "text": "\u0e40\u0e23\u0e32\u0e23\u0e39\u0e49\u0e08\u0e31\u0e01\u0e01\u0e31\u0e19\u0e21\u0e32\u0e19\u0e32\u0e19\u0e41\u0e25\u0e49\u0e27 \u0e41\u0e25\u0e30\u0e27\u0e31\u0e19\u0e19\u0e35\u0e49\u0e40\u0e23\u0e32\u0e08\u0e30\u0e44\u0e1b\u0e15\u0e25\u0e32\u0e14\u0e14\u0e49\u0e27\u0e22\u0e01\u0e31\u0e19 \u0e51\u0e52 \u0e1a\u0e32\u0e17"}
{"id": "lao", "text": "\u0e9e\u0eb2\u0eaa\u0eb2\u0ea5\u0eb2\u0ea7\u0ec0\u0e9b\u0eb1\u0e99\u0e9e\u0eb2\u0eaa\u0eb2\u0e97\u0eb2\u0e87\u0e81\u0eb2\u0e99 \u0ec1\u0ea5\u0eb0 two \u0e84\u0eb3"}
{"id": "khmer", "text": "\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a\u1787\u17b6\u1797\u17b6\u179f\u17b6\u1795\u17d2\u179b\u17bc\u179c\u1780\u17b6\u179a \u179a\u1794\u179f\u17cb\u1794\u17d2\u179a\u1791\u17c1\u179f\u1780\u1798\u17d2\u1796\u17bb\u1787\u17b6"}
{"id": "burmese", "text": "\u1019\u103c\u1014\u103a\u1019\u102c\u1018\u102c\u101e\u102c\u1005\u1000\u102c\u1038\u101e\u100a\u103a \u101b\u102f\u1036\u1038\u101e\u102f\u1036\u1038\u1018\u102c\u101e\u102c\u1005\u1000\u102c\u1038\u1016\u103c\u1005\u103a\u101e\u100a\u103a"}
{"id": "javanese", "text": "\ua9a7\ua9b1\ua997\ua9ae \ua9b1\ua9ae"}
{"id": "yi", "text": "\ua28b\ua0bf\ua0c0 \ua000\ua001"}
{"id": "balinese", "text": "\u1b05\u1b13\u1b44\u1b31 one \u1a36\u1a6e\u1a65\u1a75\u1a60\u1a3e \ud80c\udc00\ud80c\udc01 \ud808\udc00\ud808\udc01 \u1a00\u1a17"}
TEXTS
"$python" - "$folder" <<'PYTHON'
import json, sys
folder = sys.argv[1]
with open(f"{folder}/texts.jsonl", encoding="utf-8") as lines, \
        open(f"{folder}/plain", "w", encoding="utf-8") as plain, \
        open(f"{folder}/numbered.jsonl", "w", encoding="utf-8") as numbered:
    for number, line in enumerate(lines):
        # A prefix of each text suffices, because Python is slow.
        text = json.loads(line)["text"][:500]
        plain.write(json.dumps(text) + "\n")
        numbered.write(json.dumps({"id": number, "text": text}) + "\n")
PYTHON
# A recipe as in stores of earlier releases, without the lines for invisible characters and
# apostrophes.
"$fpstore" fingerprint "$folder/numbered.jsonl" -v 2>&1 >"$folder/ours" |
    sed -n '/ignorables=\|apostrophes=/d; s/^fpstore: \([a-z-]*=.*\)/\1/p' >"$folder/earlier"

for options in "" "--recipe simhash" "--recipe code" "--recipe 1e0ng" "--segment letters --shingle 7" \
    "--segment characters --ngram 3 --keep-case --keep-marks" "--hash siphash-2-4 --shingle 3 --keep-form" \
    "--recipe $folder/earlier" \
    "--recipe simhash --count log --top 40 --tie one --hash fnv-1" "--recipe simhash --count count"; do
    # shellcheck disable=SC2086
    "$fpstore" fingerprint "$folder/numbered.jsonl" $options -v >"$folder/ours" 2>"$folder/told"
    sed -n 's/^fpstore: \([a-z-]*=.*\)/\1/p' "$folder/told" >"$folder/recipe"
    "$python" tools/readers/fpstore_recipe.py "$folder/recipe" <"$folder/plain" >"$folder/theirs"
    "$python" - "$folder" "$options" <<'PYTHON'
import sys
folder, options = sys.argv[1:]
ours = {}
for line in open(f"{folder}/ours"):
    value, number = line.split()
    ours[int(number)] = value
theirs = [line.strip() for line in open(f"{folder}/theirs")]
wrong = [number for number, value in enumerate(theirs) if ours.get(number, "-") != value]
if wrong:
    texts = open(f"{folder}/plain", encoding="utf-8").read().splitlines()
    for number in wrong[:10]:
        print(f"{ours.get(number, '-')} is {theirs[number]} by the second implementation: {texts[number][:200]}")
    sys.exit(f"{len(wrong)} of {len(theirs)} texts have other fingerprints with '{options}'")
print(f"same fingerprints of {len(theirs)} texts: {options or 'the default recipe'}")
PYTHON
done

# Compares sketches with those that the independent reader finds in a store.
for set in "32:" "128:--recipe code" "64:--recipe simhash"; do
    length=${set%%:*} options=${set#*:}
    # shellcheck disable=SC2086
    "$fpstore" fingerprint "$folder/numbered.jsonl" $options -v >"$folder/ours" 2>"$folder/told"
    sed -n 's/^fpstore: \([a-z-]*=.*\)/\1/p' "$folder/told" >"$folder/recipe"
    # shellcheck disable=SC2086
    "$fpstore" build --docs "$folder/numbered.jsonl" --sketch="$length" $options -s "$folder/store.fps" -f -q \
        2>/dev/null
    "$python" tools/readers/fpstore_recipe.py "$folder/recipe" "$length" <"$folder/plain" |
        awk '$0 != "-" { print NR - 1 "\t" $0 }' | sort >"$folder/theirs"
    python3 tools/readers/fpstore_reader.py sketches "$folder/store.fps" | sort >"$folder/ours"
    cmp "$folder/ours" "$folder/theirs"
    echo "same sketches of $(wc -l <"$folder/ours") texts: $length bytes $options"
done
