"""Several stores queried as one answer like a linear scan of all their records."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import clustered
from hypothesis import given, settings
from hypothesis import strategies as st

import fpstore

Several: TypeAlias = "fpstore.Store[tuple[int, str]]"
# The records of a store: fingerprints, and ids if it has any.
Records: TypeAlias = tuple[list[int], list[str] | list[int] | None]


def scan(parts: dict[str, Records], query: int, k: int) -> list[fpstore.types.Match]:
    """Finds all matches by a linear scan, in the documented order."""
    found: dict[tuple[int, int, int, str], list[Any]] = {}
    for number, (name, (values, ids)) in enumerate(parts.items()):
        for at, value in enumerate(values):
            distance = (value ^ query).bit_count()
            if distance <= k:
                of = found.setdefault((distance, value, number, name), [])
                of.extend([] if ids is None else [ids[at]])
    return [
        fpstore.types.Match(value, distance, ids, name)
        for (distance, value, _, name), ids in sorted(found.items())
    ]


def rows_of(
    expected: list[list[fpstore.types.Match]], ids_are_texts: bool
) -> list[tuple[int, int, int, str, Any]]:
    """The expected rows of answers. If stores have different kinds of ids, all ids are texts."""
    return [
        (at, match.fingerprint, match.distance, match.store, one)
        for at, matches in enumerate(expected)
        for match in matches
        for one in ([str(it) for it in match.ids] if ids_are_texts else match.ids) or [None]
    ]


def nearest(found: list[fpstore.types.Match], count: int) -> list[fpstore.types.Match]:
    """The matches of the nearest fingerprints: a fingerprint in two stores counts once."""
    values = list(dict.fromkeys(match.fingerprint for match in found))[:count]
    return [match for match in found if match.fingerprint in values]


def build(folder: Path, parts: list[Records]) -> dict[str, Records]:
    named = {str(folder / f"{number}.fps"): part for number, part in enumerate(parts)}
    for path, (values, ids) in named.items():
        fpstore.build(path, np.array(values, np.uint64), ids)
    return named


@contextmanager
def opened(parts: list[Records]) -> Generator[tuple[Several, dict[str, Records]]]:
    with tempfile.TemporaryDirectory() as folder:
        named = build(Path(folder), parts)
        with fpstore.open(list(named)) as stores:
            yield stores, named


def shared_parts() -> list[Records]:
    """Three stores and an empty store. Two stores share records and clusters."""
    values = clustered(1500, 11).tolist()
    first, second = values[:700], values[600:1200]
    third = [value ^ (1 << at % 7) for at, value in enumerate(values[::5])]
    return [
        (first, [f"first {at}" for at in range(len(first))]),
        ([], None),
        (second, [f"second {at}" for at in range(len(second))]),
        (third, list(range(len(third)))),
    ]


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Records]:
    return build(tmp_path, shared_parts())


@pytest.fixture
def stores(parts: dict[str, Records]) -> Several:
    return fpstore.open(list(parts))


def queries(parts: dict[str, Records]) -> list[int]:
    values = [value for values, _ in parts.values() for value in values]
    return [value ^ flip for value, flip in zip(values[::90], range(len(values)))]


@pytest.mark.parametrize("k", [0, 1, 3, 4, 7, 20, 40, 64])
def test_answers_are_those_of_a_scan(
    stores: Several, parts: dict[str, Records], k: int
) -> None:
    asked = queries(parts)[:: 1 if k < 20 else 6]
    expected = [scan(parts, query, k) for query in asked]
    assert [stores.query(query, k) for query in asked] == expected
    for mode in ("auto", "probe", "walk", "pass"):
        rows = stores.query_many(asked, k, mode=mode)
        assert rows.to_pylist() == rows_of(expected, True) and not rows.cut
    distinct = [len({match.fingerprint for match in matches}) for matches in expected]
    assert stores.count_many(asked, k).tolist() == distinct
    assert stores.has_near(asked, k).tolist() == [bool(matches) for matches in expected]
    for count in (0, 1, 5):
        by_scan = [nearest(matches, count) for matches in expected]
        assert [stores.nearest(query, count, k) for query in asked] == by_scan
        assert stores.nearest_many(asked, count, k).to_pylist() == rows_of(by_scan, True)
        if count > 0:
            limited = stores.query_many(asked, k, limit=count)
            assert limited.to_pylist() == rows_of(by_scan, True)
            assert limited.cut == any(many > count for many in distinct)
            assert [stores.query(query, k, limit=count) for query in asked] == by_scan


values = st.integers(0, 2**64 - 1) | st.integers(0, 63) | st.sampled_from([0, 2**64 - 1, 2**63])
records = st.tuples(st.lists(values, max_size=12), st.sampled_from(["int", "str", None]))


def with_ids(number: int, part: tuple[list[int], str | None]) -> Records:
    found, kind = part
    if kind is None:
        return found, None
    numbers = [1000 * number + at for at in range(len(found))]
    return found, numbers if kind == "int" else [f"id {at}" for at in numbers]


def pairs_by_scan(parts: dict[str, Records], k: int) -> list[tuple[Any, ...]]:
    """All near pairs of documents: a fingerprint without ids is one document in each of its
    stores."""
    documents: list[tuple[int, int, str, Any]] = []
    for number, (name, (values, ids)) in enumerate(parts.items()):
        of: list[Any] = list(ids) if ids is not None else [None] * len(values)
        held = zip(values, of) if ids is not None else ((it, None) for it in set(values))
        documents.extend((value, number, name, one) for value, one in held)
    # The sort is stable, so the ids of a fingerprint remain in the stored order.
    documents.sort(key=lambda it: (it[0], it[1]))
    found = [
        (one[0], other[0], (one[0] ^ other[0]).bit_count(), one[2], other[2], one[3], other[3])
        for at, one in enumerate(documents)
        for other in documents[at + 1 :]
        if (one[0] ^ other[0]).bit_count() <= k
    ]
    # Sorted by first, then by second fingerprint; the stable sort keeps the order of documents.
    return sorted(found, key=lambda pair: pair[:2])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    of=st.lists(records, min_size=1, max_size=4),
    asked=st.lists(values, max_size=4),
    k=st.integers(0, 64),
)
def test_any_stores_any_k_any_ids(
    of: list[tuple[list[int], str | None]], asked: list[int], k: int
) -> None:
    with opened([with_ids(number, part) for number, part in enumerate(of)]) as (stores, parts):
        held = [ids for values, ids in parts.values() if values]
        texts = any(ids is not None and isinstance(ids[0], str) for ids in held)
        expected = [scan(parts, query, k) for query in asked]
        assert [stores.query(query, k) for query in asked] == expected
        rows = stores.query_many(asked, k)
        has_ids = any(ids is not None for ids in held)
        assert rows.column_names == ["query", "fingerprint", "distance", "store", "id"][: 4 + has_ids]
        flat = rows_of(expected, texts)
        assert rows.to_pylist() == (flat if has_ids else [row[:4] for row in flat])
        assert stores.nearest_many(asked, 2, k).to_pylist() == [
            row if has_ids else row[:4]
            for row in rows_of([nearest(matches, 2) for matches in expected], texts)
        ]
        pairs = [
            pair[:5] + tuple(str(it) if texts and it is not None else it for it in pair[5:])
            for pair in pairs_by_scan(parts, k)
        ]
        found = stores.pairs(k).read_all().to_pylist()
        assert found == (pairs if has_ids else [pair[:5] for pair in pairs])
        shares = [row for number in range(3) for row in stores.pairs(k, share=(number, 3)).read_all()]
        assert sorted(map(repr, shares)) == sorted(repr(row) for row in stores.pairs(k).read_all())
        assert len(stores) == sum(len(set(values)) for values, _ in parts.values())


def test_records_of_two_stores_are_found_in_both(tmp_path: Path) -> None:
    one = fpstore.build(tmp_path / "a.fps", [5, 5, 7], ["x", "y", "z"], label="old")
    two = fpstore.build(tmp_path / "b.fps", [5, 9], [10, 11], k=5)
    stores = fpstore.open([one.path, two.path])
    assert stores.tuned_k == 3 and stores.recipe == "external" and len(stores) == 4
    assert 5 in stores and "000000000000000b" not in stores
    with pytest.raises(fpstore.errors.InputError, match="may be an id"):
        assert "b" in stores
    assert stores.query(5, 0) == [
        fpstore.types.Match(5, 0, ["x", "y"], one.path),
        fpstore.types.Match(5, 0, [10], two.path),
    ]
    labelled = stores.query(5, 0, labels=True)
    assert [(it.store, it.labels, it.ids) for it in labelled] == [
        (one.path, ["old", "old"], ["x", "y"]),
        (two.path, [""], [10]),
    ]
    rows = stores.query_many([5], 0, labels=True)
    assert rows.column_names == ["query", "fingerprint", "distance", "store", "label", "id"]
    assert [row[3:] for row in rows.to_pylist()] == [
        (one.path, "old", "x"),
        (one.path, "old", "y"),
        (two.path, "", "10"),
    ]
    assert stores.query_many([5], 0, ids=False).to_pylist() == [
        (0, 5, 0, one.path),
        (0, 5, 0, two.path),
    ]
    assert stores.find(["x", "10", "none"]) == [[(5, one.path)], [(5, two.path)], []]
    assert [(it.store, it.ids) for it in stores.query(5, 64)] == [
        (one.path, ["x", "y"]),
        (two.path, [10]),
        (one.path, ["z"]),
        (two.path, [11]),
    ]


def test_long_searches_find_the_same(tmp_path: Path) -> None:
    # So many values that a search releases the interpreter, which is a separate code path.
    drawn = np.random.default_rng(3).integers(0, 2**64, 290_000, dtype=np.uint64)
    paths = [tmp_path / "a.fps", tmp_path / "b.fps"]
    for path, part in zip(paths, (drawn[:150_000], drawn[140_000:])):
        fpstore.build(path, part)
    stores = fpstore.open(paths)
    query = int(drawn[145_000])
    near = np.nonzero(np.bitwise_count(drawn ^ np.uint64(query)) <= 16)[0].tolist()
    expected = sorted(
        ((int(drawn[at]) ^ query).bit_count(), int(drawn[at]), number)
        for at in near
        for number in (0, 1)
        if (at < 150_000, at >= 140_000)[number]
    )
    found = stores.query(query, 16)
    assert [(it.distance, it.fingerprint, stores.paths.index(it.store)) for it in found] == expected
    assert [it.store for it in found[:2]] == stores.paths


def test_tables_are_those_of_all_engines(stores: Several, parts: dict[str, Records]) -> None:
    rows = stores.query_many(queries(parts)[:5], 3)
    expected = rows.to_pylist()
    assert len(expected) >= 5
    assert [rows[name].dtype for name in rows.column_names] == [
        np.uint32,
        np.uint64,
        np.uint8,
        np.dtype(object),
        np.dtype(object),
    ]
    table = pa.table(rows)
    assert table.schema.field("store") == pa.field("store", pa.string(), nullable=False)
    assert [tuple(row.values()) for row in table.to_pylist()] == expected
    assert rows.to_arrow() == table
    assert pl.DataFrame(rows).rows() == rows.to_polars().rows() == expected
    assert rows.to_polars().schema["store"] == pl.String
    frame = rows.to_pandas()
    assert isinstance(frame, pd.DataFrame) and list(frame["store"]) == [row[3] for row in expected]
    records: Any = np.asarray(rows)
    assert records.dtype.names == tuple(rows.column_names)
    assert [tuple(row) for row in records.tolist()] == expected
    assert [row.store for row in rows] == [row[3] for row in expected]
    assert pickle.loads(pickle.dumps(rows)).to_pylist() == expected
    pairs = pa.table(stores.pairs(1))
    assert pairs.schema.names == [
        "first",
        "second",
        "distance",
        "first_store",
        "second_store",
        "first_id",
        "second_id",
    ]
    assert pairs.schema.field("first_store").type == pa.string()


def test_a_refresh_shows_the_new_states_of_all(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.fps", "b.fps")]
    for path in paths:
        fpstore.build(path, [1], ["first"])
    stores = fpstore.open(paths)
    assert not stores.refresh() and stores.generations == [1, 1]
    pickled = pickle.dumps(stores)
    with fpstore.Writer(paths[1], compact=False) as writer:
        writer.add([1, 2], ["second", "third"])
    assert stores.query(2, 0) == [] and stores.generations == [1, 1]
    assert stores.refresh() and not stores.refresh()
    assert stores.generations == [1, 2] and len(stores) == 4
    assert stores.query(1, 0) == [
        fpstore.types.Match(1, 0, ["first"], paths[0]),
        fpstore.types.Match(1, 0, ["first", "second"], paths[1]),
    ]
    with pytest.raises(fpstore.errors.StaleStoreError) as error:
        pickle.loads(pickled)
    assert (error.value.expected, error.value.found) == (1, 2)
    # If a store was replaced by a store of another recipe, a refresh fails and keeps the open
    # snapshots.
    fpstore.build(paths[0], [1, 4], ["x", "y"], recipe="minhash", replace=True)
    with pytest.raises(fpstore.errors.InputError, match="cannot be queried together"):
        stores.refresh()
    assert stores.query(1, 0)[0].ids == ["first"]


def test_pickled_stores_keep_their_names(
    parts: dict[str, Records], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(next(iter(parts))).parent
    monkeypatch.chdir(folder)
    names = [Path(path).name for path in parts]
    stores = fpstore.open(names)
    assert stores.paths == names
    query = queries(parts)[0]
    pickled = pickle.dumps(stores)
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert again.paths == names
    assert again.query(query) == stores.query(query) and stores.query(query)[0].store == names[0]


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_names_that_are_no_utf_8_come_back(tmp_path: Path) -> None:
    names = [os.fsdecode(os.fsencode(tmp_path) + name) for name in (b"/\xff.fps", b"/b.fps")]
    for name in names:
        fpstore.build(name, [1], [1])
    stores = fpstore.open(names)
    assert stores.paths == names and [it.store for it in stores.query(1)] == names
    # Arrow texts are UTF-8, so other bytes are replaced.
    assert stores.query_many([1])["store"].tolist() == [f"{tmp_path}/\ufffd.fps", names[1]]
    assert pickle.loads(pickle.dumps(stores)).paths == names


def test_threads_share_stores(stores: Several, parts: dict[str, Records]) -> None:
    asked = queries(parts)
    expected = [scan(parts, query, 5) for query in asked]
    failed: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for at in range(start, len(asked), 2):
                assert stores.query(asked[at], 5) == expected[at]
            assert stores.query_many(asked, 5, threads=1).to_pylist() == rows_of(expected, True)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(at % 2,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_closed_stores_answer_nothing(parts: dict[str, Records]) -> None:
    with fpstore.open(map(Path, parts), warm="hot", access="map") as stores:
        assert not stores.closed and bool(stores) and stores.warm("all") > 0
        assert repr(stores).startswith(f"<fpstore.Store '{list(parts)[0]}', ")
        assert repr(stores).endswith(f": {len(stores)} fingerprints, 1600 ids>")
    assert stores.closed and repr(stores).endswith(", closed>") and stores.paths == list(parts)
    asks: list[Callable[[], object]] = [
        lambda: stores.query(1),
        lambda: stores.nearest(1),
        lambda: stores.query_many([1]),
        lambda: stores.nearest_many([1]),
        lambda: stores.has_near([1]),
        lambda: stores.pairs(),
        lambda: stores.find(["a"]),
        lambda: stores.refresh(),
        lambda: stores.generations,
        lambda: len(stores),
        lambda: bool(stores),
        lambda: 1 in stores,
        lambda: stores.__enter__(),
        lambda: pickle.dumps(stores),
    ]
    for ask in asks:
        with pytest.raises(fpstore.errors.InputError, match="the stores are closed"):
            ask()
    stores.close()


def test_a_list_of_paths_opens_several_stores(parts: dict[str, Records]) -> None:
    query = queries(parts)[0]
    with fpstore.open(list(parts)) as stores, fpstore.open(list(parts)) as same:
        assert stores.paths == list(parts) and stores.query(query) == same.query(query)
    one = next(iter(parts))
    with fpstore.open(one) as store, fpstore.open([one]) as named:
        assert (store.paths, store.generations) == ([one], [store.generation])
        assert [it.ids for it in named.query(query, 20)] == [it.ids for it in store.query(query, 20)]
        assert {it.store for it in named.query(query, 64)} == {one}
    wrong: Any = 1
    with pytest.raises(fpstore.errors.InputError, match="each store has its own generation"):
        fpstore.open([one], generation=wrong)


def test_answers_without_a_place_for_the_store_refuse_several(stores: fpstore.Store) -> None:
    asks: list[Callable[[], object]] = [
        stores.info,
        stores.stats,
        stores.verify,
        stores.fingerprints,
        stores.records,
        stores.clusters,
        stores.clusters_page,
        stores.pairs_page,
        stores.__arrow_c_stream__,
    ]
    for ask in asks:
        with pytest.raises(fpstore.errors.InputError, match="expected one store, 4 are given"):
            ask()
    assert not hasattr(stores, "path") and not hasattr(stores, "generation")
    assert "<table" not in stores._repr_html_()


def test_stores_that_are_not_asked_as_one_are_refused(tmp_path: Path) -> None:
    one = fpstore.build(tmp_path / "a.fps", [1], ["a"])
    copy = shutil.copytree(one.path, tmp_path / "copy.fps")
    other = fpstore.build(tmp_path / "other.fps", [1], recipe="minhash")
    with pytest.raises(fpstore.errors.InputError, match="a.fps is named twice"):
        fpstore.open([one.path, one.path])
    with pytest.raises(fpstore.errors.InputError, match="same store, or one is a copy"):
        fpstore.open([one.path, copy])
    with pytest.raises(fpstore.errors.InputError, match="cannot be queried together"):
        fpstore.open([one.path, other.path])
    with pytest.raises(fpstore.errors.InputError, match="no store is named"):
        fpstore.open([])
    with pytest.raises(fpstore.errors.NoStoreError, match="there is no store at"):
        fpstore.open([one.path, tmp_path / "none.fps"])
    with pytest.raises(fpstore.errors.InputError, match="access is 'mmap', expected 'map', "):
        fpstore.open([one.path], access="mmap")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def test_fingerprints_of_another_recipe_are_refused(tmp_path: Path) -> None:
    column = fpstore.Recipe().fingerprints(["some words"])
    paths = [tmp_path / "a.fps", tmp_path / "b.fps"]
    for path in paths:
        fpstore.build(path, [1], recipe="simhash")
    stores = fpstore.open(paths)
    with pytest.raises(fpstore.errors.RecipeError, match="recipes differ"):
        stores.query_many(column)
    with pytest.raises(fpstore.errors.RecipeError, match="recipes differ"):
        stores.nearest_many(column)


def test_the_program_gives_the_same(
    stores: Several, parts: dict[str, Records], program: str
) -> None:
    named = [argument for path in parts for argument in ("-s", path)]

    def run(*arguments: str) -> list[dict[str, Any]]:
        command = [program, *arguments, *named, "--format", "json", "--quiet"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    pairs = stores.pairs(3).read_all()
    shown = [dict(zip(pairs.column_names, row)) for row in pairs.to_pylist()]
    for row in shown:
        row.update({name: f"{row[name]:016x}" for name in ("first", "second")})
    assert len(shown) > 100 and run("pairs", "-k", "3") == shown
    query = queries(parts)[7]
    answer = run("query", f"{query:016x}", "-k", "30")[0]
    assert answer["matches"] == [
        {
            **{name: of for name, of in asdict(match).items() if of or name == "distance"},
            "fingerprint": f"{match.fingerprint:016x}",
            "ids": [str(it) for it in match.ids],
        }
        for match in stores.query(query, 30)
    ]
