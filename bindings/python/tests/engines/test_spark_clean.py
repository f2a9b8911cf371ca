"""Spark cleans documents like one process, also if executors are killed during a job."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from session import killed_once
from session import spark as spark
from test_clean import KEEP_RULES, corpus
from test_tables import CORPORA, frame_of

import fpstore
from fpstore import spark as fs

pytest.importorskip("pyspark")

Told = dict[Any, tuple[Any, ...]]
SCHEMA = "id string, text string"


def sent(spark: Any, frame: pd.DataFrame, schema: str = SCHEMA, parts: int = 5) -> Any:
    """A DataFrame of the rows in another order, in `parts` partitions."""
    mixed = frame.sample(frac=1.0, random_state=7)
    rows = [tuple(None if pd.isna(of) else of for of in row) for row in mixed.itertuples(index=False)]
    return spark.createDataFrame(rows, schema).repartition(parts)


def told_by_spark(df: Any, **options: Any) -> Told:
    found = fs.clean(df, **options)
    assert found.columns == [*df.columns, "keep", "near_id", "distance", "similarity", "reason"]
    rows = found.collect()
    told = {row["id"]: (row["keep"], *row[len(df.columns) + 1 :]) for row in rows}
    assert len(told) == len(rows)
    return told


def told_by_one_process(frame: pd.DataFrame, **options: Any) -> Told:
    ordered = frame.sort_values("id", ignore_index=True)
    rows = fpstore.clean(pa.Table.from_pandas(ordered, preserve_index=False), **options).rows
    assert rows is not None
    ids = ordered["id"].tolist()
    told: Told = {}
    for id, row in zip(ids, rows.to_pylist(), strict=True):
        near = None if row[1] is None else ids[row[1]]
        told[id] = (row[0], near, row[3], row[4], row[6])
    return told


def gone(told: Told) -> int:
    return sum(not row[0] for row in told.values())


def templates(count: int) -> pd.DataFrame:
    """Texts made from few templates, with a few changed words, so that each row is near very many
    other rows."""
    numbers = np.random.default_rng(9)
    words = [[f"t{at}w{word}" for word in range(150)] for at in range(3)]
    rows = []
    for at in range(count):
        text = list(words[at % 3])
        for place in numbers.integers(0, 150, 1 + at % 4):
            text[place] = f"n{numbers.integers(0, 10_000)}"
        rows.append((at * 7919 % 100_003, " ".join(text)))
    return pd.DataFrame(rows, columns=["id", "text"])


@pytest.mark.parametrize("options", [{"k": 7}, {}])
@pytest.mark.parametrize("name", CORPORA)
def test_the_rows_that_stay_are_those_of_one_process(
    spark: Any, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    frame = frame_of(CORPORA[name](tmp_path))[["id", "text"]].astype({"id": str})
    expected = told_by_one_process(frame, **options)
    assert gone(expected) > 0
    assert told_by_spark(sent(spark, frame), **options) == expected


@pytest.mark.parametrize("keep", KEEP_RULES)
def test_rules_rank_rows_as_in_one_process(spark: Any, tmp_path: Path, keep: str) -> None:
    frame = frame_of(corpus(tmp_path / "in"))
    frame["date"] = [datetime.date.fromisoformat(date) for date in frame["date"]]
    frame["score"] = frame["score"].astype(int)
    schema = "id string, text string, date date, score int"
    for options in ({"confirm": 0.5}, {"per_cluster": 2, "k": 9}):
        given: dict[str, Any] = {"keep": keep, "source_field": "score", **options}
        expected = told_by_one_process(frame, **given)
        assert told_by_spark(sent(spark, frame, schema), **given) == expected
        assert gone(expected) > 5


def test_other_options_are_those_of_one_process(spark: Any, tmp_path: Path) -> None:
    frame = frame_of(corpus(tmp_path / "in"))[["id", "text"]]
    frame = pd.concat([frame, frame.head(9).assign(id=lambda it: "z" + it["id"])])
    frame.loc[frame["id"] == "zd1", "text"] = frame["text"].iloc[1].upper() + "!"
    given: list[dict[str, Any]] = [
        {"judge": "bytes,text"},
        {"judge": "bytes"},
        {"confirm": 0.5, "confirm_contains": 0.97, "keep": "longest"},
        {"recipe": fpstore.Recipe("simhash", shingle=2), "k": 12},
        {"recipe": "simhash"},
        {"recipe": "minhash", "confirm": 0.7},
        {"confirm_contains": 0.8, "keep": "longest"},
    ]
    for options in given:
        expected = told_by_one_process(frame, **options)
        assert told_by_spark(sent(spark, frame), **options) == expected
        assert gone(expected) > 0, options


@pytest.mark.parametrize("options", [{"k": 7}, {"confirm": 0.9}])
def test_many_rows_of_few_templates(spark: Any, options: dict[str, Any], tmp_path: Path) -> None:
    frame = templates(3000)
    df = sent(spark, frame, "id bigint, text string")
    expected = told_by_one_process(frame, **options)
    assert 1000 < gone(expected) < 3000
    df = killed_once(df, tmp_path).persist()
    assert told_by_spark(df, **options) == expected
    assert (tmp_path / "killed").exists()
    df.unpersist()


def test_an_executor_that_ends_while_rows_are_compared(spark: Any, tmp_path: Path) -> None:
    frame = frame_of(CORPORA["chains"](tmp_path))[["id", "text"]]
    expected = told_by_one_process(frame, confirm=0.8)
    df = sent(spark, frame).persist()
    df.count()
    found = fs.clean(df, confirm=0.8)
    # Executors keep the removed rows in memory, and one executor ends before they are read.
    kept = killed_once(found.where("keep"), tmp_path).collect()
    assert (tmp_path / "killed").exists()
    assert {row["id"] for row in kept} == {id for id, row in expected.items() if row[0]}
    df.unpersist()


def test_rows_without_text_stay_and_ids_may_be_anything(spark: Any) -> None:
    rows = [(5, "one two three"), (-7, "one two three"), (1, None), (2, ""), (3, None), (-9, "")]
    df = spark.createDataFrame(rows, "id bigint, text string")
    told = told_by_spark(df, k=7)
    assert told.pop(5) == (False, -7, 0, None, "bytes")
    assert set(told.values()) == {(True, None, None, None, None)}
    rows_of_texts = [("", "one two three"), ("a\nb", "One two three!"), ("\u4e2d", "other words")]
    told = told_by_spark(spark.createDataFrame(rows_of_texts, SCHEMA), confirm=1.0)
    assert told["a\nb"] == (False, "", 0, 1.0, "text") and gone(told) == 1
    empty = spark.createDataFrame([], SCHEMA)
    assert told_by_spark(empty, k=7) == {} and told_by_spark(empty, confirm=0.8) == {}
    odd = spark.createDataFrame([(1, "a b c", 7)], "`the id` int, `a.text` string, id int")
    assert fs.clean(odd, id_field="the id", text_field="a.text").count() == 1


def test_bad_rows_are_named_once(spark: Any) -> None:
    rows = [(f"d{at}", f"some words {at}", "2026-11-23") for at in range(50)]
    rows[17] = ("d17", "some words 17", "yesterday")
    schema = "id string, text string, date string"
    df = spark.createDataFrame(rows, schema).repartition(3)
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("bad rows", "bad rows")
    with pytest.raises(fpstore.errors.InputError, match="the row with id d17: 'date' is \"yesterday\", exp"):
        fs.clean(df, keep="newest:date")
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("bad rows")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert stages and not any(stage.numFailedTasks for stage in stages if stage)
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)

    latin = df.selectExpr("id", "if(id = 'd9', cast(unhex('636166e9') as string), text) as text")
    with pytest.raises(fpstore.errors.InputError, match="the row with id d9: .*UTF-8"):
        fs.clean(latin)
    with pytest.raises(fpstore.errors.InputError, match="4 rows have no 'id', which"):
        fs.clean(df.selectExpr("if(id < 'd12', null, id) as id", "text"))
    with pytest.raises(fpstore.errors.InputError, match="2 values of 'id' occur in several rows, such as d3: "):
        fs.clean(df.selectExpr("if(id in ('d7', 'd8'), 'd3', if(id = 'd9', 'd4', id)) as id", "text"))
    with pytest.raises(fpstore.errors.InputError, match="no document has the field 'date'"):
        fs.clean(df.selectExpr("id", "text", "' ' as date"), keep="best:date")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"confirm": 1.5}, "similarity is 1.5, expected a number above 0"),
        ({"k": 65}, "k is 65"),
        ({"keep": "oldest"}, "keep is 'oldest'"),
        ({"keep": "best:score"}, "keep is 'best:score', which needs one column 'score'"),
        ({"judge": "address"}, "no field of addresses"),
        ({"judge": "bytes", "k": 3}, "judge near-duplicates, too"),
        ({"per_cluster": 0}, "per_cluster is 0"),
        ({"text": "body"}, "no column 'body' for texts"),
        ({"id": "ids"}, "no column 'ids' for ids"),
        ({"recipe": "sim"}, "sim"),
    ]
    for arguments, message in wrong:
        with pytest.raises(fpstore.FpstoreError, match=message):
            fs.clean(df, **arguments)
    with pytest.raises(fpstore.errors.InputError, match="there is a column 'keep' already"):
        fs.clean(df.withColumnRenamed("date", "keep"))
