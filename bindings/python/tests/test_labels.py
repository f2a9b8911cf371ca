"""Rows of answers contain the labels of segments that the program prints."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import U64, distances

import fpstore


@pytest.fixture
def months(tmp_path: Path, values: U64) -> fpstore.Store:
    """Three segments: two with labels and common fingerprints, and one without a label."""
    ids = [f"document {at}" for at in range(len(values))]
    path = tmp_path / "months.fps"
    fpstore.build(path, values[:1000], ids[:1000], label="2026-10")
    parts = [("2026-11", 900, 2000), ("", 2000, 3000)]
    for label, start, end in parts:
        with fpstore.Writer(path, label=label, compact=False) as writer:
            writer.add(values[start:end], [f"{id} {label}" for id in ids[start:end]])
    return fpstore.open(path)


def printed(program: str, store: str, query: int, *more: str) -> list[tuple[str, ...]]:
    run = [program, "query", "-s", store, f"{query:016x}", "--labels", *more]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("k", [0, 3, 9, 24])
def test_labels_are_those_that_the_program_prints(
    months: fpstore.Store, values: U64, k: int, program: str
) -> None:
    queries = [int(value) for value in values[950:1000:10]] + [int(values[2500]), 7]
    rows = months.query_many(queries, k, labels=True)
    assert rows.column_names == ["query", "fingerprint", "distance", "label", "id"]
    for at, query in enumerate(queries):
        expected = printed(program, months.path, query, "-k", str(k))
        single = [
            (f"{query:016x}", f"{it.fingerprint:016x}", str(it.distance), label, str(id))
            for it in months.query(query, k, labels=True)
            for label, id in zip(it.labels, it.ids, strict=True)
        ]
        assert single == expected
        of_query = [row for row in rows.to_pylist() if row[0] == at]
        assert [(f"{row[1]:016x}", str(row[2]), *row[3:]) for row in of_query] == [
            line[1:] for line in expected
        ]


def test_labels_change_nothing_else(months: fpstore.Store, values: U64) -> None:
    queries = values[900:1100:20]
    near = distances(queries, values) <= 6
    assert near.sum() > len(queries)
    for query in queries:
        plain = months.query(query, 6)
        labelled = months.query(query, 6, labels=True)
        assert [fpstore.types.Match(it.fingerprint, it.distance, it.ids) for it in labelled] == plain
    plain_rows = months.query_many(queries, 6).to_pylist()
    labelled_rows = months.query_many(queries, 6, labels=True).to_pylist()
    assert [(*row[:3], row[4]) for row in labelled_rows] == plain_rows
    assert {row[3] for row in labelled_rows} >= {"2026-10", "2026-11"}


def test_the_nearest_have_labels(months: fpstore.Store, values: U64, program: str) -> None:
    queries = [int(value) ^ 5 for value in values[980:1010:6]]
    rows = months.nearest_many(queries, 4, labels=True).to_pylist()
    for at, query in enumerate(queries):
        expected = printed(program, months.path, query, "--nearest", "4")
        found = months.nearest(query, 4, labels=True)
        assert [label for it in found for label in it.labels] == [line[3] for line in expected]
        assert [row[3:] for row in rows if row[0] == at] == [line[3:] for line in expected]


def test_without_ids_there_is_a_row_for_each_segment(tmp_path: Path, program: str) -> None:
    path = tmp_path / "bare.fps"
    fpstore.build(path, [1, 2], label="one")
    with fpstore.Writer(path, label="two", compact=False) as writer:
        writer.add([2, 3])
    store = fpstore.open(path)
    assert store.query(2, 0, labels=True) == [fpstore.types.Match(2, 0, [], labels=["one", "two"])]
    assert store.query_many([2], 0, labels=True).to_pylist() == [
        (0, 2, 0, "one"),
        (0, 2, 0, "two"),
    ]
    assert store.query_many([2], 0).to_pylist() == [(0, 2, 0)]
    assert [line[3] for line in printed(program, str(path), 2, "-k", "0")] == ["one", "two"]


def test_long_queries_have_labels_too(months: fpstore.Store, values: U64) -> None:
    # A query within 64 bits is expected to take long, so it releases the interpreter.
    found = months.query(int(values[0]), 64, labels=True)
    assert sum(len(it.ids) for it in found) == 3100
    assert all(len(it.ids) == len(it.labels) for it in found)
