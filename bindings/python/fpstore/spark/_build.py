"""Builds stores of DataFrames: each task writes a segment, the driver commits all segments in one
step."""

from __future__ import annotations

import os
import shutil
import uuid
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator

from .. import tasks
from .._fpstore import Recipe, Store, open
from ..errors import FpstoreError, InputError, NoStoreError, StaleStoreError, StoreExistsError
from ._columns import ID_TYPES, check_column, check_fingerprints
from ._jobs import job
from ._rows import _of, _plain, check_store_path
from ._settings import check, limits, renamed, resolved

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

RECEIPT = (
    "path string, digest string, file_len bigint, fingerprints bigint, ids bigint, "
    "sketch_len int, masks array<string>, recipe string"
)
TOKEN = "driver"


@renamed(id="id_field")
def build(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    recipe: Recipe | str | None,
    id_field: str | None = "id",
    fingerprint: str = "fingerprint",
    k: int | None = None,
    scheme: str | None = None,
    budget: str | None = None,
    segments: int | None = None,
    append: bool = False,
    label: str = "",
    run: str | None = None,
    wait: float | None = 60.0,
    threads: int | None = None,
    memory: int | str | None = None,
) -> tasks.SegmentsCommitted:
    """Makes a store of fingerprints with the ids in the column `id_field`. The store has no ids if
    `id_field` is `None`, or if there is no column of that name.

    Each task writes a segment next to `path`, and the driver commits all segments in one step, so the
    store is complete or missing. `segments` is the number of segments, by default of partitions.
    A query probes each segment, so fewer segments are faster; merge them with `Writer.compact`.

    `recipe` is required: the recipe that made the fingerprints, or `None` for ready-made
    fingerprints. `append` adds the segments to an existing store, by default with its table scheme.
    `run` is the name of the job: repeated after its commit, the job changes nothing.
    `scheme="blocks-4"` makes the tables that shares of a join within 3 bits need; `k` is by default
    the usual distance of the recipe.

    A row without a fingerprint or with an invalid id ends the job: filter such rows first.
    """
    spark = df.sparkSession
    settings = check(spark)
    check_fingerprints(df, fingerprint)
    id = id_field
    if id == "id" and id not in df.columns:
        id = None
    if id is not None:
        check_column(df, id, ID_TYPES, "ids")
    store = check_store_path(path)
    before = generation_of(store)
    if run is not None and tasks.has_run(store, run):
        return tasks.SegmentsCommitted(before or 0, 0, 0, 0, 0, 0, 0, True, False)
    if before is not None and not append:
        message = f"there is a store at {store}: pass append=True to add to it"
        raise StoreExistsError(message, filename=store)
    if before is not None and scheme is None and budget is None and k is None:
        scheme, k = tables_of(open(store))
    rows = _of(df, [fingerprint] if id is None else [fingerprint, id])
    if segments is not None:
        rows = rows.repartition(segments)
    return write_and_commit(
        rows,
        store,
        before,
        f"build {store}",
        label=label,
        run=run,
        wait=wait,
        recipe=recipe.text if isinstance(recipe, Recipe) else recipe,
        k=k,
        scheme=scheme,
        budget=budget,
        given=limits(settings, threads, memory),
    )


def generation_of(store: str) -> int | None:
    """The generation of the store at a path, or `None` if there is no store."""
    try:
        return open(store).generation
    except NoStoreError:
        return None


def tables_of(store: Store) -> tuple[str, int]:
    """The table scheme for new segments of a store, and the tuned distance of the store."""
    segments = store.info().segments
    first = next((of for of in segments if of.fingerprints), segments[0])
    return "".join(f"{table.mask:016x}\n" for table in first.tables), first.tuned_k


def write_and_commit(
    rows: DataFrame,
    store: str,
    before: int | None,
    description: str,
    *,
    label: str,
    run: str | None,
    wait: float | None,
    **how: Any,
) -> tasks.SegmentsCommitted:
    """Writes rows of fingerprints, or of fingerprints and ids, as segments, and commits them. Fails
    if the store has changed since the generation `before`."""
    folder = Path(f"{store}.parts-{uuid.uuid4().hex[:12]}")
    folder.mkdir(parents=True)
    try:
        (folder / TOKEN).touch()
        work = partial(_write, folder=str(folder), **how)
        with job(rows.sparkSession, f"{description}: segments"):
            written = rows.mapInArrow(_plain(work), RECEIPT).collect()
        now = generation_of(store)
        if now != before:
            message = f"{store} was changed meanwhile, it is at generation {now}: run the job again"
            raise StaleStoreError(message, path=store, expected=before or 0, found=now or 0)
        receipts = [tasks.Receipt(*row) for row in written]
        if not receipts:
            # Spark starts no task for a frame that is known to be empty.
            receipts = [_empty(folder, **how)]
        missing = [receipt.path for receipt in receipts if not os.path.exists(receipt.path)]
        if missing:
            raise FpstoreError(
                f"a task wrote {missing[0]}, which is not visible to the driver: executors and driver "
                "must share the folder of the store"
            )
        done = tasks.commit(store, receipts, label=label, run=run, remove=True, wait=wait)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.tables_differ:
        warnings.warn(
            f"the new segments of {store} have other tables than its old segments: shares of a "
            "join will read everything; give the scheme of the store",
            stacklevel=3,
        )
    return done


def _empty(folder: Path, **how: Any) -> tasks.Receipt:
    how.pop("given")
    return tasks.write_segment(folder / "part-empty.fps", [], **how)


def _write(
    batches: Iterator[pa.RecordBatch],
    *,
    folder: str,
    recipe: str | None,
    k: int | None,
    scheme: str | None,
    budget: str | None,
    given: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    import platform

    import pyarrow as pa
    from pyspark import TaskContext

    if not os.path.exists(os.path.join(folder, TOKEN)):
        raise FpstoreError(
            f"{folder} of the driver is not visible from {platform.node()}: executors and driver must "
            "share the folder of the store"
        )
    context = TaskContext.get()
    partition, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    place = _Place(partition)
    # Each attempt at a task has its own file, because an abandoned attempt may still run.
    path = os.path.join(folder, f"part-{partition:06}-{attempt}.fps")
    try:
        receipt = tasks.write_segment(
            path,
            place.records(batches),
            recipe=recipe,
            k=k,
            scheme=scheme,
            budget=budget,
            **resolved(given),
        )
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    columns = [pa.array([value]) for value in receipt]
    columns[5] = columns[5].cast(pa.int32())
    yield pa.RecordBatch.from_arrays(columns, list(receipt._fields))


class _Place:
    """The rows that a task is reading, for its error messages."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.start = 0
        self.len = 0

    def __str__(self) -> str:
        last = self.start + max(self.len, 1) - 1
        return f"partition {self.partition}, rows {self.start} to {last}"

    def records(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        import pyarrow as pa

        for batch in batches:
            self.start, self.len = self.start + self.len, len(batch)
            for name, column in zip(batch.schema.names, batch.columns):
                if column.null_count:
                    at = column.is_null().index(True).as_py()
                    self.start, self.len = self.start + at, 1
                    others = dict(zip(batch.schema.names, batch.slice(at, 1).columns))
                    shown = ", ".join(f"{of} {others[of][0]}" for of in others if of != name)
                    of_row = f" of the row with {shown}" if shown else ""
                    raise InputError(
                        f"'{name}'{of_row} is null: leave such rows out, "
                        f"df.where('{name} is not null')"
                    )
            names = ["fingerprint", "id"][: batch.num_columns]
            yield pa.Table.from_batches([pa.RecordBatch.from_arrays(batch.columns, names)])


def opened(store: Store | str | os.PathLike[str]) -> Store:
    """The store in an argument, which may be a path."""
    return store if isinstance(store, Store) else open(check_store_path(store))
