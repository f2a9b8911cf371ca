#!/usr/bin/env python3
"""Checks the program on a console: keys, names in other scripts, and the state after Ctrl-C.

    python3 -B tools/checks/check_console.py target/debug/fpstore
    python3 -B tools/checks/check_console.py target/emulators/wine fpstore.exe

The last argument is the program; earlier arguments are the command that starts it. The program runs on
its own console, and this script types on it; under wine it is a Windows console with its events. Needs
Python 3 on Unix.
"""

import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import urllib.request

PROGRAM = sys.argv[1:]
IS_WINDOWS = PROGRAM[-1:] and PROGRAM[-1].endswith(".exe")
CTRL_C = b"\x03"
# Escape sequences for cursor movement, colours and hiding.
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")
# The longest wait in seconds; only a failure reaches it. The first start of wine takes seconds.
PATIENCE = 120


class Console:
    """A command on a console."""

    def __init__(self, *command):
        self.shown = ""
        self.process, self.keys = pty.fork()
        if self.process == 0:
            os.execvp(command[0], command)

    def read(self, most):
        """Reads output of the command; False at its end."""
        if not select.select([self.keys], [], [], most)[0]:
            return True
        try:
            printed = os.read(self.keys, 1 << 16)
        except OSError:  # on Linux, if the other end is closed
            return False
        self.shown += printed.decode("utf-8", "replace")
        return bool(printed)

    def text(self):
        return re.sub(r"\s+", " ", ESCAPES.sub("", self.shown))

    def wait_for(self, pattern):
        """Waits until the command has printed the pattern, and returns the match."""
        start = time.monotonic()
        while time.monotonic() - start < PATIENCE and self.read(0.2):
            if found := re.search(pattern, self.text()):
                return found
        raise SystemExit(f"expected {pattern!r} on the console, found {self.text()!r}")

    def type(self, keys):
        os.write(self.keys, keys)

    def end(self):
        """Waits for the end of the command and returns its exit status."""
        start = time.monotonic()
        while self.read(0.2):
            if time.monotonic() - start > PATIENCE:
                raise SystemExit(f"still runs after {PATIENCE} s: {self.text()!r}")
        os.close(self.keys)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def check_end(self, status, pattern):
        found = self.end()
        if found != status or not re.search(pattern, self.text()):
            raise SystemExit(f"expected {status} and {pattern!r}, found {found} and {self.text()!r}")


def run(*arguments):
    """Runs a command without a console, and returns its output."""
    done = subprocess.run([*PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout


def files_of(store):
    """The files of a store and their bytes, without lock files."""
    files = (path for path in pathlib.Path(store).rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in files if path.name not in ("LOCK", "PUBLISH")}


def write_fingerprints(path, first, count):
    lines = (f"{number * 0x9E3779B97F4A7C15 % (1 << 64):016x}\n" for number in range(first, first + count))
    pathlib.Path(path).write_text("".join(lines))


def serve_ends_in_order():
    """Checks that a server on a console answers requests, and that Ctrl-C shuts it down cleanly."""
    server = Console(*PROGRAM, "serve", "pages.fps", "--listen", "127.0.0.1:0")
    address = server.wait_for(r"at (http://127\.0\.0\.1:\d+)")[1]
    with urllib.request.urlopen(f"{address}/healthz", timeout=PATIENCE) as answer:
        assert answer.status == 200
    server.type(CTRL_C)
    server.check_end(0, "ended")
    try:
        urllib.request.urlopen(f"{address}/healthz", timeout=5)
    except OSError:
        return
    raise SystemExit("the server has ended, and something still answers there")


def interrupted_job_changes_nothing():
    """Checks that Ctrl-C ends a long job cleanly: status 130, a message, an unchanged store."""
    before = files_of("parts.fps")
    job = Console(*PROGRAM, "compact", "--all", "-s", "parts.fps", "--max-rate", "100kB/s")
    job.wait_for("read|tables|%")
    job.type(CTRL_C)
    job.check_end(130, "interrupted")
    if files_of("parts.fps") != before:
        raise SystemExit("an interrupted compaction has changed its store")
    run("verify", "parts.fps")


def no_command_waits_for_keys():
    """Checks that a command without input does not wait for keys, but reports how to pass it."""
    Console(*PROGRAM, "query", "--from", "-", "-s", "pages.fps").check_end(2, "no input: name a file")


def names_in_other_scripts():
    """Checks that names and ids are printed unchanged, on a console of any code page and in a
    pipe."""
    name = "größe-鳥.fps"
    pathlib.Path("bird.tsv").write_text("00000000000000ff\tVögel/鳥\n", encoding="utf-8")
    run("build", "bird.tsv", "-s", name)
    assert name.encode() in run("info", name), "the name in a pipe"
    assert "Vögel/鳥".encode() in run("query", "ff", "-s", name), "the id in a pipe"
    pages = [437, 932, 1252, 65001] if IS_WINDOWS else [None]
    for page in pages:
        command = [*PROGRAM, "query", "ff", "-s", name]
        if page:
            command = [*PROGRAM[:-1], "cmd", "/c", f"chcp {page} >nul & {PROGRAM[-1]} query ff -s {name}"]
        Console(*command).check_end(0, "Vögel/鳥")
        missing = [part.replace(name, f"no-{name}") for part in command]
        Console(*missing).check_end(2, f"no-{name}")


def main():
    if not PROGRAM:
        sys.exit(__doc__)
    PROGRAM[:] = [os.path.abspath(part) if os.path.exists(part) else part for part in PROGRAM]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for store, count in [("pages.fps", 100), ("parts.fps", 50_000)]:
            write_fingerprints("new.txt", 0, count)
            run("build", "new.txt", "-s", store)
        write_fingerprints("new.txt", 50_000, 50_000)
        run("add", "new.txt", "-s", "parts.fps", "--no-compact")
        checks = [serve_ends_in_order, interrupted_job_changes_nothing, no_command_waits_for_keys,
                  names_in_other_scripts]
        for check in checks:
            check()
            print(f"ok: {check.__doc__}", flush=True)
        os.chdir("/")


main()
