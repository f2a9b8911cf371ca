"""Tables of all supported libraries are cleaned with the same decisions as files by the program."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import DATA
from test_clean import KEEP_RULES, corpus

import fpstore
from fpstore import tasks
from fpstore._fpstore import _near_rule

sql: Any = duckdb.sql


def chains(folder: Path) -> list[Path]:
    """Writes chains of texts with a small change at each step, so that the ends of a chain
    differ."""
    numbers = np.random.default_rng(5)
    lines: list[str] = []
    for start in range(40):
        words = [f"w{number}" for number in numbers.integers(0, 5000, 60)]
        for step in range(8):
            at = int(numbers.integers(0, 60))
            words[at] = f"n{numbers.integers(0, 5000)}"
            lines.append(json.dumps({"id": f"{start}-{step}", "text": " ".join(words)}))
    path = folder / "chains.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return [path]


def licences(folder: Path) -> list[Path]:
    path = folder / "licences.jsonl"
    documents = [
        {"id": file.name, "text": file.read_text()} for file in sorted((DATA / "licences").iterdir())
    ]
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return [path]


def edges(folder: Path) -> list[Path]:
    texts = ["", "one", "one", " ", "\u4e2d\u6587", '"\\\n\u2028', "one two three", "One, two three!"]
    path = folder / "edges.jsonl"
    rows = [{"id": at, "text": text} for at, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [path]


CORPORA: dict[str, Callable[[Path], list[Path]]] = {
    "near texts": lambda folder: corpus(folder / "in"),
    "chains": chains,
    "licences": licences,
    "edges": edges,
}


def frame_of(paths: list[Path]) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    for path in paths:
        if path.suffix == ".csv":
            frames.append(pd.read_csv(path, dtype=str, keep_default_na=False))
        else:
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            frames.append(pd.DataFrame(rows).astype({"text": str}))
    return pd.concat(frames, ignore_index=True)


def removed_by(program: str, paths: list[Path], folder: Path, *options: str) -> list[list[str]]:
    """The documents that the program removes: fingerprints, distance, similarity, ids."""
    command: list[Any] = [program, "clean", *paths, "-o", folder / "out", "--quiet"]
    if len(paths) == 1:
        command[-2] = folder / f"out{paths[0].suffix}"
    command += ["--removed", folder / "removed.tsv", *options]
    subprocess.run(command, check=True)
    lines = (folder / "removed.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines]


def check(cleaned: fpstore.types.Cleaned, frame: pd.DataFrame, theirs: list[list[str]]) -> None:
    """Checks that the rows have the decisions of the program."""
    rows = cleaned.rows
    assert rows is not None and len(rows) == len(frame) and cleaned.keep.dtype == bool
    ids = [str(id) for id in frame["id"]]
    removed = [(at, row) for at, row in enumerate(rows.to_pylist()) if not row[0]]
    assert [(ids[at], str(row[3]), ids[row[1]], row[2], row[6]) for at, row in removed] == [
        (line[4], line[2], line[5], line[5], line[7]) for line in theirs
    ]
    for (_, row), line in zip(removed, theirs, strict=True):
        assert (row[4] is None) == (line[3] == "") and row[5] == "new"
        assert row[4] is None or abs(row[4] - float(line[3])) < 0.01
    assert cleaned.keep.sum() == cleaned.kept + cleaned.empty
    assert all(row == (True, *[None] * 6) for row in rows.to_pylist() if row[0])


@pytest.mark.parametrize("k", [7, None])
@pytest.mark.parametrize("name", CORPORA)
def test_the_rows_that_stay_are_those_of_the_program(
    tmp_path: Path, program: str, name: str, k: int | None
) -> None:
    paths = CORPORA[name](tmp_path)
    options = [] if k is None else ["-k", str(k)]
    theirs = removed_by(program, paths, tmp_path, *options)
    frame = frame_of(paths)
    check(fpstore.clean(frame, k=k), frame, theirs)


@pytest.mark.parametrize(
    "options",
    [
        {"k": 7},
        {"k": 9, "per_cluster": 2},
        {},
        {"confirm": 0.5},
        {"confirm": 0.5, "confirm_contains": 0.9},
        {"confirm_contains": 0.9},
    ],
)
@pytest.mark.parametrize("name", CORPORA)
def test_groups_cleaned_alone_keep_the_rows_of_one_cleaning(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    options = {"recipe": fpstore.Recipe(), "keep": "longest", **options}
    table = pa.table({"text": frame_of(CORPORA[name](tmp_path))["text"]})
    whole = fpstore.clean(table, **options).rows
    assert whole is not None
    contains = options.get("confirm_contains")
    similarity, distance = _near_rule(
        options["recipe"], options.get("confirm"), contains, options.get("k"), None
    )
    known = pa.table(
        tasks.describe_documents(
            table, options["recipe"], compared=similarity is not None, keep="longest"
        )
    )
    merit = known["merit"].to_pylist()
    order = sorted(range(len(table)), key=lambda row: (bytes(255 - byte for byte in merit[row]), row))
    found = tasks.group_documents(
        iter(known.take(order).to_batches(max_chunksize=50)), distance, similarity, contains
    )
    groups: dict[int, list[int]] = {}
    for row, group in found.to_pylist():
        groups.setdefault(group, []).append(order[row])
    told: list[tuple[Any, ...]] = [(True, *[None] * 5)] * len(table)
    for rows in groups.values():
        alone = fpstore.clean(table.take(rows), **options).rows
        assert alone is not None
        for row, of in zip(rows, alone.to_pylist(), strict=True):
            # Omits `near_id`, which is a row number here.
            told[row] = (of[0], of[1] if of[0] else rows[of[1]], *of[3:])
    assert told == [(*row[:2], *row[3:]) for row in whole.to_pylist()]
    assert all(len(rows) > 1 for rows in groups.values())


@pytest.mark.parametrize("keep", KEEP_RULES)
def test_rules_read_the_columns_that_they_name(tmp_path: Path, program: str, keep: str) -> None:
    paths = corpus(tmp_path / "in")
    options = ["--keep", keep, "--source-field", "score", "--per-cluster", "2"]
    theirs = removed_by(program, paths, tmp_path, *options)
    frame = frame_of(paths)
    given: dict[str, Any] = {"keep": keep, "source_field": "score", "per_cluster": 2}
    check(fpstore.clean(frame, **given), frame, theirs)
    frame["score"] = frame["score"].astype(int)
    frame["date"] = pd.to_datetime(frame["date"])
    check(fpstore.clean(frame, **given), frame, theirs)
    check(fpstore.clean(pl.from_pandas(frame), **given), frame, theirs)
    dates = pa.array([date.date() for date in frame["date"]], pa.date32())
    table = pa.table({"id": frame["id"], "text": frame["text"], "score": frame["score"], "date": dates})
    check(fpstore.clean(table, **given), frame, theirs)


def test_tables_of_every_library_are_cleaned_alike(tmp_path: Path) -> None:
    frame = frame_of(corpus(tmp_path / "in"))[["id", "text"]]
    expected = fpstore.clean(frame).keep.tolist()
    table = pa.Table.from_pandas(frame, preserve_index=False)

    def parts() -> Iterator[pa.Table]:
        for start in range(0, len(table), 17):
            yield table.slice(start, 17)

    kinds: dict[str, Any] = {
        "pandas with another index": frame.set_index(pd.Index(range(500, 500 + len(frame)))),
        "polars": pl.from_pandas(frame),
        "pyarrow": table,
        "record batch": table.combine_chunks().to_batches()[0],
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(17)),
        "iterator": parts(),
        "large texts": table.cast(pa.schema([("id", pa.string()), ("text", pa.large_string())])),
        "duckdb": sql("select * from frame"),
        "series": frame["text"],
        "arrow column": table["text"],
        "numpy": frame["text"].to_numpy(dtype=object),
    }
    for name, kind in kinds.items():
        cleaned = fpstore.clean(kind)
        assert cleaned.keep.tolist() == expected, name
    renamed = frame.rename(columns={"text": "body", "id": "url"})
    documents = fpstore.Documents(renamed, text_field="body", id_field="url")
    again = fpstore.clean(documents)
    assert again.keep.tolist() == expected and "table" in repr(documents)
    assert again.rows is not None and set(again.rows.to_pandas()["near_id"].dropna()) <= set(frame["id"])
    assert fpstore.clean(frame[:0]).keep.tolist() == []
    texts: list[Any] = ["one two three", None, "one two three"]
    nulls = pd.DataFrame({"text": texts})
    assert fpstore.clean(nulls).keep.tolist() == [True, True, False]


def test_a_dataset_is_cleaned(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    frame = frame_of(corpus(tmp_path / "in"))[["id", "text"]]
    expected = fpstore.clean(frame).keep.tolist()
    dataset = datasets.Dataset.from_pandas(frame)
    assert fpstore.clean(dataset).keep.tolist() == expected
    backwards = dataset.select(range(len(frame) - 1, -1, -1))
    reversed_frame = frame[::-1].reset_index(drop=True)
    assert fpstore.clean(backwards).keep.tolist() == fpstore.clean(reversed_frame).keep.tolist()


def test_rows_are_compared_with_a_store_and_added(tmp_path: Path) -> None:
    frame = frame_of(corpus(tmp_path / "in"))
    with fpstore.Builder(tmp_path / "s.fps", recipe="minhash") as builder:
        assert builder.add_documents(frame[:60]).documents == 59
    store = fpstore.open(tmp_path / "s.fps")
    assert store.info().ids == 59
    new = frame[60:].reset_index(drop=True)
    cleaned = fpstore.clean(new, store=store, within=True, add=True)
    assert cleaned.near_stored > 5 and cleaned.near_new > 0 and cleaned.added == cleaned.kept
    assert cleaned.rows is not None
    rows = cleaned.rows.to_pandas()
    of_store = rows[rows["side"] == "stored"]
    assert len(of_store) == cleaned.near_stored and of_store["near"].isna().all()
    assert set(of_store["near_id"]) <= set(frame["id"][:60])
    assert store.refresh() and store.info().ids == 59 + cleaned.added
    stored = {id for _, id in store.records().read_all().to_pylist()}
    assert set(new["id"][cleaned.keep]) <= stored


def test_what_is_no_table_of_documents_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["one two", "three four"], "at": ["x", "y"]})
    some: list[Any] = ["a", None]
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (frame[["id"]], {}, "no column 'text', only id"),
        (pa.table({"body": ["x"]}), {}, "no column 'text', only body"),
        (frame, {"keep": "best:score"}, "no column 'score'"),
        (frame["text"], {"keep": "best:score"}, "give a table"),
        (frame, {"output": tmp_path / "out"}, "output is for files"),
        (frame, {"annotate": "near"}, "annotate is for files"),
        (pl.from_pandas(frame).lazy(), {}, r"collect\(\)"),
        (frame.assign(id=[1.5, 2.5]), {}, "ids must be whole numbers"),
        (pd.DataFrame({"id": some, "text": ["x", "y"]}), {}, "1 of 2 ids are null"),
        (frame.assign(id=["a", "b\n"]), {}, "the id of row 1 is bad"),
        (frame.assign(text=[1, 2]), {}, "text number 0 is int"),
        (iter(["one", "two"]), {}, "must yield tables"),
        (pa.table({"text": ["x"], "v": [[1]]}), {"keep": "best:v"}, "expected texts, numbers"),
    ]
    for table, options, message in cases:
        with pytest.raises(fpstore.errors.InputError, match=message):
            fpstore.clean(table, **options)
    with pytest.raises(fpstore.errors.InputError, match="row 1.*'at'.*expected a date"):
        fpstore.clean(frame.assign(at=["2026-01-01", "yesterday"]), keep="newest:at")
    with pytest.raises(fpstore.errors.InputError, match="'id' cannot be used as a field"):
        fpstore.clean(frame, keep="best:id")
    with pytest.raises(fpstore.errors.InputError, match="exist only for a table passed as rows"):
        fpstore.clean(_file(tmp_path)).keep


def _file(folder: Path) -> Path:
    path = folder / "one.jsonl"
    path.write_text('{"id": 1, "text": "one two three"}\n')
    return path


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    frame = frame_of(corpus(tmp_path / "in"))
    work = tmp_path / "work"
    work.mkdir()
    fpstore.clean(frame, temp_dir=work)

    def broken() -> Iterator[pa.Table]:
        yield pa.table({"text": ["one two three"]})
        raise RuntimeError("of its own")

    with pytest.raises(RuntimeError, match="of its own"):
        fpstore.clean(broken(), temp_dir=work)
    assert list(work.iterdir()) == []


def test_dates_with_times_are_ordered(tmp_path: Path) -> None:
    texts = ["one two three four"] * 3
    noon = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
    times = [noon, noon + datetime.timedelta(milliseconds=5), noon - datetime.timedelta(days=9)]
    for unit in ("ms", "us", "ns"):
        table = pa.table({"text": texts, "at": pa.array(times, pa.timestamp(unit, "UTC"))})
        assert fpstore.clean(table, keep="newest:at").keep.tolist() == [False, True, False]
        assert fpstore.clean(table.to_pandas(), keep="newest:at").keep.tolist() == [False, True, False]


def test_two_columns_of_one_name_are_refused() -> None:
    """Otherwise the texts of one column would be compared, and documents of the other removed."""
    texts, others = ["one two three", "four five six"], ["z", "z"]
    tables = {
        "text": pa.table([pa.array(["a", "b"]), pa.array(texts), pa.array(others)],
                         names=["id", "text", "text"]),
        "id": pa.table([pa.array(["a", "b"]), pa.array(others), pa.array(texts)],
                       names=["id", "id", "text"]),
    }
    for name, table in tables.items():
        for given in (table, table.to_pandas(), iter([table])):
            with pytest.raises(fpstore.errors.InputError, match=f"two columns have the name '{name}'"):
                fpstore.clean(given)
    # Unused columns may have the same name.
    table = pa.table([pa.array(texts), pa.array(others), pa.array(others)], names=["text", "a", "a"])
    assert fpstore.clean(table).keep.tolist() == [True, True]
