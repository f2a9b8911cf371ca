"""Errors have fields and the base classes that programs expect, and can be pickled."""

from __future__ import annotations

import errno
import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import U64

import fpstore
from fpstore import _fpstore


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        fpstore.open(tmp_path / "none.fps")
    assert isinstance(error.value, fpstore.errors.NoStoreError)
    assert error.value.filename == str(tmp_path / "none.fps")
    assert isinstance(error.value.filename, str) and error.value.errno == errno.ENOENT
    (tmp_path / "file").write_text("no store")
    with pytest.raises(fpstore.errors.NotAStoreError) as other:
        fpstore.open(tmp_path / "file")
    assert other.value.path == str(tmp_path / "file") and isinstance(other.value, ValueError)


def test_what_the_system_refuses_is_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="put temporary files into") as error:
        fpstore.build(tmp_path / "s.fps", [1], temp_dir=tmp_path / "nowhere")
    assert error.value.errno == errno.ENOENT
    assert error.value.filename == str(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        fpstore.build(tmp_path / "s.fps", [1], temp_dir=tmp_path / "file")


def test_a_store_of_another_format_version_names_what_helps() -> None:
    oldest, newest = fpstore.types.FORMAT_VERSIONS
    golden = Path(__file__).parents[3] / "tests/golden"
    with pytest.raises(fpstore.errors.VersionError, match="'fpstore dump'") as error:
        fpstore.open(golden / "older/version-1.fps")
    assert (error.value.found, error.value.oldest) == (1, oldest)
    assert f"fpstore {fpstore.__version__} reads version" in str(error.value)
    for name, version in (("worked.fps", oldest), ("syndromes.fps", newest)):
        with fpstore.open(golden / name) as store:
            assert [segment.format_version for segment in store.info().segments] == [version]


def test_a_lock_names_the_process(tmp_path: Path) -> None:
    import os

    fpstore.build(tmp_path / "s.fps", [1])
    with fpstore.Writer(tmp_path / "s.fps"):
        with pytest.raises(BlockingIOError) as error:
            fpstore.Writer(tmp_path / "s.fps", wait=0.01)
    assert isinstance(error.value, fpstore.errors.LockedError)
    assert error.value.process in (None, os.getpid())
    with pytest.raises(fpstore.errors.InputError, match="wait is -1"):
        fpstore.Writer(tmp_path / "s.fps", wait=-1.0)


def test_damage_says_where(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", range(5000), range(5000))
    segment = Path(store.info().segments[0].path)
    store.close()
    bytes_ = bytearray(segment.read_bytes())
    for at in range(8192, len(bytes_), 4096):
        bytes_[at + 5] ^= 1
    segment.chmod(0o644)
    segment.write_bytes(bytes_)
    report = fpstore.verify(tmp_path / "s.fps")
    assert not report.is_sound and report.damaged
    fault = report.damaged[0]
    assert fault.path == str(segment) and fault.section and fault.offset > 0
    with pytest.raises(fpstore.errors.CorruptError) as error:
        fpstore.open(tmp_path / "s.fps").query_many(range(5000), 64)
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.path, again.section, again.offset, again.rule) == (
        error.value.path,
        error.value.section,
        error.value.offset,
        error.value.rule,
    )
    assert str(again) == str(error.value) and "is corrupt at byte" in str(again)


def test_errors_survive_a_pickle(tmp_path: Path) -> None:
    with pytest.raises(fpstore.errors.NoStoreError) as error:
        fpstore.open(tmp_path / "none.fps")
    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is fpstore.errors.NoStoreError
    assert (again.filename, again.errno, str(again)) == (
        error.value.filename,
        errno.ENOENT,
        str(error.value),
    )


@pytest.mark.parametrize("is_held", [True, False])
def test_a_panic_is_an_error_that_programs_catch(is_held: bool) -> None:
    with pytest.raises(fpstore.errors.InternalError, match="a panic for a test") as error:
        _fpstore._panic(is_held)
    assert isinstance(error.value, Exception)


def test_a_closed_store_says_so(store: fpstore.Store) -> None:
    with store as same:
        assert same is store and store
    assert store.closed and "closed" in repr(store)
    for use in (lambda: store.query(0), lambda: len(store), store.info, store.records):
        with pytest.raises(ValueError, match="the store is closed"):
            use()
    store.close()


def test_one_call_is_not_another_one(store: fpstore.Store, values: U64) -> None:
    many: Any = values
    with pytest.raises(fpstore.errors.InputError, match="query_many takes many"):
        store.query(many)
    with pytest.raises(fpstore.errors.InputError, match="query_many takes many"):
        store.query(many[:1])
    with pytest.raises(fpstore.errors.InputError, match="'document 1' may be an id"):
        assert "document 1" in store
    assert int(values[0]) in store


@pytest.mark.parametrize("number", [2**70, -(2**70), 2**200])
def test_numbers_of_any_size_are_refused_by_name(store: fpstore.Store, number: int) -> None:
    shown = str(number) if number < 2**127 else r"2\*\*127 or more"
    calls: dict[str, Any] = {
        "k": lambda: store.query(1, number),
        "limit": lambda: store.query(1, limit=-number),
        "threads": lambda: store.query_many([1], threads=number),
        "count": lambda: store.nearest(1, -abs(number)),
        "samples": lambda: store.verify(number),
    }
    for name, call in calls.items():
        with pytest.raises(fpstore.errors.InputError, match=f"^{name} is "):
            call()
    with pytest.raises(fpstore.errors.InputError, match=f"k is {shown}, expected 0 to 64"):
        store.query(1, number)


def test_texts_that_are_none_are_refused_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(fpstore.errors.InputError, match="id number 1 has a lone surrogate"):
        fpstore.build(tmp_path / "s.fps", [1, 2], ["a", "\ud800"])
    with pytest.raises(fpstore.errors.InputError, match="number 0: a text with a lone surrogate"):
        fpstore.to_hex(["\ud800"])
    with pytest.raises(fpstore.errors.InputError, match="NUL byte"):
        fpstore.open("a\0b")


def test_a_length_is_no_promise(tmp_path: Path) -> None:
    for call in (
        lambda: fpstore.group(range(10**13)),
        lambda: fpstore.to_hex(range(10**13)),
        lambda: fpstore.build(tmp_path / "s.fps", range(10**13)),
    ):
        with pytest.raises(MemoryError, match="10000000000000 fingerprints take"):
            call()
    assert not (tmp_path / "s.fps").exists()


def test_errors_of_others_stay_what_they_are() -> None:
    class Strange:
        def __index__(self) -> int:
            raise RuntimeError("of its own")

    strange: Any = [1, Strange()]
    with pytest.raises(RuntimeError, match="of its own"):
        fpstore.to_hex(strange)


def test_a_lazy_frame_is_asked_to_collect(tmp_path: Path) -> None:
    import polars as pl

    lazy: Any = pl.LazyFrame({"fingerprint": [1]})
    for call in (
        lambda: fpstore.group(lazy),
        lambda: fpstore.Recipe().fingerprints(lazy),
        lambda: fpstore.build(tmp_path / "s.fps", lazy),
    ):
        with pytest.raises(fpstore.errors.InputError, match=r"collect\(\)"):
            call()


def test_threads_that_share_a_builder_take_turns(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with fpstore.Builder(tmp_path / "s.fps") as builder:
        parts = [range(at * 5000, (at + 1) * 5000) for at in range(16)]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(builder.add, parts)) == [5000] * 16
    assert len(fpstore.open(tmp_path / "s.fps")) == 80_000
