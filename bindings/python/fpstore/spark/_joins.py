"""Finds all near pairs of a store or of a DataFrame, and the connected components of pairs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Iterable, Iterator

from .. import tasks
from .._fpstore import RowStream, Store, open
from ..errors import InputError
from ._columns import check_column, check_fingerprints
from ._jobs import LINKS, PAIRS, job, open_in_task, signed, signed_stream, to_driver, to_frame
from ._rows import _of, _plain
from ._settings import _active, check, check_maps, limits, resolved

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Maximum number of fingerprints that a task packs at a time.
PACKED = 1 << 22
# Number of fingerprints in the sample from which the plan learns which bits vary.
SAMPLE = 10_000


def pairs(
    source: DataFrame | Store | str | PathLike[str],
    k: int | None = None,
    *,
    fingerprint: str = "fingerprint",
    shares: int | None = None,
    groups: int | None = None,
    max_pairs: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """All pairs of different fingerprints within `k` bits: `first`, `second`, `distance`. In each pair,
    the first is the smaller one as an unsigned number.

    For a store, one task finds the pairs with all cores of an executor, which is the cheapest way
    if the store fits on the disk of a machine. `shares=N` divides the join into N tasks. Together
    they cost as much as one join if the segments have tables for it (`scheme="blocks-4"` for `k` =
    3); otherwise each task reads the whole store, and a warning is issued.

    For a DataFrame, fingerprints are packed, 8 (`k` + 1) bytes each, and shuffled into groups. A
    group should fit into the memory of a task, 16 bytes a fingerprint: increase `groups` for more
    than 10^9 fingerprints. `k` is 3 by default.

    `max_pairs` is the maximum number of pairs of a task: if a task finds more, the job fails. A
    join returns no ids: join the pairs with the rows, or get ids from the store with `query(...,
    k=0)`.
    """
    return _Join(k, fingerprint, shares, groups, max_pairs, threads, memory).of(source, spark)


@dataclass(frozen=True)
class _Join:
    """The options of `pairs` and `clusters`."""

    k: int | None
    fingerprint: str
    shares: int | None
    groups: int | None
    max_pairs: int | None
    threads: int | None
    memory: int | str | None
    links: bool = False
    """Whether to return links of components instead of pairs."""

    def of(
        self, source: DataFrame | Store | str | PathLike[str], spark: SparkSession | None
    ) -> DataFrame:
        if isinstance(source, (str, PathLike, Store)):
            if self.groups is not None:
                raise InputError("groups are for a DataFrame; a store is joined in shares")
            opened = source if isinstance(source, Store) else open(source)
            return self._of_store(opened, spark or _active())
        if self.shares is not None:
            raise InputError("shares are for a store; a DataFrame is joined in groups")
        return self._of_frame(source, 3 if self.k is None else self.k)

    @property
    def _schema(self) -> str:
        return LINKS if self.links else PAIRS

    def _of_store(self, store: Store, spark: SparkSession) -> DataFrame:
        settings = check(spark)
        check_maps(settings, store.info().file_len, store.path)
        plan = tasks.JoinPlan.of(store, self.k)
        count = 1 if self.shares is None else self.shares
        if count < 1:
            raise InputError(f"shares is {count}, expected 1 or more")
        if count > 1 and plan.reads == "everything":
            warnings.warn(
                f"each of {count} shares reads all of {store.path}: for shares that read their "
                f'part, build all segments with scheme="{plan.scheme}"; or leave out shares',
                stacklevel=4,
            )
        work = partial(
            _join_shares,
            path=store.path,
            generation=store.generation,
            plan=plan,
            count=count,
            max_pairs=self.max_pairs,
            given=limits(settings, self.threads, self.memory, alone=count == 1),
            links=self.links,
        )
        return spark.range(0, count, 1, count).mapInArrow(_plain(work), self._schema)

    def _of_frame(self, df: DataFrame, k: int) -> DataFrame:
        fingerprint, groups = self.fingerprint, self.groups
        check_fingerprints(df, fingerprint)
        spark = df.sparkSession
        settings = check(spark)
        known = _of(df, [fingerprint]).where(f"`{fingerprint}` is not null")
        with job(spark, "see which bits of fingerprints vary"):
            sample = [row[0] for row in known.head(SAMPLE)]
        if groups is None:
            groups = max(int(spark.conf.get("spark.sql.shuffle.partitions") or 200), k + 1)
        plan = tasks.JoinPlan(k, groups, sample=sample)
        packed = known.mapInArrow(_plain(partial(_pack, plan=plan)), "group int, payload binary")
        join = partial(
            _join_groups,
            plan=plan,
            max_pairs=self.max_pairs,
            given=limits(settings, self.threads, self.memory),
            links=self.links,
        )
        grouped = packed.groupBy("group")
        if hasattr(grouped, "applyInArrow"):
            return grouped.applyInArrow(_of_group(join), self._schema)
        # Sorted by group, so that a task needs memory for one group at a time.
        ordered = packed.repartition("group").sortWithinPartitions("group")
        return ordered.mapInArrow(_plain(join), self._schema)


def _found(streams: Iterable[RowStream], links: bool) -> Iterator[pa.RecordBatch]:
    """Yields the pairs of streams, or the links of the components of all these pairs."""
    if links:
        yield from signed(tasks.forest(iter(streams)))
    else:
        for stream in streams:
            with stream:
                yield from signed_stream(stream)


def _join_shares(
    batches: Iterator[pa.RecordBatch],
    *,
    path: str,
    generation: int,
    plan: tasks.JoinPlan,
    count: int,
    max_pairs: int | None,
    given: dict[str, Any],
    links: bool,
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            store = open_in_task(path, generation)
            stream = tasks.join_share(
                store, plan, number, count, max_pairs=max_pairs, **resolved(given)
            )
            yield from _found([stream], links)


def _of_group(join: Any) -> Any:
    """Makes the function that joins one group, given as a table."""

    def run(group: pa.Table) -> pa.Table:
        import pyarrow as pa

        names = ["first", "second"] if join.keywords["links"] else ["first", "second", "distance"]
        kinds = [pa.int64(), pa.int64(), pa.int32()][: len(names)]
        schema = pa.schema([pa.field(*field) for field in zip(names, kinds)])
        batches = [batch.cast(schema) for batch in join(iter(group.to_batches()))]
        return pa.Table.from_batches(batches, schema)

    return run


def _pack(batches: Iterator[pa.RecordBatch], *, plan: tasks.JoinPlan) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    def flush() -> Iterator[pa.RecordBatch]:
        rows = tasks.scatter(pa.chunked_array(held, pa.int64()), plan)
        yield from signed(rows)

    held: list[pa.Array] = []
    count = 0
    for batch in batches:
        held.append(batch.column(0))
        count += len(batch)
        if count >= PACKED:
            yield from flush()
            held, count = [], 0
    if held:
        yield from flush()


def _join_groups(
    batches: Iterator[pa.RecordBatch],
    *,
    plan: tasks.JoinPlan,
    max_pairs: int | None,
    given: dict[str, Any],
    links: bool,
) -> Iterator[pa.RecordBatch]:
    def streams() -> Iterator[RowStream]:
        for group, payloads in _by_group(batches):
            yield tasks.join_group(payloads, plan, group, max_pairs=max_pairs, **resolved(given))

    yield from _found(streams(), links)


def _by_group(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.ChunkedArray]]:
    """Yields each group with its payloads, from rows that are sorted by group."""
    import pyarrow as pa
    import pyarrow.compute as pc

    current = -1
    held: list[pa.Array] = []
    for batch in batches:
        numbers = batch.column(0)
        for group in pc.unique(numbers).to_pylist():
            payloads = batch.column(1).filter(pc.equal(numbers, group))
            if group != current and held:
                yield current, pa.chunked_array(held)
                held = []
            current = group
            held.append(payloads)
    if held:
        yield current, pa.chunked_array(held)


def clusters(
    source: DataFrame | Store | str | PathLike[str],
    k: int | None = None,
    *,
    fingerprint: str = "fingerprint",
    shares: int | None = None,
    groups: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """The connected components of all pairs within `k` bits: rows of `fingerprint` and `cluster`,
    which is the smallest fingerprint of the component as an unsigned number. Fingerprints without
    neighbours are omitted.

    The options are the same as for `pairs`. Each task sends the links of its pairs to the driver:
    at most one for each fingerprint in a pair, 16 bytes each. The driver takes about 30 bytes of
    memory for each fingerprint in a pair.
    """
    if isinstance(source, (str, PathLike, Store)):
        spark = spark or _active()
    else:
        spark = source.sparkSession
    join = _Join(k, fingerprint, shares, groups, None, threads, memory, links=True)
    return _united(spark, join.of(source, spark))


def components(pairs: DataFrame) -> DataFrame:
    """The connected components of given pairs, with the columns `first` and `second`. The result
    has the columns of `clusters`."""
    spark = pairs.sparkSession
    check(spark)
    for name in ("first", "second"):
        check_column(pairs, name, ("bigint",), "pairs")
    return _united(spark, _of(pairs, ["first", "second"]).mapInArrow(_plain(_links_of), LINKS))


def _links_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    yield from signed(tasks.forest(pa.Table.from_batches([batch]) for batch in batches))


def _united(spark: SparkSession, links: DataFrame) -> DataFrame:
    import pyarrow as pa

    with job(spark, "find clusters: links of near fingerprints"):
        batches = to_driver(links)
    whole = signed(tasks.forest(pa.Table.from_batches([batch]) for batch in batches))
    forest = pa.Table.from_batches(
        whole, pa.schema([("first", pa.int64()), ("second", pa.int64())])
    )
    roots = forest["first"].unique()
    table = pa.table(
        {
            "fingerprint": pa.chunked_array([*forest["second"].chunks, roots], pa.int64()),
            "cluster": pa.chunked_array([*forest["first"].chunks, roots], pa.int64()),
        }
    )
    return to_frame(spark, table, "fingerprint bigint, cluster bigint")
