"""The examples in docstrings and in the README are run, and everything public has a docstring."""

from __future__ import annotations

import doctest
import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PROJECT

import fpstore

README = Path(__file__).resolve().parents[1] / "README.md"


def documented() -> dict[str, Any]:
    found: dict[str, Any] = {"fpstore": fpstore}
    for name, item in (vars(fpstore) | vars(fpstore.types)).items():
        if name.startswith("_") or not (inspect.isclass(item) or inspect.isroutine(item)):
            continue
        # Another name of a class, such as Stores.
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


def test_the_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink(PROJECT / "tests", tmp_path / "tests")
    results = doctest.testfile(
        str(README), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert results.attempted > 5 and results.failed == 0
