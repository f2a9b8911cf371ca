"""Kills commands at random while they change a store, and compares the store with a model.

In each round several writers, a compactor and readers run at once, and some of them are killed
(SIGKILL) at random. Afterwards the store must contain each batch of records completely or not at all,
all changes that a command reported as done, and no record that a command reported as deleted. The same
holds for the output of readers during the round. Now and then the store is verified.

    python3 tools/models/kill_loop.py PROGRAM [--kills N] [--seed N] [--folder DIR]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

BATCH = 60
VERIFY_EVERY = 20


class Batch:
    """Records that are added and deleted together."""

    def __init__(self, number, label, rng, shared):
        self.number = number
        self.label = label
        values = [rng.getrandbits(64) for _ in range(BATCH - len(shared))] + shared
        self.records = {(f"{value:016x}", f"b{number}-{at}") for at, value in enumerate(values)}
        # Whether a reader may find the batch: {True}, {False}, or both while a command changes it.
        self.may_be = {False}

    def lines(self):
        return "".join(f"{value}\t{id}\n" for value, id in sorted(self.records))

    def ids(self):
        return "".join(f"{id}\n" for _, id in sorted(self.records))


class Loop:
    def __init__(self, options, folder):
        self.program = os.path.abspath(options.program)
        self.rng = random.Random(options.seed)
        self.folder = folder
        self.store = os.path.join(folder, "store.fps")
        self.batches = []
        # Labels smaller than this one expire in this round, also those of records added during the
        # round.
        self.expires_before = ""
        # The typical duration of a round in seconds.
        self.typical = 0.2
        self.count = dict.fromkeys(
            ["rounds", "kills", "commands", "refused", "reads", "verified", "undecided"], 0)
        # If the program has --wait, commands wait for each other.
        help = self.run(["add", "--help"])[1]
        self.wait = ["--wait=5"] if "--wait" in help else []
        self.run(["build", "-", "-s", self.store], input="ffffffffffffffff\tfirst\n", expect=0)

    def fail(self, text):
        print(f"round {self.count['rounds']}: {text}", file=sys.stderr)
        names = sorted(os.listdir(self.store)) if os.path.isdir(self.store) else "no store"
        print(f"{self.count}\nthe store is left in {self.folder}: {names}", file=sys.stderr)
        os._exit(1)

    def run(self, args, input="", expect=None):
        done = subprocess.run([self.program] + args, input=input, capture_output=True, text=True,
                              cwd=self.folder)
        if expect is not None and done.returncode != expect:
            self.fail(f"{' '.join(args)}: exit status {done.returncode}\n{done.stderr}")
        return done.returncode, done.stdout, done.stderr

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    # Each method below returns the arguments of one command, the batches of records that the
    # command adds or deletes, and whether these batches are in the store afterwards (`None` if the
    # command changes none).

    def add(self, busy):
        label = max(f"2026-{self.rng.randint(1, 12):02}", self.expires_before)
        present = [batch for batch in self.batches if batch.may_be == {True}]
        shared = []
        if present:
            source = sorted(self.rng.choice(present).records)
            shared = [int(value, 16) for value, _ in self.rng.sample(source, 5)]
        batch = Batch(len(self.batches), label, self.rng, shared)
        self.batches.append(batch)
        path = self.write(f"batch-{batch.number}.tsv", batch.lines())
        merge = [] if self.rng.random() < 0.3 else ["--no-compact"]
        return ["add", path, "-s", self.store, "--label", label] + merge + self.wait, [batch], True

    def delete(self, busy):
        free = [one for one in self.batches if one.may_be == {True} and one not in busy]
        if not free:
            return self.add(busy)
        batch = self.rng.choice(free)
        path = self.write(f"ids-{batch.number}.txt", batch.ids())
        return ["delete", "--ids", path, "-s", self.store] + self.wait, [batch], False

    def expire(self, busy):
        month = self.rng.randint(2, 3)
        before = f"2026-{month:02}"
        # Records without a label never expire.
        old = [one for one in self.batches if "" < one.label < before]
        touched = [one for one in old if one.may_be == {True}]
        under_way = [one for one in old if one in busy]
        if not touched or under_way:
            return self.delete(busy)
        self.expires_before = max(self.expires_before, before)
        return ["expire", "--before", before, "-s", self.store] + self.wait, touched, False

    def transfer(self, busy):
        """Imports a batch from another store."""
        batch = Batch(len(self.batches), "", self.rng, [])
        self.batches.append(batch)
        path = os.path.join(self.folder, f"part-{batch.number}.fps")
        self.run(["build", "-", "-s", path], input=batch.lines(), expect=0)
        return ["import", path, "-s", self.store] + self.wait, [batch], True

    def compact(self, busy):
        # Only kinds of compaction that preserve labels, so that the model knows which records
        # expire.
        kind = self.rng.choice(["--all", "--tier"])
        return ["compact", kind, "-s", self.store], [], None

    def dump(self, busy):
        return ["dump", "-s", self.store], [], None

    def state_of(self, text, when):
        """For each batch whether it is present; fails if only a part of a batch is present."""
        found = {}
        for line in text.splitlines():
            value, _, id = line.partition("\t")
            if id == "first":
                found["first"] = True
                continue
            if not id.startswith("b"):
                self.fail(f"{when}: a record that nobody added: {line}")
            number = int(id[1:].partition("-")[0])
            found.setdefault(number, []).append((value, id))
        if not found.pop("first", False):
            self.fail(f"{when}: the record without a label is lost")
        there = []
        for batch in self.batches:
            records = found.pop(batch.number, [])
            if records and (len(records) != len(batch.records) or set(records) != batch.records):
                self.fail(f"{when}: {len(records)} of {len(batch.records)} records of batch "
                          f"{batch.number}")
            there.append(bool(records))
            if bool(records) not in batch.may_be:
                state = "is back" if records else "is lost"
                label = f" with label {batch.label}" if batch.label else ""
                self.fail(f"{when}: batch {batch.number}{label} {state}")
        if found:
            self.fail(f"{when}: records of batches that nobody added: {sorted(found)}")
        return there

    def round(self):
        self.count["rounds"] += 1
        self.expires_before = ""
        rng = self.rng
        kinds = [rng.choice([self.add, self.add, self.delete, self.expire, self.transfer])
                 for _ in range(rng.randint(2, 3))]
        kinds += [self.compact] * rng.randint(1, 2) + [self.dump] * rng.randint(1, 2)
        rng.shuffle(kinds)
        running, busy = [], []
        for kind in kinds:
            args, touched, after = kind(busy)
            busy += touched
            for batch in touched:
                batch.may_be = {True, False}
            out = tempfile.TemporaryFile("w+", dir=self.folder)
            err = tempfile.TemporaryFile("w+", dir=self.folder)
            child = subprocess.Popen([self.program] + args, cwd=self.folder, stdout=out, stderr=err,
                                     stdin=subprocess.DEVNULL)
            running.append((child, args, touched, after, out, err))
            self.count["commands"] += 1
        # Each kill happens at a random moment of the round. The duration of a round is estimated
        # from the earlier rounds on this machine.
        victims = rng.sample(running, rng.randint(1, len(running)))
        started = time.monotonic()
        for child, when in zip(victims, sorted(rng.random() for _ in victims)):
            time.sleep(max(0, started + when * self.typical - time.monotonic()))
            if child[0].poll() is None:
                child[0].send_signal(signal.SIGKILL)
        ended = []
        for child, args, touched, after, out, err in running:
            status = child.wait()
            out.seek(0), err.seek(0)
            ended.append((status, args, touched, after, out.read(), err.read()))
            out.close(), err.close()
        self.typical += 0.1 * (time.monotonic() - started - self.typical)
        for status, args, _, _, out, _ in ended:
            if status == 0 and args[0] == "dump":
                # A reader must see the store as it was at some time in this round.
                self.state_of(out, "a reader")
                self.count["reads"] += 1
        for status, args, touched, after, out, err in ended:
            if status == -signal.SIGKILL:
                self.count["kills"] += 1
            elif status == 0:
                for batch in touched:
                    batch.may_be = {after}
            elif status == 2 and ("is writing to" in err or "is compacting" in err):
                self.count["refused"] += 1
                for batch in touched:
                    batch.may_be = {not after}
            else:
                self.fail(f"{' '.join(args)}: exit status {status}\n{err}")
        there = self.state_of(self.run(["dump", "-s", self.store], expect=0)[1], "after the round")
        for batch, is_there in zip(self.batches, there):
            if len(batch.may_be) == 2:
                self.count["undecided"] += 1
            batch.may_be = {is_there}
        if self.count["rounds"] % VERIFY_EVERY == 0:
            self.verify()

    def verify(self):
        self.run(["verify", "-s", self.store], expect=0)
        self.count["verified"] += 1

    def end(self):
        # The next writer removes the leftovers of killed processes.
        self.run(["compact", "--one", "-s", self.store], expect=0)
        self.run(["add", "-", "-s", self.store, "--no-compact"], input="", expect=None)
        self.verify()
        left = [name for name in os.listdir(self.store) if name.startswith(".tmp")]
        if left:
            self.fail(f"left behind: {left}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="fpstore-kills-")
    os.makedirs(folder, exist_ok=True)
    loop = Loop(options, folder)
    started = time.monotonic()
    while loop.count["kills"] < options.kills:
        loop.round()
    loop.end()
    counts = ", ".join(f"{count} {name}" for name, count in loop.count.items())
    print(f"seed {options.seed}: {counts}, {len(loop.batches)} batches, "
          f"{time.monotonic() - started:.0f} s")
    if not options.folder:
        subprocess.run(["rm", "-rf", folder], check=True)


main()
