"""A call that changed a store returns its result, even after an interrupt that came too late to
stop it."""

from __future__ import annotations

import errno
import functools
import operator
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import needs_lock

import fpstore
from fpstore import _fpstore


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that receives the errors passed to `sys.unraisablehook`."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_value))
    return told


def fail(progress: fpstore.types.Progress) -> None:
    raise LookupError(progress.phase)


def late(path: Path) -> Callable[[fpstore.types.Progress], None]:
    """Makes a progress function that fails as soon as the store at `path` has changed."""
    known = fpstore.open(path).generation if path.exists() else 0

    def fail_late(progress: fpstore.types.Progress) -> None:
        if path.exists() and fpstore.open(path).generation > known:
            raise LookupError(progress.phase)

    return fail_late


def test_an_error_of_progress_loses_no_change(tmp_path: Path, unraisable: list[Any]) -> None:
    path = tmp_path / "s.fps"
    with fpstore.Builder(path, progress=late(path)) as builder:
        builder.add([1], [1])
    assert len(fpstore.open(path)) == 1
    fpstore.build(tmp_path / "other.fps", [9], [9])
    changes: list[Callable[[fpstore.Writer], bool]] = [
        lambda writer: bool(writer.add([2, 3], [2, 3])) and writer.commit().records == 2,
        lambda writer: writer.delete_ids([2]).found == 1,
        lambda writer: writer.delete_fingerprints([3]).found == 1,
        lambda writer: writer.import_([tmp_path / "other.fps"]).segments == 1,
        lambda writer: writer.compact("one").made == 1,
    ]
    for change in changes:
        with fpstore.Writer(path, compact=False, progress=late(path)) as writer:
            assert change(writer)
    with fpstore.Writer(path, compact=False, progress=late(path)) as writer:
        writer.add([4], [4])
    assert fpstore.open(path).fingerprints().tolist() == [1, 4, 9]
    assert unraisable and all(isinstance(error, LookupError) for error in unraisable)


def test_an_error_of_progress_that_comes_in_time_is_raised(
    tmp_path: Path, unraisable: list[Any]
) -> None:
    values = np.random.default_rng(3).integers(0, 2**64, 3_000_000, dtype=np.uint64)
    builder = fpstore.Builder(tmp_path / "s.fps", threads=1, progress=fail)
    with pytest.raises(LookupError):
        builder.add(values)
        builder.finish()
    assert not (tmp_path / "s.fps").exists() and unraisable == []


@pytest.fixture
def alarm() -> Iterator[Callable[[float], None]]:
    """Yields a function that interrupts the main thread after the given number of seconds."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        yield lambda after: signal.setitimer(signal.ITIMER_REAL, after) and None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


call_it = operator.methodcaller("__call__")


def interrupted(alarm: Callable[[float], None], after: float, call: Callable[[], Any]) -> list[Any]:
    """Interrupts a call, or the time right after it. Returns a list: the result of the call, or
    empty."""
    returned: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        alarm(after)
        # No line of Python runs between the return of the call and `extend`.
        returned.extend(map(call_it, [call]))
        time.sleep(10)
    return returned


def test_an_interrupt_loses_no_commit(tmp_path: Path, alarm: Callable[[float], None]) -> None:
    rng = np.random.default_rng(4)
    store = fpstore.build(tmp_path / "s.fps", [])
    seen: list[bool] = []
    # The first interrupts come during a small commit, the others in all parts of a long commit.
    for count, after in [(1, 0.001)] * 20 + [(300_000, at / 20) for at in range(1, 16)]:
        writer = fpstore.Writer(store.path, compact=False, threads=1)
        writer.add(rng.integers(0, 2**64, count, dtype=np.uint64))
        before = len(store)
        returned = interrupted(alarm, after, writer.commit)
        assert writer.pending == 0
        writer.close()
        store.refresh()
        took_effect = len(store) > before
        assert took_effect == (returned != []), (count, after, returned)
        seen.append(took_effect)
    assert any(seen[:20]) and not all(seen)


def test_an_interrupt_at_the_end_of_with_comes_after_it(
    tmp_path: Path, alarm: Callable[[float], None]
) -> None:
    fpstore.build(tmp_path / "s.fps", [1])
    for count in range(10):
        writer = fpstore.Writer(tmp_path / "s.fps", compact=False)
        writer.add([10 + count])
        leave = functools.partial(writer.__exit__, None, None, None)
        returned = interrupted(alarm, 0.001, leave)
        assert returned == [None] or 10 + count not in fpstore.open(tmp_path / "s.fps")
        assert "is closed" in repr(writer)


def damaged(path: Path) -> None:
    """Makes a store whose segments would be merged next, but are too damaged to be merged."""
    fpstore.build(path, [])
    for round_ in range(3):
        with fpstore.Writer(path, compact=False) as writer:
            writer.add([round_], ["damaged"])
    segment = Path(fpstore.open(path).info().segments[1].path)
    bytes_ = bytearray(segment.read_bytes())
    bytes_[0x3000] ^= 1
    bytes_[0x4000] ^= 1
    segment.unlink()
    segment.write_bytes(bytes_)


def test_records_that_were_added_are_told_where_merging_fails(tmp_path: Path) -> None:
    damaged(tmp_path / "s.fps")
    writer = fpstore.Writer(tmp_path / "s.fps")
    writer.add([50], ["new"])
    done = writer.commit()
    assert done.records == 1 and done.unmerged is not None and "is corrupt at byte" in done.unmerged
    writer.add([51], ["new"])
    with pytest.raises(fpstore.errors.UnmergedError, match="added, but .* is corrupt at byte") as error:
        writer.finish()
    assert isinstance(error.value.__cause__, fpstore.errors.CorruptError)
    assert isinstance(error.value, fpstore.errors.InEffectError) and error.value.generation is None
    with pytest.raises(fpstore.errors.InputError, match="the writer is closed"):
        writer.commit()
    with pytest.raises(fpstore.errors.UnmergedError):
        with fpstore.Writer(tmp_path / "s.fps") as writer:
            writer.add([52], ["new"])
    assert len(fpstore.open(tmp_path / "s.fps")) == 6
    with fpstore.Writer(tmp_path / "s.fps", compact=False) as writer:
        writer.add([53], ["new"])
        assert writer.commit().unmerged is None


def test_a_change_that_took_effect_says_so() -> None:
    with pytest.raises(fpstore.errors.InEffectError, match="took effect .generation 7.*cannot sync") as error:
        _fpstore._fail_after(7)
    assert error.value.generation == 7 and isinstance(error.value.__cause__, OSError)
    assert error.value.__cause__.errno == errno.EIO
    again = pickle.loads(pickle.dumps(error.value))
    assert (type(again), again.generation, str(again)) == (
        fpstore.errors.InEffectError,
        7,
        str(error.value),
    )


@needs_lock
def test_a_refresh_lets_other_threads_run(tmp_path: Path) -> None:
    values = np.random.default_rng(6).integers(0, 2**64, 200_000, dtype=np.uint64)
    store = fpstore.open(fpstore.build(tmp_path / "s.fps", [1]).path, access="memory")
    ran = 0
    stop = threading.Event()
    interval = sys.getswitchinterval()

    def count() -> None:
        nonlocal ran
        while not stop.is_set():
            ran += 1
            time.sleep(0)

    def ran_during(call: Callable[[], bool]) -> tuple[bool, bool]:
        before = ran
        result = call()
        return result, ran > before

    # With a long switch interval, the other thread runs only while this one releases the
    # interpreter.
    thread = threading.Thread(target=count)
    try:
        sys.setswitchinterval(3600)
        thread.start()
        rounds = 0
        is_free = False
        # On a busy machine, the other thread may miss a refresh.
        while not is_free and rounds < 20:
            with fpstore.Writer(store.path, compact=False) as writer:
                writer.add(values + np.uint64(rounds))
            is_new, is_free = ran_during(store.refresh)
            assert is_new
            rounds += 1
        assert is_free
        # Without a new snapshot, a refresh does not release the interpreter.
        assert ran_during(store.refresh) == (False, False)
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert len(store) > 200_000
