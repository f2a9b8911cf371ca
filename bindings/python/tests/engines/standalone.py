"""A standalone Spark cluster of a master and two workers. Its executors have fpstore only in a
packed environment; the driver has it on its path. Run by tools/python/check_spark.sh.

The workers have different hosts, because Spark runs no second attempt of a slow task on the host of
the first attempt. The tests check Spark's event log: second attempts ran, and sorts were spilled.

    python standalone.py ENVIRONMENT.tar.gz FOLDER
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    archive, folder = sys.argv[1], Path(sys.argv[2])
    import pyspark

    home = Path(pyspark.__file__).parent
    port = free_port()
    env = dict(os.environ, SPARK_LOCAL_IP="127.0.0.1", SPARK_HOME=str(home))
    spark_class = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy"]
    master = f"spark://127.0.0.1:{port}"
    args = [f"{spark_class[1]}.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    log = open(folder / "cluster.log", "w")
    processes = [
        subprocess.Popen(
            [spark_class[0], *args, "--webui-port", "0"], env=env, stdout=log, stderr=log
        )
    ]
    try:
        time.sleep(6)
        for number in range(2):
            host = f"127.0.0.{number + 1}"
            env = dict(env, SPARK_LOCAL_IP=host)
            args = [f"{spark_class[1]}.worker.Worker", "--cores", "1", "--memory", "1500m"]
            args += ["--host", host]
            args += ["--work-dir", str(folder / f"worker-{number}"), "--webui-port", "0", master]
            processes.append(
                subprocess.Popen([spark_class[0], *args], env=env, stdout=log, stderr=log)
            )
        run(master, archive, folder)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def run(master: str, archive: str, folder: Path) -> None:
    os.environ.update(
        PYSPARK_PYTHON="./environment/bin/python",
        PYSPARK_DRIVER_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
    )
    from pyspark.sql import SparkSession

    import fpstore
    from fpstore import spark as fs

    (folder / "events").mkdir()
    builder = SparkSession.builder.master(master).config("spark.archives", f"{archive}#environment")
    session = (
        builder.config("spark.executor.memory", "1g")
        .config("spark.executor.cores", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.speculation", "true")
        .config("spark.speculation.quantile", "0.5")
        .config("spark.shuffle.spill.numElementsForceSpillThreshold", "100")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file://{folder / 'events'}")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "true")
        .getOrCreate()
    )
    try:
        session.sparkContext.setLogLevel("OFF")
        print(fs.check(session))
        values = np.random.default_rng(1).integers(0, 2**64, 5000, dtype=np.uint64)
        values[1::5] = values[::5] ^ np.uint64(0b1001)
        rows = [(at, value) for at, value in enumerate(values.view(np.int64).tolist())]
        df = session.createDataFrame(rows, "id bigint, fingerprint bigint").repartition(4)
        store = folder / "store.fps"
        done = fs.build(df, store, recipe=None, id_field="id", scheme="blocks-4")
        assert done.added == 4, done
        expected = len(fpstore.near_pairs(values, k=3).read_all())
        assert fs.pairs(df).count() == expected >= 1000
        assert fs.pairs(store).count() == fs.pairs(store, shares=5).count() == expected
        assert fs.dedup(df).count() == 5000 - expected
        clean_under_pressure(session, folder)
        nodes = session.sparkContext.parallelize(range(8), 8).map(lambda _: sys.executable)
        print(f"{expected} pairs, by executors that run {sorted(set(nodes.collect()))}")
    finally:
        session.stop()
    speculative, spilled = seen(folder / "events")
    print(f"{speculative} second attempts of slow tasks, {spilled} bytes spilled")
    assert speculative and spilled


def clean_under_pressure(session: Any, folder: Path) -> None:
    """Documents are cleaned with the same result as in one process, though tasks are slow and sorts
    are spilled."""
    import pyarrow as pa

    import fpstore
    from fpstore import spark as fs

    numbers = np.random.default_rng(3)
    ids = list(range(4000))
    words = [[f"w{of}" for of in numbers.integers(0, 9999, 140)] for _ in range(1000)]
    texts: list[str] = []
    for at in ids:
        words[at % 1000][int(numbers.integers(0, 140))] = f"n{at}"
        texts.append(" ".join(words[at % 1000]))
    rows = list(zip(ids, texts))[::-1]
    # The first attempt at one partition is slow, so that Spark starts a second attempt.
    df = session.createDataFrame(rows, "id bigint, text string").repartition(4)
    slow = df.mapInArrow(slow_first(str(folder)), df.schema)
    rows_of_one = fpstore.clean(pa.table({"text": texts}), confirm=0.8).rows
    assert rows_of_one is not None
    expected = [(row[0], row[1], row[3], row[4], row[6]) for row in rows_of_one.to_pylist()]
    found = fs.clean(slow, confirm=0.8).orderBy("id").drop("text").collect()
    assert [tuple(row[1:]) for row in found] == expected
    print(f"{sum(not row[0] for row in expected)} of {len(ids)} documents go")


def slow_first(folder: str) -> Any:
    """Makes a function of partitions whose first call on one partition takes half a minute."""

    def run(batches: Any) -> Any:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.partitionId() == 1:
            try:
                os.close(os.open(f"{folder}/slow", os.O_CREAT | os.O_EXCL))
                time.sleep(30)
            except FileExistsError:
                pass
        yield from batches

    return run


def seen(events: Path) -> tuple[int, int]:
    """The number of second attempts of slow tasks, and of spilled bytes, from Spark's event log."""
    speculative = spilled = 0
    for path in events.rglob("events_*"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event.get("Event") == "SparkListenerTaskEnd":
                speculative += event["Task Info"]["Speculative"]
                spilled += (event.get("Task Metrics") or {}).get("Memory Bytes Spilled", 0)
    return speculative, spilled


if __name__ == "__main__":
    main()
