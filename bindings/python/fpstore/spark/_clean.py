"""Removes near-duplicate documents with Spark, by the rule of `fpstore.clean`.

There are three steps:

1. Each task describes its documents: fingerprint, features, merit.
2. One task compares all documents, in descending order of merit, and finds groups: a kept document
and the documents near it.
3. The texts of each group are sent to one task, which cleans them like a table, with
`fpstore.clean`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple

from .. import tasks
from .._fpstore import Documents, Recipe, _check_merits, _keep_order, _near_rule
from .._fpstore import clean as clean_table
from ..errors import InputError
from ._columns import ID_TYPES, check_column, kept_columns
from ._jobs import job
from ._rows import _of, _plain
from ._settings import check, limits, renamed, resolved

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# The columns of the decision on a row.
TOLD = ["keep", "near_id", "distance", "similarity", "reason"]
# The maximum document length, which is Spark's limit: no text is refused for its length.
LONGEST = (1 << 31) - 1


class _Order(NamedTuple):
    """The order in which near documents are preferred, by the rules `keep`."""

    keep: str
    source_field: str | None
    fields: list[str]
    """The columns that the rules `keep` read."""
    keeps_last: bool
    rule_count: int
    """The number of rules in a merit."""
    rule_len: int
    """The number of bytes of each rule in a merit."""

    @classmethod
    def of(cls, keep: str, source_field: str | None) -> _Order:
        return cls(keep, source_field, *_keep_order(keep, source_field))


@renamed(id="id_field", text="text_field")
def clean(
    df: DataFrame,
    *,
    id_field: str = "id",
    text_field: str = "text",
    recipe: Recipe | str | None = None,
    confirm: float | None = None,
    confirm_contains: float | None = None,
    k: int | None = None,
    judge: str | None = None,
    keep: str = "first",
    source_field: str | None = None,
    per_cluster: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
) -> DataFrame:
    """The rows with the decision on each row: `keep`, and for a removed row `near_id` (the id of
    the kept row that it duplicates), `distance`, `similarity` if features were compared, and
    `reason`. `.where("keep")` selects the kept rows.

    The answer and the options are the same as for `fpstore.clean` on the rows, sorted by their ids.
    `confirm` is the minimum Jaccard similarity of the features of near texts, by default 0.8 unless
    `k` is given; with `k` alone, rows are near if their fingerprints are within `k` bits. `keep`
    selects the row to keep: `"first"` keeps the smallest id, numbers by value, texts by their
    bytes; rules such as `"newest:date"` read the named columns. Rows without text are kept.

    `id_field` is a column of distinct texts or whole numbers. Rows without an id, repeated ids, and fields
    that a rule cannot read are errors that name the row.

    Runs jobs that read `df` twice, and the result reads `df` a third time: persist or write `df`
    first if it is expensive. One task receives the features of all texts, 8 bytes each, and
    compares them; texts with near-duplicates are shuffled to the tasks that decide; see
    docs/spark.md.
    """
    from pyspark.sql import functions as F

    id, text = id_field, text_field
    id_type = check_column(df, id, ID_TYPES, "ids")
    check_column(df, text, ("string",), "texts")
    order = _Order.of(keep, source_field)
    for name in order.fields:
        if df.columns.count(name) != 1:
            message = f"keep is '{keep}', which needs one column '{name}'"
            raise InputError(f"{message}; columns: {', '.join(df.columns)}")
    kept_columns(df, None, TOLD)
    spark = df.sparkSession
    settings = check(spark)
    made = recipe if isinstance(recipe, Recipe) else Recipe(recipe)
    similarity, distance = _near_rule(made, confirm, confirm_contains, k, judge)
    options: dict[str, Any] = {
        "recipe": made,
        "confirm": confirm,
        "confirm_contains": confirm_contains,
        "k": k,
        "judge": judge,
        "per_cluster": per_cluster,
    }
    _check_options(order, options)
    given = limits(settings, threads, memory)
    described = _described(df, id, text, made, order, similarity is not None, given).persist()
    try:
        _check_rows(spark, described, id, order)
        alone = limits(settings, threads, memory, alone=True)
        by_id = F.col("id").desc() if order.keeps_last else F.col("id").asc()
        best_first = [F.col("merit").desc(), by_id]
        known = described.where("fingerprint is not null").drop("fault").repartition(1)
        rule = {"k": distance, "confirm": similarity, "confirm_contains": confirm_contains}
        group = partial(_group, rule=rule, given=alone)
        groups = known.sortWithinPartitions(*best_first).mapInArrow(
            _plain(group), f"id {id_type}, group bigint, merit binary"
        )
        near = _of(df, [id, text]).toDF("id", "text").join(groups, "id")
        ranked = near.repartition("group").sortWithinPartitions(*best_first)
        work = partial(_decide, options=options, given=given)
        told = f"id {id_type}, near_id {id_type}, distance int, similarity double, reason string"
        gone = ranked.select("id", "text").mapInArrow(_plain(work), told).persist()
        with job(spark, "clean: compare what is near"):
            gone.count()
    finally:
        described.unpersist()
    gone = gone.withColumnRenamed("id", "__fpstore_id")
    whole = df.join(gone, df[f"`{id}`"] == gone["__fpstore_id"], "left")
    return whole.select(
        *(df[f"`{name}`"] for name in df.columns),
        gone["__fpstore_id"].isNull().alias("keep"),
        *(gone[name] for name in TOLD[1:]),
    )


def _check_options(order: _Order, options: dict[str, Any]) -> None:
    """Refuses the options that `fpstore.clean` refuses."""
    import pyarrow as pa

    names = ["text", *order.fields]
    table = pa.table({name: pa.array([], pa.string()) for name in names})
    clean_table(table, keep=order.keep, source_field=order.source_field, **options)


def _described(
    df: DataFrame,
    id: str,
    text: str,
    recipe: Recipe,
    order: _Order,
    compared: bool,
    given: dict[str, Any],
) -> DataFrame:
    """The description of each row. A batch with an error becomes a single row with the error."""
    names = list(dict.fromkeys([id, text, *order.fields]))
    work = partial(
        _describe,
        names=names,
        text=text,
        recipe=recipe,
        order=order,
        compared=compared,
        given=given,
    )
    id_type = df.schema[id].dataType.simpleString()
    columns = "fingerprint bigint, features binary, merit binary, fault string"
    # `mapInArrow` accepts no column names with dots.
    needed = _of(df, names).toDF(*(f"column{at}" for at in range(len(names))))
    return needed.mapInArrow(_plain(work), f"id {id_type}, {columns}")


def _describe(
    batches: Iterator[pa.RecordBatch],
    *,
    names: list[str],
    text: str,
    recipe: Recipe,
    order: _Order,
    compared: bool,
    given: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Describes the rows of each batch. `names` are the column names: the ids, the texts, then the
    fields."""
    import pyarrow as pa

    threads = resolved(given)["threads"]

    def columns_of(batch: pa.RecordBatch) -> list[pa.Array]:
        known = tasks.describe_documents(
            Documents(batch, text_field=text),
            recipe,
            compared=compared,
            keep=order.keep,
            source_field=order.source_field,
            threads=threads,
        )
        table = pa.table(known).combine_chunks()
        fingerprint, features, merit = (table[name].combine_chunks() for name in told[1:4])
        return [fingerprint.view(pa.int64()), features, merit]

    told = ["id", "fingerprint", "features", "merit", "fault"]
    for batch in batches:
        if not len(batch):
            continue
        batch = pa.RecordBatch.from_arrays(batch.columns, names)
        try:
            columns = columns_of(batch)
            fault = pa.nulls(len(batch), pa.string())
        except InputError:
            # Spark would retry a task that raises an error, so the error is returned as a row,
            # which the driver raises.
            batch, message = _first_fault(batch, columns_of)
            empty = pa.array([b""], pa.binary())
            columns = [pa.nulls(1, pa.int64()), empty, empty]
            fault = pa.array([message], pa.string())
        yield pa.RecordBatch.from_arrays([batch.column(0), *columns, fault], told)


def _first_fault(batch: pa.RecordBatch, columns_of: Any) -> tuple[pa.RecordBatch, str]:
    """The first row of a batch that cannot be described, with the reason."""
    for at in range(len(batch)):
        row = batch.slice(at, 1)
        try:
            columns_of(row)
        except InputError as error:
            # The error names row 0, the only row of this table.
            return row, str(error).removeprefix("row 0: ")
    raise InputError(
        "a batch of rows was rejected, but each row alone was accepted; please report this"
    )


def _check_rows(spark: SparkSession, described: DataFrame, id: str, order: _Order) -> None:
    """Raises the errors that tasks returned as rows, and refuses rules whose field no row has."""
    from pyspark.sql import functions as F

    fault = F.when(F.col("fault").isNotNull(), F.struct("id", "fault"))
    is_document, nothing = F.col("fingerprint").isNotNull(), F.lit(bytearray(order.rule_len))
    starts = (at * order.rule_len + 1 for at in range(order.rule_count))
    parts = (F.substring("merit", start, order.rule_len) for start in starts)
    found = (F.max(is_document & (part != nothing)) for part in parts)
    without = F.sum(F.when(F.col("id").isNull(), 1).otherwise(0))
    documents = F.count("fingerprint")
    with job(spark, "clean: describe the documents"):
        counts = described.agg(without, documents, F.min(fault), *found).head()
    if counts[2] is not None:
        raise InputError(f"the row with {id} {counts[2][0]}: {counts[2][1]}")
    if counts[0]:
        raise InputError(
            f"{counts[0]} rows have no '{id}', which identifies rows: leave them out, "
            f"df.where('{id} is not null')"
        )
    if counts[1]:
        _check_merits(order.keep, [bool(found) for found in counts[3:]])
    with job(spark, "clean: ids that repeat"):
        again = described.groupBy("id").count().where("count > 1")
        repeated, first = again.agg(F.count("*"), F.min("id")).head()
    if repeated:
        raise InputError(
            f"{repeated} values of '{id}' occur in several rows, such as {first}: each row "
            "needs a value of its own"
        )


def _group(
    batches: Iterator[pa.RecordBatch], *, rule: dict[str, Any], given: dict[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of groups: `id`, `group`, `merit`."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []

    def seen() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held.append(batch.select(["id", "merit"]))
            yield batch

    found = pa.table(tasks.group_documents(seen(), **rule, **resolved(given)))
    if held:
        rows = pa.Table.from_batches(held).take(found["row"])
        group = found["group"].cast(pa.int64())
        table = pa.table([rows["id"], group, rows["merit"]], ["id", "group", "merit"])
        yield from table.to_batches()


def _decide(
    batches: Iterator[pa.RecordBatch], *, options: dict[str, Any], given: dict[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yields the removed rows of some groups. Each group must be complete and sorted by merit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    held: list[pa.Array] = []

    def texts() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held.append(batch.column("id"))
            # The ids are omitted, so that the answer identifies rows by their numbers.
            yield batch.select(["text"])

    table = Documents(texts(), max_document=LONGEST)
    rows = pa.table(clean_table(table, **options, **resolved(given)).rows)
    goes = pc.invert(rows["keep"])
    gone = rows.filter(goes)
    if not len(gone):
        return
    ids = pa.chunked_array(held)
    columns = [ids.filter(goes), ids.take(gone["near"]), gone["distance"].cast(pa.int32())]
    columns += [gone["similarity"], gone["reason"]]
    yield from pa.table(columns, ["id", *TOLD[1:]]).to_batches()
