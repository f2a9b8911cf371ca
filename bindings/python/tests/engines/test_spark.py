"""Spark has the same results as one process, also if executors are killed during a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import DATA, clustered
from session import killed_once
from session import spark as spark

import fpstore
from fpstore import spark as fs
from fpstore import tasks

pytest.importorskip("pyspark")
from pyspark.sql import functions as F  # noqa: E402

COUNT = 20_000
VALUES = clustered(COUNT, 11)
LICENCES = sorted((DATA / "licences").iterdir())
SCHEMA = "id bigint, fingerprint bigint, name string"


def frame(spark: Any, values: Any = VALUES, parts: int = 6) -> Any:
    """A DataFrame of fingerprints: every third fingerprint occurs twice, and some rows have
    none."""
    signed = values.view(np.int64).tolist()
    rows = [(at, value, f"row {at}") for at, value in enumerate(signed)]
    rows += [(len(values) + at, value, "again") for at, value in enumerate(signed[::3])]
    rows += [(10**9 + at, None, "no fingerprint") for at in range(5)]
    return spark.createDataFrame(rows, SCHEMA).repartition(parts)


def pairs_of(df: Any) -> list[tuple[int, int, int]]:
    mask = (1 << 64) - 1
    return sorted((row[0] & mask, row[1] & mask, row[2]) for row in df.collect())


def joined(k: int, values: Any = VALUES) -> list[tuple[int, int, int]]:
    return fpstore.near_pairs(values, k=k, sorted=True).read_all().to_pylist()


def built(folder: Path, segments: int, scheme: str) -> fpstore.Store:
    receipts = [
        tasks.write_segment(
            folder / f"{number}.fps",
            VALUES[number::segments],
            np.arange(number, COUNT, segments),
            recipe=None,
            scheme=scheme,
        )
        for number in range(segments)
    ]
    tasks.commit(folder / "store.fps", receipts)
    return fpstore.open(folder / "store.fps")


def kept_by_one_process(k: int) -> set[int]:
    values = np.concatenate([VALUES, VALUES[::3]])
    groups = fpstore.group(values, k)
    return set(np.flatnonzero(groups == np.arange(len(values))).tolist())


def test_the_settings_are_checked(spark: Any) -> None:
    found = fs.check(spark)
    assert found.threads == 1 and found.cores == 1 and found.memory >= 64 << 20
    assert fs.check() is found


@pytest.mark.parametrize("k", [0, 3, 6])
def test_pairs_of_rows_are_those_of_one_process(spark: Any, k: int) -> None:
    assert pairs_of(fs.pairs(frame(spark), k)) == joined(k)


@pytest.mark.parametrize("groups", [1, 100])
def test_pairs_of_any_number_of_groups(spark: Any, groups: int) -> None:
    assert pairs_of(fs.pairs(frame(spark), groups=groups)) == joined(3)


def test_pairs_survive_the_end_of_an_executor(spark: Any, tmp_path: Path) -> None:
    df = frame(spark).persist()
    df.count()
    assert pairs_of(fs.pairs(killed_once(df, tmp_path))) == joined(3)
    assert (tmp_path / "killed").exists()
    df.unpersist()


@pytest.mark.parametrize("segments", [1, 9])
def test_pairs_of_a_store_in_shares(spark: Any, tmp_path: Path, segments: int) -> None:
    store = built(tmp_path, segments, "blocks-4")
    for shares in (None, 1, 7, 200):
        assert pairs_of(fs.pairs(store.path, 3, shares=shares)) == joined(3)


def test_shares_that_read_everything_are_warned_of(spark: Any, tmp_path: Path) -> None:
    store = built(tmp_path, 2, "halves")
    with pytest.warns(UserWarning, match='scheme="blocks-4"'):
        found = fs.pairs(store, 3, shares=3)
    assert pairs_of(found) == joined(3)


def test_clusters_are_components_of_all_pairs(spark: Any, tmp_path: Path) -> None:
    pairs = fpstore.near_pairs(VALUES, k=5).read_all()
    expected = dict(fpstore.components(pairs["first"], pairs["second"]).to_pylist())
    mask = (1 << 64) - 1
    store = built(tmp_path, 3, "blocks-6")
    rows = frame(spark)
    for found in (
        fs.clusters(rows, 5),
        fs.clusters(store, 5, shares=5),
        fs.components(fs.pairs(rows, 5)),
    ):
        assert {row[0] & mask: row[1] & mask for row in found.collect()} == expected


@pytest.mark.parametrize("k", [0, 4])
def test_dedup_keeps_the_rows_that_one_process_keeps(spark: Any, k: int, tmp_path: Path) -> None:
    df = frame(spark)
    if k == 0:
        df = killed_once(df, tmp_path)
    found = fs.dedup(df, k)
    assert found.columns == df.columns
    rows = found.collect()
    assert all(row["name"] for row in rows)
    kept = {row["id"] for row in rows}
    assert len(kept) == len(rows)
    assert {of for of in kept if of >= 10**9} == {10**9 + at for at in range(5)}
    assert {of for of in kept if of < 10**9} == kept_by_one_process(k)


def test_dedup_never_drops_rows_that_share_an_id(spark: Any) -> None:
    far = -1
    df = spark.createDataFrame(
        [(1, 0), (1, far), (0, 1), (None, 0)], "id bigint, fingerprint bigint"
    )
    kept = sorted((row[0] is None, row[0] or 0, row[1]) for row in fs.dedup(df).collect())
    assert kept == [(False, 0, 1), (False, 1, far), (True, 0, 0)]


def test_a_crowd_of_equal_rows_is_one_row(spark: Any) -> None:
    df = spark.range(100_000).withColumn("fingerprint", F.expr("if(id < 50000, 7, id % 1024)"))
    kept = [row[0] for row in fs.dedup(df, 10).collect()]
    assert kept == [0]


def texts(spark: Any) -> Any:
    known = [(path.name, path.read_text()) for path in LICENCES]
    rows: list[tuple[str, str | None]] = [*known]
    rows += [("copy of " + name, text.replace("2", "3")) for name, text in known]
    rows += [("null", None), ("dots", " ")]
    return spark.createDataFrame(rows, "name string, text string").repartition(3)


def test_fingerprints_are_those_of_the_recipe(spark: Any, tmp_path: Path) -> None:
    recipe = fpstore.Recipe("simhash", shingle=4)
    found = fs.fingerprint(killed_once(texts(spark), tmp_path), recipe=recipe, keep=["name"])
    assert found.columns == ["name", "fingerprint"]
    got = {row[0]: row[1] for row in found.collect()}
    for path in LICENCES:
        value = recipe.fingerprint(path.read_text())
        assert value is not None and got[path.name] == np.uint64(value).astype(np.int64)
    assert got["null"] is None and got["dots"] is None and len(got) == 2 * len(LICENCES) + 2
    whole = fs.fingerprint(texts(spark), recipe=recipe, column="fp")
    assert whole.columns == ["name", "text", "fp"]
    assert {row["name"]: row["fp"] for row in whole.collect()} == got


def test_a_store_is_built_in_tasks(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "built.fps"
    df = frame(spark).where("fingerprint is not null")
    done = fs.build(
        killed_once(df, tmp_path), path, recipe=None, id_field="id", scheme="blocks-4", run="night"
    )
    assert (tmp_path / "killed").exists() and done.added == 6
    store = fpstore.open(path)
    assert tasks.JoinPlan.of(store, 3).reads == "ranges"
    expected = sorted(zip(np.concatenate([VALUES, VALUES[::3]]).tolist(), range(COUNT * 2)))
    assert sorted(store.records().read_all().to_pylist()) == expected
    # Killed tasks leave no files.
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["built.fps", "killed"]
    again = fs.build(df, path, recipe=None, id_field="id", run="night")
    assert again.known_run and again.generation == store.generation
    with pytest.raises(fpstore.errors.StoreExistsError, match="append=True"):
        fs.build(df, path, recipe=None, id_field="id")
    with pytest.raises(fpstore.FpstoreError, match="recipe"):
        fs.build(df, path, recipe="minhash", id_field="id", append=True)
    assert fpstore.open(path).generation == store.generation
    assert len(list(path.glob("*"))) == len(list(path.iterdir()))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["built.fps", "killed"]


def test_the_column_id_has_the_ids_unless_there_are_none(spark: Any, tmp_path: Path) -> None:
    df = frame(spark).where("fingerprint is not null")
    given: list[tuple[Any, dict[str, Any], bool]] = [
        (df, {}, True), (df, {"id": None}, False), (df.drop("id"), {}, False)
    ]
    for number, (rows, options, has_ids) in enumerate(given):
        path = tmp_path / f"{number}.fps"
        fs.build(rows, path, recipe=None, **options)
        assert (fpstore.open(path).info().ids > 0) == has_ids


def test_errors_of_a_build_name_the_row(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(
        fpstore.errors.InputError, match=r"partition \d+, rows \d+.*'fingerprint' of the r"
    ):
        fs.build(frame(spark), tmp_path / "no.fps", recipe=None, id_field="id")
    bad = (
        frame(spark)
        .where("fingerprint is not null")
        .selectExpr("fingerprint", "if(id = 77, 'a\\nb', cast(id as string)) as id")
    )
    with pytest.raises(
        fpstore.errors.InputError, match=r"partition \d+, rows \d+ to \d+: id number \d+, 'a"
    ):
        fs.build(bad, tmp_path / "no.fps", recipe=None, id_field="id")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"fingerprint": "name"}, "from_hex"),
        ({"fingerprint": "fp"}, "no column 'fp'"),
        ({"id": "fingerprint2"}, "no column 'fingerprint2'"),
    ]
    for arguments, message in wrong:
        with pytest.raises(fpstore.errors.InputError, match=message):
            fs.build(frame(spark), tmp_path / "no.fps", recipe=None, **arguments)
    assert not list(tmp_path.iterdir())


def test_queries_are_those_of_one_process(spark: Any, tmp_path: Path) -> None:
    store = built(tmp_path, 5, "halves")
    asked = clustered(3000, 12)
    asked[:1000] = VALUES[:1000] ^ np.uint64(5)
    df = frame(spark, asked)
    found = fs.query(df, store, 4)
    assert found.columns == ["id", "fingerprint", "name", "near", "distance", "near_id"]
    got = sorted(
        (row["id"], row["near"], row["distance"], row["near_id"])
        for row in found.collect()
        if row["name"] != "again"
    )
    rows = store.query_many(asked, 4).to_pylist()
    signed = [(at, int(np.uint64(near).astype(np.int64)), of, id) for at, near, of, id in rows]
    assert got == sorted(signed)
    nearest = fs.query(df, store.path, 4, nearest=True, keep=["id"]).collect()
    best: dict[int, int] = {}
    for at, _, of, _ in rows:
        best[at] = min(of, best.get(at, 64))
    assert {row["id"]: row["distance"] for row in nearest if row["id"] < 3000} == best
    with fpstore.Writer(store.path) as writer:
        writer.add([1], [1])
    with pytest.raises(Exception, match="StaleStoreError"):
        found.collect()


def test_todays_rows_are_added_to_yesterdays_store(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "pages.fps")
    fpstore.build(path, VALUES[: COUNT // 2], range(COUNT // 2), scheme="blocks-4")
    before = fpstore.open(path)
    df = frame(spark).where(f"id >= {COUNT // 2}").persist()
    done = fs.add(df, path, run="today", recipe=None, label="today")
    rows = {row["id"]: row["fingerprint"] for row in done.rows.collect()}
    assert done.rows.columns == df.columns
    # The expected rows, computed in one process.
    table = df.where("fingerprint is not null").orderBy("id").select("id", "fingerprint").collect()
    ids, values = (np.array([row[at] for row in table], np.int64) for at in (0, 1))
    fresh = ~before.has_near(values)
    groups = fpstore.group(values[fresh], 3)
    kept = ids[fresh][groups == np.arange(len(groups))].tolist()
    assert sorted(of for of in rows if of < 10**9) == kept and len(kept) > 1000
    assert sum(of >= 10**9 for of in rows) == 5
    store = fpstore.open(path)
    new = [segment for segment in store.info().segments if segment.label == "today"]
    assert sum(segment.ids for segment in new) == len(kept) == store.info().ids - COUNT // 2
    # For every dropped row, a near row is named as the reason.
    dropped = done.dropped.collect()
    assert len(dropped) + len(kept) == len(table)
    assert all((row["fp"] ^ row["near"]) % (1 << 64) >= 0 for row in dropped)
    assert {row["near_id"] for row in dropped} <= set(range(COUNT // 2)) | set(kept)
    again = fs.add(df, path, run="today", recipe=None)
    assert again.commit.known_run and fpstore.open(path).generation == store.generation
    assert {row["id"] for row in again.rows.collect()} == set(rows)
    # By default new segments have the table scheme of the store.
    assert tasks.JoinPlan.of(store, 3).reads == "ranges"
    # Adding the same rows again the next day only adds ends of chains, which have no near kept row.
    tomorrow = fs.add(df, path, run="tomorrow", recipe=None)
    late = {row["id"] for row in tomorrow.rows.collect()}
    assert late >= {10**9 + at for at in range(5)} and not late & set(kept)
    values_of = dict(zip(ids.tolist(), values.tolist()))
    assert not store.has_near([values_of[of] for of in late if of < 10**9]).any()
    with pytest.raises(fpstore.errors.InputError, match="which the store needs"):
        rows_without = df.withColumn("id", F.lit(None).cast("bigint"))
        fs.add(rows_without, path, run="never", recipe=None)
    df.unpersist()


def test_fingerprints_are_printed_and_parsed(spark: Any) -> None:
    texts = ["0", "ff", "8000000000000000", "FFFFFFFFFFFFFFFF", "0xc0f1789bed2eb9b8", None]
    df = spark.createDataFrame([(text,) for text in texts], "text string")
    df = df.withColumn("fp", fs.from_hex("text")).withColumn("hex", fs.to_hex("fp"))
    rows = df.withColumn("zero", fs.distance("fp", F.lit(0).cast("bigint"))).collect()
    for row in rows[:-1]:
        value = int(row["text"], 16)
        assert row["fp"] & ((1 << 64) - 1) == value and row["hex"] == f"{value:016x}"
        assert row["zero"] == value.bit_count()
    assert rows[-1]["fp"] is None and rows[-1]["hex"] is None
    for text in ("", "xyz", "0123456789abcdef0", "-1"):
        bad = spark.createDataFrame([(text,)], "text string").select(fs.from_hex("text"))
        with pytest.raises(Exception, match="no fingerprint of 1 to 16 hex digits"):
            bad.collect()


def test_a_store_that_executors_do_not_see_is_named(spark: Any, tmp_path: Path) -> None:
    import shutil

    store = built(tmp_path, 1, "blocks-4")
    found = fs.pairs(store)
    shutil.rmtree(store.path)
    with pytest.raises(Exception, match="as seen from .*: executors and driver must see a store"):
        found.collect()


def test_an_empty_frame_has_no_pairs_and_loses_nothing(spark: Any, tmp_path: Path) -> None:
    df = frame(spark).where("id < 0")
    assert fs.pairs(df).collect() == [] and fs.clusters(df).collect() == []
    assert fs.dedup(df).collect() == []
    assert fs.build(df, tmp_path / "empty.fps", recipe=None, id_field="id").fingerprints == 0
    assert len(fpstore.open(tmp_path / "empty.fps")) == 0
    assert pa.__version__
