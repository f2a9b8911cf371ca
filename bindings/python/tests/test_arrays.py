"""Columns and rows convert to sequences, arrays, data frames, pickles and notebook tables."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import U64, distances

import fpstore

TEXTS = ["one two three four", "two three four five", "", "one two three four"]
sql: Any = duckdb.sql


def as_any(of: Any) -> Any:
    """Hides the type of an object, because type checkers would refuse its use in a test."""
    return of


@pytest.fixture
def column() -> fpstore.Column:
    return fpstore.Recipe().fingerprints(TEXTS)


@pytest.fixture
def full() -> fpstore.Column:
    return fpstore.Recipe().fingerprints([text for text in TEXTS if text])


def test_a_column_is_a_sequence(column: fpstore.Column) -> None:
    values = column.to_pylist()
    assert list(column) == values and len(column) == 4
    assert [column[at] for at in range(-4, 4)] == values + values
    assert column[2] is None and column[np.int64(1)] == values[1]
    for part in (slice(1, 3), slice(None), slice(None, None, -1), slice(3, 0, -2), slice(9, 20)):
        assert isinstance(column[part], fpstore.Column)
        assert column[part].to_pylist() == values[part]
    assert values[0] in column and None in column and 5 not in column and "x" not in column
    for bad in (4, -5, 2**70):
        with pytest.raises(IndexError, match="there is no item"):
            column[bad]
    for other in ("fp", None, True, [0, 1]):
        with pytest.raises(TypeError, match="a number or a slice"):
            as_any(column)[other]


def test_a_column_of_a_frame_has_the_values(column: fpstore.Column, full: fpstore.Column) -> None:
    frame: Any = pd.DataFrame({"text": [text for text in TEXTS if text]})
    frame["fp"] = fpstore.Recipe().fingerprints(frame["text"])
    assert frame["fp"].dtype == np.uint64 and frame["fp"].tolist() == full.to_pylist()
    assert frame.assign(fp=full)["fp"].tolist() == full.to_pylist()
    assert pd.Series(as_any(full)).tolist() == full.to_pylist()
    # Nulls are preserved, although numpy numbers cannot be null.
    with_null: Any = pd.DataFrame({"text": TEXTS})
    with_null["fp"] = column
    assert with_null["fp"].tolist() == column.to_pylist()
    assert fpstore.group(with_null["fp"], 7).tolist() == [0, 1, 2, 0]
    assert column.to_pandas().dtype == "UInt64" and full.to_pandas().dtype == "uint64"
    assert [None if of is pd.NA else of for of in column.to_pandas()] == column.to_pylist()
    assert column.to_polars().to_list() == column.to_pylist()
    assert pl.DataFrame({"fp": column.to_polars()})["fp"].dtype == pl.UInt64
    assert column.to_arrow() == pa.array(column.to_pylist(), pa.uint64())


def test_a_column_is_an_array(column: fpstore.Column, full: fpstore.Column) -> None:
    array = np.asarray(full)
    assert array.dtype == np.uint64 and array.tolist() == full.to_pylist()
    assert np.array(full).tolist() == array.tolist()
    assert np.asarray(full, dtype=np.int64).dtype == np.int64
    assert (np.array(full) == full[0]).tolist() == [True, False, True]
    assert np.asarray(column).tolist() == column.to_pylist()
    with pytest.raises(fpstore.errors.InputError, match="1 of 4 are null"):
        np.asarray(column, dtype=np.uint64)


def test_a_column_comes_back_from_a_pickle(column: fpstore.Column) -> None:
    for of in (column, column[1:3], column[:0]):
        again = pickle.loads(pickle.dumps(of))
        assert again.to_pylist() == of.to_pylist() and again.recipe == of.recipe
        assert again.null_count == of.null_count


def test_rows_are_a_sequence_of_named_tuples(store: fpstore.Store, values: U64) -> None:
    rows = store.query_many(values[:50], 3)
    plain = rows.to_pylist()
    assert list(rows) == plain and rows[0] == plain[0] and rows[-1] == plain[-1]
    first: Any = rows[0]
    assert (first.query, first.fingerprint, first.distance) == plain[0][:3]
    assert first._fields == tuple(rows.column_names)
    for part in (slice(3, 9), slice(None, None, -1), slice(1, 40, 7), slice(5, 5)):
        assert rows[part].to_pylist() == plain[part]
        assert rows[part].column_names == rows.column_names
    with pytest.raises(IndexError):
        rows[len(rows)]
    with pytest.raises(KeyError, match="no column 'k'"):
        rows["k"]
    with pytest.raises(TypeError, match="the name of a column"):
        as_any(rows)[1.5]


def test_rows_are_frames_with_names(store: fpstore.Store, values: U64) -> None:
    rows = store.query_many(values[:50], 3)
    for frame in (pd.DataFrame(as_any(rows)), rows.to_pandas()):
        assert list(frame.columns) == rows.column_names
        assert frame["fingerprint"].dtype == np.uint64
        assert list(frame.itertuples(index=False, name=None)) == rows.to_pylist()
    assert rows.to_polars().rows() == rows.to_pylist()
    assert rows.to_arrow() == pa.table(rows)
    records = np.asarray(rows)
    assert records.dtype.names == tuple(rows.column_names)
    assert records["fingerprint"].tolist() == rows["fingerprint"].tolist()
    assert records.tolist() == rows.to_pylist()
    part = rows[2:7]
    assert part is not None and sql("select count(*) from part").fetchall() == [(5,)]


def test_rows_with_nulls_are_frames(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", [1, 2**63], ["a", "b"])
    rows = fpstore.dedup(store, k=0).read_all()
    frame = rows.to_pandas()
    assert frame["near"].dtype == "UInt64" and frame["near"].isna().all()
    assert frame["keep"].dtype == bool
    assert np.asarray(rows)["near"].tolist() == [None, None]
    with pytest.raises(fpstore.errors.InputError, match="to_pandas"):
        rows["near"]


def answers(store: fpstore.Store, part: U64) -> fpstore.Rows:
    return store.query_many(part, 3, limit=1)


def test_rows_come_back_from_other_processes(store: fpstore.Store, values: U64) -> None:
    expected = answers(store, values[:50])
    with ProcessPoolExecutor(1) as pool:
        again = pool.submit(answers, store, values[:50]).result()
    assert again.to_pylist() == expected.to_pylist() and again.cut == expected.cut
    assert pa.table(again).schema == pa.table(expected).schema
    first = as_any(expected[0])
    row = pickle.loads(pickle.dumps(first))
    assert row == first and row._fields == first._fields


def test_what_cannot_be_pickled_says_what_can() -> None:
    with pytest.raises(TypeError, match=r"pickle findings or html\(\)"):
        pickle.dumps(fpstore.stats(range(100)))
    with pytest.raises(TypeError, match=r"pickle points or svg\(\)"):
        pickle.dumps(fpstore.evaluate([0, 1], [0], [1]))


def test_notebooks_show_tables(store: fpstore.Store, column: fpstore.Column, values: U64) -> None:
    html = store.query_many(values[:50], 3)._repr_html_()
    assert html.startswith("<table>") and "<th>distance</th>" in html and "and " in html
    assert "<td></td>" in column._repr_html_() and str(column[0]) in column._repr_html_()
    hostile = fpstore.pairs(["a b <i>", "a b <i>"], confirm=0.5)
    assert "<i>" not in hostile._repr_html_()


def test_the_picture_of_an_evaluation_keeps_its_style_to_itself() -> None:
    html = fpstore.evaluate([0, 1, 255], [0, 0], [1, 2], [1, 0])._repr_html_()
    assert html.startswith("<iframe srcdoc=") and "<style" not in html.split("srcdoc=")[0]
    inside, after = html.removeprefix('<iframe srcdoc="').split('"', 1)
    assert ":root" in inside and ":root" not in after and "curve" not in after


def test_bytes_in_rows_of_eight_are_fingerprints(values: U64) -> None:
    rows = values.view(np.uint8).reshape(-1, 8)
    expected = fpstore.to_hex(values)
    assert fpstore.to_hex(rows) == expected
    assert fpstore.to_hex(np.asfortranarray(rows)) == expected
    assert fpstore.to_hex(rows[::2]) == expected[::2]
    for bad in (rows.reshape(-1), rows[:, :4], rows.reshape(-1, 2, 4)):
        with pytest.raises(fpstore.errors.InputError, match=r"uint8 of shape \(n, 8\)"):
            fpstore.to_hex(bad)


EMPTY: list[Any] = [
    [],
    (),
    np.array([]),
    np.array([], np.int32),
    np.array([], object),
    np.zeros((0, 8), np.uint8),
    pa.array([]),
    pa.array([], pa.float64()),
    pl.Series([], dtype=pl.Float64),
    pl.Series([]),
    pd.Series([], dtype=float),
    pd.Series([], dtype=object),
]


@pytest.mark.parametrize("empty", EMPTY, ids=lambda of: f"{type(of).__module__} {of!r:.40}")
def test_nothing_is_nothing_whatever_its_type(tmp_path: Path, empty: Any) -> None:
    assert fpstore.to_hex(empty) == []
    assert fpstore.group(empty).tolist() == []
    assert len(fpstore.build(tmp_path / "s.fps", empty, empty)) == 0
    if getattr(empty, "ndim", 1) == 1:
        assert len(fpstore.Recipe().fingerprints(empty)) == 0


def test_the_nearest_of_many_are_those_of_a_scan(store: fpstore.Store, values: U64) -> None:
    rng = np.random.default_rng(3)
    queries = np.concatenate([values[:150], rng.integers(0, 2**64, 50, dtype=np.uint64)])
    for threads in (1, 3):
        rows = store.nearest_many(queries, 3, threads=threads)
        found = [
            [(of.fingerprint, of.distance, id) for of in store.nearest(query, 3) for id in of.ids]
            for query in queries.tolist()
        ]
        expected = [(at, *match) for at, matches in enumerate(found) for match in matches]
        assert rows.to_pylist() == expected
    nearest = store.nearest_many(queries, ids=False)
    assert nearest["query"].tolist() == list(range(200))
    assert nearest["distance"].tolist() == distances(queries, values).min(1).tolist()
    assert set(store.nearest_many(queries, k=0)["query"].tolist()) == set(range(150))
    assert len(store.nearest_many([], 5)) == 0
    with pytest.raises(fpstore.errors.InputError, match="k is 65"):
        store.nearest_many([1], k=65)


def test_components_take_what_other_calls_give() -> None:
    rows = fpstore.pairs([*TEXTS, TEXTS[1]], confirm=0.9)
    found = fpstore.components(rows["first"], rows["second"])
    assert found.to_pylist() == [(0, 0), (1, 1), (3, 0), (4, 1)]
    kinds: list[Any] = [np.uint8, np.int32, np.uint32, np.int64]
    for kind in kinds:
        pairs = fpstore.components(np.array([1, 3], kind), np.array([2, 2], kind))
        assert pairs.to_pylist() == [(1, 1), (2, 1), (3, 1)]
    arrow = pa.table(rows)
    assert fpstore.components(arrow["first"], arrow["second"]).to_pylist() == found.to_pylist()
    with pytest.raises(fpstore.errors.InputError, match="is -1"):
        fpstore.components(np.array([-1], np.int32), np.array([1], np.int32))
