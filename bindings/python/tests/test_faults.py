"""strace makes each system call of a writer that changes files fail once, and the same writer tries
again: an operation takes effect once, and a failure after its effect is reported as such."""

from __future__ import annotations

import collections
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fpstore

# The error that each system call returns: a full disk, a broken disk, or missing permission.
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
    "add": "retry(lambda: (writer.add([100, 101], [100, 101]), writer.commit()))",
    "replace": "retry(lambda: writer.replace([100, 101], [1, 2]))",
    "delete": "retry(lambda: writer.delete_ids([1, 2]))",
    "import": "retry(lambda: writer.import_(['other.fps']))",
    "compact": "retry(lambda: writer.compact('one'))",
    "expire": "retry(lambda: writer.expire(before='2026-10'))",
}
# strace injects faults until a call has failed; then the same writer tries again.
SCRIPT = """
import os
import signal
import sys
import time
import fpstore

def end_faults():
    if tracer:
        os.kill(tracer, signal.SIGTERM)
        while "TracerPid:\\t0\\n" not in open("/proc/self/status").read():
            time.sleep(0.001)

def retry(work):
    try:
        return work()
    except fpstore.errors.InEffectError as error:
        end_faults()
        print("in effect:", error)
    except Exception as error:
        end_faults()
        print("failed:", repr(error))
        return work()

writer = fpstore.Writer("store.fps", compact=False, threads=1, label="2026-11")
print("ready", flush=True)
tracer = int(sys.stdin.readline())
OPERATION
"""
CALL = re.compile(r"(?:\[pid +)?(\d+)\]? +(\w+)\((.*)")


def run(folder: Path, operation: str, *options: str) -> str:
    """The output of the script for an operation under strace."""
    script = SCRIPT.replace("OPERATION", OPERATIONS[operation])
    command = [sys.executable, "-B", "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout and process.stdout.readline() == "ready\n"
        attach = ["strace", "-f", "-y", "-p", str(process.pid), *options]
        with subprocess.Popen(attach, stderr=pipe, text=True) as tracer:
            assert tracer.stderr
            if "attached" not in (told := tracer.stderr.readline()):
                process.kill()
                pytest.skip(f"strace cannot look at other processes here: {told}")
            ends = not any(option.startswith("inject=") for option in options)
            said, _ = process.communicate(f"{0 if ends else tracer.pid}\n")
    assert process.returncode == 0, f"{options}: {said}"
    return said


def changes(folder: Path, operation: str) -> list[tuple[str, int]]:
    """The names of all calls that change files of the store, each with its number among the calls
    of this name in its thread."""
    trace = folder.with_name("trace")
    run(folder, operation, "-o", str(trace), "-e", "trace=" + ",".join(ERRORS))
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    found = set()
    for line in trace.read_text(errors="replace").splitlines():
        if call := CALL.match(line):
            thread, name, arguments = call.groups()
            count[thread, name] += 1
            if "store.fps" in arguments:
                found.add((name, count[thread, name]))
    numbers: dict[str, list[int]] = {}
    for name, number in sorted(found):
        numbers.setdefault(name, []).append(number)
    # Of many writes, only the first and the last are tested.
    ends = {name: [of[0], of[-1]] if name == "write" else of for name, of in numbers.items()}
    return [(name, number) for name, of in ends.items() for number in sorted(set(of))]


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
    for start in (50, 60):
        with fpstore.Writer(base / "store.fps", compact=False, label="2026-10") as writer:
            writer.add(range(start, start + 10), range(start, start + 10))
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
        said = run(folder, operation, "-o", "/dev/null", "-e", fault)
        assert state(folder) == expected, f"{fault}: {said}"
        told += "failed:" in said or "in effect:" in said
    # A commit makes two syncs at once, on two threads; strace counts the calls of each thread.
    assert told > 2
