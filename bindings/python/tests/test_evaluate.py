"""Evaluation with labelled pairs of ids gives the same results as the program."""

from __future__ import annotations

import gzip
import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import U64

import fpstore


def labels_of(tmp_path: Path, lines: list[tuple[str, str, int]]) -> Path:
    path = tmp_path / "labels.tsv"
    rows = ["first\tsecond\tlabel", "# judged by hand", ""]
    path.write_text("\n".join(rows + [f"{one}\t{other}\t{label}" for one, other, label in lines]))
    return path


def random_labels(ids: list[str], values: U64, seed: int) -> list[tuple[str, str, int]]:
    rng = np.random.default_rng(seed)
    found: dict[tuple[int, int], int] = {}
    for one, other in rng.integers(0, len(ids), (2000, 2)):
        if one < other:
            near = int(values[one] ^ values[other]).bit_count() <= 28
            found[int(one), int(other)] = 1 if near else int(rng.integers(-1, 1))
    return [(ids[one], ids[other], label) for (one, other), label in found.items()]


def by_program(program: str, *arguments: str | Path) -> Any:
    run = [program, "evaluate", *map(str, arguments), "--json", "-q"]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["recipes"][0]


def check(found: fpstore.types.Evaluation, told: Any) -> None:
    assert [asdict(point) for point in found.points] == told["points"]
    assert (found.area, found.best.k, found.best.f1) == (
        told["area"],
        told["best_k"],
        told["best_f1"],
    )
    assert (found.duplicates, found.others) == (told["duplicates"], told["others"])


@pytest.mark.parametrize("unlisted", [False, True])
@pytest.mark.parametrize("kind", ["text", "number"])
def test_a_store_and_fingerprints_with_ids(
    values: U64, kind: str, unlisted: bool, tmp_path: Path, program: str
) -> None:
    values = np.unique(values[:400])
    texts = [f"document {at}" if kind == "text" else str(at * 3) for at in range(len(values))]
    ids: Any = texts if kind == "text" else [int(id) for id in texts]
    lines = random_labels(texts, values, 3)
    labels = labels_of(tmp_path, lines)
    store = fpstore.build(tmp_path / "s.fps", values, ids)
    more = ["--unlisted-differ"] if unlisted else []
    told = by_program(program, store.path, "--pairs", labels, *more)
    check(fpstore.evaluate(store, pairs=labels, unlisted_differ=unlisted), told)
    check(fpstore.evaluate(values, pairs=labels, ids=ids, unlisted_differ=unlisted), told)
    rows = [(texts.index(one), texts.index(other), label) for one, other, label in lines]
    first, second, given = zip(*rows)
    check(fpstore.evaluate(values, first, second, given, unlisted_differ=unlisted), told)
    packed = tmp_path / "labels.tsv.gz"
    packed.write_bytes(gzip.compress(labels.read_bytes()))
    check(fpstore.evaluate(store, pairs=packed, unlisted_differ=unlisted), told)


def test_documents_by_a_recipe(tmp_path: Path, program: str) -> None:
    texts = ["one two three four", "one two three five", "", "another text of more words"]
    docs = tmp_path / "docs.jsonl"
    docs.write_text(
        "".join(json.dumps({"id": f"d{at}", "text": text}) + "\n" for at, text in enumerate(texts))
    )
    labels = labels_of(tmp_path, [("d0", "d1", 1), ("d0", "d2", 1), ("d1", "d3", 0)])
    frame = pd.DataFrame({"id": [f"d{at}" for at in range(4)], "text": texts})
    for recipe in ("minhash", "simhash"):
        told = by_program(program, "--docs", docs, "--pairs", labels, "--recipe", recipe)
        for given in (docs, frame):
            documents = fpstore.Documents(given)
            check(fpstore.evaluate(documents, pairs=labels, recipe=recipe), told)
            check(fpstore.evaluate(documents, pairs=labels, recipe=fpstore.Recipe(recipe)), told)
    check(
        fpstore.evaluate(fpstore.Documents(docs), pairs=labels, threads=1),
        by_program(program, "--docs", docs, "--pairs", labels),
    )


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", [1, 2, 3], ["a", "b", "c"])
    twice = fpstore.build(tmp_path / "t.fps", [1, 2], ["a", "a"])
    bare = fpstore.build(tmp_path / "b.fps", [1, 2])
    narrow = fpstore.build(tmp_path / "n.fps", [1, 2], ["a", "b"], bits=32)
    good = labels_of(tmp_path, [("a", "b", 1)])
    bad = tmp_path / "bad.tsv"
    evaluate: Any = fpstore.evaluate
    for text, message in [
        ("a\tb\t1\na\tz\t1\n", "bad.tsv: line 2: no document has the id 'z'"),
        ("a\tb\t1\nb\ta\t0\n", "bad.tsv: line 2: an earlier line gives this pair another label"),
        ("a\ta\t1\n", "bad.tsv: line 1: a document is paired with itself"),
        ("x\ty\tz\n", "bad.tsv: line 1: label is 'z', expected 1, 0 or -1"),
        ("x\ty\tlabel\na\tb\n", "bad.tsv: line 2: expected two ids and a label"),
    ]:
        bad.write_text(text)
        with pytest.raises(fpstore.errors.InputError, match=message):
            evaluate(store, pairs=bad)
    docs = fpstore.Documents(tmp_path / "none.jsonl")
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((store, [0], [1]), {"pairs": good}, "leave first out"),
        ((store,), {"pairs": good, "labels": [1]}, "leave labels out"),
        ((store,), {"pairs": good, "ids": ["a"]}, "leave ids out: the ids come from the store"),
        ((store,), {"pairs": good, "recipe": "minhash"}, "leave recipe out: the recipe comes"),
        ((docs,), {"pairs": good, "ids": ["a"]}, "leave ids out: the ids come from the doc"),
        (([1, 2],), {"pairs": good, "recipe": "minhash"}, "leave recipe out: the fingerprints"),
        (([1, 2],), {"pairs": good}, "give ids, a store or Documents"),
        (([1, 2],), {"pairs": good, "ids": ["a"]}, "2 fingerprints and 1 ids"),
        (([1, 2],), {"pairs": good, "ids": ["a", "a"]}, "two documents have the id 'a'"),
        ((twice,), {"pairs": good}, "two documents have the id 'a'"),
        ((bare,), {"pairs": good}, "b.fps: a fingerprint without an id has no labels"),
        ((narrow,), {"pairs": good}, "n.fps: fingerprints of 32 bits cannot be evaluated"),
        (([1, 2],), {}, "as first and second, or a file"),
        (([1, 2], [0], [1]), {"ids": ["a", "b"]}, "ids has no meaning without pairs"),
        (([1, 2], [0], [1]), {"threads": 1}, "threads has no meaning without pairs"),
        ((store,), {"pairs": "-"}, "not standard input"),
    ]
    for arguments, keywords, message in cases:
        with pytest.raises(fpstore.errors.InputError, match=message):
            evaluate(*arguments, **keywords)
    with pytest.raises(FileNotFoundError):
        evaluate(store, pairs=tmp_path / "none.tsv")
