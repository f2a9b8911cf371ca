#!/usr/bin/env python3
"""Compares quality, speed and size of fpstore's text fingerprints with Python packages.

    pip install datasketch rensa simhash "numpy<2" zstandard
    text_quality.py PROGRAM DATA [SET]...

PROGRAM is the fpstore program, DATA the folder of the collection with text/SET/docs.jsonl.zst and
near.tsv.zst. The truth is the exact Jaccard similarity of the documents: pairs of 0.8 or more are
duplicates, pairs below the lower bound of the list are not, and pairs in between are ignored. For each
method the table has the best F1 over all thresholds, documents and MB for each second of CPU time,
and bytes for each document. The time of fpstore includes reading and parsing the file. Every pair
of documents is compared, so that no pair is missed because of an index.
"""

import io
import json
import re
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import zstandard

SETS = ["bib_records_a", "license_texts_a", "bible_en_a_chapters", "wikisplit_a", "zh_abstracts_a", "zh_statutes_a"]
WORD = re.compile(r"\w+")
HAN = re.compile(r"[\u3400-\u9fff]")


def lines(path):
    with open(path, "rb") as file:
        yield from io.TextIOWrapper(zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file), "utf-8")


def read(folder):
    texts, ids = [], {}
    for line in lines(folder + "/docs.jsonl.zst"):
        row = json.loads(line)
        ids[row["id"]] = len(texts)
        texts.append(row["text"])
    labels, later = {}, set()
    for number, line in enumerate(lines(folder + "/near.tsv.zst")):
        if number == 0:
            continue
        a, b, label, jaccard, kind = line.rstrip("\n").split("\t")[:5]
        a, b = ids[a], ids[b]
        if kind in ("same-text", "same-shingles") and float(jaccard) == 1:
            later.add(b)
        labels[min(a, b), max(a, b)] = int(label)
    return texts, labels, later


def features(text):
    """Pairs of words, or of characters if most of a text is Han."""
    text = text.lower()
    if len(HAN.findall(text)) * 2 > len(text):
        run = "".join(WORD.findall(text))
        return {run[at:at + 2] for at in range(len(run) - 1)} or {run}
    words = WORD.findall(text)
    return {" ".join(words[at:at + 2]) for at in range(len(words) - 1)} or {text}


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fpstore(recipe):
    def method(texts):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            for number, text in enumerate(texts):
                file.write(json.dumps({"id": number, "text": text}) + "\n")
            file.flush()
            start = cpu_of_children()
            command = [PROGRAM, "fingerprint", file.name, "--recipe", recipe, "--threads", "1", "--quiet"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds = cpu_of_children() - start
        values = np.zeros(len(texts), np.uint64)
        for line in done.stdout.splitlines():
            value, number = line.split("\t")
            values[int(number)] = int(value, 16)
        return values.view(np.uint8).reshape(-1, 8), seconds, 8, "bits"
    return method


def simhash_package(texts):
    from simhash import Simhash

    start = time.process_time()
    values = np.array([Simhash(text).value for text in texts], np.uint64)
    return values.view(np.uint8).reshape(-1, 8), time.process_time() - start, 8, "bits"


def datasketch(texts):
    from datasketch import MinHash

    start = time.process_time()
    sets = [[feature.encode() for feature in features(text)] for text in texts]
    rows = [sketch.hashvalues for sketch in MinHash.bulk(sets, num_perm=128)]
    return np.array(rows).astype(np.uint32), time.process_time() - start, 512, "values"


def rensa(texts):
    from rensa import RMinHash

    start = time.process_time()
    rows = []
    for text in texts:
        sketch = RMinHash(num_perm=128, seed=42)
        sketch.update(list(features(text)))
        rows.append(sketch.digest())
    return np.array(rows, dtype=np.uint32), time.process_time() - start, 512, "values"


METHODS = [
    ("fpstore, recipe minhash", fpstore("minhash")),
    ("fpstore, recipe simhash", fpstore("simhash")),
    ("Python package simhash", simhash_package),
    ("datasketch MinHash, 128", datasketch),
    ("rensa RMinHash, 128", rensa),
]


def best_f1(sketches, kind, labels, later):
    """The best F1 over all thresholds of the number of differing bits or values."""
    steps = 64 if kind == "bits" else sketches.shape[1]
    first = np.array([number not in later for number in range(len(sketches))])
    good, grey, every = (np.zeros(steps + 1, np.int64) for _ in range(3))
    numbers = np.flatnonzero(first)
    rows = sketches[first]
    for at in range(len(rows)):
        if kind == "bits":
            differ = np.unpackbits(rows[at + 1:] ^ rows[at], axis=1).sum(1)
        else:
            differ = (rows[at + 1:] != rows[at]).sum(1)
        every += np.bincount(differ.astype(np.int64), minlength=steps + 1)
    for (a, b), label in labels.items():
        if first[a] and first[b]:
            if kind == "bits":
                differ = int(np.unpackbits(sketches[a] ^ sketches[b]).sum())
            else:
                differ = int((sketches[a] != sketches[b]).sum())
            (good if label == 1 else grey)[differ] += 1
    found = np.cumsum(good)
    wrong = np.cumsum(every - good - grey)
    return float((2 * found / np.maximum(2 * found + wrong + (good.sum() - found), 1)).max()), len(numbers)


def main():
    sums = {}
    print("| set | method | best F1 | documents a second | MB a second | bytes a document |\n|---|---|---:|---:|---:|---:|")
    for name in sys.argv[3:] or SETS:
        texts, labels, later = read(f"{sys.argv[2]}/text/{name}")
        size = sum(len(text.encode()) for text in texts) / 1e6
        for title, method in METHODS:
            sketches, seconds, length, kind = method(texts)
            f1, _ = best_f1(sketches, kind, labels, later)
            sums.setdefault(title, []).append((f1, len(texts), seconds, size, length))
            print(f"| {name} | {title} | {f1:.3f} | {len(texts) / seconds:.0f} | {size / seconds:.1f} | {length} |", flush=True)
    for title, rows in sums.items():
        f1 = sum(row[0] for row in rows) / len(rows)
        count, seconds, size = (sum(row[at] for row in rows) for at in (1, 2, 3))
        print(f"| all | {title} | {f1:.3f} | {count / seconds:.0f} | {size / seconds:.1f} | {rows[0][4]} |")


PROGRAM = sys.argv[1] if len(sys.argv) > 2 else sys.exit(__doc__)
if __name__ == "__main__":
    main()
