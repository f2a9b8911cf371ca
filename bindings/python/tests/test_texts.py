"""Recipes and the fingerprints of texts."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import DATA

import fpstore
from fpstore import Recipe

LICENCES = sorted((DATA / "licences").iterdir())
TEXTS = [path.read_text() for path in LICENCES]


@pytest.mark.parametrize("name", Recipe.NAMES)
def test_fingerprints_are_those_of_the_program(program: str, name: str) -> None:
    command: list[str | Path] = [
        program,
        "fingerprint",
        DATA / "licences",
        "--recipe",
        name,
        "--quiet",
    ]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    expected = {path: value for value, path in (line.split("\t") for line in lines.splitlines())}
    values = fpstore.to_hex(Recipe(name).fingerprints(TEXTS))
    assert {path.name: value for path, value in zip(LICENCES, values)} == expected


def test_texts_of_every_kind_mean_the_same() -> None:
    texts = ["one two three", None, " ", "Größe 中文字"]
    recipe = Recipe()
    expected = recipe.fingerprints(texts).to_pylist()
    assert [value is None for value in expected] == [False, True, True, False]
    kinds: list[Any] = [
        tuple(texts),
        iter(texts),
        np.array(texts, object),
        pa.array(texts),
        pa.array(texts, pa.large_string()),
        pa.array(texts, pa.string_view()),
        pa.array(texts).dictionary_encode(),
        pa.array(["x", *texts]).slice(1),
        pa.chunked_array([texts[:1], texts[1:]]),
        pa.table({"text": texts}),
        pl.Series(texts),
        pl.Series(texts, dtype=pl.Categorical),
        pd.Series(texts),
        pd.Series(texts, dtype="string"),
        pd.Series(texts, dtype=object),
    ]
    for kind in kinds:
        assert recipe.fingerprints(kind).to_pylist() == expected
    assert recipe.fingerprints(pa.nulls(3)).null_count == 3
    assert len(recipe.fingerprints([])) == 0
    many = recipe.fingerprints(texts * 3000, threads=2)
    assert many.to_pylist() == expected * 3000
    assert [recipe.fingerprint(text) for text in texts if text is not None] == [
        value for value, text in zip(expected, texts) if text is not None
    ]
    for bad, message in [
        ("one text", "not a single text"),
        ([1], "text number 0 is int"),
        ([float("nan")], "text number 0 is float .NaN"),
        (pa.array([1]), "texts must be strings, not int64"),
        (["\ud800"], "lone surrogate"),
    ]:
        with pytest.raises(fpstore.errors.InputError, match=message):
            recipe.fingerprints(bad)  # pyright: ignore[reportArgumentType]


def test_columns_go_to_numpy_and_arrow() -> None:
    column = Recipe().fingerprints(["one two", None])
    assert column.null_count == 1 and column.is_null().tolist() == [False, True]
    assert pa.array(column).type == pa.uint64() and pl.Series(column).null_count() == 1  # pyright: ignore
    with pytest.raises(fpstore.errors.InputError, match="1 of 2 are null"):
        column.to_numpy()
    assert column.to_numpy(null=5)[1] == 5
    with pytest.raises(fpstore.errors.InputError, match="1 of 2 fingerprints are null"):
        fpstore.to_hex(column)


def test_recipes_are_values() -> None:
    recipe = Recipe("simhash", segment="words", shingle=3, count="log", stop_words="en")
    again = pickle.loads(pickle.dumps(recipe))
    assert again == recipe and hash(again) == hash(recipe) and again.text == str(recipe)
    assert again.fingerprints(TEXTS).to_pylist() == recipe.fingerprints(TEXTS).to_pylist()
    assert recipe != Recipe() and repr(Recipe("code")) == "Recipe('code')"
    assert Recipe(recipe.text) == recipe
    own = Recipe(stop_words=["the", "and"])
    assert pickle.loads(pickle.dumps(own)) == own
    weighed = Recipe("simhash", segment="words", weights={"licence": 5})
    assert pickle.loads(pickle.dumps(weighed)) == weighed
    assert weighed.fingerprint("a licence") is not None
    assert "shingle=3" in recipe.text and recipe.method == "simhash"
    assert Recipe().usual_k == 7 and Recipe().candidate_k(0.8) == 12
    for arguments, message in [
        ({"name": "minhsah"}, "minhash, simhash, code, 1e0ng"),
        ({"count": "log"}, "no meaning with minhash"),
        ({"shingle": 0}, "shingle is 0"),
        ({"segment": "characters", "shingle": 3}, "no meaning"),
        ({"stop_words": "xx"}, "stop words"),
        ({"hash": "md4"}, "md4"),
    ]:
        with pytest.raises(ValueError, match=message):
            Recipe(**arguments)  # type: ignore[arg-type]


def test_what_a_recipe_sees() -> None:
    recipe = Recipe()
    assert recipe.tokens("Don't panic!") == ["don't", "panic"]
    features = recipe.features("one two one two")
    assert [(of.text, of.occurrences) for of in features] == [("one two", 2), ("two one", 1)]
    alike = recipe.compare(TEXTS[0], TEXTS[0])
    assert (alike.distance, alike.jaccard, alike.only_first) == (0, 1.0, [])
    with pytest.raises(fpstore.errors.InputError, match="text 2 has no features"):
        recipe.compare("one two", "")
    weighed = Recipe("simhash").of_features({"word": 2.5, "other": 1})
    assert fpstore.to_hex([weighed or 0]) == ["ac351257249182a8"]
    with pytest.raises(fpstore.errors.InputError, match="not a weight"):
        Recipe("simhash").of_features({"word": -1})


def test_a_store_knows_its_recipe(tmp_path: Path) -> None:
    recipe = Recipe("simhash")
    column = recipe.fingerprints(TEXTS)
    store = fpstore.build(
        tmp_path / "s.fps", column, [path.name for path in LICENCES], recipe=recipe
    )
    assert store.text_recipe() == recipe and store.recipe == recipe.text
    found = store.query(store.text_recipe().fingerprint(TEXTS[3]) or 0, 0)
    assert LICENCES[3].name in found[0].ids
    with pytest.raises(fpstore.errors.RecipeError):
        fpstore.Writer(tmp_path / "s.fps", recipe="minhash")
    external = fpstore.build(tmp_path / "e.fps", [1])
    with pytest.raises(fpstore.errors.RecipeError, match="ready fingerprints"):
        external.text_recipe()


def test_confirmed_pairs_are_those_of_all_features() -> None:
    recipe = Recipe()
    texts = [*TEXTS, None, "", TEXTS[0]]
    found = fpstore.pairs(texts, confirm=0.6, k=64, recipe=recipe)
    sets = [
        {feature.hash for feature in recipe.features(text)} if text else set() for text in texts
    ]
    expected = [
        (a, b, len(sets[a] & sets[b]) / len(sets[a] | sets[b]))
        for a in range(len(texts))
        for b in range(a + 1, len(texts))
        if sets[a] and sets[b] and len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= 0.6
    ]
    assert [(a, b) for a, b, *_ in found] == [(a, b) for a, b, _ in expected]
    assert np.allclose(found["similarity"], [of for *_, of in expected])
    assert (0, len(texts) - 1) in {(a, b) for a, b, *_ in found}
    with pytest.raises(fpstore.errors.InputError, match="similarity is 0,"):
        fpstore.pairs(texts, confirm=0.0, recipe=recipe)


def test_evaluation_counts_what_each_distance_finds() -> None:
    values: list[int | None] = [0, 1, 3, 2**64 - 1, 0, 7, None]
    found = fpstore.evaluate(
        values, [0, 0, 0, 0], [4, 3, 2, 6], [1, 0, -1, 1], unlisted_differ=True
    )
    assert found.duplicates == 2
    point = found.points[0]
    assert (point.k, point.found, point.wrong, point.missed) == (0, 1, 0, 1)
    # Of 15 pairs of values, one is a duplicate and one is skipped.
    assert found.others == 13
    assert found.best.k == 0 and "<svg" in found._repr_html_() and "best F1" in repr(found)
    forecast = found.forecast(1_000_000)
    assert (forecast.collection_size, len(forecast.points)) == (1_000_000, 33)
    # Within distance 0, one duplicate was found among six fingerprints.
    assert forecast.points[0].found == pytest.approx(1e6 / 6)
    assert forecast.points[32].wrong >= forecast.points[32].by_chance > 2e11
    assert forecast.recommended_k == 0 and 0 < found.area < 1
    listed = fpstore.evaluate(values, [0, 0], [4, 3], [1, 0])
    assert (listed.duplicates, listed.others) == (1, 1)
    for arguments, message in [
        (([0], [9]), "no row 9"),
        (([0], [0]), "paired with itself"),
        (([0, 1], [1, 0], [0, 1]), "two labels"),
        (([0], [1], [2]), "label 2"),
        (([0], [1, 2]), "1 first rows, 2 second"),
        (([0.5], [1]), "whole numbers"),
    ]:
        with pytest.raises(fpstore.errors.InputError, match=message):
            fpstore.evaluate(values, *arguments)  # type: ignore[arg-type]  # pyright: ignore
