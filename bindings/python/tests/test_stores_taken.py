"""Some functions accept several stores instead of one, the others refuse them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import clustered
from test_stores import build, scan

import fpstore


def test_dedup_names_the_store_of_the_nearest(tmp_path: Path) -> None:
    old = [clustered(400, 21).tolist(), clustered(400, 22).tolist()]
    # 20 fingerprints are in both stores.
    old[1][:20] = old[0][:20]
    parts = build(
        tmp_path, [(old[0], [f"a {at:03}" for at in range(400)]), (old[1], list(range(400)))]
    )
    fresh = [value ^ (0b11 << at % 60) for at, value in enumerate(old[0][:30] + old[1][10:60])]
    new = fpstore.build(tmp_path / "new.fps", fresh + [2**63 + 5, 2**63 + 5], range(82))
    stores = fpstore.open(list(parts))
    rows = fpstore.dedup(new, stores, 3).read_all()
    assert rows.column_names == [
        "fingerprint",
        "id",
        "keep",
        "near",
        "near_id",
        "distance",
        "near_store",
    ]
    seen = 0
    for fingerprint, number, keep, near, near_id, distance, near_store in rows.to_pylist():
        found = scan(parts, fingerprint, 3)
        if not found:
            # Without a stored neighbour, the second of two equal new documents is dropped.
            assert near_store is None and keep == (number != 81)
            assert keep or (near, near_id, distance) == (2**63 + 5, "80", 0)
            continue
        least = [match for match in found if match.fingerprint == found[0].fingerprint]
        assert (keep, near, distance) == (False, found[0].fingerprint, found[0].distance)
        assert (near_store, near_id) in {(it.store, str(one)) for it in least for one in it.ids}
        seen += 1
    assert seen == 80
    # With all records in one store, the same rows are dropped for the same reasons; only
    # `near_store` is missing.
    ids = [str(at) for at in range(800)]
    both = fpstore.build(tmp_path / "both.fps", old[0] + old[1], ids, id_type="str")
    alone = fpstore.dedup(new, both, 3).read_all()
    assert alone.column_names == rows.column_names[:-1]
    kept = [row[:4] + row[5:6] for row in rows.to_pylist()]
    assert kept == [row[:4] + row[5:6] for row in alone.to_pylist()]


def test_clean_names_the_store_of_a_stored_document(tmp_path: Path) -> None:
    texts = ["one two three four five", "six seven eight nine ten", "quite other words here today"]
    paths = [tmp_path / "a.fps", tmp_path / "b.fps"]
    for number, path in enumerate(paths):
        frame = pd.DataFrame({"id": [f"old {number}"], "text": [texts[number]]})
        with fpstore.Builder(path, recipe=fpstore.Recipe()) as builder:
            builder.add_documents(frame)
    stores = fpstore.open(paths)
    new = pd.DataFrame({"id": ["n0", "n1", "n2", "n3"], "text": [*texts, texts[2]]})
    cleaned = fpstore.clean(new, store=stores, within=True)
    assert (cleaned.kept, cleaned.near_stored, cleaned.near_new) == (1, 2, 1)
    names = [str(path) for path in paths]
    assert cleaned.removed.column_names[-1] == "other_store"
    assert [(row[4], row[5], row[-1]) for row in cleaned.removed.to_pylist()] == [
        ("n0", "old 0", names[0]),
        ("n1", "old 1", names[1]),
        ("n3", "n2", None),
    ]
    assert cleaned.rows is not None
    assert cleaned.keep.tolist() == [False, False, True, False]
    assert cleaned.rows.column_names[-1] == "near_store"
    assert [row[-1] for row in cleaned.rows.to_pylist()] == [*names, None, None]
    alone = fpstore.clean(new, store=fpstore.open(paths[0]))
    assert "other_store" not in alone.removed.column_names
    assert "near_store" not in alone.rows.column_names
    # New texts are hashed with the common recipe of the stores.
    recipe = stores.text_recipe()
    fingerprint = recipe.fingerprint(texts[1])
    assert fingerprint is not None and stores.query(fingerprint)[0].store == names[1]


def test_what_takes_one_store_refuses_several(tmp_path: Path) -> None:
    one = fpstore.build(tmp_path / "a.fps", [1], ["a"])
    two = fpstore.build(tmp_path / "b.fps", [2], ["b"])
    several: Any = fpstore.open([one.path, two.path])
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb\t1\n")
    asks: dict[str, Callable[[], object]] = {
        "new": lambda: fpstore.dedup(several, one),
        "store": lambda: fpstore.export(several, tmp_path / "c.fps"),
        "source": lambda: fpstore.backup(several, tmp_path / "kept"),
        "states": lambda: fpstore.log([one, several]),
        "fingerprints": lambda: fpstore.evaluate(several, pairs=pairs),
        "add": lambda: fpstore.clean(["some words"], store=several, add=True),
    }
    for name, ask in asks.items():
        remedy = rf"^{name}: expected one store, 2 are given: .*a.fps, .*b.fps; .*Writer.import_"
        with pytest.raises(fpstore.errors.InputError, match=remedy):
            ask()
    for ask in (
        lambda: fpstore.tasks.JoinPlan.of(several, 3),
        lambda: fpstore.tasks.query_segment(several, 1, [1]),
    ):
        with pytest.raises(fpstore.errors.InputError, match="^store: expected one store, 2 are given"):
            ask()
    wrong: Any = 5
    with pytest.raises(TypeError, match="expected a Store, not int"):
        fpstore.dedup(one, wrong)
    assert not (tmp_path / "c.fps").exists() and not (tmp_path / "kept").exists()
