"""Threads, signals, progress, streams and processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import U64, needs_lock

import fpstore


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> fpstore.Store:
    values = np.random.default_rng(5).integers(0, 2**64, 300_000, dtype=np.uint64)
    path = tmp_path_factory.mktemp("large") / "large.fps"
    return fpstore.build(path, values, range(300_000))


def answers(store: fpstore.Store, queries: U64) -> list[np.uint32]:
    return list(store.count_many(queries, 8))


def single(store: fpstore.Store) -> list[fpstore.types.Match]:
    return store.query(5, 26)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_stores_go_to_other_processes(store: fpstore.Store, values: U64, method: str) -> None:
    store.query(5)
    with multiprocessing.get_context(method).Pool(2) as pool:
        parts = [values[:50], values[50:100]]
        results = pool.starmap(answers, [(store, part) for part in parts])
        assert results == [answers(store, part) for part in parts]
        with pytest.raises(fpstore.errors.InputError, match="k is 99"):
            pool.apply(store.query, (1, 99))
        assert pool.apply(single, (store,)) == single(store)


def test_a_pickled_store_is_of_one_generation(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", [1])
    pickled = pickle.dumps(store)
    assert pickle.loads(pickled).path == store.path
    with fpstore.Writer(store.path) as writer:
        writer.add([2])
    with pytest.raises(fpstore.errors.StaleStoreError) as error:
        pickle.loads(pickled)
    assert (error.value.expected, error.value.found) == (1, 2)
    with pytest.raises(fpstore.errors.StaleStoreError):
        fpstore.open(store.path, generation=7)
    assert len(fpstore.open(store.path, generation=2)) == 2


def test_an_older_generation_is_opened_where_it_was_kept(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "s.fps", [1], ["a"])
    fpstore.backup(store, tmp_path / "kept.fps")
    linked = fpstore.export(store, tmp_path / "linked.fps", hard_link=True)
    with fpstore.Writer(store.path) as writer:
        writer.add([2], ["b"])
    remedy = "at generation 2, not 1; .* open a copy of the older one, made by backup, or by export"
    for ask in (
        lambda: fpstore.open(store.path, generation=1),
        lambda: pickle.loads(pickle.dumps(store)),
        lambda: fpstore.tasks.query_segment(store.path, 1, [1], generation=1),
    ):
        with pytest.raises(fpstore.errors.StaleStoreError, match=remedy) as error:
            ask()
        assert (error.value.expected, error.value.found) == (1, 2)
        assert error.value.path == store.path
    for kept in (tmp_path / "kept.fps", linked.path):
        again = fpstore.open(kept, generation=1)
        assert again.query(1, 1) == [fpstore.types.Match(1, 0, ["a"])] and again.generation == 1
    # The requested generation remains open, although the store changes.
    fixed = fpstore.open(store.path, generation=2)
    with fpstore.Writer(store.path) as writer:
        writer.add([4], ["c"])
    assert not fixed.refresh() and fixed.generation == 2 and len(fixed) == 2


def test_threads_share_a_store(large: fpstore.Store) -> None:
    queries = large.fingerprints()[::3000]
    expected = [large.query(int(query), 12) for query in queries]
    wrong: list[int] = []

    def work() -> None:
        for query, matches in zip(queries, expected):
            if large.query(int(query), 12) != matches:
                wrong.append(int(query))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@needs_lock
def test_the_interpreter_is_free_in_batches_and_held_in_single_queries(
    large: fpstore.Store,
) -> None:
    queries = large.fingerprints()
    singles = queries[:300].tolist()
    ran = 0
    stop = threading.Event()
    interval = sys.getswitchinterval()

    def count() -> None:
        nonlocal ran
        while not stop.is_set():
            ran += 1
            time.sleep(0)

    # With a switch interval of one hour, the other thread runs only while this one releases the
    # interpreter.
    thread = threading.Thread(target=count)
    try:
        sys.setswitchinterval(3600)
        thread.start()
        before = ran
        for query in singles:
            large.query(query)
        assert ran == before
        large.count_many(queries[::5], 6, threads=1)
        assert ran > before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()


SCRIPT = """
import sys, time, threading, _thread
import fpstore, numpy as np
path, what = sys.argv[1:]
store = fpstore.open(path)
values = store.fingerprints()
works = {
    "pairs": lambda: store.pairs(22).read_all(),
    "iterated": lambda: [None for _ in store.pairs(22)],
    "arrow": lambda: __import__("pyarrow").table(store.pairs(22)),
    "query_many": lambda: store.count_many(values, 24),
    "texts": lambda: fpstore.Recipe().fingerprints(["a b c d e f g h " * 100] * 200000),
    "group": lambda: fpstore.group(np.concatenate([values, ~values[::-1]]), 24),
    "build": lambda: fpstore.build(path + "2", (values ^ np.uint64(at) for at in range(1000))),
}
print("ready", flush=True)
try:
    try:
        works[what]()
    except Exception as error:
        # A library of others ends with an error of its own; the interrupt follows at once.
        assert "interrupted" in str(error), error
        while True:
            time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
"""


@pytest.mark.parametrize(
    "what", ["pairs", "iterated", "arrow", "query_many", "texts", "group", "build"]
)
def test_ctrl_c_ends_long_work(large: fpstore.Store, tmp_path: Path, what: str) -> None:
    path = fpstore.export(large, tmp_path / "l.fps").path
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, path, what], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    assert process.poll() is None, "the work was too short"
    process.send_signal(signal.SIGINT)
    start = time.perf_counter()
    assert process.stdout.readline() == "interrupted 1\n"
    took = time.perf_counter() - start
    assert process.wait() == 0
    print(f"{what}: {took:.2f} s")


def test_progress_is_told_and_its_errors_come_out(
    large: fpstore.Store, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[fpstore.types.Progress] = []
    large.count_many(large.fingerprints(), 3, progress=told.append)
    assert told and told[-1].phase == "search" and told[-1].done <= (told[-1].total or 0)

    def fail(progress: fpstore.types.Progress) -> None:
        raise LookupError(progress.phase)

    with pytest.raises(LookupError, match="join"):
        large.pairs(20, progress=fail).read_all()
    large.verify(progress=True)
    assert "fpstore: verify" in capsys.readouterr().err
    with pytest.raises(TypeError, match="progress must be a function"):
        large.verify(progress=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def threads_of_rust() -> int:
    """The number of threads with the name of stream threads, which their child threads inherit."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        pytest.skip("the system does not tell")
    return sum((of / "comm").read_text().startswith("fpstore-rows") for of in tasks.iterdir())


def threads_end() -> bool:
    """Whether all stream threads end within seconds: the system lists a joined thread for a
    moment."""
    for _ in range(500):
        if threads_of_rust() == 0:
            return True
        time.sleep(0.01)
    return False


def test_a_stream_ends_when_it_is_closed(large: fpstore.Store) -> None:
    with large.pairs(20) as stream:
        assert len(next(stream)) > 0
        assert threads_of_rust() >= 1
    assert threads_end() and list(stream) == []
    stream = large.pairs(20)
    next(stream)
    del stream
    assert threads_end()
    stream = large.pairs(20)
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.__arrow_c_stream__()
    # An Arrow consumer that stops reading early ends the stream's threads, too.
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(large.pairs(20))
    assert reader.read_next_batch().num_rows > 0
    del reader
    assert threads_end()


def test_an_error_of_a_stream_comes_out(large: fpstore.Store) -> None:
    import pyarrow as pa

    with pytest.raises(fpstore.errors.TooManyPairsError):
        list(large.pairs(20, max_pairs=1))
    with pytest.raises(pa.ArrowException, match="more than 1 near pairs"):
        pa.table(large.pairs(20, max_pairs=1))


def test_a_forked_process_leaves_streams_alone(large: fpstore.Store) -> None:
    with large.pairs(20) as stream:
        next(stream)
        child = os.fork()
        if child == 0:
            try:
                next(stream)
            except fpstore.errors.InputError:
                del stream
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert len(next(stream)) > 0
