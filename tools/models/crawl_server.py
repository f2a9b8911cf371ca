#!/usr/bin/env python3
"""Simulates a crawl against a writing server on a disk that fills and fails, with a model.

    python3 tools/models/crawl_server.py target/release/fpstore --minutes 10

Clients add (durable and pending), replace, delete and look up; meanwhile the disk is full for a while,
or its syncs fail, and the server is killed or shut down and restarted. After each server the whole
store is compared with the model and verified: it must contain all acknowledged records, no deleted
records, and nothing else. If an answer reports a possible effect, the model accepts the records
with and without the effect until the store is compared. Any difference ends the run with status 1;
the seed reproduces the requests, but not the timing of the threads.

A full disk needs a small file system (mount, so root), failing syncs need strace; tests whose
requirements are missing are skipped with a message.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# The size of the file system: room for the segments of ten minutes without merges.
SPACE = "48m"
CLIENTS = 3
# The effect reported with a failure of the server; any other value means no effect.
DONE, OPEN = "in-effect", "in-doubt"


def fail(message):
    print(f"crawl_server: {message}", file=sys.stderr)
    os._exit(1)


class Model:
    """For each id the set of its possible fingerprints, with None if the id may be missing."""

    def __init__(self):
        self.ids = {}
        self.pending = {}
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(
            ["new", "pending", "replaced", "deleted", "refused", "open", "found", "full", "failing",
             "kills", "ends", "lost with a word"], 0)

    def count(self, name):
        with self.lock:
            self.counts[name] += 1

    def set(self, name, may_be):
        with self.lock:
            self.ids[name] = set(may_be)

    def get(self, name):
        with self.lock:
            return set(self.ids.get(name, {None}))


class Server:
    def __init__(self, program, store, failing):
        command = [program, "serve", "-s", str(store), "--listen", "127.0.0.1:0", "--writable",
                   "--commit-every", "200ms", "--refresh-every", "1h"]
        if failing:
            # From the call number `failing` on, each sync fails, as on a dead disk.
            call = f"inject=fsync,fdatasync:error=EIO:when={failing}"
            command = ["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", call,
                       *command]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True)
        self.log = []
        line = ""
        while ": serving " not in line:
            line = self.process.stderr.readline()
            if not line:
                fail(f"the server did not start: {self.log}")
            self.log.append(line)
        host, port = line.strip().rsplit("//", 1)[1].split(":")
        self.place = host, int(port)
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    def end(self, name):
        """Ends the processes of the server; returns the status of the process started here."""
        if name == signal.SIGKILL:
            os.killpg(self.process.pid, name)
        else:
            # strace does not forward signals; the server is its child.
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            child = children.read_text().split()
            os.kill(int(child[0]) if child else self.process.pid, name)
        status = self.process.wait()
        self.reader.join()
        return status


class Client(threading.Thread):
    """Sends requests until it is stopped. Each client has its own ids, so each id has one writer."""

    def __init__(self, number, server, model, seed, stop):
        super().__init__()
        self.number, self.server, self.model, self.stop = number, server, model, stop
        self.random = random.Random(seed)
        self.own = [name for name in model.ids if name.startswith(f"{number}-")]
        self.made = seed * 1_000_000

    def ask(self, method, path, body):
        """The status, or 0 if the connection was lost; the body; and the error code."""
        try:
            connection = http.client.HTTPConnection(*self.server.place, timeout=60)
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read())
            connection.close()
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}, OPEN
        code = found.get("error", {}).get("code", "") if isinstance(found, dict) else ""
        if answer.status != 200:
            self.model.count("refused")
        return answer.status, found, code

    def run(self):
        acts = [self.add] * 4 + [self.replace] * 2 + [self.delete] * 2 + [self.look]
        while not self.stop.is_set():
            self.random.choice(acts)()
            time.sleep(0.005)

    def fresh(self):
        self.made += 1
        return f"{self.number}-{self.made}", self.random.getrandbits(64)

    def note(self, status, code, before, after, names):
        """Records the possible states of ids after a change from `before` to `after`."""
        for name in names:
            if status == 200 or code == DONE:
                self.model.set(name, after[name])
            elif status == 0 or code == OPEN:
                self.model.count("open")
                self.model.set(name, before[name] | after[name])

    def add(self):
        items = [self.fresh() for _ in range(self.random.randrange(1, 8))]
        durable = self.random.random() < 0.6
        body = {"k": 0, "durable": durable,
                "items": [{"id": name, "fingerprint": f"{value:016x}"} for name, value in items]}
        names = [name for name, _ in items]
        self.own += names
        after = {name: {value} for name, value in items}
        # The ids are recorded before the request, so that the comparison always includes them.
        for name, value in items:
            self.model.set(name, {None})
        earlier = self.earlier()
        status, found, code = self.ask("POST", "/v1/check-and-add", body)
        if status == 200 and not found["durable"]:
            # These records are pending: only a crash may lose them without a message.
            with self.model.lock:
                self.model.pending.update(after)
            for name in names:
                self.model.set(name, after[name])
                self.model.count("pending")
            return
        if status == 200:
            if found["added"] != len(items):
                fail(f"not all of {items} are new: {found}")
            self.durable(earlier)
            for _ in items:
                self.model.count("new")
        self.note(status, code, {name: {None} for name in names}, after, names)

    def earlier(self):
        with self.model.lock:
            return list(self.model.pending)

    def durable(self, names):
        """Marks records as committed that were pending before the commit was requested."""
        with self.model.lock:
            for name in names:
                self.model.pending.pop(name, None)

    def some(self):
        return self.random.sample(self.own, min(len(self.own), self.random.randrange(1, 5)))

    def replace(self):
        names = self.some() + [self.fresh()[0]]
        self.own.append(names[-1])
        after = {name: {self.random.getrandbits(64)} for name in names}
        before = {name: self.model.get(name) for name in names}
        body = {"items": [{"id": name, "fingerprint": f"{next(iter(after[name])):016x}"}
                          for name in names]}
        earlier = self.earlier()
        status, _, code = self.ask("PUT", "/v1/ids", body)
        if status == 200:
            self.model.count("replaced")
        self.settle(status, code, earlier, before, after)

    def delete(self):
        names = self.some()
        before = {name: self.model.get(name) for name in names}
        earlier = self.earlier()
        status, _, code = self.ask("DELETE", "/v1/ids", {"ids": names})
        if status == 200:
            self.model.count("deleted")
        self.settle(status, code, earlier, before, {name: {None} for name in names})

    def settle(self, status, code, earlier, before, after):
        """Records a change. If it took effect, it also committed the earlier pending changes."""
        if status == 200 or code == DONE:
            self.durable([*earlier, *after])
        self.note(status, code, before, after, list(after))

    def look(self):
        if not self.own:
            return
        name = self.random.choice(self.own)
        before = self.model.get(name)
        try:
            connection = http.client.HTTPConnection(*self.server.place, timeout=60)
            connection.request("GET", f"/v1/ids?id={name}")
            answer = connection.getresponse()
            found = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return
        # Pending records are not found yet.
        with self.model.lock:
            is_pending = name in self.model.pending
        if answer.status == 200 and not is_pending:
            values = {int(text, 16) for text in found["fingerprints"]} or {None}
            if not values <= before:
                fail(f"{name} has {values}, expected one of {before}")
            self.model.count("found")


def compare(program, store, model, lost_pending):
    """Compares the whole store with the model, and resolves uncertain changes in the model."""
    done = subprocess.run([program, "verify", "-s", str(store)], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"verify: {done.stderr}")
    text = subprocess.run([program, "dump", "-s", str(store)], capture_output=True, text=True).stdout
    stored = {}
    for line in text.splitlines():
        value, name = line.split("\t")
        stored.setdefault(name, set()).add(int(value, 16))
    if lost_pending:
        for name, values in model.pending.items():
            model.ids[name] = model.ids[name] | {None} | values
    for name, may_be in model.ids.items():
        found = stored.pop(name, {None})
        if len(found) != 1 or not found <= may_be:
            fail(f"{name}: {found} is stored, expected one of {may_be}")
        model.ids[name] = found
    if stored:
        fail(f"nobody added {stored}")
    model.pending.clear()


@contextlib.contextmanager
def small_disk(folder):
    """A folder on its own small file system, if mounting is possible."""
    place = folder / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "crawl", str(place)]
    is_small = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    if not is_small:
        print("no file system can be mounted here, so the disk is never full")
    try:
        yield place, is_small
    finally:
        if is_small:
            subprocess.run(["umount", "-l", str(place)], check=False)


def fill(place):
    ballast = place / "ballast"
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=20261124)
    options = parser.parse_args()
    source = random.Random(options.seed)
    has_strace = shutil.which("strace") is not None
    if not has_strace:
        print("strace is not installed, so syncs never fail")
    end = time.time() + options.minutes * 60
    model = Model()
    with tempfile.TemporaryDirectory(prefix="crawl-") as name, \
            small_disk(pathlib.Path(name)) as (place, is_small):
        store = place / "crawl.fps"
        subprocess.run([options.program, "build", "-", "-s", str(store), "--allow-empty", "-q",
                        "--id-type", "text"], input="", text=True, check=True)
        rounds = 0
        while time.time() < end:
            rounds += 1
            failing = source.randrange(8, 60) if has_strace and source.random() < 0.4 else 0
            model.counts["failing"] += bool(failing)
            server = Server(options.program, store, failing and f"{failing}+{source.choice((1, 3))}")
            stop = threading.Event()
            clients = [Client(number, server, model, options.seed % 1000 + rounds * 10 + number, stop)
                       for number in range(CLIENTS)]
            for client in clients:
                client.start()
            time.sleep(source.uniform(0.5, 2))
            if is_small and source.random() < 0.6:
                model.counts["full"] += 1
                ballast = fill(place)
                time.sleep(source.uniform(0.2, 1.5))
                if source.random() < 0.7:
                    ballast.unlink()
                    time.sleep(source.uniform(0.2, 2))
            is_kill = source.random() < 0.5
            if not is_kill:
                stop.set()
                for client in clients:
                    client.join()
            status = server.end(signal.SIGKILL if is_kill else signal.SIGTERM)
            stop.set()
            for client in clients:
                client.join()
            (place / "ballast").unlink(missing_ok=True)
            told = "".join(server.log)
            if is_kill:
                model.counts["kills"] += 1
            else:
                model.counts["ends"] += 1
                if (status == 0) == ("could not be committed: lost" in told) or status not in (0, 2):
                    fail(f"status {status}: {told}")
                model.counts["lost with a word"] += status == 2
            compare(options.program, store, model, is_kill or status == 2)
            if rounds % 20 == 0:
                print(f"{rounds} servers, {model.counts}", flush=True)
                subprocess.run([options.program, "compact", "--all", "-s", str(store), "-q"], check=True)
    print(f"{rounds} servers, {len(model.ids)} ids; {model.counts}; no difference")


if __name__ == "__main__":
    main()
