"""A Spark session with two executors in separate processes. Run by tools/python/check_spark.sh."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
MASTER = os.environ.get("FPSTORE_SPARK_MASTER", "local-cluster[2,1,2048]")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    os.environ["SPARK_WORKER_DIR"] = str(folder / "work")
    session = (
        SparkSession.builder.master(MASTER)
        .appName("fpstore")
        .config("spark.executor.memory", "1g")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.task.maxFailures", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def killed_once(df: Any, folder: Path) -> Any:
    """Returns the same rows, but the first task that reads a batch kills its executor."""
    marker = str(folder / "killed")

    def run(batches: Any) -> Any:
        for batch in batches:
            yield batch
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            # The parent of the worker is the daemon of Python, whose parent is the executor.
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()
            os.kill(int(daemon[1]), signal.SIGKILL)
            os._exit(1)

    return df.mapInArrow(run, df.schema)
