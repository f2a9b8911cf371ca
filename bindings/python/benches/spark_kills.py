"""fpstore.spark on two executors, of which one is killed during the job, compared with one process.

    python spark_kills.py clean 150            # MB of synthetic texts and changed copies, cleaned
    python spark_kills.py pairs 1e7            # all pairs of fingerprints

The results must be equal. Rounds and figures are the same as in spark.py.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from spark import FOLDER, clustered, made_up, processes, rows, session

import fpstore
from fpstore import spark as fs


def with_a_kill(way: Callable[[], Any], after: float) -> Callable[[], Any]:
    """Wraps `way`, so that one executor is killed `after` seconds after the start."""

    def kill() -> None:
        for pid in processes():
            command = Path(f"/proc/{pid}/cmdline")
            if command.exists() and b"CoarseGrainedExecutorBackend" in command.read_bytes():
                os.kill(pid, signal.SIGKILL)
                print(f"killed executor {pid}", file=sys.stderr)
                return

    def run() -> Any:
        timer = threading.Timer(after, kill)
        timer.start()
        try:
            return way()
        finally:
            timer.cancel()

    return run


def bench_clean(megabytes: float) -> None:
    folder, _, texts = made_up(megabytes)
    random = np.random.default_rng(7)
    for at in random.integers(0, len(texts), len(texts) // 4):
        words = texts[at].split()
        for place in random.integers(0, len(words), random.integers(0, 1 + len(words) // 12)):
            words[place] = "changed"
        texts.append(" ".join(words))
    size = sum(map(len, texts)) / 1e6
    table = pa.table({"id": np.arange(len(texts)), "text": texts})
    for part in folder.iterdir():
        part.unlink()
    step = -(-len(table) // 16)
    for number in range(16):
        pq.write_table(table.slice(number * step, step), folder / f"{number:02}.parquet")
    spark = session()
    fs.check(spark)
    df = spark.read.parquet(str(folder))

    def by_spark() -> str:
        kept = fs.clean(df, confirm=0.8).where("keep").selectExpr("count(*)", "sum(id)").first()
        return f"{kept[0]} stay ({kept[1]})"

    def by_one_process(threads: int) -> Callable[[], str]:
        def run() -> str:
            read = pq.read_table(folder)
            kept = np.flatnonzero(fpstore.clean(read, confirm=0.8, threads=threads).keep)
            return f"{len(kept)} stay ({kept.sum()})"

        return run

    ways: dict[str, Callable[[], Any]] = {
        "clean(DataFrame), confirm=0.8": by_spark,
        "the same, an executor killed after 6 s": with_a_kill(by_spark, 6.0),
        "fpstore.clean of the table, one thread": by_one_process(1),
        "fpstore.clean of the table, two threads": by_one_process(2),
    }
    rows(f"{len(texts)} documents, {size:.0f} MB, from Parquet", ways, spark, size)
    spark.stop()


def bench_pairs(count: int) -> None:
    values, folder = clustered(count), FOLDER / "fps"
    folder.mkdir()
    for number, part in enumerate(np.array_split(values.view(np.int64), 32)):
        pq.write_table(pa.table({"fingerprint": part}), folder / f"{number:02}.parquet")
    spark = session()
    fs.check(spark)
    df = spark.read.parquet(str(folder))

    def by_spark() -> str:
        return f"{fs.pairs(df, 3).count()} pairs"

    def one_process() -> str:
        return f"{sum(len(of) for of in fpstore.near_pairs(values, k=3, threads=2))} pairs"

    ways: dict[str, Callable[[], Any]] = {
        "pairs(DataFrame)": by_spark,
        "the same, an executor killed after 8 s": with_a_kill(by_spark, 8.0),
        "one process, two threads, in memory": one_process,
    }
    rows(f"{count} clustered fingerprints, k = 3, 32 files", ways, spark)
    spark.stop()


def main() -> None:
    what, amount = sys.argv[1:]
    if what == "clean":
        bench_clean(float(amount))
    else:
        bench_pairs(int(float(amount)))


if __name__ == "__main__":
    main()
