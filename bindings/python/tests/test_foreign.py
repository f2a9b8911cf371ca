"""Arrow data of other libraries is checked before it is used: invalid data neither ends the process
nor is misread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fpstore

LATIN = ["plain", "na\u00efve", "caf\u00e9"]
U64 = np.arange(8, dtype=np.uint64)


class Schema(ctypes.Structure):
    """`struct ArrowSchema`."""


class Array(ctypes.Structure):
    """`struct ArrowArray`."""


RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]


def forget_schema(at: int) -> None:
    Schema.from_address(at).release = RELEASE()


def forget_array(at: int) -> None:
    Array.from_address(at).release = RELEASE()


release_schema, release_array = RELEASE(forget_schema), RELEASE(forget_array)


def capsule(at: ctypes.Structure, name: bytes) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(at), name, None)


# Keeps the exported data of producers alive: it is never freed.
ALIVE: list[Any] = []


@dataclass
class Producer:
    """Exports an array like another library would, with the faults that a test sets."""

    format: bytes | None
    length: int
    buffers: list[bytes | int | None]
    """The bytes of each buffer; a number is the address of the buffer."""
    null_count: int = 0
    offset: int = 0
    n_buffers: int | None = None
    n_children: int | None = None
    type_children: int | None = None
    children: list[Producer | None] = field(default_factory=list)
    dictionary: Producer | None = None
    has_dictionary_type: bool = True
    has_dictionary: bool = True
    name: bytes = b""
    shift: int = 0
    """The offset of the buffer addresses from a multiple of 64, to test unaligned buffers."""

    def address(self, bytes_: bytes | int | None) -> int | None:
        if not isinstance(bytes_, bytes):
            return bytes_
        room = ctypes.create_string_buffer(len(bytes_) + 128)
        ALIVE.append(room)
        start = -(-ctypes.addressof(room) // 64) * 64 + self.shift
        ctypes.memmove(start, bytes_, len(bytes_))
        return start

    def schema(self) -> Schema:
        made = Schema(format=self.format, name=self.name, flags=2, release=release_schema)
        of_children = [child.schema() for child in self.children if child]
        made.n_children = len(of_children) if self.type_children is None else self.type_children
        pointers = (ctypes.POINTER(Schema) * max(len(of_children), 1))()
        for at, child in enumerate(of_children):
            pointers[at] = ctypes.pointer(child)
        made.children = pointers
        if self.dictionary and self.has_dictionary_type:
            made.dictionary = ctypes.pointer(self.dictionary.schema())
        ALIVE.extend([made, pointers, of_children])
        return made

    def array(self) -> Array:
        made = Array(length=self.length, null_count=self.null_count, offset=self.offset)
        made.release = release_array
        addresses = [self.address(buffer) for buffer in self.buffers]
        made.n_buffers = len(addresses) if self.n_buffers is None else self.n_buffers
        if addresses:
            made.buffers = (ctypes.c_void_p * len(addresses))(*addresses)
        of_children = [child.array() if child else None for child in self.children]
        made.n_children = len(of_children) if self.n_children is None else self.n_children
        if of_children:
            pointers = (ctypes.POINTER(Array) * len(of_children))()
            for at, child in enumerate(of_children):
                if child is not None:
                    pointers[at] = ctypes.pointer(child)
            made.children = pointers
        if self.dictionary and self.has_dictionary:
            made.dictionary = ctypes.pointer(self.dictionary.array())
        ALIVE.extend([made, of_children])
        return made

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return capsule(self.schema(), b"arrow_schema"), capsule(self.array(), b"arrow_array")


def i32(*values: int) -> bytes:
    return np.array(values, dtype=np.int32).tobytes()


def i64(*values: int) -> bytes:
    return np.array(values, dtype=np.int64).tobytes()


def view(length: int, buffer: int, offset: int) -> bytes:
    return i32(length, 0, buffer, offset)


def numbers(**wrong: Any) -> Producer:
    given: dict[str, Any] = {"format": b"L", "length": 8, "buffers": [None, U64.tobytes()]}
    return Producer(**given | wrong)


def texts(**wrong: Any) -> Producer:
    given: dict[str, Any] = {"format": b"u", "length": 3, "buffers": [None, i32(0, 1, 2, 3), b"abc"]}
    return Producer(**given | wrong)


def views(*views: bytes, **wrong: Any) -> Producer:
    buffers = [None, b"".join(views), b"x" * 20, i64(20)]
    given: dict[str, Any] = {"format": b"vu", "length": len(views), "buffers": buffers}
    return Producer(**given | wrong)


def table(**wrong: Any) -> Producer:
    columns = [numbers(name=b"fingerprint"), numbers(name=b"id")]
    given: dict[str, Any] = {"format": b"+s", "length": 8, "buffers": [None], "children": columns}
    return Producer(**given | wrong)


def keyed(keys: bytes, **wrong: Any) -> Producer:
    given: dict[str, Any] = {"format": b"c", "length": len(keys), "buffers": [None, keys], "dictionary": texts()}
    return Producer(**given | wrong)


def hashed(given: Any) -> Any:
    return fpstore.Recipe("minhash").fingerprints(given).to_pylist()


def test_a_producer_that_is_right_is_read() -> None:
    # Each fault below is one difference from these producers.
    assert fpstore.to_hex(numbers()) == fpstore.to_hex(U64)
    assert fpstore.to_hex(numbers(shift=3)) == fpstore.to_hex(U64)
    assert fpstore.to_hex(numbers(length=3, offset=5)) == fpstore.to_hex(U64[5:])
    assert fpstore.near_pairs(texts(), k=0).read_all().to_pylist() == []
    long = view(20, 0, 0)
    given = texts(format=b"U", buffers=[None, i64(0, 1, 2, 3), b"abc"]), keyed(bytes([0, 1, 2, 2]))
    for one in (texts(), views(long, view(3, 0, 0)), *given):
        assert len(hashed(one)) == one.length
    # Values under a null have no meaning.
    null = texts(buffers=[b"\x05", i32(0, 1, 2, 3), b"a\xe9c"], null_count=1)
    assert len(hashed(null)) == 3
    assert hashed(views(view(99, 7, 7), buffers=[b"\0", view(99, 7, 7), i64()], null_count=1)) == [None]
    assert hashed(keyed(b"\x63", buffers=[b"\0", b"\x63"], null_count=1)) == [None]
    empty = texts(length=0, buffers=[None, i32(), None])
    assert hashed(keyed(b"\0\0", buffers=[b"\0", b"\0\0"], null_count=2, dictionary=empty)) == [None] * 2
    # A slice of a column: the row offset applies to the text offsets, not to the text bytes.
    assert hashed(texts(length=1, offset=1)) == hashed(["b"])
    assert hashed(texts(length=0, offset=3)) == []


FAULTS: dict[str, tuple[Producer, str]] = {
    "length": (numbers(length=-1), "its length is -1, expected 0 or more"),
    "offset": (numbers(offset=-1), "its offset is -1, expected 0 or more"),
    "sum": (numbers(length=2**63 - 1, offset=2**63 - 1), "offset .* and length .* exceed the limit"),
    "long": (numbers(length=2**60), "offset 0 and length .* exceed the limit"),
    "nulls": (numbers(null_count=9), "null count is 9, expected 0 to its length of 8"),
    "negative nulls": (numbers(null_count=-2), "null count is -2, expected 0 to its length"),
    "no bitmap": (numbers(null_count=3), "null count is 3, expected 0 as in its bitmap"),
    "bitmap": (
        numbers(buffers=[b"\xf0", U64.tobytes()], null_count=3),
        "null count is 3, expected 4 as in its bitmap",
    ),
    "hidden nulls": (
        numbers(buffers=[b"\x7f", U64.tobytes()]),
        "null count is 0, expected 1 as in its bitmap",
    ),
    "few buffers": (numbers(n_buffers=1), "it has 1 buffers, but an array of type UInt64 has 2"),
    "many buffers": (numbers(n_buffers=2**40), "buffers, but an array of type UInt64 has 2"),
    "negative buffers": (numbers(n_buffers=-1), "number of buffers is -1"),
    "no buffers": (numbers(buffers=[], n_buffers=2), "2 buffers, but the address of its buffers is null"),
    "null buffer": (numbers(buffers=[None, None]), "buffer number 1 is null, expected 8 values"),
    "children": (numbers(n_children=1), "it has 1 columns, expected 0"),
    "foreign dictionary": (
        numbers(dictionary=texts(), has_dictionary_type=False),
        "has a dictionary, but its type UInt64 allows none",
    ),
    "format": (numbers(format=None), "the format of its type is null"),
    "no text": (numbers(format=b"\xe9"), "is not UTF-8"),
    "type without parts": (numbers(format=b"+l"), "type '\\+l' has 0 parts, expected 1"),
    "text": (
        texts(buffers=[None, i32(0, 1, 2, 3), b"a\xe9c"]),
        "row number 1: byte 0 of its text is 0xe9, .* expected texts in UTF-8",
    ),
    "cut text": (
        texts(buffers=[None, i32(0, 1, 2, 3), "a\u00e9".encode()]),
        "row number 1: byte 0 of its text is 0xc3",
    ),
    "back": (
        texts(buffers=[None, i32(0, 2, 1, 3), b"abc"]),
        "row number 1: its text is from byte 2 to byte 1 of 3, expected ascending offsets",
    ),
    "far": (
        texts(buffers=[None, i32(0, 2**30, 2, 3), b"abc"]),
        "row number 1: its text is from byte 1073741824 to byte 2 of 3",
    ),
    "below": (
        texts(buffers=[None, i32(-5, 1, 2, 3), b"abc"]),
        "row number 0: its text is from byte -5 to byte 1 of 3",
    ),
    "negative end": (texts(buffers=[None, i32(0, 1, 2, -3), b"abc"]), "its last offset is -3"),
    "large": (
        texts(format=b"U", buffers=[None, i64(0, 2, 1, 3), b"abc"]),
        "row number 1: its text is from byte 2 to byte 1 of 3",
    ),
    "no offsets": (texts(buffers=[None, None, b"abc"]), "buffer number 1 is null"),
    "no texts": (texts(buffers=[None, i32(0, 1, 2, 3), None]), "number 2 is null, expected 3"),
    "shifted offsets": (texts(shift=2), "offsets is not a multiple of 4"),
    "view": (views(view(4, 0, 0)[:4] + b"ab\xe9d" + bytes(8)), "row number 0: byte 2 .* 0xe9"),
    "view of no buffer": (views(view(13, 1, 0)), "byte 0 to byte 13 of buffer 1, expected one of 1"),
    "view past the end": (views(view(13, 0, 8)), "byte 8 to byte 21 of buffer 0.* the 20 bytes"),
    "negative view": (views(view(-1, 0, 0)), "expected one of 1 buffers"),
    "no lengths": (
        views(view(13, 0, 0), buffers=[None, view(13, 0, 0), b"x" * 20, None]),
        "the buffer of its lengths is null",
    ),
    "length of views": (
        views(view(13, 0, 0), buffers=[None, view(13, 0, 0), b"x" * 20, i64(-1)]),
        "its length of a buffer is -1",
    ),
    "views without buffers": (
        views(view(13, 0, 0), buffers=[None, view(13, 0, 0)]),
        "it has 2 buffers, but an array of type .* has 3 or more",
    ),
    "key": (keyed(b"\x00\x03"), "at position 1 out of bounds: 3"),
    "negative key": (keyed(b"\x00\xff"), "at position 1 out of bounds: -1"),
    "no dictionary": (keyed(b"\0", has_dictionary=False), "its dictionary is null, expected"),
    "text of a dictionary": (
        keyed(b"\0\1", dictionary=texts(buffers=[None, i32(0, 1, 2, 3), b"a\xe9c"])),
        "value number 1 of the dictionary: byte 0 of its text is 0xe9",
    ),
    "dictionary of a wrong length": (
        keyed(b"\0\1", dictionary=texts(length=-3)),
        "the dictionary: its length is -3",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_column_that_breaks_the_interface_is_refused(name: str, tmp_path: Path) -> None:
    producer, message = FAULTS[name]
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("texts", lambda: hashed(producer)),
        ("ids", lambda: fpstore.build(tmp_path / "s.fps", range(producer.length), producer)),
        ("fingerprints", lambda: fpstore.group(producer)),
    ]
    for what, call in calls:
        if what == "ids" and not 0 <= producer.length < 100:
            continue
        with pytest.raises(fpstore.errors.InputError, match=f"^{what}\\b.*{message}"):
            call()


TABLES: dict[str, tuple[Producer, str]] = {
    "few columns": (table(n_children=1), "it has 1 columns, expected 2 as in its type"),
    "many columns": (table(n_children=3), "it has 3 columns, expected 2 as in its type"),
    "negative columns": (table(n_children=-1), "number of columns is -1"),
    "negative types": (table(type_children=-1), "number of columns in the type is -1"),
    "null column": (
        table(children=[numbers(name=b"fingerprint"), None], type_children=1),
        "it has 2 columns, expected 1",
    ),
    "short column": (
        table(children=[numbers(name=b"fingerprint"), numbers(name=b"id", length=7)]),
        "column 'id': it has 7 rows, expected 8 as its table",
    ),
    "short column behind an offset": (
        table(offset=1),
        "column 'fingerprint': it has 8 rows, expected 9 as its table",
    ),
    "column": (
        table(children=[numbers(name=b"fingerprint"), numbers(name=b"id", null_count=9)]),
        "column 'id': its null count is 9",
    ),
    "text": (
        table(
            length=2,
            offset=1,
            children=[
                numbers(name=b"fingerprint"),
                texts(name=b"id", buffers=[None, i32(0, 1, 2, 3), b"ab\xe9"]),
            ],
        ),
        "column 'id', row number 1: byte 0 of its text is 0xe9",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_breaks_the_interface_is_refused(name: str, tmp_path: Path) -> None:
    producer, message = TABLES[name]

    class Batch:
        """An Arrow stream of one batch."""

        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return producer.__arrow_c_array__()

        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            raise NotImplementedError

    batch: Any = Batch()
    with pytest.raises(fpstore.errors.InputError, match=f"^records\\b.*{message}"):
        fpstore.build(tmp_path / "s.fps", batch)
    assert not (tmp_path / "s.fps").exists()


def test_types_that_are_nested_without_an_end_are_refused() -> None:
    deep = numbers()
    for _ in range(100):
        deep = Producer(b"+s", 8, [None], children=[deep])
    with pytest.raises(fpstore.errors.InputError, match="nested deeper than 64 levels"):
        fpstore.group(deep)


def test_data_that_was_handed_over_is_refused() -> None:
    class Twice:
        capsules = numbers().__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return self.capsules

    class Stream:
        capsules = pa.chunked_array([pa.array(U64)]).__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            return self.capsules

    for given in (Twice(), Stream()):
        assert len(fpstore.group(given)) == 8
        with pytest.raises(fpstore.errors.InputError, match="was already consumed; create"):
            fpstore.group(given)


def foreign_bytes(texts: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    """A text column of Latin-1 bytes, such as pyarrow reads from a file without a check."""
    of_bytes = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    values = [None if text is None else text.encode("latin-1") for text in texts]
    made = pa.array(values, of_bytes[kind])
    return pa.Array.from_buffers(kind, len(made), made.buffers(), null_count=made.null_count)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("recipe", ["minhash", "simhash", "1e0ng"])
def test_texts_that_are_not_utf_8_are_refused_with_their_row(kind: pa.DataType, recipe: str) -> None:
    made = fpstore.Recipe(recipe)
    column = foreign_bytes(LATIN, kind)
    message = "^texts, row number 1: byte 2 of its text is 0xef, .* expected texts in UTF-8"
    with pytest.raises(fpstore.errors.InputError, match=message):
        made.fingerprints(column)
    with pytest.raises(fpstore.errors.InputError, match=message):
        fpstore.pairs(column, confirm=0.8, k=3, recipe=made)
    whole = pa.array(["one"] * 5, kind)
    with pytest.raises(fpstore.errors.InputError, match="^texts, row number 6: byte 2"):
        made.fingerprints(pa.chunked_array([whole, column]))
    with pytest.raises(fpstore.errors.InputError, match="^texts, column 'text', row number 6: byte 2"):
        made.fingerprints(pa.table({"text": pa.chunked_array([whole, column])}))
    with pytest.raises(fpstore.errors.InputError, match="^texts, row number 0: byte 2"):
        made.fingerprints(column.slice(1))
    assert len(made.fingerprints(column.slice(0, 1)).to_pylist()) == 1
    with pytest.raises(fpstore.errors.InputError, match="value number 1 of the dictionary: byte 2"):
        made.fingerprints(pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), column, safe=False))


def test_a_file_of_latin_1_is_refused(tmp_path: Path) -> None:
    column = foreign_bytes([*LATIN, None], pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "latin.parquet")
    read = pq.read_table(tmp_path / "latin.parquet")["text"]
    with pytest.raises(fpstore.errors.InputError, match="^texts, row number 1: byte 2"):
        fpstore.Recipe("1e0ng").fingerprints(read)
    with pytest.raises(fpstore.errors.InputError, match="^ids, row number 1: byte 2"):
        fpstore.build(tmp_path / "s.fps", range(4), read)
    with pytest.raises(fpstore.errors.InputError, match="^records, column 'id', row number 1: byte 2"):
        columns = {"fingerprint": pa.array(range(3), pa.uint64()), "id": column.slice(0, 3)}
        fpstore.build(tmp_path / "s.fps", pa.table(columns))
    with pytest.raises(fpstore.errors.InputError, match="^fingerprints, row number 1: byte 2"):
        fpstore.group(read)
    with pytest.raises(fpstore.errors.InputError, match="row number 1: byte 2"):
        fpstore.from_hex(read)
    assert not (tmp_path / "s.fps").exists()


def test_a_stream_that_fails_says_why() -> None:
    def batches() -> Any:
        yield pa.record_batch([pa.array(U64)], ["fingerprint"])
        raise OSError("the disk is gone")

    schema = pa.schema([("fingerprint", pa.uint64())])
    with pytest.raises(fpstore.errors.InputError, match="the disk is gone"):
        fpstore.group(pa.RecordBatchReader.from_batches(schema, batches()))


def test_texts_that_are_changed_while_they_are_read_do_no_harm() -> None:
    """Arrow forbids such changes. They may give other texts or an error, but no crash."""
    words = ["caf\u00e9 one two three four five"] * 20_000
    made = pa.array(words)
    _, offsets, values = made.buffers()
    lent = [bytearray(offsets), bytearray(values)]
    column = pa.Array.from_buffers(pa.string(), len(made), [None, *map(pa.py_buffer, lent)])
    ended = threading.Event()

    def change() -> None:
        random = np.random.default_rng(3)
        views = [np.frombuffer(part, dtype=np.uint8) for part in lent]
        # The last offset is unchanged: it is the length of the values.
        ends = [len(lent[0]) - 4, len(lent[1])]
        while not ended.is_set():
            for view, end, step in zip(views, ends, (4, 1)):
                at = int(random.integers(1, end // step)) * step
                before, view[at] = int(view[at]), 0xFF
                view[at] = before

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(30):
            try:
                assert len(fpstore.Recipe("1e0ng").fingerprints(column)) == len(words)
                fpstore.clean(pa.table({"id": column, "text": column}))
            except fpstore.errors.InputError:
                pass
    finally:
        ended.set()
        changer.join()
