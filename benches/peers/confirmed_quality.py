#!/usr/bin/env python3
"""Compares the pairs from `fpstore pairs --confirm` with the true near-duplicates.

    pip install zstandard
    confirmed_quality.py PROGRAM DATA [OPTION]...

PROGRAM is the fpstore program, DATA the folder of the collection with text/SET/docs.jsonl.zst and
near.tsv.zst, which lists all pairs of documents whose exact Jaccard similarity is 0.8 or more
(label 1), and ignored pairs between a lower bound and 0.8 (label -1). OPTIONs are passed to the
program, such as `--confirm 0.75 --shingle 3`. With `--sketch=128` the similarities are estimated from
the sketches of a store. Documents with equal shingles are treated as one document.
"""

import io
import os
import re
import subprocess
import sys
import tempfile

import zstandard


def lines(path):
    with open(path, "rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        yield from io.TextIOWrapper(reader, "utf-8")


def truth(path):
    """The label of each pair, and for each document the first document with the same shingles."""
    first, rows = {}, []
    for line in lines(path):
        one, other, label, _, kind = line.rstrip("\n").split("\t")[:5]
        if kind.startswith(("same-text", "same-shingles")):
            first[other] = one
        elif one != "id1":
            rows.append((one, other, int(label)))
    return {pair(first, one, other): label for one, other, label in rows}, first


def pair(first, one, other):
    return tuple(sorted((first.get(one, one), first.get(other, other))))


def run(program, documents, options):
    sketch = [option for option in options if option.startswith("--sketch")]
    others = [option for option in options if option not in sketch]
    with tempfile.TemporaryDirectory() as folder:
        if not sketch:
            return subprocess.run([program, "pairs", "--docs", documents, *others],
                                  capture_output=True, text=True)
        store = f"{folder}/store.fps"
        subprocess.run([program, "build", "--docs", documents, "-s", store, "-q", *sketch], check=True)
        return subprocess.run([program, "pairs", store, *others], capture_output=True, text=True)


def main(program, data, *options):
    options = options or ("--confirm", "0.8")
    print("| set | true pairs | candidates | precision | recall | F1 |\n|---|---:|---:|---:|---:|---:|")
    for name in sorted(os.listdir(f"{data}/text")):
        folder = f"{data}/text/{name}"
        if not os.path.exists(f"{folder}/near.tsv.zst"):
            continue
        labels, first = truth(f"{folder}/near.tsv.zst")
        done = run(program, f"{folder}/docs.jsonl.zst", options)
        if done.returncode == 2:
            sys.exit(done.stderr)
        found = {pair(first, *line.split("\t")[4:6]) for line in done.stdout.splitlines()}
        found = {both for both in found if both[0] != both[1]}
        right = sum(labels.get(both) == 1 for both in found)
        wrong = sum(both not in labels for both in found)
        all_true = sum(label == 1 for label in labels.values())
        precision, recall = right / max(right + wrong, 1), right / max(all_true, 1)
        f1 = 2 * right / max(right + wrong + all_true, 1)
        candidates = re.search(r"([\d ]+) pairs? within", done.stderr)[1].strip()
        print(f"| {name} | {all_true} | {candidates} | {precision:.3f} | {recall:.3f} | {f1:.3f} |",
              flush=True)


main(*sys.argv[1:])
