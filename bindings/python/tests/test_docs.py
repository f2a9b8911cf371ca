"""The examples in docstrings and in the README are run, and everything public has a docstring."""

from __future__ import annotations

import doctest
import inspect
import os
import pydoc
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PROJECT

import fpstore

PLAIN: Any = vars(pydoc)["plaintext"]
README = Path(__file__).resolve().parents[1] / "README.md"


def documented() -> dict[str, Any]:
    found: dict[str, Any] = {"fpstore": fpstore}
    for name, item in (vars(fpstore) | vars(fpstore.types)).items():
        if name.startswith("_") or not (inspect.isclass(item) or inspect.isroutine(item)):
            continue
        if item in found.values():
            continue
        found[name] = item
        if inspect.isclass(item) and item.__module__ == "fpstore":
            for member, value in vars(item).items():
                if not member.startswith("_") and member != "NAMES":
                    found[f"{name}.{member}"] = value
    found["tasks"] = fpstore.tasks
    for name in fpstore.tasks.__all__:
        found[f"tasks.{name}"] = vars(fpstore.tasks)[name]
    for name in ("of", "parse"):
        found[f"tasks.JoinPlan.{name}"] = getattr(fpstore.tasks.JoinPlan, name)
        found[f"tasks.Receipt.{name}"] = getattr(fpstore.tasks.Receipt, name)
    return found


@pytest.mark.parametrize("name", documented())
def test_docstrings_are_there_and_true(name: str, tmp_path: Path) -> None:
    doc = inspect.getdoc(documented()[name])
    assert doc, f"{name} has no docstring"
    values = [0xC0F1789BED2EB9B8, 0xC0F1789BED2EB9B9, 0x5057D88DD8F1C6FF]
    store = fpstore.build(tmp_path / "pages.fps", values, ["a.html", "b.html", "c.html"])
    given = {"fpstore": fpstore, "np": np, "store": store, "folder": tmp_path}
    test = doctest.DocTestParser().get_doctest(doc, dict(given), name, None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    results = runner.run(test)
    assert results.failed == 0


@pytest.mark.parametrize("name", documented())
def test_every_parameter_is_described(name: str) -> None:
    item = documented()[name]
    if inspect.isclass(item) and item.__module__ != "fpstore":
        return
    signature = getattr(item, "__text_signature__", None) or "()"
    given = set(re.findall(r"(\w+)(?==|,|\)|$)", re.sub(r"=[^,)]*", "=", signature)))
    doc = inspect.getdoc(item) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w+\n---|\Z)", doc, re.S | re.M)
    lines = section.group(1).splitlines() if section else []
    heads = [line.partition(" :")[0] for line in lines if line and not line.startswith(" ")]
    described = {name for head in heads for name in head.split(", ")}
    if "The old name of" not in doc:
        assert given - {"self", "cls"} == described


def test_help_fits_two_screens() -> None:
    shown = pydoc.render_doc(fpstore, renderer=PLAIN)
    assert len(shown.splitlines()) <= 100 and "clean, contamination" in shown
    assert {"clean", "open", "Store", "types"} <= set(dir(fpstore))
    match = pydoc.render_doc(fpstore.types.Match, renderer=PLAIN)
    assert "count(self" not in match and "ForwardRef" not in match
    assert "Match(fingerprint: int, distance: int, ids: list[int] | list[str]," in match
    assert "ids : list[int] | list[str]" in match
    assert "confirm : float, optional" in pydoc.render_doc(fpstore.clean, renderer=PLAIN)


def test_old_names_work_with_a_warning() -> None:
    types = fpstore.types
    old = {
        "Match": types.Match,
        "InputError": fpstore.errors.InputError,
        "LabelledMatch": types.Match,
        "MatchInStores": types.Match,
        "Stores": fpstore.Store,
        "open_all": fpstore.open,
    }
    for name, item in old.items():
        with pytest.warns(DeprecationWarning, match=f"fpstore.{name} moved to fpstore[.]"):
            assert getattr(fpstore, name) is item
    with pytest.warns(DeprecationWarning, match="types.Stores moved to fpstore.Store"):
        assert getattr(types, "Stores") is fpstore.Store
    with pytest.warns(DeprecationWarning, match="confirmed_pairs moved to fpstore.pairs"):
        rows = fpstore.Recipe().confirmed_pairs(["a b", "A b"], similarity=0.9, k=3)
    assert rows.to_pylist() == [(0, 1, 0, 1.0)]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(fpstore, "nothing")


def test_the_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink(PROJECT / "tests", tmp_path / "tests")
    results = doctest.testfile(
        str(README), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert results.attempted > 5 and results.failed == 0
