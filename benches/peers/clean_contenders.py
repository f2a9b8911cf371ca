"""Python packages that find similar texts, each as a program that cleans a folder of JSON Lines.

    python clean_contenders.py NAME CORPUS OUT THREADS

Started by clean.py. Each program reads all files, finds near pairs, keeps a document unless it is near
an earlier kept one, and writes the lines of the kept documents. Features are word pairs.
"""

import json
import re
import sys
from multiprocessing import Pool
from pathlib import Path

WORD = re.compile(r"\w+")
K = 7


def word_pairs(text):
    words = WORD.findall(text.lower())
    return {f"{a} {b}" for a, b in zip(words, words[1:])} or set(words)


def clean(corpus, out, threads):
    """The command-line interface as a Python function."""
    import fpstore

    fpstore.clean(corpus, f"{out}/", confirm=0.8, threads=threads)


def fingerprints(texts, threads):
    import fpstore

    return fpstore.Recipe().fingerprints(texts, threads=threads).to_numpy(null=0)


def near_pairs(texts, threads):
    import fpstore

    values = fingerprints(texts, threads)
    rows = {}
    for row, value in enumerate(values.tolist()):
        rows.setdefault(value, []).append(row)
    for of in rows.values():
        yield from ((of[0], other) for other in of[1:])
    for found in fpstore.near_pairs(values, k=K, threads=threads):
        for first, second, _ in found:
            yield from ((one, other) for one in rows[first] for other in rows[second])


def by_faiss(index, texts, threads):
    """The pairs from one call of a FAISS index of fpstore's fingerprints."""
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(threads)
    values = fingerprints(texts, threads).view(np.uint8).reshape(-1, 8)
    index.add(values)
    # The radius of FAISS is exclusive.
    ends, _, found = index.range_search(values, K + 1)
    rows = np.repeat(np.arange(len(values)), np.diff(ends.astype(np.int64)))
    return zip(rows.tolist(), found.tolist())


def faiss_hash(texts, threads):
    import faiss

    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    # If 7 bits differ, one of four blocks contains at most one of them, so one flip suffices.
    index.nflip = 1
    return by_faiss(index, texts, threads)


def faiss_flat(texts, threads):
    import faiss

    return by_faiss(faiss.IndexBinaryFlat(64), texts, threads)


def minhash_of(text):
    from datasketch import LeanMinHash, MinHash

    minhash = MinHash(num_perm=128)
    minhash.update_batch([feature.encode() for feature in word_pairs(text)])
    return LeanMinHash(minhash)


def datasketch(texts, threads):
    from datasketch import MinHashLSH

    lsh = MinHashLSH(threshold=0.8, num_perm=128)
    with Pool(threads) as pool:
        for row, minhash in enumerate(pool.imap(minhash_of, texts, 64)):
            yield from ((row, other) for other in lsh.query(minhash))
            lsh.insert(row, minhash)


def rensa_of(text):
    from rensa import RMinHash

    minhash = RMinHash(num_perm=128, seed=1)
    minhash.update(list(word_pairs(text)))
    return minhash


def rensa(texts, threads):
    from rensa import RMinHashLSH

    lsh = RMinHashLSH(threshold=0.8, num_perm=128, num_bands=16)
    with Pool(threads) as pool:
        for row, minhash in enumerate(pool.imap(rensa_of, texts, 64)):
            yield from ((row, other) for other in lsh.query(minhash))
            lsh.insert(row, minhash)


def main():
    name, corpus, out, threads = sys.argv[1:]
    if name == "clean":
        clean(corpus, out, int(threads))
        return
    files = sorted(Path(corpus).iterdir(), key=lambda path: int(path.stem.split("-")[1]))
    lines = [line for path in files for line in path.open()]
    texts = [json.loads(line)["text"] for line in lines]
    near = {}
    for one, other in globals()[name](texts, int(threads)):
        if one != other:
            near.setdefault(max(one, other), []).append(min(one, other))
    removed = set()
    for row in range(len(texts)):
        if any(other not in removed for other in near.get(row, ())):
            removed.add(row)
    Path(out).mkdir()
    kept = (line for row, line in enumerate(lines) if row not in removed)
    Path(out, "kept.jsonl").write_text("".join(kept))


if __name__ == "__main__":
    main()
