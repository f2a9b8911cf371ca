"""A standalone cluster of a master and two workers, whose executors have nothing but a packed
environment: fpstore is on the path of the driver only. Run by tools/check_spark.sh.

    python standalone.py ENVIRONMENT.tar.gz FOLDER
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

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
            args = [f"{spark_class[1]}.worker.Worker", "--cores", "1", "--memory", "1500m"]
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

    builder = SparkSession.builder.master(master).config("spark.archives", f"{archive}#environment")
    session = (
        builder.config("spark.executor.memory", "1g")
        .config("spark.executor.cores", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "8")
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
        done = fs.build(df, store, recipe=None, id="id", scheme="blocks-4")
        assert done.added == 4, done
        expected = len(fpstore.near_pairs(values, k=3).read_all())
        assert fs.pairs(df).count() == expected >= 1000
        assert fs.pairs(store).count() == fs.pairs(store, shares=5).count() == expected
        assert fs.dedup(df).count() == 5000 - expected
        nodes = session.sparkContext.parallelize(range(8), 8).map(lambda _: sys.executable)
        print(f"{expected} pairs, by executors that run {sorted(set(nodes.collect()))}")
    finally:
        session.stop()


if __name__ == "__main__":
    main()
