"""Fingerprints and ids of all documented types are accepted; errors name other types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import U64

import fpstore

VALUES = [3, 2**63 + 5, 2**64 - 1]
SIGNED = [3, -(2**63) + 5, -1]
HEX = ["3", "8000000000000005", "0xffffffffffffffff"]


def misaligned_arrow(values: list[int]) -> Any:
    raw = b"x" + np.array(values, np.uint64).tobytes()
    buffer = pa.py_buffer(raw).slice(1)
    return pa.Array.from_buffers(pa.uint64(), len(values), [None, buffer])


def read_only(array: U64) -> U64:
    array.flags.writeable = False
    return array


def misaligned(values: list[int]) -> U64:
    raw = b"x" + np.array(values, np.uint64).tobytes()
    return np.frombuffer(raw, np.uint64, len(values), 1)


GOOD: dict[str, Any] = {
    "list": VALUES,
    "tuple": tuple(VALUES),
    "signed": SIGNED,
    "hex": HEX,
    "numpy scalars": list(np.array(VALUES, np.uint64)),
    "uint64": np.array(VALUES, np.uint64),
    "int64": np.array(SIGNED, np.int64),
    "big endian": np.array(VALUES, ">u8"),
    "big endian, signed": np.array(SIGNED, ">i8"),
    "strided": np.array([[value, 0] for value in VALUES], np.uint64)[:, 0],
    "reversed": np.array(VALUES[::-1], np.uint64)[::-1],
    "misaligned": misaligned(VALUES),
    "read-only": read_only(np.array(VALUES, np.uint64)),
    "objects": np.array(VALUES, object),
    "array of texts": np.array(HEX),
    "arrow": pa.array(VALUES, pa.uint64()),
    "arrow, signed": pa.array(SIGNED, pa.int64()),
    "arrow slice": pa.array([9, *VALUES, 9], pa.uint64()).slice(1, 3),
    "arrow texts": pa.array(HEX),
    "arrow large texts": pa.array(HEX, pa.large_string()),
    "arrow text views": pa.array(HEX, pa.string_view()),
    "arrow dictionary": pa.array(HEX).dictionary_encode(),
    "arrow, misaligned": misaligned_arrow(VALUES),
    "chunked": pa.chunked_array([VALUES[:1], VALUES[1:]], pa.uint64()),
    "table": pa.table({"fingerprint": pa.array(VALUES, pa.uint64())}),
    "record batch": pa.record_batch({"f": pa.array(VALUES, pa.uint64())}),
    "polars": pl.Series(VALUES, dtype=pl.UInt64),
    "polars, signed": pl.Series(SIGNED, dtype=pl.Int64),
    "polars texts": pl.Series(HEX),
    "polars frame": pl.DataFrame({"f": pl.Series(VALUES, dtype=pl.UInt64)}),
    "pandas": pd.Series(VALUES, dtype="uint64"),
    "pandas, signed": pd.Series(SIGNED, dtype="int64"),
    "pandas with nulls allowed": pd.Series(VALUES, dtype="UInt64"),
    "pandas with arrow": pd.Series(VALUES, dtype="uint64[pyarrow]"),
    "pandas texts": pd.Series(HEX),
    "pandas index": pd.Index(VALUES, dtype="uint64"),
}


@pytest.mark.parametrize("name", GOOD)
def test_fingerprints_of_every_kind_mean_the_same(name: str) -> None:
    assert fpstore.to_hex(GOOD[name]) == [
        "0000000000000003",
        "8000000000000005",
        "ffffffffffffffff",
    ]


BAD: list[tuple[Any, str]] = [
    (np.zeros(3), "these are float64"),
    (np.zeros(3, np.uint32), "these are uint32"),
    (np.zeros(3, np.int32), "these are int32"),
    (np.zeros(3, bool), "not bool; to convert bits, use from_bits"),
    (np.zeros((2, 2), np.uint64), "one dimension, but this array has 2"),
    (np.zeros((), np.uint64), "one dimension, but this array has 0"),
    (np.zeros(2, "datetime64[s]"), "datetime64"),
    (pa.array([1, None, None], pa.uint64()), "2 of 3 fingerprints are null"),
    (pa.nulls(2), "2 of 2 fingerprints are null"),
    (pa.chunked_array([[1], [None]], pa.uint64()), "1 of 2 fingerprints are null"),
    (pa.array([1.0]), "these are double"),
    (pa.array([1], pa.uint32()), "these are uint32"),
    (pa.array([True]), "these are bool"),
    (pa.table({"a": [1], "b": [2]}), "this table has 2: a, b"),
    (pl.Series([1, None], dtype=pl.UInt64), "1 of 2 fingerprints are null"),
    (pl.Series([1.5]), "these are double"),
    (pd.Series([1, None], dtype="UInt64"), "1 of 2 fingerprints are null"),
    (pd.Series([1.0]), "these are float64"),
    (pd.DataFrame({"a": [1]}), "not a DataFrame"),
    ("c0f1789bed2eb9b8", "not a single str"),
    (b"c0f1789bed2eb9b8", "not a single bytes"),
    (5, "not int"),
    (None, "not NoneType"),
    ([1, None], "fingerprint number 1 is None"),
    ([1, 2.0], "fingerprint number 1 is a float"),
    ([True], "number 0: a fingerprint must be an int or a text of hex digits, not bool"),
    ([np.bool_(True)], "number 0: a fingerprint must be an int"),
    ([2**64], "18446744073709551616 is not a fingerprint"),
    ([-(2**63) - 1], "is not a fingerprint"),
    ([b"ff"], "not bytes"),
    (["xyz"], "xyz"),
    ([""], "fingerprint number 0"),
    (["ab" * 32], "has 256 bits; a fingerprint has 64"),
    (pa.array(["ff", "no hex"]), "fingerprint number 1"),
]


@pytest.mark.parametrize("bad, message", BAD, ids=[message for _, message in BAD])
def test_what_is_no_fingerprint_is_refused_by_name(bad: Any, message: str) -> None:
    with pytest.raises(fpstore.errors.InputError, match=message) as error:
        fpstore.to_hex(bad)
    assert isinstance(error.value, ValueError)


GOOD_IDS: list[tuple[Any, list[int] | list[str]]] = [
    ([7, 8], [7, 8]),
    (["a", "7"], ["a", "7"]),
    (["1", "2"], ["1", "2"]),
    (np.array([7, 8], np.int32), [7, 8]),
    (np.array([7, 8], ">u2"), [7, 8]),
    (np.array(["a", "b"]), ["a", "b"]),
    (pa.array([7, 8], pa.int16()), [7, 8]),
    (pa.array([2**64 - 1, 8], pa.uint64()), [2**64 - 1, 8]),
    (pa.array(["a", "b"]), ["a", "b"]),
    (pl.Series(["a", "b"]), ["a", "b"]),
    (pd.Series([7, 8]), [7, 8]),
    (pd.Series(["a", "b"]), ["a", "b"]),
    (range(5, 7), [5, 6]),
]


@pytest.mark.parametrize("ids, expected", GOOD_IDS)
def test_ids_come_back_as_what_they_were(tmp_path: Path, ids: Any, expected: Any) -> None:
    with fpstore.build(tmp_path / "s.fps", [1, 2], ids) as store:
        assert [match.ids[0] for match in store.query(1, 0) + store.query(2, 0)] == expected


BAD_IDS: list[tuple[Any, str]] = [
    ([1], "2 fingerprints and 1 ids"),
    ([1, "a"], "all numbers or all texts; number 1 differs"),
    ([1, -1], "id number 1 is -1"),
    ([1, 2**64], "id number 1"),
    ([1, 2.0], "id number 1 is float"),
    ([True, False], "id number 0 is bool"),
    ([1, None], "id number 1 is NoneType"),
    (["a", "b\n"], "id number 1"),
    (["", "b"], "id number 0"),
    ("ab", "not a single id"),
    (np.array([1.0, 2.0]), "these are float64"),
    (np.array([-1, 2]), "id number 0 is -1"),
    (pa.array([1, None]), "1 of 2 ids are null"),
    (pa.array([1, -2]), "id number 1 is -2"),
    (pd.Series(["a", None]), "1 of 2 ids are null"),
]


@pytest.mark.parametrize("ids, message", BAD_IDS, ids=[message for _, message in BAD_IDS])
def test_what_is_no_id_is_refused_and_nothing_is_built(
    tmp_path: Path, ids: Any, message: str
) -> None:
    with pytest.raises(fpstore.errors.InputError, match=message):
        fpstore.build(tmp_path / "s.fps", [1, 2], ids)
    assert not (tmp_path / "s.fps").exists()


def test_batches_of_an_iterator_need_not_fit_into_memory(tmp_path: Path) -> None:
    def batches() -> Iterator[tuple[U64, list[str]]]:
        for start in range(0, 1000, 100):
            numbers = np.arange(start, start + 100, dtype=np.uint64)
            yield numbers, [f"n{number}" for number in numbers]

    store = fpstore.build(tmp_path / "a.fps", batches())
    assert len(store) == 1000
    assert store.query(999, 0)[0].ids == ["n999"]
    arrays = (np.arange(at, at + 10, dtype=np.uint64) for at in range(0, 100, 10))
    assert len(fpstore.build(tmp_path / "b.fps", arrays)) == 100
    assert len(fpstore.build(tmp_path / "c.fps", iter(range(70_000)))) == 70_000
    tables = [
        pa.table({"fingerprint": [1, 2], "id": ["a", "b"]}),
        pa.table({"fingerprint": [3], "id": ["c"]}),
    ]
    assert fpstore.build(tmp_path / "d.fps", iter(tables)).query(3, 0)[0].ids == ["c"]
    reader = pa.RecordBatchReader.from_batches(
        tables[0].schema, [batch for table in tables for batch in table.to_batches()]
    )
    assert fpstore.build(tmp_path / "e.fps", reader).query(2, 0)[0].ids == ["b"]
    # A store is an Arrow stream of records, too.
    copied = fpstore.build(tmp_path / "f.fps", store)
    assert copied.query(999, 0) == store.query(999, 0)


@pytest.mark.parametrize(
    "bad, message",
    [
        (pa.table({"f": [1], "ids": [2]}), "columns fingerprint and id, this table has f, ids"),
        (iter([(1, "a"), (2, "b")]), "not records"),
        (iter([([1], [2], [3])]), "a batch must be"),
        (iter([iter([1])]), "not iterators"),
        (iter([pa.array([1, None])]), "1 of 2 fingerprints are null"),
    ],
)
def test_what_is_no_batch_is_refused(tmp_path: Path, bad: Any, message: str) -> None:
    with pytest.raises(fpstore.errors.InputError, match=message):
        fpstore.build(tmp_path / "s.fps", bad)
    assert not (tmp_path / "s.fps").exists()


def test_bits_are_those_that_imagehash_writes() -> None:
    imagehash = pytest.importorskip("imagehash")
    rng = np.random.default_rng(3)
    bits = rng.random((5, 8, 8)) < 0.5
    hashes = [imagehash.ImageHash(of) for of in bits]
    expected = [int(str(of), 16) for of in hashes]
    assert fpstore.from_bits(hashes).tolist() == expected
    assert fpstore.from_bits(bits).tolist() == expected
    assert fpstore.from_bits(bits.reshape(5, 64)[::-1]).tolist() == expected[::-1]
    assert fpstore.from_bits([of.hash for of in hashes]).tolist() == expected
    assert fpstore.from_hex([str(of) for of in hashes]).tolist() == expected
    assert fpstore.from_bits(bits[:0]).tolist() == []
    for bad, message in [
        (bits[0], "8 bits"),
        (bits.reshape(-1), "put a single hash in a list"),
        (bits.astype(np.uint8), "not uint8"),
        ([imagehash.ImageHash(np.zeros((16, 16), bool))], "hash number 0 has 256 bits"),
        (np.zeros((2, 16, 16), bool), "256 bits"),
    ]:
        with pytest.raises(fpstore.errors.InputError, match=message):
            fpstore.from_bits(bad)


def test_spellings() -> None:
    assert fpstore.from_hex(["ff", "0X10"]).tolist() == [255, 16]
    assert fpstore.to_hex([255]) == ["00000000000000ff"]
    with pytest.raises(fpstore.errors.InputError, match="text number 1"):
        fpstore.from_hex(["ff", "fg"])
    with pytest.raises(fpstore.errors.InputError, match="text number 0 is int"):
        fpstore.from_hex([255])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(fpstore.errors.InputError, match="not a single text"):
        fpstore.from_hex("ff")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
