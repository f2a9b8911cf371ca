"""Build, batch and single queries within 3 bits, on one thread, compared with FAISS.

    python fingerprints.py 1e6 1e7

Fingerprints are clustered: a fifth of them, and half of the queries, are copies of other
fingerprints with up to 6 flipped bits. Times are CPU times, the median of three; bytes are the size
of the store's file, or the growth of the process for an index in memory.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fpstore

K = 3
SINGLE, BATCH = 20_000, 1_000_000


def data(count: int) -> Any:
    rng = np.random.default_rng(count)
    values = rng.integers(0, 2**64, count, dtype=np.uint64)
    near = rng.choice(count, count // 5, replace=False)
    flips = np.zeros(len(near), np.uint64)
    for _ in range(6):
        bit = np.uint64(1) << rng.integers(0, 64, len(near)).astype(np.uint64)
        flips ^= np.where(rng.random(len(near)) < 0.5, bit, np.uint64(0))
    values[near] = values[rng.integers(0, count, len(near))] ^ flips
    return values


def queries(values: Any, count: int) -> Any:
    rng = np.random.default_rng(1)
    asked = rng.integers(0, 2**64, count, dtype=np.uint64)
    half = values[rng.integers(0, len(values), count // 2)]
    asked[: count // 2] = half ^ (np.uint64(1) << rng.integers(0, 64, count // 2).astype(np.uint64))
    rng.shuffle(asked)
    return asked


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def median(work: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def row(name: str, *figures: str) -> None:
    print(f"| {name} | " + " | ".join(figures) + " |", flush=True)


def ours(values: Any, asked: Any, folder: Path) -> int:
    path = folder / "bench.fps"
    count = len(values)
    build = median(
        lambda: fpstore.build(path, values, np.arange(count), threads=1, replace=True), 1
    )
    store = fpstore.open(path)
    store.warm("all")
    batch = median(lambda: store.query_many(asked, K, threads=1, memory=1 << 30))
    few = [int(of) for of in asked[:SINGLE]]
    single = median(lambda: [store.query(of, K) for of in few])
    found = int(store.count_many(asked[:SINGLE], K).sum())
    row(
        "fpstore, with ids",
        f"{build:.2f}",
        f"{len(asked) / batch / 1e3:.0f}",
        f"{single / SINGLE * 1e6:.2f}",
        f"{store.info().file_len / count:.1f} (file)",
        f"{found}",
    )
    return found


def faiss_rows(values: Any, asked: Any, found: int) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    as_bytes = values.view(np.uint8).reshape(-1, 8)
    bytes_asked = asked.view(np.uint8).reshape(-1, 8)
    # Four blocks of 16 bits: values within 3 bits agree on one of them.
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    before = resident()
    build = median(lambda: index.add(as_bytes), 1)
    grown = resident() - before
    few = np.ascontiguousarray(bytes_asked[:SINGLE])
    count = min(len(asked), 100_000)
    start = time.process_time()
    # FAISS excludes matches at the radius itself, so `K + 1` finds distances up to `K`.
    index.range_search(np.ascontiguousarray(bytes_asked[:count]), K + 1)
    batch = time.process_time() - start
    single = median(lambda: [index.range_search(few[at : at + 1], K + 1) for at in range(2000)], 1)
    limits, _, labels = index.range_search(few, K + 1)
    # FAISS reports equal fingerprints at different positions separately; fpstore reports them once.
    distinct = sum(
        len(np.unique(values[labels[limits[at] : limits[at + 1]]])) for at in range(SINGLE)
    )
    row(
        "FAISS IndexBinaryMultiHash(64, 4, 16)",
        f"{build:.2f}",
        f"{count / batch / 1e3:.0f}",
        f"{single / 2000 * 1e6:.2f}",
        f"{grown / len(values):.1f} (memory)",
        f"{distinct}",
    )
    assert distinct == found, "both are exact"


def main() -> None:
    for text in sys.argv[1:] or ["1e6"]:
        count = int(float(text))
        values = data(count)
        asked = queries(values, BATCH)
        print(f"\n{count} fingerprints, k = {K}, one thread\n")
        row("", "build, s", "batch, 1000/s", "single, us", "bytes each", "matches")
        row("---", "---:", "---:", "---:", "---:", "---:")
        with tempfile.TemporaryDirectory() as folder:
            found = ours(values, asked, Path(folder))
        try:
            faiss_rows(values, asked, found)
        except ImportError:
            print("FAISS is not installed", file=sys.stderr)


if __name__ == "__main__":
    main()
