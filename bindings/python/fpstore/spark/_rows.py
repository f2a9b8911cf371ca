"""Work on each row: makes fingerprints of texts, and queries a store."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Callable, Iterator

import numpy as np

from .._fpstore import Recipe, Store, open
from ..errors import InputError
from ._columns import check_column, check_fingerprints, kept_columns
from ._jobs import open_in_task, signed
from ._settings import check, check_maps, limits, renamed, resolved

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@renamed(text="text_field")
def fingerprint(
    df: DataFrame,
    text_field: str = "text",
    recipe: Recipe | str | None = None,
    *,
    column: str = "fingerprint",
    keep: list[str] | None = None,
    threads: int | None = None,
) -> DataFrame:
    """The rows with a new column: the fingerprint of their text; null for a text without features
    and for a null text.

    `recipe` is a `Recipe` or its name. `keep` is the list of columns to keep, by default all.
    Sending texts back to Spark takes a third of the time: make fingerprints with `keep=["id"]`,
    write them once, and use them often.

    The result is lazy, and each job that uses it repeats the work: persist or write the result if
    you use it twice.
    """
    text = text_field
    check_column(df, text, ("string",), "texts")
    kept = kept_columns(df, keep, [column])
    settings = check(df.sparkSession)
    made = recipe if isinstance(recipe, Recipe) else Recipe(recipe)
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([df.schema[name] for name in kept])
    schema = schema.add(StructField(column, LongType()))
    threads = settings.threads if threads is None else threads
    work = partial(_hash, recipe=made, text=text, kept=kept, column=column, threads=threads)
    needed = kept if text in kept else [*kept, text]
    return _of(df, needed).mapInArrow(_plain(work), schema)


def _of(df: DataFrame, names: list[str]) -> DataFrame:
    return df.select(*(f"`{name}`" for name in names))


def _plain(work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> Any:
    """Wraps a function in the form that Spark accepts."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return work(batches)

    return run


def _hash(
    batches: Iterator[pa.RecordBatch],
    *,
    recipe: Recipe,
    text: str,
    kept: list[str],
    column: str,
    threads: int,
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        made = pa.array(recipe.fingerprints(batch.column(text), threads=threads))
        columns = [*(batch.column(name) for name in kept), made.view(pa.int64())]
        yield pa.RecordBatch.from_arrays(columns, [*kept, column])


def query(
    df: DataFrame,
    store: Store | str | PathLike[str],
    k: int | None = None,
    *,
    fingerprint: str = "fingerprint",
    ids: bool = True,
    nearest: bool = False,
    keep: list[str] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
) -> DataFrame:
    """The stored fingerprints within `k` bits of the fingerprint of each row. The result repeats
    the row for each match and id, with the new columns `near`, `distance` and, if the store has
    ids, `near_id`.

    Rows without a match and rows without a fingerprint are omitted. `nearest` keeps only the
    nearest match of each row, with one id. `keep` is the list of columns of `df` to keep, by
    default all. `k` is by default the tuned distance of the store. The query uses the current
    snapshot of the store: if the store changes before the job runs, the job fails with
    `StaleStoreError`.
    """
    check_fingerprints(df, fingerprint)
    opened = store if isinstance(store, Store) else open(store)
    id_type = id_type_of(opened) if ids else None
    new = ["near", "distance", *(["near_id"] if id_type else [])]
    kept = kept_columns(df, keep, new)
    settings = check(df.sparkSession)
    check_maps(settings, opened.info().file_len, opened.path)
    from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

    schema = StructType([df.schema[name] for name in kept])
    schema = schema.add(StructField("near", LongType())).add("distance", IntegerType())
    if id_type:
        schema = schema.add("near_id", StringType() if id_type == "string" else LongType())
    work = partial(
        _ask,
        path=opened.path,
        generation=opened.generation,
        k=opened.tuned_k if k is None else k,
        fingerprint=fingerprint,
        kept=kept,
        ids=id_type is not None,
        nearest=nearest,
        given=limits(settings, threads, memory),
    )
    needed = kept if fingerprint in kept else [*kept, fingerprint]
    return _of(df, needed).mapInArrow(_plain(work), schema)


def id_type_of(store: Store) -> str | None:
    """The Spark type for the ids of a store."""
    kinds = {segment.id_kind for segment in store.info().segments}
    if "text" in kinds:
        return "string"
    return "bigint" if "u64" in kinds else None


def _ask(
    batches: Iterator[pa.RecordBatch],
    *,
    path: str,
    generation: int,
    k: int,
    fingerprint: str,
    kept: list[str],
    ids: bool,
    nearest: bool,
    given: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    store = open_in_task(path, generation)
    most = 1 if nearest else None
    for batch in batches:
        asked = batch.column(fingerprint)
        known = np.flatnonzero(asked.is_valid().to_numpy(zero_copy_only=False))
        rows = store.query_many(
            asked.take(pa.array(known)), k, ids=ids, limit=most, **resolved(given)
        )
        of_row = known[rows["query"].astype(np.int64)]
        found = pa.Table.from_batches(signed(rows), _schema(ids, rows)).combine_chunks()
        if nearest:
            first = np.ones(len(of_row), bool)
            first[1:] = of_row[1:] != of_row[:-1]
            of_row, found = of_row[first], found.filter(pa.array(first))
        table = pa.Table.from_batches([batch]).select(kept).take(pa.array(of_row))
        table = table.append_column("near", found["fingerprint"])
        table = table.append_column("distance", found["distance"])
        if ids:
            table = table.append_column("near_id", found["id"])
        yield from table.to_batches()


def _schema(ids: bool, rows: Any) -> pa.Schema:
    """The schema of answers with Spark types, which is needed for empty answers."""
    import pyarrow as pa

    fields = [("query", pa.int32()), ("fingerprint", pa.int64()), ("distance", pa.int32())]
    if ids:
        of_store = pa.schema(rows).field("id").type
        fields.append(("id", pa.string() if pa.types.is_string(of_store) else pa.int64()))
    return pa.schema([pa.field(name, kind) for name, kind in fields])


def check_store_path(path: str | PathLike[str]) -> str:
    """Checks the path of a store, and makes it absolute, for tasks."""
    import os

    text = os.path.abspath(os.fspath(path))
    if "://" in os.fspath(path):
        raise InputError(f"{path} is a URL: a store is a directory of a mounted file system")
    return text
