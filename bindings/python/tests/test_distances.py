"""The recipe determines the default distance, and fingerprints of different recipes are never
mixed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import DATA

import fpstore
from fpstore import Recipe

TEXTS = [path.read_text() for path in sorted((DATA / "licences").iterdir())]
CALLS: dict[str, Any] = {
    "group": lambda of, **k: fpstore.group(of, **k).tolist(),
    "near_pairs": lambda of, **k: fpstore.near_pairs(of, sorted=True, **k).read_all().to_pylist(),
    "near_pairs of two": lambda of, **k: len(fpstore.near_pairs(of, of, **k).read_all()),
    "stats": lambda of, **k: fpstore.stats(of, **k).tuned_k,
    "plan": lambda of, **k: fpstore.tasks.JoinPlan(sample=of, **k).k,
}


@pytest.mark.parametrize("name", CALLS)
def test_without_k_it_is_the_usual_one_of_the_recipe(name: str) -> None:
    call = CALLS[name]
    for recipe, usual in ((Recipe(), 7), (Recipe("simhash"), 10)):
        column = recipe.fingerprints(TEXTS)
        assert column.recipe == recipe.text and recipe.usual_k == usual
        plain = column.to_numpy()
        assert call(column) == call(column, k=usual) == call(plain, k=usual)
        assert call(plain) == call(plain, k=3)
        assert call(column[:]) == call(column)


def test_a_store_is_tuned_for_the_recipe_of_its_fingerprints(tmp_path: Path) -> None:
    recipe = Recipe("simhash")
    column = recipe.fingerprints(TEXTS)
    store = fpstore.build(tmp_path / "a.fps", column)
    assert store.tuned_k == 10 and store.recipe == recipe.text
    asked = fpstore.build(tmp_path / "b.fps", column.to_numpy(), recipe=recipe)
    assert store.info().segments[0].tables == asked.info().segments[0].tables
    with fpstore.Builder(tmp_path / "c.fps") as builder:
        builder.add(column[:5])
        builder.add(column[5:])
    assert fpstore.open(tmp_path / "c.fps").recipe == recipe.text
    ready = fpstore.build(tmp_path / "d.fps", column.to_numpy())
    assert (ready.tuned_k, ready.recipe) == (3, "external")
    # A store passes its recipe on: to a store that is built from it, and to tables of its records.
    assert fpstore.build(tmp_path / "e.fps", store).recipe == recipe.text
    assert fpstore.build(tmp_path / "f.fps", pa.table(store)).tuned_k == 10
    assert fpstore.stats(store.records()).tuned_k == 10


def test_recipes_never_mix(tmp_path: Path) -> None:
    one, other = Recipe().fingerprints(TEXTS), Recipe("simhash").fingerprints(TEXTS)
    store = fpstore.build(tmp_path / "s.fps", one)
    calls: list[Any] = [
        lambda: fpstore.near_pairs(one, other),
        lambda: store.query_many(other),
        lambda: store.has_near(other),
        lambda: store.count_many(other),
        lambda: store.nearest_many(other),
        lambda: fpstore.build(tmp_path / "n.fps", other, recipe="minhash"),
        lambda: fpstore.build(tmp_path / "n.fps", iter([one, other])),
        lambda: fpstore.tasks.write_segment(tmp_path / "n.fps", other, recipe="minhash"),
        lambda: fpstore.tasks.query_segment(store, 1, other),
    ]
    for call in calls:
        with pytest.raises(fpstore.errors.RecipeError, match="recipes differ"):
            call()
    assert not (tmp_path / "n.fps").exists()
    with fpstore.Writer(store.path) as writer:
        for add in (writer.add, writer.check_and_add):
            with pytest.raises(fpstore.errors.RecipeError, match="recipes differ"):
                add(other)
        assert writer.add(one[:3]) == 3
    # Fingerprints without a known recipe are accepted.
    assert store.has_near(other.to_numpy(), 64).all()


def test_a_distance_far_from_usual_is_warned_of(tmp_path: Path) -> None:
    column = Recipe().fingerprints(TEXTS)
    with pytest.warns(fpstore.errors.DistanceWarning, match="k is 3, which misses .* 7 is usual"):
        fpstore.group(column, 3)
    with pytest.warns(fpstore.errors.DistanceWarning, match="k is 20, which finds others"):
        fpstore.near_pairs(column, k=20)
    with pytest.warns(fpstore.errors.DistanceWarning):
        fpstore.build(tmp_path / "a.fps", column, k=2)
    with pytest.warns(fpstore.errors.DistanceWarning):
        fpstore.Builder(tmp_path / "b.fps", k=2, recipe="minhash").close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (None, 0, 4, 7, 14):
            fpstore.group(column, k)
        fpstore.group(np.asarray(column), 3)
        with pytest.raises(fpstore.errors.DistanceWarning):
            fpstore.group(column, 3)


def test_the_recipe_travels_in_the_metadata_of_arrow(tmp_path: Path) -> None:
    column = Recipe().fingerprints(TEXTS)
    store = fpstore.build(tmp_path / "s.fps", column)
    for schema in (pa.table(store).schema, pa.schema(store.records())):
        metadata = schema.field("fingerprint").metadata
        assert metadata == {b"fpstore.recipe": Recipe().text.encode()}
