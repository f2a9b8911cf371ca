"""Tables of document frequencies have the same bytes and weights as those of the program."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from conftest import DATA

import fpstore
from fpstore import Recipe

TEXTS = [
    file.read_text(encoding="utf-8") for file in sorted((DATA / "licences").iterdir())
] + ["", "one two", "one two three", "one two"]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("df") / "docs.jsonl"
    lines = [json.dumps({"id": f"d{at}", "text": text}) for at, text in enumerate(TEXTS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments: str | Path) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["simhash", "minhash", "code"])
@pytest.mark.parametrize("least", [1, 2, 5])
def test_a_table_has_the_bytes_of_the_program(
    name: str, least: int, documents: Path, tmp_path: Path, program: str
) -> None:
    out = tmp_path / "program.df"
    run(program, "df", documents, "-o", out, "--recipe", name, "--min-df", str(least), "-q")
    recipe = Recipe(name)
    frame = pd.DataFrame({"id": range(len(TEXTS)), "text": TEXTS})
    tables = [
        recipe.df_table(documents, min_df=least),
        recipe.df_table(fpstore.Documents(documents, id_field="id"), min_df=least, threads=1),
        recipe.df_table(frame, min_df=least),
        recipe.df_table(texts=TEXTS, min_df=least),
        recipe.df_table(texts=pl.Series(TEXTS), min_df=least, threads=2),
        fpstore.DfTable(out),
    ]
    for at, table in enumerate(tables):
        table.save(tmp_path / f"{at}.df")
        assert (tmp_path / f"{at}.df").read_bytes() == out.read_bytes()
        assert table == tables[0] and hash(table) == hash(tables[0])
        assert table.documents == sum(bool(text) for text in TEXTS) and bool(table)


def test_fingerprints_with_a_table_are_those_of_the_program(
    documents: Path, tmp_path: Path, program: str
) -> None:
    table = Recipe("simhash").df_table(documents)
    path = tmp_path / "table.df"
    table.save(path)
    recipe = Recipe("simhash", df=table)
    assert recipe == Recipe("simhash", df=path) and "factor=idf" in recipe.text
    more: list[str | Path] = ["--recipe", "simhash", "--df", path]
    printed = run(program, "fingerprint", documents, *more, "-q").splitlines()
    of_program = [line.split("\t") for line in printed]
    values = recipe.fingerprints(TEXTS).to_pylist()
    expected = [[f"{value:016x}", f"d{at}"] for at, value in enumerate(values) if value is not None]
    assert of_program == expected
    assert recipe.fingerprints(TEXTS).to_pylist() != Recipe("simhash").fingerprints(TEXTS).to_pylist()

    of_python, by_program = tmp_path / "python.fps", tmp_path / "program.fps"
    with fpstore.Builder(of_python, recipe=recipe) as builder:
        builder.add_documents(documents)
    run(program, "build", "--docs", documents, *more, "-s", by_program, "-q")
    one, other = fpstore.open(of_python), fpstore.open(by_program)
    assert one.recipe == other.recipe == recipe.text
    assert sorted(one.records().read_all()) == sorted(other.records().read_all())


def test_the_recipe_of_a_store_takes_its_table(documents: Path, tmp_path: Path) -> None:
    table = Recipe("simhash", stop_words=["the", "and"]).df_table(documents)
    recipe = Recipe("simhash", df=table, stop_words=["the", "and"])
    store = fpstore.build(tmp_path / "s.fps", recipe.fingerprints(TEXTS[:5]))
    with pytest.raises(fpstore.errors.RecipeError, match="table of document frequencies"):
        store.text_recipe(stop_words=["the", "and"])
    with pytest.raises(fpstore.errors.RecipeError, match="stop words"):
        store.text_recipe(df=table)
    again = store.text_recipe(df=table, stop_words=["the", "and"])
    assert again == recipe
    assert again.fingerprints(TEXTS).to_pylist() == recipe.fingerprints(TEXTS).to_pylist()
    other = Recipe("simhash", stop_words=["the", "and"]).df_table(texts=TEXTS[:3])
    with pytest.raises(fpstore.errors.RecipeError, match="table of document frequencies"):
        store.text_recipe(df=other, stop_words=["the", "and"])
    with pytest.raises(fpstore.errors.InputError, match="weights: the recipe of the store has no"):
        store.text_recipe(weights={"a": 2}, stop_words=["the", "and"])
    plain = fpstore.build(tmp_path / "p.fps", Recipe().fingerprints(TEXTS[:5]))
    with pytest.raises(fpstore.errors.InputError, match="df: the recipe of the store has no table"):
        plain.text_recipe(df=table)
    with pytest.raises(fpstore.errors.InputError, match="stop_words: the recipe of the store has no"):
        plain.text_recipe(stop_words="en")


def test_what_cannot_be_used_is_refused(documents: Path, tmp_path: Path) -> None:
    recipe = Recipe("simhash")
    table = recipe.df_table(documents)
    assert pickle.loads(pickle.dumps(table)) == table
    weighed = Recipe("simhash", df=table)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "either as inputs or as texts"),
        ({"inputs": documents, "texts": TEXTS}, "either as inputs or as texts"),
        ({"texts": TEXTS, "min_df": 0}, "min_df is 0, expected 1 to"),
        ({"texts": [None, ""]}, "no document has features.*allow_empty=True"),
    ]
    for arguments, message in cases:
        with pytest.raises(fpstore.errors.InputError, match=message):
            recipe.df_table(**arguments)
    assert len(recipe.df_table(texts=[], allow_empty=True)) == 0
    with pytest.raises(fpstore.errors.InputError, match="leave df and weights out"):
        weighed.df_table(documents)
    with pytest.raises(fpstore.errors.InputError, match="df and weights both weigh"):
        Recipe("simhash", df=table, weights={"a": 2})
    with pytest.raises(fpstore.errors.RecipeError, match="made with"):
        Recipe("simhash", shingle=5, df=table)
    with pytest.raises(fpstore.errors.RecipeError, match="weighs no features"):
        Recipe("minhash", df=table)
    path = tmp_path / "t.df"
    table.save(path)
    with pytest.raises(FileExistsError, match="replace=True") as error:
        table.save(path)
    assert error.value.filename == str(path)
    table.save(path, replace=True)
    whole = path.read_bytes()
    assert fpstore.DfTable(path) == table
    for at in range(0, len(whole), len(whole) // 50):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        for read in (lambda: fpstore.DfTable(path), lambda: Recipe("simhash", df=path)):
            with pytest.raises(fpstore.errors.RecipeError, match="t.df: "):
                read()
    with pytest.raises(FileNotFoundError):
        fpstore.DfTable(tmp_path / "none.df")
    with pytest.raises(IsADirectoryError):
        Recipe("simhash", df=tmp_path)
    with pytest.raises(FileNotFoundError):
        table.save(tmp_path / "no" / "t.df")
    assert [it.name for it in tmp_path.iterdir()] == ["t.df"]
