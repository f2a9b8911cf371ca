#!/usr/bin/env python3
"""Simulates a crawl with concurrent changes and queries of a store, and compares it with a model.

    python3 tools/models/crawl.py target/release/fpstore --minutes 60

During the whole run, one process follows the output of the crawler (add --follow), one finds new pages
(dedup --add -), and one answers queries from the newest snapshot (query - --refresh). Meanwhile
pages are crawled again (add --replace, the same run given twice), ids are deleted, old labels
expire, and segments are merged. A 'day' is a label; each day the first two processes are restarted.
A server serves the store, and a follower (serve --follow) copies it; now and then the server or the
follower is killed and started again.

Answers must contain every record that was durable before the query, and no record that was never added
or was removed. At the end of each day, after all processes are idle, the whole store is compared with
the model, and verified, and so is the follower once it is not behind. Every few days the machine of
the store is lost: the follower is promoted and written to from then on, and a new follower of it
starts. Then the earlier store comes back: neither store may copy a state of the other, and the promoted
store must have exactly the records of the model. Any difference ends the run with status 1; the seed
reproduces it.
"""

import argparse
import http.client
import json
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

K = 3
DAYS_KEPT = 3
# The number of days between two failovers.
DAYS_SERVED = 3
# The longest wait in seconds; only a failure reaches it.
PATIENCE = 120


def fail(message):
    print(f"crawl: {message}", file=sys.stderr)
    sys.exit(1)


def line_of(fingerprint, name):
    return f"{fingerprint:016x}\t{name}\n"


class Model:
    """The expected content of the store. `durable` are acknowledged records, `sent` possible records."""

    def __init__(self):
        self.durable = {}
        self.sent = {}
        self.lock = threading.Lock()

    def send(self, name, fingerprint, label):
        with self.lock:
            self.sent[name] = (fingerprint, label)

    def acknowledge(self, name):
        with self.lock:
            if name in self.sent:
                self.durable[name] = self.sent[name]

    def remove(self, names):
        with self.lock:
            for name in names:
                self.durable.pop(name, None)
                self.sent.pop(name, None)

    def near(self, needle, records=None):
        """Names and distances of the durable records within K bits."""
        with self.lock:
            records = list((self.durable if records is None else records).items())
        found = ((name, (value ^ needle).bit_count()) for name, (value, _) in records)
        return {name: distance for name, distance in found if distance <= K}

    def names(self):
        with self.lock:
            return list(self.durable)


class Process:
    """A process that reads and prints lines."""

    def __init__(self, *command):
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def send(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, line):
        self.send(line)
        answer = self.process.stdout.readline()
        if not answer:
            fail(f"no answer from {self.command}")
        return answer.rstrip("\n")

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            fail(f"status {self.process.returncode} of {self.command}")


class Served:
    """A server of a store, or a follower of another server."""

    def __init__(self, program, store, follow=None):
        self.program, self.store, self.follow = program, store, follow
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        command = [self.program, "serve", "-s", self.store, "--listen", f"127.0.0.1:{self.port}",
                   "--refresh-every", "100ms", "-q"]
        follow = ["--follow", self.follow.url, "--max-lag", "5s"] if self.follow else []
        self.process = subprocess.Popen([*command, *follow])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        """The status and the text of an answer; 0 while nobody answers."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    def wait(self, what, is_so):
        start = time.time()
        while not is_so():
            if self.process.poll() is not None:
                fail(f"the server of {self.store} ended with {self.process.returncode}")
            if time.time() - start > PATIENCE:
                fail(f"{self.store}: waited until {what}: {self.get('/readyz')}")
            time.sleep(0.05)

    def metric(self, name):
        found = re.search(rf"^{name} (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else None


class Crawl:
    def __init__(self, program, folder, seed):
        self.program, self.folder = program, folder
        self.store = str(folder / "crawl-0.fps")
        self.random = random.Random(seed)
        self.model = Model()
        self.count = 0
        self.label = ""
        self.days = []
        self.counts = dict.fromkeys(
            ["followed", "new", "near", "queries", "replaced", "deleted", "expired", "merges", "kills",
             "failovers"], 0
        )

    def serve(self):
        """Starts the server of the store, and a follower with a new folder."""
        self.primary = Served(self.program, self.store)
        self.primary.wait("it is ready", lambda: self.primary.get("/readyz")[0] == 200)
        number = self.counts["failovers"] + 1
        self.copy = Served(self.program, str(self.folder / f"crawl-{number}.fps"), self.primary)
        self.copy.wait("it follows", lambda: self.copy.get("/readyz")[0] == 200)

    def disturb(self):
        """Kills the server, or its follower, perhaps while it copies, and starts it again."""
        served = self.random.choice([self.primary, self.copy])
        served.kill()
        self.counts["kills"] += 1
        served.start()

    def compare_copy(self):
        """Checks that the follower gets the newest generation, and all records of it."""
        generation = json.loads(self.run("info", "--format", "json"))["generation"]
        is_there = lambda: self.copy.metric("fpstore_generation") == generation
        self.copy.wait(f"it has generation {generation}", is_there)
        self.copy.wait("it is ready", lambda: self.copy.get("/readyz")[0] == 200)
        if self.copy.metric("fpstore_follow_lag_generations") != 0:
            fail("the follower is behind the state that it shows")
        refused = subprocess.run([self.program, "add", "-", "-s", self.copy.store], text=True,
                                 input=line_of(1, "stranger"), capture_output=True)
        if refused.returncode != 2 or f"follows {self.primary.url}" not in refused.stderr:
            fail(f"a writer of the follower: {refused.returncode} {refused.stderr}")
        self.compare(self.copy.store)

    def fail_over(self):
        """Loses the machine of the store, promotes the follower, and lets the earlier store return."""
        self.primary.kill()
        self.copy.kill()
        old, self.store = self.store, self.copy.store
        self.run("promote", "-q")
        self.counts["failovers"] += 1
        self.run("add", "-", "-q", "--label", self.label, "--no-compact", text=self.only("new"))
        old_line = line_of(self.random.getrandbits(64), "only-old")
        for _ in range(3):
            subprocess.run([self.program, "add", "-", "-q", "--no-compact", "-s", old, "--label", self.label],
                           input=old_line, text=True, check=True)
        self.primary.start()
        self.primary.wait("it is back", lambda: self.primary.get("/readyz")[0] == 200)
        before = self.primary
        self.serve()
        for folder, url in ((self.store, before.url), (old, self.primary.url)):
            mixed = subprocess.run([self.program, "backup", folder, "--server", url],
                                   capture_output=True, text=True)
            if mixed.returncode != 2 or "holds another store" not in mixed.stderr:
                fail(f"{folder} took a state of {url}: {mixed.returncode} {mixed.stderr}")
        before.kill()
        shutil.rmtree(old)
        self.compare_copy()

    def only(self, name):
        """A record to add to the promoted store; the earlier store does not get it."""
        name, value = f"only-{name}-{self.counts['failovers']}", self.random.getrandbits(64)
        self.model.send(name, value, self.label)
        self.model.acknowledge(name)
        return line_of(value, name)

    def run(self, *arguments, status=0, text=None, store=None):
        command = [self.program, *arguments, "-s", store or self.store]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        if done.returncode != status:
            fail(f"status {done.returncode} of {command}: {done.stderr}")
        return done.stdout

    def page(self, source):
        """A new page: its name and its fingerprint, often near an earlier one."""
        with self.model.lock:
            self.count += 1
            name = f"page-{self.count}"
        known = self.model.names()
        value = source.getrandbits(64)
        if known and source.random() < 0.4:
            value = self.value_of(source.choice(known), value)
            for bit in source.sample(range(64), source.randrange(6)):
                value ^= 1 << bit
        return name, value

    def value_of(self, name, otherwise):
        with self.model.lock:
            return self.model.durable.get(name, (otherwise,))[0]

    def follow(self, stop):
        """Sends pages of the crawler until it is stopped, and notes which pages are durable."""
        source = random.Random(self.random.getrandbits(64))
        follower = Process(self.program, "add", "--follow", "-s", self.store, "-q", "--label",
                           self.label, "--batch-count", "50", "--batch-seconds", "0.3")
        order, done = [], 0

        def read():
            nonlocal done
            for line in follower.process.stdout:
                count = int(line.split("\t")[0])
                for name in order[done:count]:
                    self.model.acknowledge(name)
                done = count

        reader = threading.Thread(target=read)
        reader.start()
        while not stop.is_set():
            name, value = self.page(source)
            self.model.send(name, value, self.label)
            order.append(name)
            follower.send(line_of(value, name))
            time.sleep(0.004)
        follower.end()
        reader.join()
        if done != len(order):
            fail(f"{len(order)} records were sent, {done} acknowledged")
        self.counts["followed"] += done

    def check_and_add(self, deduper):
        name, value = self.page(self.random)
        before = self.model.near(value)
        self.model.send(name, value, self.label)
        answer = deduper.ask(line_of(value, name)).split("\t")
        nearest = min(before.values(), default=K + 1)
        if answer[0] == "new":
            if before:
                fail(f"{value:016x} is not new: {before}")
            self.model.acknowledge(name)
            self.counts["new"] += 1
            return
        self.model.remove([name])
        distance = int(answer[4])
        if answer[0] != "near" or (int(answer[3], 16) ^ value).bit_count() != distance:
            fail(f"{value:016x}: {answer}")
        if distance > min(K, nearest):
            fail(f"{value:016x}: {answer}, but there is one at {nearest}")
        self.counts["near"] += 1

    def query(self, asker):
        known = self.model.names()
        value = self.random.getrandbits(64)
        if known:
            value = self.value_of(self.random.choice(known), value)
            for bit in self.random.sample(range(64), self.random.randrange(5)):
                value ^= 1 << bit
        before = self.model.near(value)
        answer = json.loads(asker.ask(f"{value:016x}\n"))
        found = {name: match["distance"] for match in answer["matches"] for name in match["ids"]}
        with self.model.lock:
            sent = dict(self.model.sent)
        allowed = self.model.near(value, sent)
        missing = {name for name in before if found.get(name) != before[name]}
        wrong = {name for name in found if allowed.get(name) != found[name]}
        if missing or wrong:
            fail(f"{value:016x}: missing {missing}, wrong {wrong}")
        self.counts["queries"] += 1

    def replace(self, run):
        """Crawls some pages again; the second run of the same name changes nothing."""
        known = self.model.names()
        names = self.random.sample(known, min(len(known), 30))
        pages = [(name, self.page(self.random)[1]) for name in names]
        path = self.folder / "again.tsv"
        path.write_text("".join(line_of(value, name) for name, value in pages))
        # Meanwhile a query could find the old or the new records, so no query runs.
        for _ in range(2):
            self.run("add", str(path), "--replace", "--run", run, "--label", self.label, "--wait")
        for name, value in pages:
            self.model.send(name, value, self.label)
            self.model.acknowledge(name)
        self.counts["replaced"] += len(pages)

    def delete(self):
        known = self.model.names()
        names = self.random.sample(known, min(len(known), 10))
        path = self.folder / "gone.txt"
        path.write_text("".join(name + "\n" for name in names))
        self.run("delete", "--ids", str(path), "--wait")
        self.model.remove(names)
        self.counts["deleted"] += len(names)

    def compact(self):
        # --one is not used: it would merge all labels into one, so that days could not expire
        # separately.
        self.run("compact", *self.random.choice([[], ["--all"]]))
        self.counts["merges"] += 1

    def day(self, number, rounds):
        self.label = f"day-{number:06}"
        self.days.append(self.label)
        stop = threading.Event()
        failed = []

        def follow():
            try:
                self.follow(stop)
            except BaseException as error:
                failed.append(error)

        follower = threading.Thread(target=follow)
        follower.start()
        deduper = Process(self.program, "dedup", "-s", self.store, "--add", "-", "-q", "-k",
                          str(K), "--batch-count", "1", "--label", self.label)
        asker = Process(self.program, "query", "-", "-s", self.store, "-q", "-k", str(K),
                        "--refresh", "--format", "json")
        for turn in range(rounds):
            for _ in range(5):
                self.check_and_add(deduper)
                self.query(asker)
            what = self.random.randrange(10)
            if what == 0:
                self.replace(f"{self.label}-{turn}")
            elif what == 1:
                self.delete()
            elif what == 2:
                self.compact()
            elif what == 3:
                self.disturb()
            if failed:
                break
        stop.set()
        follower.join()
        if failed:
            fail(f"the follower: {failed[0]}")
        deduper.end()
        asker.end()
        if len(self.days) > DAYS_KEPT:
            self.days.pop(0)
            self.run("expire", "--before", self.days[0])
            old = [name for name, (_, label) in self.model.durable.items() if label < self.days[0]]
            self.model.remove(old)
            self.counts["expired"] += len(old)
        self.compare()
        self.compare_copy()
        if number % DAYS_SERVED == 0:
            self.fail_over()

    def compare(self, store=None):
        stored = sorted(self.run("dump", store=store).splitlines(keepends=True))
        expected = sorted(line_of(value, name) for name, (value, _) in self.model.durable.items())
        if stored != expected:
            missing = sorted(set(expected) - set(stored))[:5]
            extra = sorted(set(stored) - set(expected))[:5]
            fail(f"{len(stored)} stored, {len(expected)} expected; missing {missing}, extra {extra}")
        self.run("verify", store=store)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=40, help="rounds per day")
    parser.add_argument("--seed", type=int, default=20261122)
    options = parser.parse_args()
    end = time.time() + options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="crawl-") as name:
        folder = pathlib.Path(name)
        crawl = Crawl(options.program, folder, options.seed)
        empty = folder / "empty.tsv"
        empty.write_text("")
        crawl.run("build", str(empty), "-k", str(K), "--allow-empty")
        crawl.serve()
        number = 0
        while time.time() < end:
            number += 1
            crawl.day(number, options.rounds)
            stored = len(crawl.model.durable)
            if number % 10 == 0:
                print(f"{number} days, {stored} records stored; {crawl.counts}", flush=True)
        crawl.copy.kill()
        crawl.primary.kill()
    print(f"{number} days; {crawl.counts}; no difference")


if __name__ == "__main__":
    main()
