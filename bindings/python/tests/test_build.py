"""The package builds and changes stores with the same bytes as the program."""

from __future__ import annotations

import inspect
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, U64

import fpstore


def segments(path: Path) -> list[bytes]:
    return [segment.read_bytes() for segment in sorted(path.glob("segment-*.fps"))]


@pytest.mark.parametrize("kind", ["int", "str", None])
def test_the_bytes_are_those_of_the_program(
    tmp_path: Path, values: U64, program: str, kind: str | None
) -> None:
    ids = {"int": [*range(len(values))], "str": [f"d{at}" for at in range(len(values))]}.get(
        kind or ""
    )
    lines = [f"{value:016x}" + (f"\t{ids[at]}" if ids else "") for at, value in enumerate(values)]
    (tmp_path / "in.tsv").write_text("\n".join(lines) + "\n")
    theirs = tmp_path / "theirs.fps"
    subprocess.run([program, "build", tmp_path / "in.tsv", "-s", theirs, "--quiet"], check=True)
    fpstore.build(tmp_path / "ours.fps", values, ids)
    assert segments(tmp_path / "ours.fps") == segments(theirs)
    # Batches, threads, memory and order do not change the bytes.
    half = len(values) // 2
    with fpstore.Builder(tmp_path / "again.fps", threads=2, memory=64 << 20) as builder:
        builder.add(values[half:], ids[half:] if ids else None)
        builder.add(values[:half], ids[:half] if ids else None)
    if len(np.unique(values)) == len(values):
        # No fingerprint is repeated: the ids of repeated ones would depend on the order of
        # addition.
        assert segments(tmp_path / "again.fps") == segments(theirs)


def test_the_program_answers_as_the_package(tmp_path: Path, program: str) -> None:
    store_path = tmp_path / "tang.fps"
    data = [DATA / "tang_store.tsv.zst", DATA / "tang_queries.tsv.zst"]
    subprocess.run([program, "build", data[0], "-s", store_path, "--quiet"], check=True)
    near = subprocess.run(
        [program, "query", "--from", data[1], "-k", "7", "-s", store_path],
        check=True,
        capture_output=True,
        text=True,
    )
    expected = [tuple(line.split("\t")[1:]) for line in near.stdout.splitlines()]
    dump = tmp_path / "queries.fps"
    subprocess.run([program, "build", data[1], "-s", dump, "--quiet"], check=True)
    queries = fpstore.open(dump).records().read_all()["fingerprint"]
    with fpstore.open(store_path) as store:
        rows = store.query_many(queries, 7)
        hexed = [
            (f"{queries[query]:016x}", f"{value:016x}", str(distance), one)
            for query, value, distance, one in rows
        ]
        pairs = subprocess.run(
            [program, "pairs", store_path, "-k", "3"], check=True, capture_output=True, text=True
        )
        listed = [line.split("\t") for line in pairs.stdout.splitlines()]
        ours = store.pairs(3, ids=True).read_all()
    assert sorted(hexed) == sorted(expected) and len(hexed) > 1000
    assert len(ours) == len(listed) > 80
    assert {frozenset((row[3], row[4])) for row in ours} == {frozenset(row[-2:]) for row in listed}


def test_build_has_the_options_of_a_builder() -> None:
    given = inspect.signature(fpstore.build).parameters
    options = inspect.signature(fpstore.Builder).parameters
    assert {name: given[name] for name in given if name not in ("fingerprints", "ids")} == options


def test_a_build_that_fails_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), fpstore.Builder(tmp_path / "s.fps") as builder:
        builder.add([1, 2])
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        builder.add([3])


def test_what_cannot_be_built_is_refused_at_once(tmp_path: Path) -> None:
    fpstore.build(tmp_path / "s.fps", [1])
    with pytest.raises(fpstore.errors.StoreExistsError):
        fpstore.Builder(tmp_path / "s.fps")
    with pytest.raises(fpstore.errors.InputError, match="not an amount of bytes"):
        fpstore.Builder(tmp_path / "t.fps", budget="much")
    with pytest.raises(fpstore.errors.InputError, match="budget is for the scheme 'auto'"):
        fpstore.Builder(tmp_path / "t.fps", scheme="4", budget="1GB")
    with pytest.raises(fpstore.errors.InputError, match="scheme"):
        fpstore.Builder(tmp_path / "t.fps", scheme="nonsense")
    with pytest.raises(fpstore.errors.RecipeError, match="minhash, simhash, code, 1e0ng"):
        fpstore.Builder(tmp_path / "t.fps", recipe="minhsah")
    with pytest.raises(fpstore.errors.InputError, match="id_type"):
        fpstore.Builder(tmp_path / "t.fps", id_type="float")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(fpstore.errors.InputError, match="threads is 0"):
        fpstore.Builder(tmp_path / "t.fps", threads=0)
    with pytest.raises(fpstore.errors.InputError):
        fpstore.Builder(tmp_path / "t.fps", memory=1)
    assert [path.name for path in tmp_path.iterdir()] == ["s.fps"]
    replaced = fpstore.build(tmp_path / "s.fps", [5, 6], replace=True)
    assert len(replaced) == 2


def test_ids_of_a_kind(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "a.fps", [1], ["7"], id_type="int")
    assert store.query(1, 0)[0].ids == [7]
    store = fpstore.build(tmp_path / "b.fps", [1], [7], id_type="str")
    assert store.query(1, 0)[0].ids == ["7"]
    with pytest.raises(fpstore.errors.InputError, match="id number 0, 'x', is not a number"):
        fpstore.build(tmp_path / "c.fps", [1], ["x"], id_type="int")


def test_the_life_of_a_store(tmp_path: Path, values: U64) -> None:
    path = tmp_path / "s.fps"
    fpstore.build(path, values[:1000], range(1000), label="2026-09")
    reader = fpstore.open(path)
    with fpstore.Writer(path, label="2026-10", compact=False) as writer:
        assert writer.add(values[1000:2000], range(1000, 2000)) == 1000
        assert writer.pending == 1000
        done = writer.commit()
        assert (done.records, done.segment, done.generation) == (1000, 2, 2)
        assert writer.commit().segment is None
        assert writer.delete_ids([5, 5, 10**6], dry_run=True) == fpstore.types.Deleted(2, 1, 1, 1)
        assert writer.delete_ids(np.array([5])).found == 1
        assert writer.delete_fingerprints(values[1500:1502]).found == 2
        assert writer.store.query(int(values[1500]), 0) == []
        writer.add(values[2000:])
    assert len(reader) == len(np.unique(values[:1000]))
    assert reader.refresh() and not reader.refresh()
    assert [segment.label for segment in reader.info().segments] == [
        "2026-09",
        "2026-10",
        "2026-10",
    ]
    with fpstore.Writer(path) as writer:
        assert [segment.label for segment in writer.expire("2026-10")] == ["2026-09"]
        assert writer.compact("all").merged == 2
    reader.refresh()
    assert len(reader.info().segments) == 1
    rest = np.concatenate([values[1000:1500], values[1502:]])
    gone = set(values[1500:1502].tolist())
    assert set(reader.fingerprints().tolist()) == set(rest.tolist()) - gone


def test_a_writer_that_fails_forgets_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "s.fps"
    store = fpstore.build(path, [1], ["a"])
    with pytest.raises(ZeroDivisionError), fpstore.Writer(path) as writer:
        writer.add([2], ["b"])
        raise ZeroDivisionError
    assert not store.refresh() and len(store) == 1
    with fpstore.Writer(path) as writer:
        with pytest.raises(fpstore.errors.InputError):
            writer.add([3, 4], ["fine", "not\nfine"])
        writer.add([5], ["c"])
    store.refresh()
    assert store.fingerprints().tolist() == [1, 5]
    # In a store with text ids, new ids are texts, too.
    with fpstore.Writer(path) as writer:
        writer.add([9], ["12"])
    store.refresh()
    assert store.query(9, 0)[0].ids == ["12"]


def test_what_is_near_is_not_added(tmp_path: Path) -> None:
    path = tmp_path / "s.fps"
    fpstore.build(path, [0xFF, 0xFF00], ["stored", "other"])
    with fpstore.Writer(path, compact=False) as writer:
        rows = writer.check_and_add(
            np.array([0xFE, 0xFF0000, 0xFF0001, 0xFF0000], "uint64"), ["a", "b", "c", "d"], k=2
        )
        assert rows.column_names == ["added", "near", "near_id", "distance"]
        assert rows["added"].tolist() == [False, True, False, False]
        assert rows.to_pylist() == [
            (False, 0xFF, "stored", 1),
            (True, None, None, None),
            (False, 0xFF0000, "b", 1),
            (False, 0xFF0000, "b", 0),
        ]
        assert writer.pending == 1 and "1 records pending" in repr(writer)
        # Records added without a check are found, too.
        writer.add([0xFF << 32], ["unchecked"])
        assert writer.check_and_add([0xFF << 32], ["e"]).to_pylist() == [
            (False, 0xFF << 32, "unchecked", 0)
        ]
        assert writer.pending == 0 and len(writer.store) == 4
        # An error removes the records that the call has added.
        with pytest.raises(fpstore.errors.InputError, match="not"):
            writer.check_and_add(iter([([1 << 60], ["f"]), ([3 << 50], ["not\nfine"])]))
        with pytest.raises(fpstore.errors.InputError, match="k is 65"):
            writer.check_and_add([1], ["g"], k=65)
        assert writer.pending == 0
        assert writer.check_and_add([1 << 60], ["f"])["added"].all()
        assert writer.commit().records == 1
        assert writer.delete_ids(["f"]).found == 1
        assert writer.check_and_add([1 << 60], ["again"])["added"].all()
        assert len(writer.check_and_add([], [])) == 0
    # The end of the `with` block commits.
    assert fpstore.open(path).query(1 << 60, 0)[0].ids == ["again"]


def test_checked_records_agree_with_a_scan(tmp_path: Path, values: U64) -> None:
    path = tmp_path / "s.fps"
    fpstore.build(path, [])
    flips = np.uint64(1) << (np.arange(len(values), dtype=np.uint64) % np.uint64(5))
    asked = np.concatenate([values[:1500], values[:1500] ^ flips[:1500]])
    kept: list[int] = []
    with fpstore.Writer(path) as writer:
        rows = writer.check_and_add(asked, range(len(asked)), k=3)
        for value, (added, near, near_id, distance) in zip(asked.tolist(), rows, strict=True):
            bits = [(value ^ other).bit_count() for other in kept]
            assert added == (min(bits, default=64) > 3)
            if added:
                kept.append(value)
            else:
                assert distance == min(bits) and near == kept[bits.index(distance)]
                assert asked[near_id] == near
    assert sorted(kept) == fpstore.open(path).fingerprints().tolist()


def test_copies(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "a.fps", [1, 2], ["a", "b"], label="x")
    copy = fpstore.export(store, tmp_path / "b.fps")
    assert copy.records().read_all().to_pylist() == [(1, "a"), (2, "b")]
    fpstore.build(tmp_path / "c.fps", [3], ["c"])
    with fpstore.Writer(tmp_path / "c.fps", compact=False) as writer:
        assert writer.import_([tmp_path / "b.fps"]).fingerprints == 2
        with pytest.raises(fpstore.errors.InputError, match="has the same contents"):
            writer.import_([tmp_path / "a.fps"])
    assert len(fpstore.open(tmp_path / "c.fps")) == 3
    with pytest.raises(fpstore.errors.StoreExistsError):
        fpstore.export(store, tmp_path / "c.fps")


def test_a_store_describes_itself(store: fpstore.Store, values: U64) -> None:
    info = store.info()
    assert info.fingerprints == len(store) == len(np.unique(values))
    assert info.ids == len(values) and info.segments[0].id_kind == "text"
    assert info.path == store.path and store.recipe == "external"
    assert f"{len(store):,}".replace(",", " ") in store._repr_html_()
    assert repr(store).startswith("<fpstore.Store '")
    report = store.verify(20)
    assert report.is_sound and report.samples == 20 and report.damaged == []
    statistics = store.stats()
    assert statistics.fingerprints == len(store) and len(statistics.bit_shares) == 64
    assert "fingerprints" in str(statistics)
    assert statistics._repr_html_().startswith("<iframe srcdoc=") and "<svg" in statistics.html()


def test_statistics_name_what_is_wrong_before_a_build() -> None:
    found = fpstore.stats(range(10_000)).findings
    assert found[0].code == "counting-numbers" and found[0].severity == "serious"
    assert found[0].remedy
