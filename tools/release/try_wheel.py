"""Tests an installed fpstore briefly: builds a store, queries it, reads texts and documents, changes it.

    python tools/release/try_wheel.py
"""

import pathlib
import platform
import tempfile

import fpstore
import numpy


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    values = numpy.random.default_rng(7).integers(0, 2**64, 20_000, dtype=numpy.uint64)
    values[1::4] = values[::4] ^ numpy.uint64(5)
    store = fpstore.build(folder / "s.fps", values, [f"id {at}" for at in range(len(values))])
    queries = values[:200]
    rows = store.query_many(queries, 3)
    near = [[(int(value) ^ int(query)).bit_count() <= 3 for value in values] for query in queries]
    assert len(rows) == sum(map(sum, near)) > 250, len(rows)
    assert store.query(int(values[0]), 0)[0].ids == ["id 0"]
    with fpstore.Writer(store.path, label="more") as writer:
        writer.add([1], ["one"])
        assert writer.delete_ids(["id 0"]).found == 1
    assert store.refresh() and store.query(1, 0, labels=True)[0].labels == ["more"]
    assert fpstore.verify(store.path).is_sound
    pages = folder / "docs.jsonl"
    with pages.open("w") as out:
        for at in range(50):
            words = "the same text of a page again and again, with the number of its site"
            out.write(f'{{"id": "{at}", "text": "{words} {at % 5}"}}\n')
    cleaned = fpstore.clean(pages, folder / "clean.jsonl")
    assert cleaned.kept + cleaned.near_new == 50 and cleaned.near_new >= 45, cleaned
    with fpstore.serve(store.path) as server, fpstore.Client(server.url) as client:
        assert client.query(1, 0) == store.query(1, 0)
    try:
        fpstore.open(folder / "none.fps")
    except FileNotFoundError as error:
        assert isinstance(error, fpstore.errors.NoStoreError)
    libc = " ".join(platform.libc_ver()) or "no glibc"
    print(f"fpstore {fpstore.__version__} on Python {platform.python_version()}, {libc}: ok")


if __name__ == "__main__":
    main()
