"""Near-duplicate texts, compared with datasketch, rensa and the package simhash, on one thread.

    python texts.py docs.jsonl.zst near.tsv.zst

The documents have `id` and `text`; the list contains two ids and a label on each line: 1 for
duplicates, 0 for different documents, -1 for ignored pairs. A method finds a pair if it reports
both texts as near-duplicates. Times are CPU times, from texts in memory to the complete index, and
from texts in memory to all pairs.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import labelled
from labelled import Pairs

import fpstore

WORD = re.compile(r"\w+")


def word_pairs(text: str) -> set[str]:
    """The features of the recipe `minhash`, approximated in Python."""
    words = WORD.findall(text.lower())
    return {f"{a} {b}" for a, b in zip(words, words[1:])} or set(words)


def by_distance(recipe: fpstore.Recipe, k: int) -> Callable[[list[str]], tuple[float, Pairs]]:
    def find(texts: list[str]) -> tuple[float, Pairs]:
        values = recipe.fingerprints(texts, threads=1).to_numpy(null=0)
        hashed = time.process_time()
        rows: dict[int, list[int]] = {}
        for row, value in enumerate(values.tolist()):
            rows.setdefault(value, []).append(row)
        pairs: Pairs = {(a, b) for of in rows.values() for a in of for b in of if a < b}
        for found in fpstore.near_pairs(values, k=k, threads=1):
            for first, second, _ in found:
                pairs.update((min(a, b), max(a, b)) for a in rows[first] for b in rows[second])
        return hashed, pairs

    return find


def confirmed(texts: list[str]) -> tuple[float, Pairs]:
    found = fpstore.pairs(texts, confirm=0.8, threads=1)
    return time.process_time(), set(zip(found["first"].tolist(), found["second"].tolist()))


def datasketch(texts: list[str]) -> tuple[float, Pairs]:
    from datasketch import MinHash, MinHashLSH

    lsh, hashes = MinHashLSH(threshold=0.8, num_perm=128), []
    for row, text in enumerate(texts):
        minhash = MinHash(num_perm=128)
        minhash.update_batch([feature.encode() for feature in word_pairs(text)])
        hashes.append(minhash)
        lsh.insert(row, minhash)
    hashed = time.process_time()
    return hashed, {
        (min(row, other), max(row, other))
        for row, minhash in enumerate(hashes)
        for other in lsh.query(minhash)
        if other != row
    }


def rensa(texts: list[str]) -> tuple[float, Pairs]:
    from rensa import RMinHash, RMinHashLSH

    lsh, hashes = RMinHashLSH(threshold=0.8, num_perm=128, num_bands=16), []
    for row, text in enumerate(texts):
        minhash = RMinHash(num_perm=128, seed=1)
        minhash.update(list(word_pairs(text)))
        hashes.append(minhash)
        lsh.insert(row, minhash)
    hashed = time.process_time()
    return hashed, {
        (min(row, other), max(row, other))
        for row, minhash in enumerate(hashes)
        for other in lsh.query(minhash)
        if other != row
    }


def simhash(texts: list[str]) -> tuple[float, Pairs]:
    from simhash import Simhash, SimhashIndex

    # datasketch prints thousands of warnings, one for each large bucket.
    logging.disable()
    objects = [(str(row), Simhash(text)) for row, text in enumerate(texts)]
    hashed = time.process_time()
    index = SimhashIndex(objects, k=7)
    return hashed, {
        (min(int(row), int(other)), max(int(row), int(other)))
        for row, value in objects
        for other in index.get_near_dups(value)
        if other != row
    }


def main() -> None:
    given = labelled.read(sys.argv[1], sys.argv[2])
    texts = given.texts
    size = sum(len(text.encode()) for text in texts)
    name = Path(sys.argv[1]).parent.name
    print(f"{name}: {len(texts)} documents, {size / 1e6:.1f} MB, {len(given.duplicates)} duplicates\n")
    contenders: dict[str, Callable[[list[str]], tuple[float, Pairs]]] = {
        "fpstore minhash, k = 7": by_distance(fpstore.Recipe(), 7),
        "fpstore minhash, confirmed 0.8": confirmed,
        "fpstore simhash, k = 10": by_distance(fpstore.Recipe("simhash"), 10),
        "datasketch MinHashLSH(128)": datasketch,
        "rensa RMinHashLSH(128, 16)": rensa,
        "simhash 1e0ng, k = 7": simhash,
    }
    print("| | documents/s hashed | documents/s to pairs | recall | precision |")
    print("|---|---:|---:|---:|---:|")
    for name, find in contenders.items():
        try:
            start = time.process_time()
            hashed, pairs = find(texts)
            done = time.process_time() - start
        except ImportError:
            continue
        except Exception as error:
            print(f"| {name} | fails: {type(error).__name__}: {error} | | | |")
            continue
        recall, precision = given.scores(pairs)
        speed = len(texts) / max(hashed - start, 1e-9)
        print(
            f"| {name} | {speed:.0f} | {len(texts) / done:.0f} | {recall:.3f} | {precision:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
