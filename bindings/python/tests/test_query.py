"""Queries return the same matches as a linear scan."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from conftest import U64, distances
from hypothesis import given, settings
from hypothesis import strategies as st

import fpstore


def scan(values: U64, ids: list[str] | list[int] | None, query: int, k: int) -> list[fpstore.types.Match]:
    """Finds all matches by a linear scan, in the documented order."""
    found: dict[int, list[int | str]] = {}
    for at, value in enumerate(values.tolist()):
        if (value ^ query).bit_count() <= k:
            found.setdefault(value, [])
            if ids is not None:
                found[value].append(ids[at])
    matches = [
        fpstore.types.Match(value, (value ^ query).bit_count(), of)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        for value, of in found.items()
    ]
    return sorted(matches, key=lambda match: (match.distance, match.fingerprint))


@pytest.mark.parametrize("k", [0, 1, 3, 7, 20, 40, 64])
def test_answers_are_those_of_a_scan(store: fpstore.Store, values: U64, k: int) -> None:
    ids = [f"document {at}" for at in range(len(values))]
    queries = values[:: 300 if k < 30 else 1500]
    rows = store.query_many(queries, k)
    expected = [scan(values, ids, int(query), k) for query in queries]
    assert [store.query(int(query), k) for query in queries] == expected
    flat = [
        (at, match.fingerprint, match.distance, one)
        for at, matches in enumerate(expected)
        for match in matches
        for one in match.ids
    ]
    assert rows.to_pylist() == flat
    assert list(rows) == flat and len(rows) == len(flat) and not rows.cut
    assert store.count_many(queries, k).tolist() == [len(matches) for matches in expected]
    assert store.has_near(queries, k).tolist() == [bool(matches) for matches in expected]
    for mode in ("probe", "walk", "pass"):
        assert store.query_many(queries, k, mode=mode).to_pylist() == flat


fingerprints = st.lists(
    st.integers(0, 2**64 - 1) | st.integers(0, 255) | st.sampled_from([0, 2**64 - 1, 2**63]),
    max_size=40,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    stored=fingerprints,
    queries=fingerprints,
    k=st.integers(0, 64),
    kind=st.sampled_from(["int", "str", None]),
)
def test_any_set_any_k_any_ids(
    stored: list[int], queries: list[int], k: int, kind: str | None
) -> None:
    values, asked = np.array(stored, np.uint64), np.array(queries, np.uint64)
    ids: list[str] | list[int] | None = None
    if kind == "int":
        ids = [at * 7 for at in range(len(stored))]
    elif kind == "str":
        ids = [str(at) for at in range(len(stored))]
    with tempfile.TemporaryDirectory() as folder:
        store = fpstore.build(Path(folder) / "s.fps", values, ids)
        near = distances(asked, np.unique(values)) <= k
        assert store.count_many(asked, k).tolist() == near.sum(axis=1).tolist()
        assert store.has_near(asked, k).tolist() == near.any(axis=1).tolist()
        for query in queries[:5]:
            assert store.query(query, k) == scan(values, ids, query, k)
            nearest = store.nearest(query, 3, k)
            assert nearest == scan(values, ids, query, k)[:3]
        assert store.fingerprints().tolist() == sorted(set(stored))


def test_k_is_that_of_the_store_unless_it_is_given(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", [0], k=5)
    assert store.tuned_k == 5
    assert len(store.query(0b11111)) == 1 and not store.query(0b111111)
    assert store.has_near([0b11111, 0b111111]).tolist() == [True, False]
    for k in (-1, 65, 2**40):
        with pytest.raises(fpstore.errors.InputError, match=f"k is {k}, expected 0 to 64"):
            store.query(0, k)
        with pytest.raises(fpstore.errors.InputError, match=f"k is {k}, expected 0 to 64"):
            store.has_near([0], k)


def test_single_queries_take_every_spelling(store: fpstore.Store, values: U64) -> None:
    value = int(values[0])
    for spelled in (value, value - 2**64, f"{value:x}", values[0], values.view(np.int64)[0]):
        assert spelled in store
        assert store.query(spelled, 0)[0].fingerprint == value
    for bad in (1.5, True, None, b"ff", [1], "no"):
        with pytest.raises(fpstore.errors.InputError):
            store.query(bad)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_nearest_finds_the_nearest_however_far(store: fpstore.Store, values: U64) -> None:
    query = int(values[5]) ^ 0xFFFF
    by_scan = scan(values, [f"document {at}" for at in range(len(values))], query, 64)
    assert store.nearest(query) == by_scan[:1]
    assert store.nearest(query, 10) == by_scan[:10]
    assert store.nearest(query, 10, k=2) == [match for match in by_scan if match.distance <= 2]
    assert store.nearest(query, 0) == []
    with pytest.raises(fpstore.errors.InputError, match="count is -1"):
        store.nearest(query, -1)


def test_a_limit_keeps_the_nearest_and_says_so(store: fpstore.Store, values: U64) -> None:
    rows = store.query_many(values[:2], 30, limit=2)
    assert rows.cut and set(rows["query"].tolist()) == {0, 1}
    assert store.query(int(values[0]), 30, limit=2) == store.nearest(int(values[0]), 2, 30)
    with pytest.raises(fpstore.errors.InputError, match="limit is -1"):
        store.query(0, 3, limit=-1)


def test_rows_are_columns(store: fpstore.Store, values: U64) -> None:
    rows = store.query_many(values[:10], 3)
    assert rows.column_names == ["query", "fingerprint", "distance", "id"]
    assert [rows[name].dtype for name in rows.column_names] == [
        np.uint32,
        np.uint64,
        np.uint8,
        np.dtype(object),
    ]
    assert store.query_many(values[:10], 3, ids=False).column_names == rows.column_names[:3]
    with pytest.raises(KeyError, match="only query, fingerprint"):
        rows["ids"]
    assert repr(rows).endswith("rows of query, fingerprint, distance, id>")


def test_nothing_asked_is_nothing_found(store: fpstore.Store) -> None:
    rows = store.query_many([])
    assert len(rows) == 0 and rows["id"].tolist() == [] and rows["query"].dtype == np.uint32
    assert store.has_near(np.array([], np.uint64)).tolist() == []


def test_many_long_answers_come_in_batches(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", np.arange(2048, dtype=np.uint64))
    rows = store.query_many(np.arange(1024, dtype=np.uint64), 64)
    assert len(rows) == 1024 * 2048
    assert np.array_equal(rows["query"], np.repeat(np.arange(1024, dtype=np.uint32), 2048))


def test_documents_without_ids_are_rows_with_a_null(tmp_path: Path) -> None:
    with fpstore.Builder(tmp_path / "s.fps") as builder:
        builder.add([1, 2], [10, 20])
        builder.add([3])
    store = fpstore.open(tmp_path / "s.fps")
    rows = store.query_many([1, 3], 0)
    assert rows.to_pylist() == [(0, 1, 0, 10), (1, 3, 0, None)]
    with pytest.raises(fpstore.errors.InputError, match="1 values of column 'id' are null"):
        rows["id"]
    assert store.query(3, 0) == [fpstore.types.Match(3, 0, [])]


def test_records_are_found_by_their_ids(tmp_path: Path) -> None:
    texts = fpstore.build(tmp_path / "t.fps", [5, 7, 9], ["a", "12", "a"])
    assert texts.find(["a", "z", "12"]) == [[5, 9], [], [7]]
    # A number and its decimal text are the same id.
    assert texts.find([12]) == [[7]]
    numbers = fpstore.build(tmp_path / "n.fps", [5, 7], [1, 2**64 - 1])
    assert numbers.find([2**64 - 1, 3]) == [[7], []]
    assert numbers.find(["1", "01"]) == [[5], []]
    assert numbers.find([]) == []
    with pytest.raises(fpstore.errors.InputError, match="not a single id"):
        numbers.find("a")  # type: ignore[arg-type]  # pyright: ignore
