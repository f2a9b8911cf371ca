"""A client of a server in this process gives the same answers as the store."""

from __future__ import annotations

import multiprocessing
import pickle
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import U64, clustered
from test_doors import CASES, TABLE, build, identity, items, left, text

import fpstore


@pytest.fixture
def client(store: fpstore.Store) -> Iterator[fpstore.Client]:
    with fpstore.serve(store.path) as server, fpstore.Client(server.url) as client:
        yield client


@pytest.mark.parametrize("kind", ["texts", "numbers", "none"])
def test_answers_are_those_of_the_store(tmp_path: Path, kind: str) -> None:
    values = np.concatenate([clustered(2000, 3), clustered(100, 3)])
    ids: Any = {
        "texts": [f"\u4e2d {at}" for at in range(2100)],
        "numbers": np.arange(2100, dtype=np.uint64) + np.uint64(2**63),
        "none": None,
    }[kind]
    store = fpstore.build(tmp_path / "s.fps", values, ids)
    queries = np.concatenate([values[::9], clustered(50, 8)])
    with fpstore.serve(store.path) as server, fpstore.Client(server.url) as client:
        for k in (None, 0, 3, 9):
            for ids_wanted in (True, False):
                found = client.query_many(queries, k, ids=ids_wanted)
                expected = store.query_many(queries, k, ids=ids_wanted)
                assert found.column_names == expected.column_names
                assert found.to_pylist() == expected.to_pylist() and not found.cut
            for query in queries[:40]:
                assert client.query(query, k) == store.query(query, k)
                assert client.query(query, k, limit=1) == store.query(query, k, limit=1)
        cut = client.query_many(queries, 9, limit=1)
        assert cut.cut and cut.to_pylist() == store.query_many(queries, 9, limit=1).to_pylist()
        assert client.nearest(queries[-1], 3) == store.nearest(queries[-1], 3)
        near = client.nearest_many(queries, 2, 20)
        assert near.to_pylist() == store.nearest_many(queries, 2, 20).to_pylist()
        if ids is not None:
            some = list(ids[:3]) + list(ids[-1:])
            assert client.find(some) == store.find(some)
        assert client.info().store == replace(
            store.info(),
            segments=tuple(
                replace(it, written=it.written and it.written.replace(microsecond=0))
                for it in store.info().segments
            )
        )
        assert client.query_many([]).to_pylist() == [] and client.find([]) == []


@pytest.mark.parametrize("kinds", [("texts", "texts"), ("numbers", "numbers"), ("texts", "none")])
def test_a_server_of_several_stores_answers_as_they_do(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    paths = []
    values = clustered(0, 3)
    for number, kind in enumerate(kinds):
        # Some fingerprints are in both stores.
        values = np.concatenate([clustered(500, 3), clustered(500, 4 + number)])
        ids: Any = {
            "texts": [f"{number} {at}" for at in range(1000)],
            "numbers": np.arange(1000, dtype=np.uint64),
            "none": None,
        }[kind]
        fpstore.build(tmp_path / f"{number}.fps", values, ids).close()
        paths.append(str(tmp_path / f"{number}.fps"))
    queries = np.concatenate([values[::9], clustered(50, 8)])
    with (
        fpstore.open(paths) as stores,
        fpstore.serve(paths) as server,
        fpstore.Client(server.url) as client,
    ):
        for k in (None, 0, 5):
            for wanted in (True, False):
                found = client.query_many(queries, k, ids=wanted)
                expected = stores.query_many(queries, k, ids=wanted)
                assert found.column_names == expected.column_names
                assert found.to_pylist() == expected.to_pylist() and not found.cut
            for query in queries[:20]:
                assert client.query(query, k) == stores.query(query, k)
                assert client.query(query, k, limit=1) == stores.query(query, k, limit=1)
        assert client.query_many([], 3).column_names == stores.query_many([], 3).column_names
        assert client.nearest(queries[0], 3) == stores.nearest(queries[0], 3)
        near = client.nearest_many(queries, 2, 20)
        assert near.to_pylist() == stores.nearest_many(queries, 2, 20).to_pylist()
        some: Any = np.arange(3, dtype=np.uint64) if kinds[0] == "numbers" else ["0 1", "1 1", "no"]
        assert client.find(some) == stores.find(some)
        assert list(client.info().stores) == paths
        if kinds[0] == "texts":
            with pytest.raises(fpstore.errors.RefusedError, match="read-only"):
                client.check_and_add([1], ["new"])
    with pytest.raises(ValueError, match="a server of several stores cannot write to them"):
        fpstore.serve(paths, writable=True)


def test_what_a_server_says_of_itself(client: fpstore.Client, store: fpstore.Store) -> None:
    ready = client.ready()
    assert ready == fpstore.types.Readiness(True, store.generation, None, None)
    info = client.info()
    assert (info.version, info.writable, info.needs_token_to_read) == (
        fpstore.__version__,
        False,
        False,
    )
    assert info.format_versions == fpstore.types.FORMAT_VERSIONS
    assert info.limits["max_matches"] == 1000 and info.limits["deadline_ms"] == 10_000
    price = client.plan(3, 100)
    assert (price.k, price.queries, price.lane) == (3, 100, "inline")
    assert price.cost_us > price.expected_us > 0
    assert not client.refresh()
    with fpstore.Writer(store.path) as writer:
        writer.add([5], ["five"])
    client.refresh()
    assert client.ready().generation == store.generation + 1
    assert client.query(5, 0)[0].ids == ["five"]


def check_and_add(client: fpstore.Client, case: dict[str, Any]) -> list[dict[str, Any]]:
    found = client.check_and_add(*items(case), case["options"]["k"])
    return [
        {"added": True}
        if added
        else {
            "added": False,
            "near": text(near),
            "near_id": identity(near_id),
            "distance": distance,
        }
        for added, near, near_id, distance in found.to_pylist()
    ]


def find(client: fpstore.Client, ids: list[str]) -> list[list[str]]:
    return [[text(it) for it in found] for found in client.find(ids)]


def answer(client: fpstore.Client, path: Path, case: dict[str, Any]) -> Any:
    options, operation = case["options"], case["operation"]
    if operation == "query":
        needle = int(fpstore.from_hex([options["fingerprint"]])[0])
        if "nearest" in options:
            found = client.nearest(needle, options["nearest"])
        else:
            found = client.query(needle, options.get("k"), limit=options.get("limit"))
        return [
            {
                "fingerprint": text(it.fingerprint),
                "distance": it.distance,
                "ids": [str(of) for of in it.ids],
            }
            for it in found
        ]
    if operation == "find":
        return find(client, options["ids"])
    if operation in ("info", "segment"):
        store = client.info().store
        of = store if operation == "info" else store.segments[0]
        return {name: getattr(of, name) for name in case["expected"]}
    if operation == "check and add":
        return {"results": check_and_add(client, case), "left": left(path)}
    if operation == "replace":
        client.replace(*items(case))
        return find(client, options["ids"])
    assert operation == "delete", operation
    done = client.delete_ids(options["ids"], dry_run=options.get("dry_run", False))
    return {**asdict(done), "left": left(path)}


OVER_HTTP = [
    case
    for case in CASES
    if "http" not in TABLE["operations"][case["operation"]] and "http" not in case.get("without", {})
]


@pytest.mark.parametrize("case", OVER_HTTP, ids=lambda case: case["case"])
def test_the_client_answers_every_case_of_a_server(case: dict[str, Any], tmp_path: Path) -> None:
    store = build(tmp_path / "store.fps", case["store"])
    with (
        fpstore.serve(store.path, writable=True) as server,
        fpstore.Client(server.url) as client,
    ):
        if case["expected"] == "error":
            with pytest.raises((ValueError, OverflowError)):
                answer(client, tmp_path / "store.fps", case)
        else:
            assert answer(client, tmp_path / "store.fps", case) == case["expected"]


def test_a_server_that_writes(tmp_path: Path) -> None:
    path = tmp_path / "grows.fps"
    recipe = fpstore.Recipe()
    texts = ["the quick brown fox", "jumps over the lazy dog", "the quick brown fox"]
    fpstore.build(path, recipe.fingerprints(texts[:1]), ["first"], label="2026-10")
    column = recipe.fingerprints(texts)
    with (
        fpstore.serve(path, writable=True, label="2026-11") as server,
        fpstore.Client(server.url) as client,
    ):
        with pytest.raises(fpstore.errors.LockedError):
            fpstore.Writer(path)
        found = client.check_and_add(column, ["a", "b", "c"])
        assert found["added"].tolist() == [False, True, False]
        assert found.to_pylist()[2] == (False, column[0], "first", 0)
        assert client.query_text(texts[1])[0].ids == ["b"]
        again = client.check_and_add(texts=texts, ids=["d", "e", "f"], durable=False)
        assert not again["added"].any()
        with pytest.raises(fpstore.errors.RefusedError, match="same_recipe") as refused:
            client.check_and_add([7], ["g"])
        assert refused.value.code == "recipe-not-said"
        assert client.check_and_add([7], ["g"], same_recipe=True)["added"].all()
        with pytest.raises(fpstore.errors.RecipeError):
            client.check_and_add(fpstore.Recipe("simhash").fingerprints(texts), ["x", "y", "z"])
        with pytest.raises(fpstore.errors.RecipeError):
            client.query_many(fpstore.Recipe("simhash").fingerprints(texts))
        done = client.replace(texts=["something else"], ids=["g"])
        assert (done.wanted, done.found) == (1, 1)
        assert client.find(["g"]) == [[recipe.fingerprint("something else")]]
        assert client.delete_ids(["g"]).found == 1
        expired = client.expire("2026-11", dry_run=True)
        assert [it.label for it in expired] == ["2026-10"] and expired[0].file_len > 0
        assert client.set_label("2026-12") == "2026-12"
        client.compact("all")
    assert server.closed and client.closed
    assert fpstore.open(path).find(["b"]) == [[column[1]]]
    with fpstore.Writer(path) as writer:
        assert writer.pending == 0


def test_what_a_server_cuts_is_an_error(tmp_path: Path) -> None:
    many = fpstore.build(tmp_path / "many.fps", range(4096), range(4096))
    one = fpstore.build(tmp_path / "one.fps", [5] * 1500, range(1500))
    with fpstore.serve(many.path) as server, fpstore.Client(server.url) as client:
        with pytest.raises(fpstore.errors.CutAnswerError, match="limit=1000") as cut:
            client.query(0, 12)
        assert cut.value.by == "limit"
        with pytest.raises(fpstore.errors.CutAnswerError):
            client.query_many([0, 1], 12)
        found = client.query_many([0], 12, limit=1000)
        assert found.cut and len(found) == 1000
        assert len(client.nearest(0, 7)) == 7
        with pytest.raises(fpstore.errors.RefusedError, match="--max-matches") as refused:
            client.query(0, 12, limit=5000)
        assert refused.value.code == "over-limit"
    with fpstore.serve(one.path) as server, fpstore.Client(server.url) as client:
        with pytest.raises(fpstore.errors.CutAnswerError) as cut:
            client.query(5)
        assert cut.value.by == "ids"
        assert len(client.query_many([5], ids=False)) == 1


def test_batches_are_as_large_as_the_server_takes(
    tmp_path: Path, values: U64, program: str
) -> None:
    store = fpstore.build(tmp_path / "s.fps", values, range(len(values)))
    command = [program, "serve", "-s", store.path, "--listen", f"unix:{tmp_path}/s.sock"]
    limits = ["--max-batch", "7", "--max-answer", "2KiB"]
    with subprocess.Popen([*command, *limits], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr and "serving" in process.stderr.readline()
        try:
            with fpstore.Client(f"unix:{tmp_path}/s.sock") as client:
                found = client.query_many(values[:200], 6).to_pylist()
        finally:
            process.terminate()
    assert found == store.query_many(values[:200], 6).to_pylist()


def test_threads_and_processes_share_a_client(client: fpstore.Client, values: U64) -> None:
    expected = client.query_many(values[:300], 6).to_pylist()
    found: list[Any] = [None] * 6

    def ask(at: int) -> None:
        found[at] = client.query_many(values[:300], 6).to_pylist()

    threads = [threading.Thread(target=ask, args=(at,)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6
    # A forked process shares the sockets of its parent and must not use them.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(single, (client.url, int(values[5]))) == client.query(values[5])
    context = multiprocessing.get_context("fork")
    answers: Any = context.Queue()
    process = context.Process(target=lambda: answers.put(client.query(values[5])))
    process.start()
    assert answers.get() == client.query(values[5])
    process.join()
    assert client.query_many(values[:300], 6).to_pylist() == expected


def single(url: str, value: int) -> list[fpstore.types.Match]:
    return fpstore.Client(url).query(value)


def test_what_is_no_server(tmp_path: Path, store: fpstore.Store) -> None:
    for url in ("", "127.0.0.1:7700", "https://a", "ftp://a"):
        with pytest.raises(fpstore.errors.InputError):
            fpstore.Client(url)
    with pytest.raises(fpstore.errors.UnreachableError) as unreachable:
        fpstore.Client(f"unix:{tmp_path}/none.sock").info()
    assert isinstance(unreachable.value, ConnectionError)
    with socket.create_server(("127.0.0.1", 0)) as other:
        def reply() -> None:
            peer, _ = other.accept()
            peer.recv(1000)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            peer.close()

        thread = threading.Thread(target=reply)
        thread.start()
        with pytest.raises(fpstore.errors.NotAServerError):
            fpstore.Client(f"http://127.0.0.1:{other.getsockname()[1]}").info()
        thread.join()
    with fpstore.serve(store.path) as server:
        client = fpstore.Client(server.url)
        with pytest.raises(fpstore.errors.RefusedError) as refused:
            client.check_and_add([1], ["a"])
        assert refused.value.code == "not-writable"
        assert pickle.loads(pickle.dumps(refused.value)).code == "not-writable"
        bads: list[dict[str, Any]] = [
            {},
            {"fingerprints": [1], "texts": ["a"]},
            {"texts": ["a", None]},
        ]
        for bad in bads:
            with pytest.raises(fpstore.errors.InputError):
                client.check_and_add(**bad)
        with pytest.raises(fpstore.errors.InputError, match="1 records and 2 ids"):
            client.check_and_add([1], ["a", "b"])
        for thing in (client, server):
            with pytest.raises(TypeError, match="url"):
                pickle.dumps(thing)
    with pytest.raises(fpstore.errors.UnreachableError):
        client.query(1)
    client.close()
    with pytest.raises(fpstore.errors.InputError, match="closed"):
        client.query(1)
    with pytest.raises(fpstore.errors.InputError, match="other machines can reach"):
        fpstore.serve(store.path, listen="0.0.0.0:0")
    with pytest.raises(fpstore.errors.InputError, match="writable"):
        fpstore.serve(store.path, label="2026-11")
    with pytest.raises(fpstore.errors.NoStoreError):
        fpstore.serve(tmp_path / "none.fps")
    with fpstore.serve(store.path, listen=f"unix:{tmp_path}/s.sock") as server:
        assert server.url == f"unix:{tmp_path}/s.sock"
        with pytest.raises(fpstore.errors.InputError, match="s.sock"):
            fpstore.serve(store.path, listen=f"unix:{tmp_path}/s.sock")
    assert not (tmp_path / "s.sock").exists()


def test_a_folder_follows_a_server(tmp_path: Path, values: U64) -> None:
    path, folder = tmp_path / "s.fps", tmp_path / "copy.fps"
    fpstore.build(path, values, range(len(values)))
    with (
        fpstore.serve(path, writable=True, label="later") as server,
        fpstore.Client(server.url) as client,
    ):
        done = fpstore.backup(client, folder)
        assert (done.is_new, done.generation, done.copied, done.kept) == (True, 1, 1, 0)
        assert not fpstore.backup(client, folder).is_new
        first = fpstore.open(folder)
        client.check_and_add([2**63 + 5], [10**6], 0)
        done = fpstore.backup(client, folder, verify=True)
        assert (done.copied, done.kept) == (1, 1)
        # The backup did not use or close the connections of the client.
        assert client.find([10**6]) == [[2**63 + 5]]
    assert fpstore.open(folder).find([10**6]) == [[2**63 + 5]]
    changes = fpstore.log([fpstore.open(path), first])
    assert [(it.act, it.label, it.from_) for it in changes] == [
        ("added", "", []),
        ("added", "later", []),
    ]
    again = fpstore.backup(fpstore.open(path), tmp_path / "again.fps")
    assert again.copied == 2 == fpstore.backup(str(path), tmp_path / "by-path.fps").copied
    with pytest.raises(fpstore.errors.InputError, match="Store or a Client"):
        fpstore.backup(7, folder)  # type: ignore[arg-type]
    client = fpstore.Client(server.url)
    with pytest.raises(OSError):
        fpstore.backup(client, folder)
    client.close()
    with pytest.raises(fpstore.errors.InputError, match="closed"):
        fpstore.backup(client, folder)
