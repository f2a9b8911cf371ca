#!/usr/bin/env python3
"""Measures how many partial documents of each length `--confirm-contains` finds.

    FPSTORE=target/release/fpstore python3 benches/program/contained.py
    FPSTORE=... python3 benches/program/contained.py --documents 200000 --parts 1000

The corpus has synthetic documents of 400 words, and partial documents: some consecutive words of
another document, like a truncated page or a quotation. `edited` parts have one word in a hundred
changed. `fpstore clean --keep longest --confirm-contains 1.0` (0.9 for edited parts) should remove
each part and nothing else. It compares only documents whose fingerprints are within the distance
that the similarity of `--confirm` requires, so it misses parts that are short relative to the whole
document. The table has the percentage of found parts for each share of the words and each
`--confirm`; below it are the processor seconds and the number of other removed documents. FPSTORE is
the path of the program.
"""

import argparse
import os
import random
import tempfile
from pathlib import Path

from templates import measure, vocabulary

SEED = 13
WORDS = 400
SHARES = [0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
BARS = ["0.8", "0.6", "0.5", "0.4", "0.3", "0.2"]
CHANGED = 0.01


def make(path, count, parts, is_edited):
    """Writes `count` documents, and for each share of the words `parts` partial documents."""
    rng = random.Random(SEED)
    words, weights = vocabulary(rng)
    lines = []
    for number in range(count):
        whole = rng.choices(words, cum_weights=weights, k=WORDS)
        lines.append((f"whole-{number}", whole))
        kind, place = divmod(number, parts)
        if kind < len(SHARES):
            length = int(SHARES[kind] * WORDS)
            start = rng.randrange(WORDS - length + 1)
            part = whole[start : start + length]
            if is_edited:
                for at in rng.sample(range(length), max(1, int(length * CHANGED))):
                    part[at] = rng.choice(words)
            lines.append((f"part-{kind}-{place}", part))
    rng.shuffle(lines)
    with open(path, "w") as out:
        for name, text in lines:
            out.write(f'{{"id":"{name}","text":"{" ".join(text)}"}}\n')


def removed(program, corpus, folder, bar, contains):
    """Returns the removed ids, and processor seconds."""
    listed = folder / "removed.tsv"
    command = [program, "clean", corpus, "-o", folder / "clean.jsonl", "--keep", "longest"]
    command += ["--confirm", bar, "--confirm-contains", contains, "--removed", listed, "-f", "-q"]
    seconds, _ = measure(command)
    gone = {line.split("\t")[4] for line in listed.read_text().splitlines()}
    return gone, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--parts", type=int, default=300, help="for each share of the words")
    options = parser.parse_args()
    if options.documents < options.parts * len(SHARES):
        raise SystemExit(f"--documents is at least {len(SHARES)} times --parts")
    program = os.environ.get("FPSTORE", "fpstore")
    for kind, contains in [("whole", "1.0"), ("edited", "0.9")]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            corpus = folder / "corpus.jsonl"
            make(corpus, options.documents, options.parts, kind == "edited")
            results = [removed(program, corpus, folder, bar, contains) for bar in BARS]
        print(f"\n{kind} parts, --confirm-contains {contains}: percentage found\n")
        print("| share of the words |", " | ".join(f"--confirm {bar}" for bar in BARS), "|")
        print("|---:|" + "---:|" * len(BARS))
        for number, share in enumerate(SHARES):
            found = (sum(name.startswith(f"part-{number}-") for name in gone) for gone, _ in results)
            print(f"| {share} |", " | ".join(f"{100 * of / options.parts:.1f}" for of in found), "|")
        others = (sum(name.startswith("whole-") for name in gone) for gone, _ in results)
        print("| others removed |", " | ".join(map(str, others)), "|")
        print("| processor s |", " | ".join(f"{seconds:.1f}" for _, seconds in results), "|")


if __name__ == "__main__":
    main()
