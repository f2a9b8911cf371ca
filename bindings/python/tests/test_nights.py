"""A nightly job that cleans a table against a store, killed at each of its steps and repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest

import fpstore


def job(store: Path, night: Path, out: Path, killed_at: str, when: str) -> None:
    """The nightly job. It kills itself at the step `killed_at`."""
    import pandas

    def step(name: str) -> None:
        if name == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)

    frame = pandas.read_json(night, lines=True)
    step("before deciding")
    with fpstore.clean(
        frame, store=store, within=True, add=True, run=night.name, commit=False
    ) as cleaned:
        step("after deciding")
        if not cleaned.was_added_before:
            part = out.with_suffix(".part")
            frame[cleaned.keep].to_json(part, orient="records", lines=True)
            step("before writing")
            os.replace(part, out)
        step("after writing")
        if when == "by a call":
            count = 0 if cleaned.was_added_before else cleaned.kept
            assert cleaned.commit() == count
            step("after committing in the block")
    step("after committing")


STEPS = ["before deciding", "after deciding", "before writing", "after writing", "after committing"]


def texts(night: int) -> list[dict[str, str]]:
    """Twenty documents; some repeat earlier documents of this night or the night before."""
    rows = []
    for number in range(20):
        of = 10 * night + number - (number % 4 == 3)
        rows.append({"id": f"n{night}-{number}", "text": " ".join(f"w{of}x{at}" for at in range(40))})
    return rows


def nights(folder: Path, killed_at: str, when: str) -> tuple[list[str], list[str]]:
    """The written documents and the ids of the store after three nights; in the second night the
    job is killed at a step, then repeated. In the end all nights are repeated once more."""
    folder.mkdir()
    store = folder / "all.fps"
    fpstore.Builder(store, recipe="minhash", sketch=True).finish()
    for night in range(3):
        given = folder / f"night{night}.jsonl"
        given.write_text("".join(json.dumps(row) + "\n" for row in texts(night)))

    def run(night: int, killed_at: str) -> int:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                names = (folder / f"night{night}.jsonl", folder / f"out{night}.jsonl")
                job(store, *names, killed_at, when)
                code = 0
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    for night in range(3):
        if night == 1 and killed_at:
            assert run(night, killed_at) == -9
        assert run(night, "") == 0
    for night in range(3):
        assert run(night, "") == 0
    written = [
        json.loads(line)["id"]
        for night in range(3)
        for line in (folder / f"out{night}.jsonl").read_text().splitlines()
    ]
    rows = fpstore.open(store).records().read_all()
    return written, sorted(str(id) for id in rows["id"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a forked process is killed")
@pytest.mark.parametrize("when", ["by with", "by a call"])
def test_a_job_killed_at_any_step_and_repeated_loses_nothing_and_adds_nothing_twice(
    when: str, tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    written, stored = nights(tmp_path / "whole", "", when)
    assert sorted(written) == stored and len(set(written)) == len(written) == 35
    steps = STEPS + (["after committing in the block"] if when == "by a call" else [])
    for number, killed_at in enumerate(steps):
        assert nights(tmp_path / str(number), killed_at, when) == (written, stored), killed_at


def table(night: int) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(texts(night))


@pytest.fixture
def all_nights(tmp_path: Path) -> str:
    store = fpstore.build(
        tmp_path / "all.fps", fpstore.Documents(texts(0)), recipe="minhash", sketch=True
    )
    return store.path


def clean(night: int, store: str, **options: Any) -> Any:
    return fpstore.clean(table(night), store=store, within=True, add=True, run="n", **options)


def test_an_uncommitted_cleaning_changes_nothing(all_nights: str) -> None:
    before = fpstore.open(all_nights).info()
    cleaned = clean(1, all_nights, commit=False)
    with pytest.raises(ZeroDivisionError):
        with cleaned:
            assert cleaned.added == cleaned.kept > 0
            with pytest.raises(fpstore.errors.LockedError):
                fpstore.Writer(all_nights)
            raise ZeroDivisionError
    assert fpstore.open(all_nights).info() == before
    with pytest.raises(ValueError, match="the cleaning"):
        cleaned.commit()
    cleaned = clean(1, all_nights, commit=False)
    with pytest.warns(ResourceWarning, match="its documents were not added"):
        del cleaned
    assert fpstore.open(all_nights).info() == before
    assert clean(1, all_nights, commit=False).commit() > 0


def test_a_known_run_is_told_and_another_table_under_its_name_is_refused(all_nights: str) -> None:
    with clean(1, all_nights, commit=False) as cleaned:
        kept = cleaned.kept
    ids = fpstore.open(all_nights).info().ids
    again = clean(1, all_nights, commit=False)
    assert again.was_added_before and again.decisions is None and again.commit() == 0
    with pytest.raises(fpstore.errors.InputError, match="skip writing if was_added_before"):
        again.keep
    with pytest.raises(fpstore.errors.KnownRunError, match="documents of the run 'n'"):
        clean(2, all_nights, commit=False)
    with pytest.raises(fpstore.errors.KnownRunError, match="documents of the run 'n'"):
        clean(1, all_nights)
    assert fpstore.open(all_nights).info().ids == ids and kept > 0


def test_commit_needs_an_addition(all_nights: str) -> None:
    with pytest.raises(fpstore.errors.InputError, match="give add=True"):
        fpstore.clean(table(1), store=all_nights, commit=False)
    with pytest.raises(fpstore.errors.InputError, match="commit=False"):
        fpstore.clean(table(1)).commit()
    with fpstore.clean(table(1)) as cleaned:
        assert cleaned.kept > 0


def test_files_are_added_by_a_commit_too(all_nights: str, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts(1)))
    options: dict[str, Any] = {"store": all_nights, "within": True, "add": True, "commit": False}
    first = fpstore.clean(tmp_path / "in.jsonl", tmp_path / "out.jsonl", **options)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert len(lines) == first.kept
    before = fpstore.open(all_nights).info().ids
    assert first.commit() == first.kept
    assert fpstore.open(all_nights).info().ids == before + first.kept


# Sketches.


def judgement(cleaned: fpstore.types.Cleaned) -> str:
    assert cleaned.overview is not None
    return cleaned.overview.judgement


def test_fingerprints_that_decide_alone_are_a_warning_with_the_remedy(
    all_nights: str, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cleaned = fpstore.clean(table(1), store=all_nights, within=True)
    assert "sketches" in judgement(cleaned)
    bare = fpstore.build(tmp_path / "bare.fps", fpstore.Documents(texts(0)), recipe="minhash")
    with pytest.warns(fpstore.errors.SimilarityWarning, match="sketch=True, or give k=7"):
        cleaned = fpstore.clean(table(1), store=bare, within=True)
    assert "fingerprints within 7 bits alone" in judgement(cleaned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fpstore.clean(table(1), store=bare, within=True, k=7)


def test_sketches_are_those_of_the_program(tmp_path: Path, program: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in texts(1)))
    sketches: list[tuple[Any, int]] = [(True, 128), (64, 64)]
    for sketch, length in sketches:
        folder = tmp_path / str(length)
        folder.mkdir()
        with fpstore.Builder(folder / "ours.fps", recipe="minhash", sketch=sketch) as builder:
            builder.add_documents(path)
        theirs = str(folder / "theirs.fps")
        command = [program, "build", "--docs", str(path), "-s", theirs, f"--sketch={length}"]
        subprocess.run([*command, "--quiet"], check=True)
        stores = [fpstore.open(of) for of in (folder / "ours.fps", theirs)]
        ours, other = [Path(store.info().segments[0].path).read_bytes() for store in stores]
        assert ours == other
        assert fpstore.open(theirs).info().sketch_len == length
    with pytest.raises(fpstore.errors.InputError, match="sketch is 7, expected True, or 32, 64 or 128"):
        fpstore.Builder(tmp_path / "no.fps", sketch=7)  # type: ignore[arg-type]
