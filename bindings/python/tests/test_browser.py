"""Outputs of notebooks in a browser: wide and narrow, light and dark. Needs Chromium and its
driver, see tools/pages/browser.py; FPSTORE_PICTURES names a folder for pictures."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import PROJECT, clustered

import fpstore

SIZES = {"wide": (1280, 900), "narrow": (360, 740)}
THEMES = ["light", "dark"]
FRAME = pd.DataFrame(
    {
        "id": ["a", "b", "c"],
        "text": [
            "the quick brown fox jumps over the <b>lazy</b> dog",
            "the quick brown fox jumps over the <b>sleeping</b> dog",
            "something else altogether, of other words",
        ],
    }
)

# The markup of a notebook around an output.
CELL = """<!doctype html><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><style>
body { margin: 8px; } .output { overflow-x: auto; }</style>
<div class="output">%s</div>"""

# Measures a page, or the page in a frame, from inside.
PROBE = """
const root = document.documentElement;
const size = it => (it => [it.width, it.height])(it.getBoundingClientRect());
const body = getComputedStyle(document.body);
return {
  text: document.body.innerText, scroll: root.scrollWidth, client: root.clientWidth,
  height: root.clientHeight, plots: [...document.querySelectorAll('svg')].map(size),
  ink: body.color, paper: body.backgroundColor,
};
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    source = PROJECT / "tools" / "pages" / "browser.py"
    if not (shutil.which("chromium") and shutil.which("chromedriver") and source.exists()):
        pytest.skip("there is no Chromium with its driver")
    spec = importlib.util.spec_from_file_location("browser", source)
    assert spec and spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.Chromium(str(tmp_path_factory.mktemp("browser")))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The notebook outputs to check, by name."""
    folder = tmp_path_factory.mktemp("shown")
    prints = fpstore.Recipe().fingerprints(FRAME["text"])
    store = fpstore.build(folder / "texts.fps", prints, FRAME["id"])
    first, second = FRAME["text"][0], FRAME["text"][1]
    values = clustered(3000, 5)
    pairs = fpstore.near_pairs(values, k=6, sorted=True).read_all()
    at = {int(value): row for row, value in enumerate(values)}
    sides = [[at[int(of)] for of in pairs[name][:200]] for name in ("first", "second")]
    labels = (np.arange(len(sides[0])) % 3 > 0).astype(int)
    return {
        "clusters": store.clusters_page(20, texts=FRAME),
        "pairs": store.pairs_page(64, texts=FRAME),
        "compare": fpstore.Recipe().compare_page(first, second),
        "clean": fpstore.clean(FRAME, k=20, page=5).page,
        "stats": fpstore.stats(values),
        "evaluation": fpstore.evaluate(values, sides[0], sides[1], labels),
        "rows": pairs,
        "column": prints,
        "store": store,
    }


# For each output, a word that it must contain, and the number of its plots.
SEEN = {
    "clusters": ("sleeping", 0),
    "pairs": ("One document", 0),
    "compare": ("similarity", 0),
    "clean": ("What was removed", 2),
    "stats": ("fingerprints", 5),
    "evaluation": ("best F1", 1),
    "rows": ("distance", 0),
    "column": ("uint64", 0),
    "store": ("texts.fps", 0),
}


@pytest.mark.parametrize("name", SEEN)
def test_outputs_are_seen_in_every_size_and_theme(
    browser: Any, outputs: dict[str, Any], name: str, tmp_path: Path
) -> None:
    shown = outputs[name]._repr_html_()
    page = tmp_path / f"{name}.html"
    page.write_text(CELL % shown, encoding="utf-8")
    word, plots = SEEN[name]
    inks: dict[str, str] = {}
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            browser.view(width, height, theme)
            browser.open(page.as_uri())
            outer = browser.run(PROBE)
            assert outer["scroll"] <= outer["client"] <= width, "the notebook scrolls sideways"
            inner = outer
            if "<iframe" in shown:
                browser.call("POST", "/frame", {"id": 0})
                inner = browser.run(PROBE)
                browser.call("POST", "/frame", {"id": None})
                # The page fits the frame, and the frame the notebook.
                assert inner["scroll"] <= inner["client"] <= outer["client"]
                assert inner["height"] > 300
            assert word in inner["text"]
            assert len(inner["plots"]) >= plots
            for across, down in inner["plots"]:
                assert 100 < across <= inner["client"] and 60 < down <= inner["height"], name
            inks[theme] = inner["ink"]
            assert browser.log() == []
            if folder := os.environ.get("FPSTORE_PICTURES"):
                Path(folder, f"{name}-{size}-{theme}.png").write_bytes(browser.picture())
    assert inks["light"] != inks["dark"]


def test_the_script_of_a_frame_works_and_reaches_nothing_outside(
    browser: Any, outputs: dict[str, Any], tmp_path: Path
) -> None:
    page = tmp_path / "pairs.html"
    page.write_text(CELL % outputs["pairs"]._repr_html_(), encoding="utf-8")
    browser.view(1280, 900)
    browser.open(page.as_uri())
    browser.call("POST", "/frame", {"id": 0})
    browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'y', bubbles: true}))")
    assert "1 of 2 judged" in browser.run("return document.body.innerText")
    reached = "try { return parent.document.title } catch (error) { return error.name }"
    assert browser.run(reached) == "SecurityError"
    browser.call("POST", "/frame", {"id": None})
    assert browser.log() == []
