#!/usr/bin/env python3
"""Disturbs `fpstore clean` at random, resumes it, and compares the result with a model.

    python3 tools/models/kill_dedup.py PROGRAM [--kills N] [--changes N] [--seed N] [--documents N]

The corpus is synthetic: JSON Lines, plain and compressed, CSV, TSV, a web archive and plain texts; a
third of the documents are near earlier ones. The command compares the corpus with itself and with a
store, adds the kept documents, and lists the removed ones. In each round it is killed, ended, or meets
a full disk, several times. In every other round, files of the unfinished work, outputs, inputs and the
store are changed between two attempts: a flipped bit, a truncation, appended bytes, an older file,
another file, a link, or a deletion.

The model (tools/models/dedup_model.py) has its own readers. At the end of a round each input document
must be:

* byte for byte in the outputs,
* or in the list of removed documents, next to a kept or stored one,
* or in a file that was reported as unreadable.

The store must contain its earlier records and the kept documents, each once, and the printed counts
must match. Unless other records were added to the store meanwhile, the result must be equal to the
result of an undisturbed run. A refusal must be one of REFUSALS, after a change that explains it, and
its advice must work. The status is 1 if anything differs.
"""

import argparse
import collections
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dedup_model as model

ENDED = "an earlier run of the same cleaning completed"
# For each refusal: a part of its message, the changes that explain it, and the reaction of the
# user.
REFUSALS = [
    ("has lost its decisions", {"job"}, "begin"),
    (ENDED, set(), "begin"),
    (" exists;", {"job", "output"}, "force"),
    ("holds unfinished work with other settings", {"job", "input"}, "force"),
    ("it was changed while it was cleaned", {"input"}, "again"),
    ("already has the documents", {"job", "input"}, "restore"),
    ("a symbolic link", {"link"}, "unlink"),
    ("File too large", {"full"}, "again"),
]
JOB = ".fpstore-dedup"


class Failed(Exception):
    """The program violated the model."""


class Desk:
    """A folder with a corpus, a store, and the outputs of the command."""

    def __init__(self, options, folder):
        self.program, self.folder = str(Path(options.program).resolve()), folder
        self.rng = random.Random(options.seed)
        self.count = collections.Counter()
        made = model.documents(options.documents, self.rng)
        model.write(folder / "sound", made)
        (folder / "old.jsonl").write_bytes(model.lines((f"old-{i}", t) for i, t in made[:50]))
        self.run("build", "--docs", "old.jsonl", "-s", "sound.fps", "-q")
        self.old_ids = [f"old-{i}" for i, _ in made[:50]]
        self.older, self.known, self.seconds = {}, {}, {}
        for confirms in [False, True]:
            self.clear()
            began = time.monotonic()
            self.run(*command(confirms))
            self.seconds[confirms] = time.monotonic() - began
            self.known[confirms] = self.result(confirms)

    def run(self, *args, folder=None, **how):
        folder = folder or self.folder
        done = subprocess.run([self.program, *args], cwd=folder, capture_output=True, **how)
        if done.returncode != 0 and b"the other files are complete" not in done.stderr:
            raise Failed(f"{args}: {done.returncode}\n{done.stderr.decode()}")
        return done.stdout.decode()

    def clear(self, folder=None):
        folder = folder or self.folder
        for name in ["out", "s.fps", *(["in"] if folder == self.folder else [])]:
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / "out.tsv").unlink(missing_ok=True)
        shutil.copytree(self.folder / "sound.fps", folder / "s.fps")
        if folder == self.folder:
            self.restore()

    def restore(self, name="sound"):
        """Restores the original inputs, with their times."""
        self.copy(name, "in")

    def copy(self, one, other):
        shutil.rmtree(self.folder / other, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", one, other], cwd=self.folder, check=True)

    def files(self, kind):
        """The files that can be changed."""
        if kind == "input":
            return [path for path in sorted((self.folder / "in").iterdir()) if path.name != model.LONG]
        folder = self.folder / "out" / (JOB if kind == "job" else "")
        files = folder.glob("*") if folder.is_dir() else []
        return sorted(path for path in files if path.is_file() and not path.is_symlink())

    def manifest(self):
        return (self.folder / "s.fps/MANIFEST").stat().st_ino

    def dump(self, folder=None):
        return self.run("dump", "-s", "s.fps", folder=folder)

    def result(self, confirms, folder=None):
        """The complete result of the command: the outputs, the list and the store."""
        out = (folder or self.folder) / "out"
        left = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        left["removed"] = out.with_name("out.tsv").read_bytes()
        left["store"] = "" if confirms else self.dump(folder)
        return left

    def result_of_new_run(self, confirms):
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="new-") as folder:
            folder = Path(folder)
            self.clear(folder)
            subprocess.run(["cp", "-a", "--sparse=always", "in", folder], cwd=self.folder, check=True)
            self.run(*command(confirms), folder=folder)
            return self.result(confirms, folder)


def command(confirms, force=False):
    how = ["--confirm", "0.8"] if confirms else ["-s", "s.fps", "--within", "--add"]
    out = ["-o", "out/", "--removed", "out.tsv", *(["-f"] if force else [])]
    return ["clean", "in", "--skip-bad", *how, *out]


class Round:
    """One command, disturbed and repeated until it is done."""

    def __init__(self, desk, confirms, changes):
        self.desk, self.rng, self.confirms, self.changes = desk, desk.rng, confirms, changes
        self.begin()

    def begin(self):
        self.causes, self.said, self.log, self.force = set(), "", [], False
        # The records that others added to the store.
        self.others = []
        self.is_restored = False
        # Whether the documents were added to the store, and whether their inputs were changed
        # before that.
        self.was_added = self.added_changed = False
        self.desk.clear()

    def go(self):
        faults = ["kill", "kill", "end", "late"] + ["full"] * self.changes
        for fault in self.rng.choices(faults, k=self.rng.randrange(1, 5)):
            if self.attempt(fault):
                return self.check()
            for _ in range(self.rng.randrange(1, 4) if self.changes else 0):
                self.change()
        for _ in range(12):
            if self.attempt(None):
                return self.check()
        raise Failed("it is refused without end")

    def attempt(self, fault):
        """Runs the command. Returns whether the work is done."""
        desk, limit = self.desk, None
        if fault == "full":
            # A write beyond this length fails, as on a full disk.
            length = int(10 ** self.rng.uniform(1, 6))
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (length, length))
            self.causes.add("full")
        before = desk.manifest()
        desk.copy("in", "tried")
        process = subprocess.Popen(
            [desk.program, *command(self.confirms, self.force)], cwd=desk.folder, stderr=subprocess.PIPE,
            preexec_fn=limit, restore_signals=False)
        if fault in ("kill", "end"):
            try:
                process.wait(timeout=self.rng.uniform(0, 1.1 * desk.seconds[self.confirms]))
            except subprocess.TimeoutExpired:
                pass
        while fault == "late" and process.poll() is None and desk.manifest() == before:
            # Disturbs the program close to the commit and the steps after it.
            time.sleep(self.rng.uniform(0, 0.001))
        if fault in ("kill", "end", "late") and process.poll() is None:
            desk.count["ended" if fault == "end" else "kills"] += 1
            process.send_signal(signal.SIGTERM if fault == "end" else signal.SIGKILL)
        text = process.communicate()[1].decode()
        status = process.returncode
        if desk.manifest() != before:
            desk.copy("tried", "added")
            self.was_added = True
            self.added_changed = "input" in self.causes
        self.said += text
        self.log.append(f"{fault or 'undisturbed'}{' -f' * self.force}: {status} {text[-400:].strip()}")
        self.force = False
        if status == 0 or "the other files are complete" in text:
            return True
        if status == -9 or fault == "end" and status in (130, -15):
            return False
        desk.count["full disks" if fault == "full" and "File too large" in text else "refusals"] += 1
        return self.heed(status, text)

    def heed(self, status, text):
        """Follows the advice of a refusal. Returns whether the work is done."""
        known = [it for it in REFUSALS if it[0] in text]
        if status != 2 or not known:
            raise Failed("an error that nothing explains")
        says, causes, cure = known[0]
        # If the command was killed after its last step, the output is complete.
        is_done = says == ENDED or (
            says == " exists;" and not (self.desk.folder / "out" / JOB).exists()
        )
        if not causes & self.causes and not is_done:
            raise Failed(f"refused without a cause, after changes of {sorted(self.causes)}")
        self.desk.count[f"refused: {says.strip(' ;')}"] += 1
        # Only the record of completion was lost: the outputs are complete, as the message states.
        is_complete = says == " exists;" and self.was_added
        if cure == "begin" or is_done or (self.is_restored or is_complete) and "output" in self.causes:
            self.begin()
        elif cure == "restore" or is_complete:
            self.desk.restore("added")
            if not self.added_changed:
                self.causes.discard("input")
            if self.is_restored or is_complete:
                # The second of the two remedies in the message: the user accepts the outputs as
                # complete.
                shutil.rmtree(self.desk.folder / "out" / JOB)
                return True
            self.is_restored = True
        elif cure == "unlink":
            links = (self.desk.folder / "out" / JOB).iterdir()
            [path.unlink() for path in links if path.is_symlink()]
        self.force = cure == "force" and not is_done
        if self.force and "input" in self.causes:
            # The outputs are removed, because otherwise outputs of removed inputs would remain.
            [path.unlink() for path in self.desk.files("output")]
        return False

    def change(self):
        """Changes a file between two attempts."""
        kind = self.rng.choice(["job"] * 5 + ["output", "output", "input", "store"])
        if kind == "store":
            name = f"other-{len(self.others)}"
            self.others.append(name)
            text = " ".join(f"o{self.rng.randrange(9999)}" for _ in range(50))
            self.desk.run("add", "--docs", "-", "-s", "s.fps", "-q", input=model.lines([(name, text)]))
            self.desk.count["changes of store"] += 1
            return
        files = self.desk.files(kind)
        if not files:
            return
        how = self.rng.choice(model.HOW_INPUT if kind == "input" else model.HOW)
        one, other = self.rng.choice(files), self.rng.choice(files)
        if model.damage(self.rng, how, one, other, self.desk.older, self.desk.folder):
            self.causes.add(kind)
            self.causes.update({"link"} & {how})
            self.log.append(f"changed: {kind} {how} {one.name} {other.name if how == 'swap' else ''}")
            self.desk.count[f"changes of {kind}"] += 1

    def check(self):
        desk = self.desk
        corpus = model.read(desk.folder / "in")
        stored = None if self.confirms else [line.split("\t")[1] for line in desk.dump().splitlines()]
        try:
            counts = model.check(corpus, desk.folder, desk.old_ids + self.others, stored, self.said)
        except (AssertionError, OSError) as error:
            raise Failed(str(error)) from error
        desk.count.update(counts)
        if self.others:
            return
        new = desk.result_of_new_run(self.confirms) if "input" in self.causes else desk.known[self.confirms]
        left = desk.result(self.confirms)
        differ = [name for name in left | new if left.get(name) != new.get(name)]
        if differ:
            raise Failed(f"another result than that of a run which nobody disturbed: {differ}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=100, help="minimum number of kills")
    parser.add_argument("--changes", type=int, default=0, help="minimum number of file changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=3000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fpstore-dedup-"))
    desk = Desk(options, folder)
    rounds = 0
    is_short = lambda: sum(count for name, count in desk.count.items() if name.startswith("changes"))
    while desk.count["kills"] < options.kills or is_short() < options.changes:
        round = Round(desk, rounds // 2 % 2 == 1, rounds % 2 == 1)
        rounds += 1
        try:
            round.go()
        except Failed as failed:
            told = "\n".join(round.log)
            sys.exit(f"seed {options.seed}, round {rounds}: {failed}; see {folder}\n{told}")
    print(f"{rounds} rounds, seed {options.seed}: nothing lost, and the same result each time")
    for name, count in sorted(desk.count.items()):
        print(f"{count:8} {name}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
