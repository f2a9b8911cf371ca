"""Makes each file-changing system call of the program fail once, and checks the resulting files.

The tests of the library do the same at the library's own fail points. This script covers the complete
program, and writes that bypass these points. Takes the path of the program; needs strace.

    python3 tools/checks/check_faults.py target/debug/fpstore

Each command runs on the same files: first undisturbed, then once for each call that changes files in
its folder, with this call failing. Afterwards each file and each store must be valid, and either
unchanged or equal to the result of the undisturbed command. A failed command must report the
reason, and if its whole effect took place nevertheless, it must report that. The repeated command
must complete the work, and leave no temporary file.
"""

import collections
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The injected error of each call: a full disk, a broken disk, or a folder of another user.
ERRORS = {
    "write": "ENOSPC", "writev": "ENOSPC", "pwrite64": "ENOSPC", "copy_file_range": "ENOSPC",
    "sendfile": "ENOSPC", "fallocate": "ENOSPC", "ftruncate": "EIO", "fsync": "EIO",
    "fdatasync": "EIO", "rename": "EIO", "renameat": "EIO", "renameat2": "EIO", "linkat": "EIO",
    "unlink": "EACCES", "unlinkat": "EACCES", "mkdir": "ENOSPC", "mkdirat": "ENOSPC",
}
CALL = re.compile(r"(\d+) +(\w+)\((.*)")
TEMPORARY = re.compile(r"(^|/)\.[^/]*(tmp-|\.lock$)|/#\d+$")
# Matches messages that an effect took place, or may have taken place.
TELLS = re.compile(
    r"(was|were|are|is|been|may have been) (added|deleted|replaced|complete|published|committed|"
    r"expired|labelled|compacted|imported|built|written|in the store|there)|took place|took effect"
)
# SETUP are commands that make two stores. COMMANDS are the tested commands by title, each after the
# commands that prepare its input.
SETUP = ["build first.tsv -s store.fps --label 2026-09", "build third.tsv -s other.fps"]
COMMANDS = {
    "build": ([], "build first.tsv -s new.fps"),
    "build, in the place of another": (SETUP, "build second.tsv -s store.fps --force"),
    "add": (SETUP, "add second.tsv -s store.fps --label 2026-10 --run a"),
    "add, in the place of the same ids": (SETUP, "add second.tsv -s store.fps --replace --run a"),
    "delete": (SETUP, "delete --ids ids.txt -s store.fps"),
    "expire": (
        [*SETUP, "add second.tsv -s store.fps --label 2026-10"],
        "expire --before 2026-10 -s store.fps",
    ),
    "import": (SETUP, "import other.fps -s store.fps"),
    "compact": (
        [*SETUP, "add second.tsv -s store.fps --no-compact", "delete --ids ids.txt -s store.fps"],
        "compact --all -s store.fps",
    ),
    "backup": (SETUP, "backup kept.fps -s store.fps"),
    "segment": ([], "build first.tsv --segment-file first.seg"),
    "commit": (
        [*SETUP, "build second.tsv --segment-file second.seg"], "commit second.seg -s store.fps"
    ),
    "clean": ([], "clean docs.jsonl -o out/ --removed removed.tsv"),
    "clean, and add": (
        ["build --docs more.jsonl -s texts.fps"],
        "clean docs.jsonl -s texts.fps --within --add -o out/ --removed removed.tsv",
    ),
    "pairs": ([], "pairs --docs docs.jsonl -o pairs.tsv"),
    "clusters": ([], "cluster --docs docs.jsonl -o clusters.tsv --html clusters.html"),
}


def make_inputs(folder):
    def write(name, values):
        lines = (f"{value * 0x9e3779b97f4a7c15 % 2**64:016x}\t{value}\n" for value in values)
        (folder / name).write_text("".join(lines))

    write("first.tsv", range(300))
    write("second.tsv", range(250, 400))
    write("third.tsv", range(5000, 5050))
    (folder / "ids.txt").write_text("".join(f"{number}\n" for number in range(100)))
    words = [" ".join(f"w{(kind + 7) * (at + 3) % 997}" for at in range(40)) for kind in range(60)]
    def documents(name, texts):
        lines = (json.dumps({"id": id, "text": text}) + "\n" for id, text in texts)
        (folder / name).write_text("".join(lines))
    documents("docs.jsonl", ((str(at), f"{words[at % 50]} {at}") for at in range(70)))
    documents("more.jsonl", ((f"m{at}", words[at + 45]) for at in range(15)))


class Place:
    """A folder in which the program runs."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, command, before=()):
        return subprocess.run([*before, self.program, *command.split()], cwd=self.folder,
                              capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)

    def ok(self, command):
        done = self.run(command)
        if done.returncode not in (0, 1):
            sys.exit(f"fpstore {command}: {done.stderr}")
        return done.stdout

    def state(self):
        """The visible contents of the folder: the dumps of stores, and the bytes of other files."""
        found = {}
        for path in sorted(self.folder.iterdir()):
            name = path.name
            if name.endswith(".fps") and path.is_dir() and not (path / "MANIFEST").exists():
                # An incomplete backup is not yet a store.
                continue
            if path.is_dir() and (path / "MANIFEST").exists():
                self.ok(f"verify {name} -q")
                labels = collections.Counter()
                for segment in json.loads(self.ok(f"info {name} --format json"))["segments"]:
                    labels[segment["label"]] += segment["ids"] - segment["deleted_ids"]
                found[name] = [self.ok(f"dump {name}"), labels]
            elif path.is_file():
                found[name] = path.read_bytes()
            else:
                files = (file for file in path.rglob("*") if file.is_file())
                found.update({str(file.relative_to(self.folder)): file.read_bytes() for file in files
                              if "/.fpstore-" not in str(file)})
        return {name: held for name, held in found.items() if not TEMPORARY.search(name)}

    def leftovers(self):
        paths = (str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))
        return [path for path in paths if TEMPORARY.search(path) or "/.fpstore-" in path]

    def changes(self, command):
        """For each call that changes files of the folder: its name, and its number among calls with
        this name. Of consecutive similar calls on one file, only the first and the last are
        included."""
        trace = self.folder.with_name("trace")
        done = self.run(command, ["strace", "-f", "-y", "-o", trace, "-e", "trace=" + ",".join(ERRORS)])
        if done.returncode != 0:
            sys.exit(f"fpstore {command}: {done.stderr}")
        count, found = collections.Counter(), []
        for line in trace.read_text(errors="replace").splitlines():
            call = CALL.match(line)
            if not call:
                continue
            thread, name, arguments = call.groups()
            count[thread, name] += 1
            is_of_name = name.startswith(("rename", "link", "unlink", "mkdir"))
            path = re.search(r'"([^"]*)"' if is_of_name else r"^\d+<([^>]*)>", arguments)
            path = path[1] if path else "/"
            if os.path.join(self.folder, path).startswith(f"{self.folder}/"):
                found.append((name, path, count[thread, name]))
        ends = []
        for (name, _), calls in itertools.groupby(found, lambda call: call[:2]):
            numbers = [number for _, _, number in calls]
            ends += [(name, number) for number in {numbers[0], numbers[-1]}]
        return sorted(set(ends))


def quietly(command):
    """Options that make a command run on one thread, so that its calls can be counted."""
    return " -q" if command.split()[0] in ("expire", "import", "commit", "backup") else " -q --threads 1"


def differing(one, other):
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def check(program, folder, title):
    """Makes each call of a command fail once. Returns the number of calls and the faults found."""
    setup, command = COMMANDS[title]
    base, place = folder / "base", Place(program, folder / "place")
    base.mkdir(parents=True)
    make_inputs(base)
    for earlier in setup:
        Place(program, base).ok(earlier + quietly(earlier))
    command += quietly(command)

    def anew():
        shutil.rmtree(place.folder, ignore_errors=True)
        shutil.copytree(base, place.folder, symlinks=True)

    anew()
    before = place.state()
    changes = place.changes(command)
    after = place.state()
    assert before != after or title == "compact", command
    faults = []
    for name, at in changes:
        anew()
        fault = f"inject={name}:error={ERRORS[name]}:when={at}"
        done = place.run(command, ["strace", "-f", "-qq", "-o", "/dev/null", "-e", fault])

        def wrong(what):
            faults.append(f"fpstore {command}, with {fault}: {what}\n{done.stderr}")

        left = place.state()
        if done.returncode == 0:
            if left != after:
                wrong(f"ended well and left something else in {differing(left, after)}")
        elif done.returncode != 2 or not done.stderr.strip():
            wrong(f"ended with status {done.returncode}")
        elif left == after and before != after and not TELLS.search(done.stderr):
            wrong("took place and was told as an error")
        elif any(left.get(it) not in (before.get(it), after.get(it)) for it in left | after):
            wrong(f"left something else in {differing(left, after)}")
        if done.returncode != 0 or place.leftovers():
            again = place.run(command)
            if again.returncode != 0 and "exists; to replace it once" in again.stderr:
                # One of several outputs was complete, so repeating the command needs --force.
                again = place.run(command + " --force")
            if left != after and again.returncode != 0:
                wrong(f"given again: {again.stderr}")
            if again.returncode == 0 and place.leftovers():
                wrong(f"given again, left {place.leftovers()}")
            if (found := place.state()) != after:
                names = differing(found, after)
                wrong(f"given again, left something else in {names}: {again.stderr}")
    print(f"{title}: {len(changes)} failing calls", flush=True)
    return len(changes), faults


def main():
    program = os.path.abspath(sys.argv[1])
    titles = sys.argv[2:] or list(COMMANDS)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(os.path.realpath(folder))
        done = pool.map(lambda at: check(program, folder / str(at), titles[at]), range(len(titles)))
        counts, faults = zip(*done)
    for fault in itertools.chain(*faults):
        print(fault, file=sys.stderr)
    count = sum(map(len, faults))
    print(f"{sum(counts)} failing calls, {count} faults")
    sys.exit(1 if count else 0)


main()
