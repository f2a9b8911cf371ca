"""Each change of files that a writer asks the system for fails once, by strace, and is tried again by
the same writer: what an operation does is done once, and never told as a failure without saying so."""

from __future__ import annotations

import collections
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fpstore

# How calls fail: a disk is full, or broken, or a folder belongs to somebody else.
ERRORS = {
    "write": "ENOSPC",
    "ftruncate": "EIO",
    "fsync": "EIO",
    "fdatasync": "EIO",
    "rename": "EIO",
    "renameat": "EIO",
    "renameat2": "EIO",
    "unlink": "EACCES",
    "unlinkat": "EACCES",
    "mkdir": "ENOSPC",
}
OPERATIONS = {
    "add": "writer.add([100, 101], [100, 101]); retry(writer.commit)",
    "replace": "retry(lambda: writer.replace([100, 101], [1, 2])); retry(writer.commit)",
    "delete": "retry(lambda: writer.delete_ids([1, 2]))",
    "import": "retry(lambda: writer.import_(['other.fps']))",
    "compact": "retry(lambda: writer.compact('all'))",
    "expire": "retry(lambda: writer.expire(before='2026-10'))",
}
# What fails is tried again by the same writer, unless it took effect.
SCRIPT = """
import sys
import fpstore

def retry(work):
    for last in (False, True):
        try:
            return work()
        except fpstore.InEffectError as error:
            return print("in effect:", error)
        except Exception as error:
            print("failed:", repr(error))
            if last:
                raise

while True:
    try:
        writer = fpstore.Writer("store.fps", compact=False, threads=1, label="2026-11")
        break
    except OSError as error:
        print("failed:", repr(error))
OPERATION
retry(writer.close)
"""
CALL = re.compile(r"(\d+) +(\w+)\((.*)")


def strace(folder: Path, operation: str, *options: str) -> str:
    script = SCRIPT.replace("OPERATION", OPERATIONS[operation])
    command = ["strace", "-f", "-y", "-qq", *options, sys.executable, "-B", "-c", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{options}: {done.stdout} {done.stderr}"
    return done.stdout


def changes(folder: Path, operation: str) -> list[tuple[str, int]]:
    """The names of all calls that change files of the store, each with which of its name it is."""
    trace = folder.with_name("trace")
    strace(folder, operation, "-o", str(trace), "-e", "trace=" + ",".join(ERRORS))
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    found = set()
    for line in trace.read_text(errors="replace").splitlines():
        if call := CALL.match(line):
            thread, name, arguments = call.groups()
            count[thread, name] += 1
            if "store.fps" in arguments.split("\\0")[0]:
                found.add((name, count[thread, name]))
    return sorted(found)


def state(folder: Path) -> list[tuple[object, ...]]:
    store = fpstore.open(folder / "store.fps")
    store.verify()
    rows = store.records().read_all().to_pylist()
    return sorted(tuple(row) if isinstance(row, (tuple, list)) else (row,) for row in rows)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_change_of_files_fails_once(tmp_path: Path, operation: str) -> None:
    base, folder = tmp_path / "base", tmp_path / "folder"
    base.mkdir()
    fpstore.build(base / "store.fps", range(50), range(50), label="2026-09")
    with fpstore.Writer(base / "store.fps", compact=False, label="2026-10") as writer:
        writer.add(range(50, 60), range(50, 60))
    fpstore.build(base / "other.fps", range(200, 220), range(200, 220))

    def anew() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base, folder)

    anew()
    calls = changes(folder, operation)
    expected = state(folder)
    assert len(calls) > 5
    told = 0
    for name, number in calls:
        anew()
        fault = f"inject={name}:error={ERRORS[name]}:when={number}"
        said = strace(folder, operation, "-o", "/dev/null", "-e", fault)
        assert state(folder) == expected, f"{fault}: {said}"
        told += "failed:" in said or "in effect:" in said
    assert told > 3
