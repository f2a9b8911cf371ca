#!/usr/bin/env python3
"""Runs 'fpstore serve' under the system call filters of its systemd unit.

    python3 -B tools/checks/check_unit.py target/debug/fpstore [tools/operations/fpstore.service]

SystemCallFilter, RestrictAddressFamilies and MemoryDenyWriteExecute are read from the unit and applied
in the same way as by systemd: 'systemd-analyze syscall-filter' expands the groups, libseccomp loads the
filters (both come with Debian's package systemd). The command is taken from ExecStart, with other
paths. Under the filters the server commits, merges, answers a slow query, rereads its tokens on the
signal of ExecReload, and drains; a call outside of the list kills it, regardless of
SystemCallErrorNumber. In a second run setpriority fails with an error, which must not end the server.
"""

import ctypes
import errno
import http.client
import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

UNIT = pathlib.Path(__file__).resolve().parent.parent / "operations/fpstore.service"
DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/data/tang_store.tsv.zst"
# The longest wait in seconds; only a failure reaches it.
PATIENCE = 60
# From seccomp.h.
KILL_PROCESS, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
EQUAL, GREATER, MASKED = 4, 6, 7
PROT_WRITE, PROT_EXEC = 2, 4
FAMILY_MAX = 46


class Compared(ctypes.Structure):
    """struct scmp_arg_cmp."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int),
                ("datum_a", ctypes.c_uint64), ("datum_b", ctypes.c_uint64)]


class Filter:
    def __init__(self, default):
        self.lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action, name, *compared):
        number = self.lib.seccomp_syscall_resolve_name(name.encode())
        # Groups contain the calls of all processor architectures; a negative number marks a call
        # that this architecture lacks.
        if number >= 0:
            rules = (Compared * len(compared))(*compared)
            done = self.lib.seccomp_rule_add_array(
                self.context, ctypes.c_uint32(action), number, len(compared), rules)
            assert done == 0, f"no rule for {name}: {os.strerror(-done)}"

    def load(self):
        done = self.lib.seccomp_load(self.context)
        assert done == 0, f"no filter: {os.strerror(-done)}"


def settings(unit, name):
    """The values of a setting, in file order."""
    text = unit.read_text().replace("\\\n", "")
    lines = (line.partition("=") for line in text.splitlines())
    return [value.strip() for key, _, value in lines if key == name]


def calls_of(words):
    """The system calls in `words`, which are names of calls and of groups of calls."""
    calls = set()
    for word in words:
        if not word.startswith("@"):
            calls.add(word)
            continue
        listed = subprocess.run(["systemd-analyze", "syscall-filter", word], check=True,
                                capture_output=True, text=True).stdout
        names = (line.strip() for line in listed.splitlines()[1:])
        calls |= calls_of([name for name in names if name and not name.startswith("#")])
    return calls


def allowed_by(unit):
    """The system calls permitted by SystemCallFilter. Its first line lists allowed calls; later
    lines add calls, or remove them if they start with ~."""
    allowed = calls_of(["@default"])
    for line in settings(unit, "SystemCallFilter"):
        named = calls_of(line.removeprefix("~").split())
        allowed = allowed - named if line.startswith("~") else allowed | named
    return allowed


def exec_filtered(unit, refused, command):
    """Replaces this process by the command, under the filters of the unit."""
    allowed = allowed_by(unit)
    listed, others = Filter(KILL_PROCESS), Filter(ALLOW)
    for name in allowed:
        listed.add(ALLOW, name)
    [families] = settings(unit, "RestrictAddressFamilies")
    families = {getattr(socket, name) for name in families.split()}
    for family in set(range(FAMILY_MAX)) - families:
        others.add(ERRNO | errno.EAFNOSUPPORT, "socket", Compared(0, EQUAL, family, 0))
    others.add(ERRNO | errno.EAFNOSUPPORT, "socket", Compared(0, GREATER, FAMILY_MAX - 1, 0))
    assert settings(unit, "MemoryDenyWriteExecute") == ["yes"]
    both = PROT_WRITE | PROT_EXEC
    others.add(ERRNO | errno.EPERM, "mmap", Compared(2, MASKED, both, both))
    others.add(ERRNO | errno.EPERM, "mprotect", Compared(2, MASKED, PROT_EXEC, PROT_EXEC))
    for name in filter(None, refused.split(",")):
        others.add(ERRNO | errno.EPERM, name)
    # The list of allowed calls is loaded last, because it may not allow loading another filter.
    others.load()
    listed.load()
    os.execv(command[0], command)


class Server:
    def __init__(self, unit, program, folder, refused=""):
        [started] = settings(unit, "ExecStart")
        command = shlex.split(started)
        # These options are replaced below: the token files belong to another user, and the port may
        # be in use.
        for option in ("--token-file", "--write-token-file", "--metrics-listen"):
            at = command.index(option)
            del command[at:at + 2]
        assert command[:2] == ["/usr/bin/fpstore", "serve"], command
        self.socket, self.tokens = folder / "socket", folder / "tokens"
        self.socket.unlink(missing_ok=True)
        self.tokens.write_text("first-token-of-the-check\n")
        self.tokens.chmod(0o600)
        command[0] = program
        command[command.index("-s") + 1] = str(folder / "pages.fps")
        command[command.index("--listen") + 1] = f"unix:{self.socket}"
        # Tokens for writing also grant reading.
        command += ["--write-token-file", str(self.tokens), "--metrics-listen", f"unix:{folder}/metrics"]
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, "--under", str(unit), refused, *command])
        self.wait(lambda: self.ask("GET", "/readyz")[0] == 200, "ready")

    def ask(self, method, path, body=None, token="first-token-of-the-check"):
        connection = http.client.HTTPConnection("localhost", timeout=PATIENCE)
        try:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(self.socket))
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (FileNotFoundError, ConnectionError):
            return 0, ""
        finally:
            connection.close()

    def done(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status in (200, 202), f"{method} {path}: {status} {answer}"
        return json.loads(answer) if answer.startswith("{") else answer

    def wait(self, is_done, what):
        start = time.monotonic()
        while not is_done():
            ended = self.process.poll()
            assert ended is None, f"the server ended before it was {what}: {ended_by(ended)}"
            assert time.monotonic() - start < PATIENCE, f"the server was never {what}"
            time.sleep(0.05)

    def segments(self):
        metrics = self.done("GET", "/metrics").splitlines()
        [count] = [line.split()[-1] for line in metrics if line.startswith("fpstore_segments ")]
        return int(count)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()

    def drain(self):
        self.process.send_signal(signal.SIGTERM)
        ended = self.process.wait(PATIENCE)
        assert ended == 0, f"the server did not drain: {ended_by(ended)}"


def ended_by(status):
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def check(unit, program):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        store = folder / "pages.fps"
        subprocess.run([program, "build", DATA, "-s", store, "--quiet"], check=True)
        with Server(unit, program, folder) as server:
            for number in range(3):
                item = {"fingerprint": f"{number * 0x9E3779B97F4A7C15 + 1 & (1 << 64) - 1:016x}"}
                added = server.done("POST", "/v1/check-and-add", {"items": [item], "k": 0})
                assert added["added"] == 1 and added["durable"], added
            merge = ("POST", "/v1/compact", {"segments": "one"})
            server.wait(lambda: server.ask(*merge)[0] == 202, "free to merge")
            server.wait(lambda: server.segments() == 1, "merged")
            server.done("GET", "/v1/query?fingerprint=838a482fd44c5ac9&k=24&limit=5")
            server.tokens.write_text("second-token-of-the-check\n")
            [reload] = settings(unit, "ExecReload")
            assert reload == "/bin/kill -HUP $MAINPID", reload
            item = {"items": [{"fingerprint": "838a482fd44c5ac9"}], "k": 0}
            second = ("POST", "/v1/check-and-add", item, "second-token-of-the-check")
            # A server that refuses a request may close the connection before it has read the body.
            early = server.ask(*second)
            assert early[0] in (0, 401), f"a token before its time: {early}"
            server.process.send_signal(signal.SIGHUP)
            server.wait(lambda: server.ask(*second)[0] == 200, "reloaded")
            server.drain()
        subprocess.run([program, "verify", "-s", store, "--quiet"], check=True)
        with Server(unit, program, folder, "setpriority") as refused:
            refused.done("GET", "/v1/query?fingerprint=838a482fd44c5ac9&k=24&limit=5")
            refused.drain()
    print("unit: commits, merges, a slow query, a reload and a drain under its filters")


if __name__ == "__main__":
    if sys.argv[1] == "--under":
        exec_filtered(pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
    check(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else UNIT, os.path.abspath(sys.argv[1]))
