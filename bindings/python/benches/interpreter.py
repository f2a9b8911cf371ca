"""Times of calls that take microseconds, and how long a busy Python thread delays single queries
and batches.

python interpreter.py 1e6
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fingerprints import data, queries

import fpstore


def once(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def beside_a_busy_thread(work: Callable[[], object]) -> float:
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    thread.start()
    time.sleep(0.05)
    try:
        return once(work)
    finally:
        stop.set()
        thread.join()


def main() -> None:
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    values = data(count)
    with tempfile.TemporaryDirectory() as folder:
        store = fpstore.build(Path(folder) / "bench.fps", values, np.arange(count))
        store.warm("all")
        asked = queries(values, 1_000_000)
        few = [int(of) for of in asked[:20_000]]

        def single() -> None:
            for of in few:
                store.query(of, 3)

        def batch() -> None:
            store.query_many(asked, 3, threads=1, memory=1 << 30)

        single(), batch()
        print("| | alone | beside a busy thread | ratio |\n|---|---:|---:|---:|")
        for name, work, unit, scale in [
            ("query with ids, us", single, len(few), 1e6),
            ("query_many of 10^6 with ids, s", batch, 1, 1.0),
        ]:
            rounds = [(once(work), beside_a_busy_thread(work)) for _ in range(5)]
            alone = statistics.median(of[0] for of in rounds)
            busy = statistics.median(of[1] for of in rounds)
            ratio = statistics.median(of[1] / of[0] for of in rounds)
            print(
                f"| {name} | {alone / unit * scale:.2f} | {busy / unit * scale:.2f} | {ratio:.2f} |"
            )
        for name, call in [
            ("open", lambda: fpstore.open(store.path)),
            ("query_many of 1", lambda: store.query_many(few[:1], 3)),
            ("query_many of 1000", lambda: store.query_many(few[:1000], 3)),
            ("has_near of 1", lambda: store.has_near(few[:1], 3)),
        ]:
            times = [once(call) for _ in range(300)]
            print(f"| {name}, us | {statistics.median(times) * 1e6:.0f} | | |")


if __name__ == "__main__":
    main()
