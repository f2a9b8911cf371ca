"""HTML pages, plans, and clusters that obey judged pairs."""

from __future__ import annotations

import html
import json
import pickle
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import clustered

import fpstore

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


@pytest.fixture
def texts(tmp_path: Path) -> fpstore.Store:
    return fpstore.build(
        tmp_path / "texts.fps", fpstore.Recipe().fingerprints(FRAME["text"]), FRAME["id"]
    )


def data_of(page: fpstore.types.Page) -> list[dict[str, Any]]:
    """The groups in an HTML page, read like its script reads them."""
    found = re.search(r'id="data"[^>]*>(.*?)</script>', page.html(), re.DOTALL)
    assert found
    groups: list[dict[str, Any]] = json.loads(found.group(1))
    return groups


def test_pages_show_the_texts_of_their_documents(texts: fpstore.Store, tmp_path: Path) -> None:
    k = texts.query(texts.find(["a"])[0][0], 64)[1].distance
    first, second = FRAME["text"][0], FRAME["text"][1]
    pages = [
        texts.clusters_page(k, texts=FRAME, link="https://example.org/{id}"),
        texts.pairs_page(texts=FRAME, k=64),
        fpstore.clean(FRAME, k=k, page=5).page,
        fpstore.Recipe().compare_page(first, second, names=("one", "two")),
    ]
    for page in pages:
        assert page and page.html().lower().startswith("<!doctype html>")
        assert "quick brown" in page.html() and "<b>lazy" not in page.html()
        # The page loads no external resources, and runs only its own script.
        assert "Content-Security-Policy" in page.html()
        frame = page._repr_html_()
        assert re.fullmatch(r'<iframe srcdoc="[^"]*" style="[^"]*" sandbox="[a-z -]*"></iframe>', frame)
        inner = re.search('srcdoc="([^"]*)"', frame)
        assert inner and html.unescape(inner.group(1)) == page.html()
        assert pickle.loads(pickle.dumps(page)).html() == page.html()
    assert len(data_of(pages[0])) == 1 and len(data_of(pages[1])) == 2  # type: ignore[arg-type]
    bare = texts.clusters_page(k)
    assert "quick brown" not in bare.html() and len(data_of(bare)) == 1
    with pytest.raises(fpstore.errors.InputError, match="{id}"):
        texts.clusters_page(link="https://example.org")
    with pytest.raises(fpstore.errors.InputError, match="ids"):
        fpstore.build(tmp_path / "bare.fps", [1, 2]).pairs_page()
    (tmp_path / "docs.jsonl").write_text(FRAME.to_json(orient="records", lines=True))
    of_files = texts.clusters_page(k, texts=tmp_path / "docs.jsonl")
    assert data_of(of_files) == data_of(texts.clusters_page(k, texts=FRAME))


def test_pages_are_those_of_the_program(texts: fpstore.Store, tmp_path: Path, program: str) -> None:
    docs = tmp_path / "docs.jsonl"
    docs.write_text(FRAME.to_json(orient="records", lines=True))

    def run(*args: object) -> str:
        page = tmp_path / "page.html"
        done = [program, *map(str, args), "--html", str(page), "-q", "-f"]
        subprocess.run(done, check=False, stdout=subprocess.DEVNULL)
        return page.read_text()

    by_texts = ("--texts", docs)
    assert run("cluster", texts.path, "-k", 40, *by_texts) == texts.clusters_page(40, texts=docs).html()
    assert run("pairs", texts.path, "-k", 40, *by_texts) == texts.pairs_page(40, texts=docs).html()
    cleaned = fpstore.clean(docs, k=40, page=100)
    assert cleaned.page and cleaned.near_new == 2
    by_program = run("clean", docs, "-k", 40, "-o", tmp_path / "out.jsonl", "--html-max", 100)
    title = re.compile("<title>.*?</title>|<h1>.*?</h1>")
    assert title.sub("", by_program) == title.sub("", cleaned.page.html())


def test_items_of_a_benchmark_have_a_page(tmp_path: Path) -> None:
    question = pd.DataFrame({"text": ["the quick brown fox jumps over"]})
    found = fpstore.contamination(FRAME, question, min_words=3, short_contains=0.5, page=10)
    assert found.page and "quick brown" in found.page.html()
    assert fpstore.contamination(FRAME, question, min_words=3, short_contains=0.5).page is None


def test_plans(tmp_path: Path) -> None:
    found = fpstore.plan(10**6)
    assert (found.fingerprints, found.k) == (10**6, 3) and found.chosen in found.schemes
    every = fpstore.plan(10**6, all=True)
    assert {it.name for it in found.schemes} < {it.name for it in every.schemes}
    frontier = [it for it in found.schemes if it.on_frontier]
    assert sorted(frontier, key=lambda it: it.hot_micros, reverse=True) == frontier
    assert fpstore.plan(10**6, recipe="minhash").k == 7
    values = clustered(5000, 4)
    sampled = fpstore.plan(sample=np.concatenate([values, values]))
    assert sampled.fingerprints == len(np.unique(values))
    # `build` accepts the chosen scheme.
    store = fpstore.build(tmp_path / "s.fps", values, scheme=sampled.chosen.name)
    assert [it.mask for it in store.info().segments[0].tables] == sampled.chosen.masks
    assert found.chosen.name in found._repr_html_()
    assert pd.DataFrame(every.schemes)["tables_len"].is_monotonic_increasing
    refused: list[dict[str, Any]] = [
        {},
        {"n": -1},
        {"n": 2**70},
        {"n": 10, "k": 65},
        {"n": 10, "budget": "?"},
    ]
    for bad in refused:
        with pytest.raises(fpstore.errors.InputError):
            fpstore.plan(**bad)


def test_clusters_obey_judged_pairs(tmp_path: Path, program: str) -> None:
    values = clustered(400, 11)
    ids = [f"d{at}" for at in range(400)]
    store = fpstore.build(tmp_path / "s.fps", values, ids)
    members = store.clusters(9).read_all()
    first = [members["id"][row] for row in range(3)]
    labels = tmp_path / "labels.tsv"
    labels.write_text(f"{first[0]}\t{first[1]}\t0\nd0\td399\t1\n")
    found = store.clusters(9, pairs=labels).read_all()
    of = dict(zip(found["id"], found["cluster"], strict=True))
    assert of["d0"] == of["d399"] and of.get(first[0], 0) != of.get(first[1], 1)
    command = [program, "cluster", store.path, "-k", "9", "--pairs", str(labels), "-q"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [(row[0], row[-1]) for row in rows] == [
        (str(cluster), name)
        for cluster, name in zip(found["cluster"], found["id"], strict=True)
    ]
    with pytest.raises(fpstore.errors.InputError, match="components"):
        store.clusters(9, "star", pairs=labels)
    with pytest.raises(FileNotFoundError):
        store.clusters(9, pairs=tmp_path / "none.tsv")
    labels.write_text("a\tb\t1\nb\ta\t0\n")
    with pytest.raises(fpstore.errors.InputError, match="labels.tsv"):
        store.clusters(9, pairs=labels)
