#!/usr/bin/env python3
"""Measures `fpstore clean` on corpora of several sizes with many near copies of templates.

    FPSTORE=target/release/fpstore python3 benches/program/templates.py
    FPSTORE=... python3 benches/program/templates.py --beside OLDER_FPSTORE --sizes 2000 5000

A crawl has pages that differ only in a few words: products, errors, licences. Each corpus here has
documents of 200 words:

* `near`: copies of one template with 3 words replaced;
* `far`: the same with 7 words replaced, so that many pairs have a similarity below 0.8;
* `mixed`: ordinary documents, and a tenth copies of one template.

For each size and rule it prints the processor seconds, the peak memory, the microseconds for each
document, and the number of kept documents. Up to --check documents, the removed documents are compared
with a brute-force model: each document in order is removed if it is near a kept one, and assigned to
the first such one. With --clusters, each method of `fpstore cluster --confirm 0.8` is measured, too.
With --beside, an older program cleans the same files, and the lists of removed documents are compared
byte for byte. FPSTORE is the path of the program.
"""

import argparse
import itertools
import os
import random
import subprocess
import tempfile
from pathlib import Path

SEED = 11
K = 7
METHODS = ["leader", "components", "star"]


def vocabulary(rng):
    """Returns synthetic words, and their cumulative weights for sampling."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(30_000)]
    return words, list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(len(words))))


def make(path, kind, count):
    """Writes `count` documents of a kind."""
    rng = random.Random(SEED)
    words, weights = vocabulary(rng)
    text = lambda: rng.choices(words, cum_weights=weights, k=200)
    template = text()
    exchanged = 7 if kind == "far" else 3
    with open(path, "w") as out:
        for number in range(count):
            if kind == "mixed" and rng.random() < 0.9:
                own = text()
            else:
                own = template[:]
                for place in rng.sample(range(200), exchanged):
                    own[place] = rng.choice(words)
            out.write(f'{{"id":"d{number}","text":"{" ".join(own)}"}}\n')


def measure(command):
    """Returns processor seconds and megabytes."""
    run = subprocess.Popen(command)
    _, status, usage = os.wait4(run.pid, 0)
    if status:
        raise SystemExit(f"{command}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def clean(program, corpus, folder, rule):
    """Returns processor seconds, megabytes, the number of kept documents, and the list of removed ones."""
    removed = folder / "removed.tsv"
    command = [program, "clean", corpus, "-o", folder / "clean.jsonl", *rule, "-q"]
    seconds, memory = measure([*command, "--removed", removed])
    with open(folder / "clean.jsonl") as kept:
        count = sum(1 for _ in kept)
    return seconds, memory, count, removed.read_bytes()


def cluster(program, corpus, folder, rule):
    """Returns processor seconds, megabytes, the number of clusters, and their list."""
    found = folder / "clusters.tsv"
    seconds, memory = measure([program, "cluster", "--docs", corpus, "-o", found, *rule, "-q"])
    rows = found.read_bytes()
    return seconds, memory, len({row.split(b"\t")[0] for row in rows.splitlines()}), rows


def expected(program, corpus):
    """Brute force over fingerprints: for each removed document, the kept one that it is near."""
    lines = subprocess.check_output([program, "fingerprint", corpus], text=True)
    documents = [line.split("\t") for line in lines.splitlines()]
    kept, gone = [], {}
    for value, number in documents:
        value = int(value, 16)
        for other, leader in kept:
            if (value ^ other).bit_count() <= K:
                gone[number] = leader
                break
        else:
            kept.append((value, number))
    return gone


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 20_000, 80_000])
    parser.add_argument("--kinds", nargs="+", default=["near", "far", "mixed"])
    parser.add_argument("--clusters", action="store_true")
    parser.add_argument("--beside", help="an older program")
    parser.add_argument("--check", type=int, default=5_000)
    parser.add_argument("--threads", default="1")
    args = parser.parse_args()
    program = os.environ.get("FPSTORE", "target/release/fpstore")
    print("kind   documents  rule           seconds     MB  us each   kept  beside")
    for kind in args.kinds:
        for count in args.sizes:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                corpus = folder / "corpus.jsonl"
                make(corpus, kind, count)
                rules = [(clean, ["-k", str(K)]), (clean, ["--confirm", "0.8"])]
                for method in METHODS if args.clusters else []:
                    rules.append((cluster, ["--confirm", "0.8", "--method", method]))
                for number, (work, rule) in enumerate(rules):
                    options = ["--threads", args.threads, *rule]
                    own = folder / f"own{number}"
                    own.mkdir()
                    seconds, memory, kept, removed = work(program, corpus, own, options)
                    beside = ""
                    if args.beside:
                        other = folder / f"beside{number}"
                        other.mkdir()
                        older = work(args.beside, corpus, other, options)
                        same = "same" if older[3] == removed else "ANOTHER LIST"
                        beside = f"{older[0]:.2f} s, {older[1]:.0f} MB, {same}"
                    if rule[0] == "-k" and count <= args.check:
                        rows = [line.split("\t") for line in removed.decode().splitlines()]
                        rows = rows[1:] if rows and rows[0][0] == "fingerprint" else rows
                        found = {row[4]: row[5] for row in rows}
                        if found != expected(program, corpus):
                            raise SystemExit(f"{kind} {count}: other documents are removed")
                        beside += "  as each with each"
                    name = rule[-1] if work is cluster else " ".join(rule)
                    print(
                        f"{kind:6} {count:9}  {name:13} {seconds:8.2f} {memory:6.0f}"
                        f" {1e6 * seconds / count:8.1f} {kept:6}  {beside}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
