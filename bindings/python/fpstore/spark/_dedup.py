"""Keeps one row of each cluster (`dedup`), and adds today's new rows to yesterday's store
(`add`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from .. import tasks
from .._fpstore import Recipe
from ..errors import InputError, KnownRunError
from ._build import opened, tables_of, write_and_commit
from ._columns import ID_TYPES, check_column, check_fingerprints, distance
from ._jobs import job
from ._joins import clusters
from ._rows import _of, id_type_of, query
from ._settings import check, limits, renamed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DROPPED = "dropped.parquet"


@renamed(id="id_field")
def dedup(
    df: DataFrame,
    k: int = 3,
    *,
    id_field: str = "id",
    fingerprint: str = "fingerprint",
    groups: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
) -> DataFrame:
    """The kept rows, with all columns: the row with the smallest id of each cluster. A cluster is
    connected by pairs of rows within `k` bits. Rows without a fingerprint are kept.

    `id_field` is a column of texts or whole numbers that identifies rows. Rows with the same id and
    `fingerprint` are kept or dropped together. A row without an id is never dropped.

    The column of fingerprints is read three times: persist or write it first if it is expensive.
    Other columns are shuffled only by the join with the list of rows to drop.
    """
    id = id_field
    check_fingerprints(df, fingerprint)
    check_column(df, id, ID_TYPES, "ids")
    spark = df.sparkSession
    check(spark)
    rows = _keys(df, id, fingerprint).persist()
    try:
        found = clusters(rows, k, fingerprint="fp", groups=groups, threads=threads, memory=memory)
        dropped = _dropped(rows, found).select("id", "fp").persist()
        with job(spark, "dedup: rows to drop"):
            dropped.count()
    finally:
        rows.unpersist()
    return _without(df, dropped, id, fingerprint)


def _keys(df: DataFrame, id: str, fingerprint: str) -> DataFrame:
    """The columns that decide which rows are kept, renamed to `id` and `fp`."""
    rows = _of(df, [id, fingerprint]).toDF("id", "fp")
    return rows.where("id is not null and fp is not null")


def _dropped(rows: DataFrame, found: DataFrame) -> DataFrame:
    """The rows of `rows` that are not the first of their cluster, each with that first row: `id`,
    `fp`, `near_id`, `near`."""
    from pyspark.sql import functions as F

    named = found.toDF("fp", "cluster")
    members = rows.join(named, "fp", "left").select(
        F.coalesce("cluster", "fp").alias("cluster"), F.struct("id", "fp").alias("row")
    )
    first = (
        members.groupBy("cluster")
        .agg(F.min("row").alias("first"), F.count("*").alias("count"))
        .where("count > 1")
        .select("cluster", "first")
    )
    return (
        members.join(first, "cluster")
        .where("row <> first")
        .select(
            F.col("row.id").alias("id"),
            F.col("row.fp").alias("fp"),
            F.col("first.id").alias("near_id"),
            F.col("first.fp").alias("near"),
        )
    )


def _without(df: DataFrame, dropped: DataFrame, id: str, fingerprint: str) -> DataFrame:
    """The rows of `df` that are not in `dropped`."""
    keys = dropped.select("id", "fp").toDF("__fpstore_id", "__fpstore_fp")
    same = (df[f"`{id}`"] == keys["__fpstore_id"]) & (
        df[f"`{fingerprint}`"] == keys["__fpstore_fp"]
    )
    return df.join(keys, same, "left_anti")


class Added(NamedTuple):
    """The result of `add`."""

    rows: DataFrame
    """The kept rows, with all columns."""
    dropped: DataFrame
    """The dropped rows: `id`, `fp`, and `near`, `near_id` and `distance` of the record that each
    duplicates: the nearest stored record, or the kept row of its cluster."""
    commit: tasks.SegmentsCommitted


@renamed(id="id_field")
def add(
    df: DataFrame,
    store: str | os.PathLike[str],
    *,
    run: str,
    recipe: Recipe | str | None,
    k: int | None = None,
    id_field: str = "id",
    fingerprint: str = "fingerprint",
    label: str = "",
    scheme: str | None = None,
    budget: str | None = None,
    segments: int | None = None,
    groups: int | None = None,
    work: str | os.PathLike[str] | None = None,
    wait: float | None = 60.0,
    threads: int | None = None,
    memory: int | str | None = None,
) -> Added:
    """Adds the rows without a near record in the store, one row of each cluster, such as today's
    crawl to yesterday's store. Returns the kept rows, with all columns, and the list of dropped
    rows.

    Rows without a fingerprint are kept and not stored; a row without an id ends the job. The list
    of rows to drop is written to the folder `work` (by default the path of the store followed by
    `.run`) before the store changes. The result `rows` reads this folder, so keep it until you have
    written `rows`. `run` is the name of the job: repeated after its commit, the job changes nothing
    and returns the same rows.

    The new segments have by default the table scheme of the store, see `scheme` and `budget`. `k`
    is by default the tuned distance of the store. Rows are compared with the current snapshot of
    the store, and with each other: a chain of near rows is one cluster with one kept row, even if
    its ends are far from each other. If another writer changes the store meanwhile, the job ends
    without a change.
    """
    from pyspark.sql import functions as F

    id = id_field
    check_fingerprints(df, fingerprint)
    id_type = check_column(df, id, ID_TYPES, "ids")
    spark = df.sparkSession
    settings = check(spark)
    stored = opened(store)
    if not run or "/" in run:
        raise InputError(f"run is '{run}', expected a name without '/'")
    folder = os.path.abspath(os.fspath(work)) if work is not None else f"{stored.path}.{run}"
    target = "file://" + os.path.join(folder, DROPPED)
    if tasks.has_run(stored.path, run):
        return _again(df, stored.path, run, target, id, fingerprint)
    of_store = id_type_of(stored)
    if of_store is not None and (of_store == "string") != (id_type == "string"):
        message = f"ids of {stored.path} are {of_store}, but column '{id}' is {id_type}"
        raise InputError(message)
    k = stored.tuned_k if k is None else k
    plain = _of(df, [id, fingerprint]).toDF("id", "fp").where("fp is not null").persist()
    try:
        with job(spark, "add: rows without ids"):
            without = plain.where("id is null").count()
        if without:
            raise InputError(f"{without} rows have no '{id}', which the store needs")
        seen = query(
            plain, stored, k, fingerprint="fp", nearest=True, threads=threads, memory=memory
        )
        if of_store is None:
            seen = seen.withColumn("near_id", F.lit(None).cast(id_type))
        seen = seen.select("id", "fp", "near_id", "near", "distance").persist()
        new = _without(plain, seen, "id", "fp").persist()
        found = clusters(new, k, fingerprint="fp", groups=groups, threads=threads, memory=memory)
        later = _dropped(new, found).withColumn("distance", distance("fp", "near"))
        dropped = seen.unionByName(later)
        with job(spark, f"add to {stored.path}: rows to drop"):
            dropped.write.mode("overwrite").parquet(target)
        dropped = spark.read.parquet(target)
        kept = _without(plain, dropped, "id", "fp").select("fp", "id")
        if segments is not None:
            kept = kept.repartition(segments)
        tuned_k = stored.tuned_k
        if scheme is None and budget is None:
            scheme, tuned_k = tables_of(stored)
        done = write_and_commit(
            kept,
            stored.path,
            stored.generation,
            f"add to {stored.path}",
            label=label,
            run=run,
            wait=wait,
            recipe=recipe.text if isinstance(recipe, Recipe) else recipe,
            k=tuned_k,
            scheme=scheme,
            budget=budget,
            given=limits(settings, threads, memory),
        )
        seen.unpersist()
        new.unpersist()
    finally:
        plain.unpersist()
    return Added(_without(df, dropped, id, fingerprint), dropped, done)


def _again(df: DataFrame, store: str, run: str, target: str, id: str, fingerprint: str) -> Added:
    """The result of `add` for a run that was committed before."""
    if not os.path.exists(target.removeprefix("file://")):
        raise KnownRunError(
            f"{store} already has the run '{run}', but its list of rows to drop, {target}, is "
            "missing: for another run, choose another name",
            path=store,
            run=run,
        )
    dropped = df.sparkSession.read.parquet(target)
    done = tasks.SegmentsCommitted(opened(store).generation, 0, 0, 0, 0, 0, 0, True, False)
    return Added(_without(df, dropped, id, fingerprint), dropped, done)
