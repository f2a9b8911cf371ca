"""Work divided into any number of tasks has the same results as in one process."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import U64, clustered

import fpstore
from fpstore import tasks

Pairs = list[tuple[Any, ...]]


def parts_of(values: U64, count: int, folder: Path, scheme: str) -> list[tasks.Receipt]:
    """Writes the values as `count` segments, each with a call of the task function."""
    return [
        tasks.write_segment(
            folder / f"part-{number:02}.fps",
            part,
            np.arange(number, len(values), count, dtype=np.uint64),
            recipe=None,
            scheme=scheme,
        )
        for number, part in enumerate(values[number::count] for number in range(count))
    ]


def built(values: U64, count: int, folder: Path, scheme: str) -> fpstore.Store:
    """A store of the values in `count` segments."""
    folder.mkdir()
    receipts = parts_of(values, count, folder, scheme)
    done = tasks.commit(folder / "all.fps", receipts, label="2026-11")
    assert done.added == count and not done.tables_differ and done.fingerprints >= len(set(values))
    return fpstore.open(folder / "all.fps")


def joined(values: U64, k: int) -> Pairs:
    return fpstore.near_pairs(values, k=k, sorted=True).read_all().to_pylist()


def shares_of(store: fpstore.Store, plan: tasks.JoinPlan, count: int) -> Pairs:
    found: Pairs = []
    for number in range(count):
        found += tasks.join_share(store, plan, number, count).read_all().to_pylist()
    return sorted(found)


@pytest.mark.parametrize("k", range(7))
@pytest.mark.parametrize("segments", [1, 9])
def test_shares_are_disjoint_and_complete(tmp_path: Path, k: int, segments: int) -> None:
    values = clustered(4000, k)
    expected = joined(values, k)
    assert k == 0 or len(expected) > 50
    store = built(values, segments, tmp_path / "ranges", f"blocks-{k + 1}")
    plan = tasks.JoinPlan.of(store, k)
    assert plan.reads == ("ranges" if k else plan.reads)
    for count in (1, 7, 200):
        assert shares_of(store, plan, count) == expected


def test_shares_of_other_tables_read_everything(tmp_path: Path) -> None:
    values = clustered(3000, 1)
    store = built(values, 3, tmp_path / "halves", "halves")
    plan = tasks.JoinPlan.of(store, 3)
    assert plan.reads == "everything" and plan.scheme == "blocks-4"
    assert shares_of(store, plan, 7) == joined(values, 3)


@pytest.mark.parametrize("k", range(7))
@pytest.mark.parametrize("groups", [1, 40, 200])
def test_groups_are_disjoint_and_complete(k: int, groups: int) -> None:
    values = clustered(4000, k)
    expected = joined(values, k)
    plan = tasks.JoinPlan(k, groups)
    assert plan.group_count >= groups and plan.group_count % (k + 1) == 0
    payloads: dict[int, list[bytes]] = {}
    # The first values are sent twice, like by a task that ran again.
    for part in [*np.array_split(values, 5), values[:10]]:
        for group, payload in tasks.scatter(part, plan):
            payloads.setdefault(group, []).append(payload)
    found: Pairs = []
    for group, packed in payloads.items():
        found += tasks.join_group(packed, plan, group).read_all().to_pylist()
    assert sorted(found) == expected


def test_payloads_are_taken_from_arrow_and_checked() -> None:
    values = clustered(2000, 2)
    plan = tasks.JoinPlan(3, 8)
    table = pa.table(tasks.scatter(values, plan))
    assert table.schema.types == [pa.uint32(), pa.binary()]
    of_group = table.filter(pa.array(table["group"].to_numpy() == 5))["payload"]
    expected = tasks.join_group(of_group.to_pylist(), plan, 5).read_all().to_pylist()
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        found = tasks.join_group(of_group.cast(kind), plan, 5).read_all().to_pylist()
        assert found == expected
    rows = tasks.scatter(values, plan)
    assert rows["payload"][0] == table["payload"][0].as_py() == rows.to_pylist()[0][1]
    refused: list[tuple[Any, str]] = [
        ([b"1234567"], "not a multiple of 8"),
        ([table["payload"][0].as_py()], "packed for another group"),
        (["12345678"], "payload number 0 is str, expected bytes"),
        (pa.array([None], pa.binary()), "1 of 1 payloads are null"),
        (pa.array([1]), "payloads must be binary, not Int64"),
    ]
    for payloads, message in refused:
        with pytest.raises(fpstore.errors.InputError, match=message):
            tasks.join_group(payloads, plan, 5).read_all()
    for group in (8, -1):
        with pytest.raises(fpstore.errors.InputError, match="group"):
            tasks.join_group([], plan, group).read_all()


def test_a_sample_says_which_bits_vary() -> None:
    # Fingerprints of 32 bits, zero-extended: without the sample most of them are in one group.
    values = clustered(2000, 3) >> np.uint64(32)
    counts = []
    for plan in (tasks.JoinPlan(3, 400), tasks.JoinPlan(3, 400, sample=values[:100])):
        payloads: dict[int, bytes] = dict(tasks.scatter(values, plan))
        counts.append(max(map(len, payloads.values())) // 8)
        found: Pairs = []
        for group, payload in payloads.items():
            found += tasks.join_group([payload], plan, group).read_all().to_pylist()
        assert sorted(found) == joined(values, 3)
    assert counts[0] > 1500 and counts[1] < 300


def test_a_crowd_does_not_hold_a_join_up(tmp_path: Path) -> None:
    # A tenth of all fingerprints share a block of bits, and a thousand documents one fingerprint.
    values = clustered(30000, 4)
    values[::10] = values[::10] & np.uint64(0xFFFF_FFFF_FFFF) | np.uint64(0xABCD << 48)
    values[1:1000] = values[1]
    store = built(values, 4, tmp_path / "crowd", "blocks-4")
    expected = joined(values, 3)
    assert shares_of(store, tasks.JoinPlan.of(store, 3), 50) == expected
    plan = tasks.JoinPlan(3, 80)
    found: Pairs = []
    for group, payload in tasks.scatter(values, plan):
        found += tasks.join_group([payload], plan, group).read_all().to_pylist()
    assert sorted(found) == expected


def test_the_answers_of_segments_are_those_of_the_store(tmp_path: Path, values: U64) -> None:
    store = built(values, 5, tmp_path / "five", "halves")
    queries = values[:500] ^ np.uint64(5)
    found: Pairs = []
    for segment in store.info().segments:
        found += tasks.query_segment(store.path, segment.number, queries, 4)
    assert sorted(found) == sorted(store.query_many(queries, 4))
    assert tasks.query_segment(store, 1, queries, ids=False).column_names[-1] == "distance"
    with pytest.raises(fpstore.errors.InputError, match="no segment 77"):
        tasks.query_segment(store, 77, queries)
    with pytest.raises(fpstore.errors.StaleStoreError):
        tasks.query_segment(store.path, 1, queries, generation=store.generation + 1)


def test_forests_have_the_components_of_all_pairs(values: U64) -> None:
    plan = tasks.JoinPlan(5, 60)
    links = []
    for group, payload in tasks.scatter(values, plan):
        links.append(tasks.forest(tasks.join_group([payload], plan, group)))
    whole = pa.table(tasks.forest(iter(links)))
    pairs = pa.table(fpstore.near_pairs(values, k=5))
    assert whole == pa.table(tasks.forest(pairs))
    # Spark passes fingerprints as signed numbers.
    signed = [pairs[name].combine_chunks().view(pa.int64()) for name in ("first", "second")]
    assert whole == pa.table(tasks.forest(pa.table(signed, ["first", "second"])))
    expected = fpstore.components(pairs["first"], pairs["second"])
    of = {second: first for first, second in zip(*whole.to_pydict().values())}
    for fingerprint, component in expected:
        assert of.get(fingerprint, fingerprint) == component
    with pytest.raises(fpstore.errors.InputError, match="there is no 'second'"):
        tasks.forest(pa.table({"first": [1]}))
    with pytest.raises(fpstore.errors.InputError, match="1 of 1 values of 'first' are null"):
        tasks.forest(pa.table({"first": pa.array([None], pa.int64()), "second": [1]}))


def test_a_crowd_is_as_many_links_as_documents() -> None:
    crowd = np.arange(1 << 10, dtype=np.uint64)
    assert len(tasks.forest(fpstore.near_pairs(crowd, k=10))) == len(crowd) - 1


def test_a_plan_is_its_text(tmp_path: Path, store: fpstore.Store) -> None:
    plans = [tasks.JoinPlan(2, 9), tasks.JoinPlan(0), tasks.JoinPlan.of(store, 6)]
    for plan in plans:
        for again in (tasks.JoinPlan.parse(str(plan)), pickle.loads(pickle.dumps(plan))):
            assert again == plan and hash(again) == hash(plan) and str(again) == str(plan)
    assert len(set(plans)) == 3 and plans[2].k == 6 and plans[0] != plans[1]
    assert tasks.JoinPlan.of(store).k == store.tuned_k
    with pytest.raises(fpstore.errors.InputError, match="is not a join plan"):
        tasks.JoinPlan.parse("join-plan 2")
    with pytest.raises(fpstore.errors.InputError, match="0 groups"):
        tasks.JoinPlan(3, 0)
    with pytest.raises(fpstore.errors.InputError, match="share 3 of 3"):
        tasks.join_share(store, plans[2], 3, 3)


def test_a_task_that_runs_twice_writes_the_same_file(tmp_path: Path, values: U64) -> None:
    path = tmp_path / "part.fps"
    batches = [(part, [f"id {at}" for at in part]) for part in np.array_split(values, 3)]
    once = tasks.write_segment(path, iter(batches), recipe="simhash")
    bytes_once = path.read_bytes()
    again = tasks.write_segment(path, iter(batches[::-1]), recipe="simhash", threads=2)
    assert again == once and path.read_bytes() == bytes_once and len(once.digest) == 32
    assert once.ids == len(values) and once.fingerprints == len(np.unique(values))
    assert tasks.Receipt.of(path) == once == tasks.Receipt.parse(str(once))
    with pytest.raises(fpstore.errors.InputError, match="it exists"):
        tasks.write_segment(path, [1], recipe=None, replace=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["part.fps"]


def test_a_failed_task_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(fpstore.errors.InputError, match="id number 1"):
        tasks.write_segment(tmp_path / "part.fps", [1, 2], ["a", "b\n"], recipe=None)
    with pytest.raises(TypeError, match="recipe"):
        tasks.write_segment(tmp_path / "part.fps", [1, 2])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert not list(tmp_path.iterdir())


def test_a_commit_can_be_repeated(tmp_path: Path, values: U64) -> None:
    receipts = parts_of(values, 9, tmp_path, "blocks-4")
    empty = tasks.write_segment(tmp_path / "none.fps", [], recipe=None, scheme="blocks-4")
    store = tmp_path / "all.fps"
    assert not tasks.has_run(store, "night")
    first = tasks.commit(store, [*receipts[::-1], empty], run="night", label="11")
    assert (first.added, first.empty, first.known_run) == (9, 1, False)
    again = tasks.commit(store, receipts)
    assert (again.added, again.repeated, again.generation) == (0, 9, first.generation)
    assert tasks.has_run(store, "night") and tasks.commit(store, receipts, run="night").known_run
    # All segments have the label, although the receipts came in another order.
    assert [segment.label for segment in fpstore.open(store).info().segments] == ["11"] * 9
    with fpstore.Writer(store) as writer:
        writer.compact("one")
    assert tasks.commit(store, receipts, run="night", remove=True).known_run
    assert all(Path(receipt.path).exists() for receipt in receipts)


def test_receipts_come_as_rows_and_texts(tmp_path: Path, values: U64, program: str) -> None:
    receipts = parts_of(values, 2, tmp_path, "blocks-4")
    table = pa.Table.from_pylist([receipt._asdict() for receipt in receipts])
    pq.write_table(table, tmp_path / "receipts.parquet")
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "receipts.parquet").to_pylist()]
    assert tasks.commit(tmp_path / "rows.fps", rows).added == 2
    assert tasks.commit(tmp_path / "texts.fps", map(str, receipts)).added == 2
    lines = "".join(f"{receipt}\n" for receipt in receipts)
    (tmp_path / "receipts").write_text(lines)
    commit = [program, "commit", str(tmp_path / "receipts"), "-s", str(tmp_path / "program.fps")]
    subprocess.run(commit, check=True, capture_output=True)
    assert len(fpstore.open(tmp_path / "program.fps").info().segments) == 2
    # Segment files that the program wrote can be committed, too.
    (tmp_path / "few").write_text("1\n2\n")
    build = [
        program,
        "build",
        str(tmp_path / "few"),
        "--segment-file",
        str(tmp_path / "u%nd 1.fps"),
    ]
    printed = subprocess.run(build, check=True, capture_output=True, text=True).stdout
    made = tasks.Receipt.parse(printed)
    assert str(made) == printed.strip() and made.path.endswith("u%nd 1.fps")
    with pytest.raises(fpstore.errors.InputError, match="receipt number 1: .*begin 'segment 1'"):
        tasks.commit(tmp_path / "no.fps", [str(made), "segment"])
    with pytest.raises(fpstore.errors.InputError, match="there are no segments to commit"):
        tasks.commit(tmp_path / "no.fps", [])


def test_a_foreign_segment_is_refused_before_anything_moves(tmp_path: Path, values: U64) -> None:
    receipts = parts_of(values, 4, tmp_path, "blocks-4")
    foreign = tasks.write_segment(tmp_path / "zz.fps", [1], recipe="minhash", scheme="blocks-4")
    store = tmp_path / "all.fps"
    with pytest.raises(fpstore.FpstoreError, match="zz.fps"):
        tasks.commit(store, [*receipts, foreign])
    assert not store.exists() and len(list(tmp_path.iterdir())) == 5
    tasks.commit(store, receipts)
    files = sorted(store.iterdir())
    other = tasks.write_segment(tmp_path / "yy.fps", [2], recipe=None, scheme="blocks-4")
    with pytest.raises(fpstore.FpstoreError, match="zz.fps"):
        tasks.commit(store, [other, foreign])
    assert sorted(store.iterdir()) == files
    # A second task replaces the file for which the receipt was made.
    tasks.write_segment(tmp_path / "yy.fps", [3], recipe=None, scheme="blocks-4")
    with pytest.raises(fpstore.errors.InputError, match="not the file of its receipt"):
        tasks.commit(store, [other])


def test_a_snapshot_outlives_the_store(tmp_path: Path, store: fpstore.Store) -> None:
    snapshot = fpstore.export(store, tmp_path / "tonight.fps", hard_link=True)
    with fpstore.Writer(store.path) as writer:
        writer.add([1], ["one"])
    assert len(snapshot) == len(store) and not snapshot.refresh() and store.refresh()


def share_in_process(given: tuple[fpstore.Store, tasks.JoinPlan, int]) -> Pairs:
    store, plan, number = given
    return tasks.join_share(store, plan, number, 3).read_all().to_pylist()


def segment_in_process(given: tuple[Path, int]) -> tasks.Receipt:
    folder, number = given
    values = np.arange(number, 3000, 3, dtype=np.uint64)
    return tasks.write_segment(folder / f"{number}.fps", values, recipe=None, scheme="blocks-2")


def test_tasks_run_in_processes_of_their_own(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        receipts = pool.map(segment_in_process, [(tmp_path, number) for number in range(3)])
        tasks.commit(tmp_path / "all.fps", receipts)
        store = fpstore.open(tmp_path / "all.fps")
        plan = tasks.JoinPlan.of(store, 1)
        shares = pool.map(share_in_process, [(store, plan, number) for number in range(3)])
        assert sorted(sum(shares, [])) == joined(np.arange(3000, dtype=np.uint64), 1)
    generation, pickled = store.generation, pickle.dumps(store)
    with fpstore.Writer(store.path) as writer:
        writer.add([7])
    with pytest.raises(fpstore.errors.StaleStoreError):
        pickle.loads(pickled)
    with pytest.raises(fpstore.errors.StaleStoreError):
        tasks.join_share(store.path, plan, 0, 3, generation=generation)
