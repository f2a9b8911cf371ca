"""Runs jobs with descriptions and clear errors, and moves tables between the driver and tasks."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterable, Iterator

from .. import errors
from .._fpstore import Rows, RowStream, Store, open
from ..errors import FpstoreError, NoStoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PAIRS = "first bigint, second bigint, distance int"
LINKS = "first bigint, second bigint"
# Maximum number of rows in one message to a task.
ROWS_SENT = 1 << 18


@contextmanager
def job(spark: SparkSession, description: str) -> Iterator[None]:
    """Sets the description of the enclosed Spark jobs in Spark's user interface, and raises the
    error of a task with its original class."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setLocalProperty("spark.job.description", f"fpstore: {description}")
    try:
        yield
    except Exception as error:
        own = own_error(error)
        if own is None:
            raise
        raise own from error
    finally:
        context.setLocalProperty("spark.job.description", before)


def own_error(error: Exception) -> FpstoreError | None:
    """The error of this package that ended a task, if there is one."""
    found = re.search(r"fpstore\.errors\.(\w+): (.*)", str(error))
    kind = getattr(errors, found[1], None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, FpstoreError)):
        return None
    return kind(found[2])


def open_in_task(path: str, generation: int) -> Store:
    """Opens a store in a task, at the generation of the job."""
    import platform

    try:
        return open(path, generation=generation)
    except NoStoreError as error:
        raise NoStoreError(
            f"{error}, as seen from {platform.node()}: executors and driver must see a store under "
            "one path, on a shared file system"
        ) from None


def signed(rows: Rows) -> list[pa.RecordBatch]:
    """Converts rows to Spark types: fingerprints become signed numbers with the same bits."""
    import pyarrow as pa

    table = pa.table(rows)
    columns = []
    for name, column in zip(table.column_names, table.columns):
        if name in ("first", "second", "fingerprint", "component"):
            chunks = [chunk.view(pa.int64()) for chunk in column.chunks]
            column = pa.chunked_array(chunks, pa.int64())
        elif pa.types.is_uint8(column.type) or pa.types.is_uint32(column.type):
            column = column.cast(pa.int32())
        elif pa.types.is_uint64(column.type):
            # The column contains ids, whose values must not change.
            column = column.cast(pa.int64())
        columns.append(column)
    batches: list[pa.RecordBatch] = pa.table(columns, table.column_names).to_batches()
    return batches


def signed_stream(stream: RowStream) -> Iterator[pa.RecordBatch]:
    """Like `signed`, but for a stream."""
    for rows in stream:
        yield from signed(rows)


def sent(tables: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Converts tables to messages of bytes, for `received`."""
    import pyarrow as pa

    for table in tables:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write(table)
        yield sink.getvalue().to_pybytes()


def received(messages: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """Reads the tables in messages from `sent`."""
    import pyarrow as pa

    for message in messages:
        yield from pa.ipc.open_stream(message)


def _to_messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for message in sent(batches):
        yield pa.record_batch([pa.array([message], pa.binary())], ["message"])


def _from_messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from received(batch.column(0).to_pylist())


def to_driver(df: DataFrame) -> Iterator[pa.RecordBatch]:
    """Collects all rows of a DataFrame on the driver as Arrow batches, in all versions of Spark."""
    rows = df.mapInArrow(_to_messages, "message binary").collect()
    return received(bytes(row[0]) for row in rows)


def to_frame(spark: SparkSession, table: pa.Table, schema: str) -> DataFrame:
    """Makes a DataFrame of an Arrow table on the driver."""
    messages: list[tuple[Any, ...]] = [
        (bytearray(message),) for message in sent(table.combine_chunks().to_batches(ROWS_SENT))
    ]
    tasks = max(1, min(len(messages), spark.sparkContext.defaultParallelism * 4))
    rows = spark.sparkContext.parallelize(messages, tasks)
    return spark.createDataFrame(rows, "message binary").mapInArrow(_from_messages, schema)
