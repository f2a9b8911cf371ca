"""Pairs, groups, clusters and deduplication, compared with a scan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import U64, clustered, distances
from hypothesis import given, settings
from hypothesis import strategies as st

import fpstore


def pairs_by_scan(values: U64, k: int) -> set[tuple[int, int, int]]:
    distinct = np.unique(values)
    near = distances(distinct, distinct)
    rows, columns = np.nonzero(np.triu(near <= k, 1))
    return {(int(distinct[a]), int(distinct[b]), int(near[a, b])) for a, b in zip(rows, columns)}


@pytest.mark.parametrize("k", [0, 3, 9, 25])
def test_pairs_are_those_of_a_scan(store: fpstore.Store, values: U64, k: int) -> None:
    expected = pairs_by_scan(values, k)
    found = store.pairs(k).read_all()
    assert set(found.to_pylist()) == expected and len(found) == len(expected)
    in_order = store.pairs(k, sorted=True).read_all()
    assert in_order.to_pylist() == sorted(expected)
    assert fpstore.near_pairs(values, k=k, sorted=True).read_all().to_pylist() == sorted(expected)
    assert set(fpstore.near_pairs(values, k=k).read_all()) == expected
    shares = [set(store.pairs(k, share=(number, 7)).read_all()) for number in range(7)]
    assert set().union(*shares) == expected
    assert sum(len(share) for share in shares) == len(expected)


def test_pairs_across_two_sets(values: U64) -> None:
    one, other = values[:1500], values[1500:]
    near = distances(np.unique(one), np.unique(other)) <= 5
    found = fpstore.near_pairs(one, other, 5, sorted=True).read_all()
    assert len(found) == near.sum()
    assert np.all(np.bitwise_count(found["first"] ^ found["second"]) == found["distance"])
    assert set(found) == set(fpstore.near_pairs(one, other, 5).read_all())


def test_pairs_of_documents_have_ids(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", [1, 1, 3], [10, 11, 12])
    assert store.pairs(1, ids=True).read_all().to_pylist() == [
        (1, 1, 0, 10, 11),
        (1, 3, 1, 10, 12),
        (1, 3, 1, 11, 12),
    ]
    with pytest.raises(fpstore.errors.InputError, match="a share has no ids"):
        store.pairs(1, ids=True, share=(0, 2))
    with pytest.raises(fpstore.errors.InputError, match="share 5 of 2"):
        store.pairs(1, share=(5, 2)).read_all()
    with pytest.raises(fpstore.errors.TooManyPairsError) as error:
        store.pairs(64, ids=True, max_pairs=2).read_all()
    assert error.value.most == 2


def groups_by_scan(values: list[int | None], k: int) -> list[int]:
    groups = list(range(len(values)))

    def find(at: int) -> int:
        while groups[at] != at:
            at = groups[at]
        return at

    for a, one in enumerate(values):
        for b, other in enumerate(values[:a]):
            if one is not None and other is not None and (one ^ other).bit_count() <= k:
                x, y = find(a), find(b)
                groups[max(x, y)] = min(x, y)
    return [find(at) for at in range(len(values))]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.none() | st.integers(0, 4095) | st.integers(0, 2**64 - 1), max_size=30),
    st.integers(0, 64),
)
def test_groups_are_those_of_a_scan(values: list[int | None], k: int) -> None:
    expected = groups_by_scan(values, k)
    assert fpstore.group(values, k).tolist() == expected
    assert fpstore.group(pl.Series(values, dtype=pl.UInt64), k).tolist() == expected
    assert fpstore.group(pd.Series(values, dtype="UInt64"), k).tolist() == expected
    if None not in values:
        assert fpstore.group(np.array(values, np.uint64), k).tolist() == expected


def test_rows_with_equal_fingerprints_are_groups() -> None:
    random = np.random.default_rng(7)
    values = random.integers(0, 2**64, 50_000, dtype=np.uint64)
    values = values[random.integers(0, len(values), 200_000)]
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    assert (fpstore.group(values, 0) == first[place]).all()


def test_components_are_those_of_the_groups(values: U64) -> None:
    pairs = fpstore.near_pairs(values, k=5).read_all()
    found = fpstore.components(pairs["first"], pairs["second"])
    groups = fpstore.group(np.unique(values), 5)
    component = dict(zip(found["fingerprint"].tolist(), found["component"].tolist()))
    for value, row in zip(np.unique(values).tolist(), groups.tolist()):
        assert component.get(value, value) == np.unique(values)[row]
    with pytest.raises(fpstore.errors.InputError, match="1 first and 2 second"):
        fpstore.components([1], [1, 2])


@pytest.mark.parametrize("method", ["components", "star", "leader"])
@pytest.mark.parametrize("keep", ["representative", "smallest-id"])
def test_clusters_keep_one_document_each(store: fpstore.Store, method: str, keep: str) -> None:
    rows = pl.DataFrame(store.clusters(5, method, keep=keep))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert rows.columns == ["cluster", "fingerprint", "distance", "id", "keep"]
    kept = rows.group_by("cluster").agg(pl.col("keep").sum(), pl.len())
    assert kept["keep"].to_list() == [1] * len(kept) and kept["len"].min() == 2
    if method == "components":
        values, ids = rows["fingerprint"].to_numpy(), rows["cluster"].to_list()
        groups = fpstore.group(values, 5)
        assert len(set(zip(groups.tolist(), ids))) == len(set(ids)) == len(set(groups.tolist()))
    else:
        assert rows["distance"].max() <= 5  # type: ignore[operator]  # pyright: ignore


def test_dedup_keeps_what_is_near_nothing(tmp_path: Path) -> None:
    old, new = clustered(1000, 1), clustered(1000, 2)
    new[::10] = old[::10] ^ np.uint64(0b101)
    stored = fpstore.build(tmp_path / "old.fps", old, [f"old {at}" for at in range(1000)])
    fresh = fpstore.build(tmp_path / "new.fps", new, range(1000))
    rows = pl.DataFrame(fpstore.dedup(fresh, stored, 3, within=False))
    near = distances(new, old)
    by_row = rows.sort("id")
    assert by_row["keep"].to_list() == (near.min(axis=1) > 3).tolist()
    dropped = by_row.filter(~pl.col("keep"))
    at = dropped["id"].cast(pl.Int64).to_list()
    assert dropped["distance"].to_list() == near[at].min(axis=1).tolist()
    assert all(int(of.split()[1]) < 1000 for of in dropped["near_id"])
    # Without stored documents, one document of each set of equal new fingerprints is kept.
    within = pl.DataFrame(fpstore.dedup(fresh, None, 0)).sort("id")
    first = {int(value): at for at, value in reversed(list(enumerate(new)))}
    assert within["keep"].to_list() == [first[int(value)] == at for at, value in enumerate(new)]
    assert within.filter(~pl.col("keep"))["near_id"].null_count() == 0


def test_stores_of_two_recipes_are_not_compared(tmp_path: Path) -> None:
    one = fpstore.build(tmp_path / "a.fps", [1], recipe="minhash")
    other = fpstore.build(tmp_path / "b.fps", [1], recipe="simhash")
    with pytest.raises(fpstore.errors.RecipeError, match="recipes differ"):
        fpstore.dedup(one, other).read_all()
