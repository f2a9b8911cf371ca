"""Objects shared by several threads, also without the global lock (tools/python/check_free_threaded.sh)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from conftest import U64, clustered, distances

import fpstore

THREADS = 4


def run(*works: Callable[[], object]) -> None:
    """Runs all functions at once on threads, and raises the first error."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def guarded(work: Callable[[], object]) -> None:
        try:
            start.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def parts_of(values: U64) -> list[U64]:
    return [values[at::THREADS] for at in range(THREADS)]


def test_threads_share_a_builder(tmp_path: Path) -> None:
    values = clustered(8000, 31)

    def adder(builder: fpstore.Builder, part: U64) -> Callable[[], None]:
        def add() -> None:
            for at in range(0, len(part), 50):
                some = part[at : at + 50]
                assert builder.add(some, some) == len(some)

        return add

    with fpstore.Builder(tmp_path / "built.fps") as builder:
        run(*(adder(builder, part) for part in parts_of(values)))
        store = builder.finish()
    assert store.info().ids == len(values)
    assert np.array_equal(store.fingerprints(), np.unique(values))


def test_threads_share_a_writer_and_others_read(tmp_path: Path) -> None:
    values = np.unique(clustered(6000, 32))
    path = tmp_path / "shared.fps"
    store = fpstore.build(path, values[:10], range(10))
    is_written = threading.Event()
    left = THREADS

    with fpstore.Writer(path) as writer:

        def change(number: int, part: U64) -> None:
            nonlocal left
            for at in range(0, len(part), 100):
                some = part[at : at + 100]
                writer.add(some, some >> np.uint64(1))
                if at % 300 == 0:
                    writer.commit()
            with lock:
                left -= 1
                if left == 0:
                    is_written.set()

        def read() -> None:
            least = 10
            while not is_written.is_set():
                store.refresh()
                count = store.info().ids
                assert count >= least
                least = count
                for value in values[:10].tolist():
                    found = store.query(value, 3)
                    assert found[0].fingerprint == value
                assert store.has_near(values[:10], 0).all()

        lock = threading.Lock()
        changes = [lambda n=n, part=part: change(n, part) for n, part in enumerate(parts_of(values))]
        run(*changes, read, read)
        writer.commit()
    store.refresh()
    assert np.array_equal(store.fingerprints(), values)
    assert store.info().ids == len(values) + 10
    near = distances(values[:50], values) <= 3
    assert store.count_many(values[:50], 3).tolist() == near.sum(axis=1).tolist()


def test_of_near_records_of_all_threads_one_is_added(tmp_path: Path) -> None:
    path = tmp_path / "checked.fps"
    fpstore.build(path, [])
    # Each thread adds one of four fingerprints within 2 bits of each other.
    base = np.random.default_rng(33).integers(0, 2**64, 300, dtype=np.uint64) & ~np.uint64(3)
    added = [0] * THREADS

    def check(writer: fpstore.Writer, number: int) -> None:
        for value in (base ^ np.uint64(number)).tolist():
            added[number] += int(writer.check_and_add([value], [value >> 1], k=2)["added"][0])

    with fpstore.Writer(path) as writer:
        run(*(lambda number=number: check(writer, number) for number in range(THREADS)))
    assert sum(added) == len(base) == len(fpstore.open(path))


def test_threads_share_a_stream(tmp_path: Path) -> None:
    values = clustered(4000, 34)
    store = fpstore.build(tmp_path / "streamed.fps", values)
    expected = sorted(row for rows in store.pairs(6) for row in rows)
    stream = iter(store.pairs(6))
    taken: list[list[tuple[Any, ...]]] = [[] for _ in range(THREADS)]

    def take(number: int) -> None:
        for rows in stream:
            taken[number].extend(rows)

    run(*(lambda number=number: take(number) for number in range(THREADS)))
    assert sorted(pair for of in taken for pair in of) == expected


def test_threads_share_recipe_columns_and_rows(tmp_path: Path) -> None:
    recipe = fpstore.Recipe()
    texts = [f"{number} words of a text that is like text {number % 7}" for number in range(500)]
    column = recipe.fingerprints(texts)
    store = fpstore.build(tmp_path / "texts.fps", column)
    rows = store.query_many(column, 8)
    whole = (column.to_numpy().tolist(), rows.to_pylist())
    distances_found = rows["distance"].tolist()

    def look() -> None:
        for at in range(0, 500, 7):
            assert recipe.fingerprint(texts[at]) == whole[0][at]
            assert column[at] == whole[0][at]
        assert rows.to_pylist() == whole[1]
        assert rows["distance"].tolist() == distances_found

    run(*([look] * THREADS))
