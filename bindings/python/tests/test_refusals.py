"""Input that would be misread or lost silently is refused, and the error names the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fpstore
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

U = np.uint64


def ids_of(path: Path) -> list[Any]:
    return [id for _, id in fpstore.open(path).records().read_all()]


def table(ids: list[str]) -> pa.Table:
    columns = {"fingerprint": pa.array(range(len(ids)), pa.uint64()), "id": pa.array(ids)}
    return pa.table(columns)


def test_texts_stay_texts_after_batches_without_records(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{name}.fps" for name in "abc")
    whole = table(["1", "2"])
    fpstore.build(first, pa.concat_tables([whole.slice(0, 0), whole]))
    fpstore.build(second, iter([([], []), ([0, 1], ["1", "2"])]))
    chunks = pa.Table.from_batches([*whole.slice(0, 0).to_batches(), *whole.to_batches()])
    empty = pa.record_batch([pa.array([], pa.uint64()), pa.array([], pa.string())], whole.schema)
    fpstore.build(third, iter([pa.Table.from_batches([empty, *chunks.to_batches()])]))
    for path in (first, second, third):
        assert ids_of(path) == ["1", "2"]


def test_texts_beside_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.fps"
    mixed: Any = [([1], [10]), ([2], ["x"])]
    with pytest.raises(fpstore.errors.InputError, match="the earlier ids are numbers; id_type='str'"):
        fpstore.build(path, iter(mixed))
    bare_first: Any = [[5], ([1], ["1"])]
    with pytest.raises(fpstore.errors.InputError, match="'1', is a number in a text.*id_type='str'"):
        fpstore.build(path, iter(bare_first))
    fpstore.build(path, [1], [10])
    with fpstore.Writer(path) as writer:
        with pytest.raises(fpstore.errors.InputError, match="'N/A', is a text"):
            writer.add([3], ["N/A"])
        writer.add([4], [40])
    assert ids_of(path) == [10, 40]
    with fpstore.Writer(path, id_type="str") as writer:
        writer.add([3], ["N/A"])
    assert ids_of(path) == ["10", "N/A", "40"]


def test_the_first_ids_of_an_empty_store_decide(tmp_path: Path) -> None:
    path = tmp_path / "s.fps"
    fpstore.build(path, [])
    with fpstore.Writer(path) as writer:
        with pytest.raises(fpstore.errors.InputError, match="id_type='str' keeps texts"):
            writer.add([1], ["1"])
    with fpstore.Writer(path, id_type="str") as writer:
        writer.add([1], ["1"])
    assert ids_of(path) == ["1"]


@pytest.mark.parametrize("kind", [np.uint64, np.int64])
def test_masked_items_are_nulls(tmp_path: Path, kind: Any) -> None:
    masked: Any = np.ma.array([1, 1, 2], mask=[False, True, False], dtype=kind)
    assert fpstore.group(masked, 0).tolist() == [0, 1, 2]
    with pytest.raises(fpstore.errors.InputError, match="1 of 3 fingerprints are null"):
        fpstore.build(tmp_path / "s.fps", masked)
    with pytest.raises(fpstore.errors.InputError, match="1 of 3 ids are null"):
        fpstore.build(tmp_path / "s.fps", [1, 2, 3], masked)
    with pytest.raises(fpstore.errors.InputError, match="are null"):
        fpstore.from_bits(np.ma.array(np.zeros((1, 64), bool), mask=True))


def test_null_records_are_refused(tmp_path: Path) -> None:
    values = pa.array([1, 2, 3], pa.uint64())
    mask = pa.array([False, True, False])
    records = pa.StructArray.from_arrays([values, values], ["fingerprint", "id"], mask=mask)
    with pytest.raises(fpstore.errors.InputError, match="1 of 3 records are null"):
        fpstore.build(tmp_path / "s.fps", pa.chunked_array([records]))
    column = pa.StructArray.from_arrays([values], ["fingerprint"], mask=mask)
    with pytest.raises(fpstore.errors.InputError, match="1 of 3 fingerprints are null"):
        fpstore.group(column, 0)


@pytest.mark.parametrize(
    "texts",
    [
        ["ff", None, "ff"],
        ("ff", None, "ff"),
        np.array(["ff", None, "ff"], object),
        pa.array(["ff", None, "ff"]),
        pa.array(["ff", None, "ff"]).dictionary_encode(),
        pl.Series(["ff", None, "ff"]),
        pd.Series(["ff", None, "ff"]),
    ],
    ids=lambda of: type(of).__module__ + type(of).__name__,
)
def test_texts_with_nulls_are_grouped(texts: Any) -> None:
    assert fpstore.group(texts, 0).tolist() == [0, 1, 0]


@pytest.mark.parametrize("ids", [b"ab", bytearray(b"ab"), {"x", "y"}, {10: "a", 20: "b"}])
def test_ids_without_order_and_bytes_are_refused(tmp_path: Path, ids: Any) -> None:
    with pytest.raises(fpstore.errors.InputError, match="ids must be a sequence or an array, not"):
        fpstore.build(tmp_path / "s.fps", [1, 2], ids)


@pytest.mark.parametrize("values", [{1, 2}, {1: 2}, memoryview(b"12345678"), bytearray(b"1")])
def test_fingerprints_without_order_and_bytes_are_refused(values: Any) -> None:
    with pytest.raises(fpstore.errors.InputError, match="fingerprints must be a sequence or an array, not"):
        fpstore.near_pairs(values)


def test_a_column_without_type_has_nothing_but_nulls() -> None:
    assert fpstore.group(pl.Series([])).tolist() == []
    assert fpstore.group(pl.Series([None, None])).tolist() == [0, 1]
    with pytest.raises(fpstore.errors.InputError, match="2 of 2 fingerprints are null"):
        fpstore.to_hex(pl.Series([None, None]))


def test_a_stream_that_has_ended_is_not_read_as_empty(store: fpstore.Store) -> None:
    stream = store.pairs(3)
    stream.read_all()
    closed, given = store.pairs(3), store.pairs(3)
    closed.close()
    pa.table(given)
    for ended in (stream, closed, given):
        with pytest.raises(fpstore.errors.InputError, match="create a new stream"):
            ended.read_all()


def test_what_was_added_is_committed_before_a_delete(tmp_path: Path) -> None:
    fpstore.build(tmp_path / "s.fps", [1], [1])
    with fpstore.Writer(tmp_path / "s.fps") as writer:
        writer.add([2, 3], [2, 3])
        with pytest.raises(fpstore.errors.InputError, match="call commit"):
            writer.delete_ids([2], dry_run=True)
        assert writer.delete_ids([2]).found == 1
        writer.add([4], [4])
        assert writer.delete_fingerprints([4]).found == 1
    assert ids_of(tmp_path / "s.fps") == [1, 3]


def test_a_writer_in_use_does_not_end_as_if_it_had_committed(tmp_path: Path) -> None:
    path = tmp_path / "s.fps"
    fpstore.build(path, [0], [0])
    seen: list[fpstore.types.Progress] = []

    def look(progress: fpstore.types.Progress) -> None:
        if not seen:
            with pytest.raises(fpstore.errors.InputError, match="another thread is using the writer"):
                writer.__exit__(None, None, None)
            seen.append(progress)

    writer = fpstore.Writer(path, progress=look)
    writer.add([1], [1])
    writer.commit()
    assert seen and "closed" in repr(writer)
    with fpstore.Writer(path) as again:
        again.add([2], [2])
    assert ids_of(path) == [0, 1, 2]


def test_labels_and_rows_of_evaluations_are_checked() -> None:
    found = fpstore.evaluate([1, None, 2], [0, 0], [1, 2], [0, 0])
    assert (found.others, found.duplicates) == (2, 0)
    with pytest.raises(fpstore.errors.InputError, match="there is no row 0, there are 0"):
        fpstore.evaluate([], [0], [1])
    with pytest.raises(fpstore.errors.InputError, match="labels has numbers of"):
        fpstore.evaluate([1, 2], [0], [1], np.array([2**64 - 1], U))
    with pytest.raises(fpstore.errors.InputError, match="first must have one dimension"):
        fpstore.evaluate([1, 2], np.zeros((1, 1), int), [1])


def test_lengths_that_are_only_said_take_no_memory(store: fpstore.Store, tmp_path: Path) -> None:
    for call in (
        lambda: fpstore.group(range(10**13)),
        lambda: fpstore.build(tmp_path / "a.fps", [1], range(10**13)),
        lambda: store.find(range(10**13)),
    ):
        with pytest.raises(MemoryError, match="80000000000000 bytes"):
            call()


def test_texts_without_characters_are_refused() -> None:
    recipe = fpstore.Recipe()
    for call in (recipe.fingerprint, recipe.tokens, recipe.features):
        with pytest.raises(fpstore.errors.InputError, match="lone surrogate"):
            call("\ud800")
    for compare in (recipe.compare, recipe.compare_page):
        with pytest.raises(fpstore.errors.InputError, match="lone surrogate"):
            compare("a", "\ud800")
