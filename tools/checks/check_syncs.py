"""Traces the system calls of the program, and checks that it syncs the files that it publishes.

The tests of the library replay the possible effects of a power loss from the changes that the library
recorded. This script checks that the library really requested each of these changes from the system.
Takes the path of the program; needs strace.

    python3 tools/checks/check_syncs.py target/debug/fpstore
"""

import json
import os
import re
import subprocess
import sys
import tempfile

CALLS = "fcntl,write,pwrite64,writev,copy_file_range,sendfile,ftruncate,fsync,fdatasync," \
    "rename,renameat,renameat2,linkat,unlink,unlinkat,mkdir,mkdirat"
LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")
RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)")
# Matches a path in a call, and the directory to which it is relative if the call contains one.
PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"')
# Matches the path of an unlinked file: outputs are unlinked until they are complete.
OUTPUT = re.compile(r"/#\d+$")
TEMPORARY = re.compile(r"/\.[^/]*tmp-[^/]*$")


def calls(trace):
    """The successful calls, as name and paths, in the order in which they ended."""
    begun = {}
    for line in trace:
        line = line.rstrip("\n")
        if line.endswith("<unfinished ...>"):
            begun[line.split()[0]] = line.removesuffix("<unfinished ...>").rstrip()
            continue
        if resumed := RESUMED.match(line):
            line = begun.pop(resumed[1]) + resumed[2]
        call = LINE.match(line)
        if not call or int(call[4]) < 0:
            continue
        name, arguments = call[2], call[3]
        if name in ("rename", "renameat", "renameat2", "linkat", "unlink", "unlinkat", "mkdir",
                    "mkdirat"):
            paths = [os.path.join(folder, path) for folder, path in PATH.findall(arguments)]
            yield name.removesuffix("2").removesuffix("at"), paths
        else:
            found = re.match(r"^(\d+)<([^>]*)>", arguments)
            yield name, [found[2], found[1]] if found else []


class Checker:
    def __init__(self, folder):
        self.folder = folder
        self.unsynced_files = set()
        # For each directory: the names in it that a power loss may undo.
        self.unsynced_names = {}
        # The unlinked file of each descriptor.
        self.unnamed = {}
        self.faults = []
        self.count = {"sync": 0, "rename": 0}

    def changed(self, path):
        self.unsynced_names.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))

    def take(self, name, paths):
        descriptor = paths[1] if len(paths) == 2 and paths[1].isdecimal() else None
        paths = [os.path.normpath(os.path.join(self.folder, path)) for path in paths]
        if name == "link":
            return self.link(*paths)
        paths = [path for path in paths if path.startswith(self.folder + "/") or path == self.folder]
        if not paths:
            return
        path = paths[0]
        if OUTPUT.search(path):
            self.unnamed[descriptor] = path
        if name in ("fsync", "fdatasync"):
            self.count["sync"] += 1
            self.unsynced_files.discard(path)
            self.unsynced_names.pop(path, None)
        elif name == "rename":
            self.rename(path, paths[1])
        elif name == "unlink":
            self.unlink(path)
        elif name == "mkdir" and not os.path.basename(path).startswith("."):
            # Names of work folders begin with a dot; these folders need not survive a power loss.
            self.changed(path)
        elif name not in ("mkdir", "fcntl") and re.search(r"/(MANIFEST|\.tmp-[^/]*|(segment|deletion)-[^/]*)$", path) \
                or OUTPUT.search(path):
            self.unsynced_files.add(path)

    def link(self, path, to):
        """Links an unlinked file to a name through its descriptor."""
        if not to.startswith(self.folder + "/"):
            return
        self.count["rename"] += 1
        unnamed = self.unnamed.get(os.path.basename(path))
        if path.startswith("/proc/") and (unnamed is None or unnamed in self.unsynced_files):
            self.faults.append(f"{to} got its name before its bytes were synced")
        self.changed(to)

    def rename(self, path, to):
        self.count["rename"] += 1
        if path in self.unsynced_files:
            self.faults.append(f"{path} got the name {to} before its bytes were synced")
        inner = self.unsynced_names.pop(path, None)
        if inner:
            self.faults.append(f"{path} got the name {to} before {sorted(inner)} in it were synced")
        if os.path.basename(to) == "MANIFEST":
            # Documents recorded as added in a store must also be in an output after a power loss.
            outputs = sorted(name for directory, names in self.unsynced_names.items()
                             if directory != os.path.dirname(to) for name in names)
            if outputs:
                self.faults.append(f"the manifest was replaced before {outputs} were synced")
            others = self.unsynced_names.get(os.path.dirname(to), set()) - {"MANIFEST"}
            # The files of a new directory are published only when the directory is renamed.
            if others and not TEMPORARY.search(os.path.dirname(to)):
                self.faults.append(f"the manifest was replaced before {sorted(others)} were synced")
        self.changed(to)

    def unlink(self, path):
        if re.search(r"/(segment|deletion)-[^/]*$", path):
            if "MANIFEST" in self.unsynced_names.get(os.path.dirname(path), set()):
                self.faults.append(f"{path} was removed before the manifest without it was synced")

    def end(self):
        for directory, names in self.unsynced_names.items():
            self.faults.append(f"{sorted(names)} in {directory} were never synced")


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)

        def write(name, values):
            with open(os.path.join(folder, name), "w") as file:
                file.writelines(f"{value * 0x9e3779b97f4a7c15 % 2**64:016x}\t{value}\n"
                                for value in values)

        write("first.tsv", range(1000))
        write("second.tsv", range(900, 2000))
        write("third.tsv", range(5000, 5100))
        with open(os.path.join(folder, "ids.txt"), "w") as file:
            file.writelines(f"{number}\n" for number in range(300))
        with open(os.path.join(folder, "docs.jsonl"), "w") as file:
            words = [" ".join(f"w{(kind + 7) * (at + 3) % 997}" for at in range(40))
                     for kind in range(60)]
            file.writelines(json.dumps({"id": str(at), "text": f"{words[at % 50]} {at}"}) + "\n"
                            for at in range(70))
        with open(os.path.join(folder, "more.jsonl"), "w") as file:
            file.writelines(json.dumps({"id": f"m{at}", "text": words[at + 45]}) + "\n"
                            for at in range(15))
        commands = [
            "build first.tsv -s store.fps --label 2026-09",
            "add second.tsv -s store.fps --label 2026-10 --no-compact",
            "delete --ids ids.txt -s store.fps",
            "build third.tsv -s other.fps",
            "import other.fps -s store.fps",
            "compact --all -s store.fps",
            "expire --before 2026-10 -s store.fps",
            "export --output shipped.fps -s store.fps",
            "build third.tsv -s store.fps --force",
            "build --docs docs.jsonl -s texts.fps",
            "clean docs.jsonl -o out/",
            "clean docs.jsonl -o clean.jsonl",
            "clean more.jsonl -s texts.fps --within --add -o added/",
            "build --docs more.jsonl -s again.fps",
            "clean docs.jsonl -s again.fps --within --add -o a/b/c/ --removed removed.tsv "
            "--html removed.html --manifest clean.json --losses losses.tsv",
            "contamination --against more.jsonl --docs docs.jsonl -o d/e/f/ --found found.tsv",
            "pairs --docs docs.jsonl -o pairs.tsv",
            "cluster --docs docs.jsonl -o clusters.tsv --html clusters.html",
            "pairs --docs docs.jsonl --html judge.html",
            "build first.tsv --segment-file first.seg",
            "commit first.seg -s committed.fps",
            "backup kept.fps -s texts.fps",
        ]
        faults = 0
        for command in commands:
            trace = os.path.join(folder, "trace")
            strace = ["strace", "-f", "-y", "-s", "4096", "-e", "trace=" + CALLS, "-o", trace]
            done = subprocess.run(strace + [program] + command.split(), cwd=folder,
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"fpstore {command}: {done.stderr}")
            checker = Checker(folder)
            with open(trace) as lines:
                for name, paths in calls(lines):
                    checker.take(name, paths)
            checker.end()
            print(f"{command}: {checker.count['rename']} renames, {checker.count['sync']} syncs")
            if checker.count["rename"] == 0 or checker.count["sync"] < 2:
                checker.faults.append("it published nothing")
            for fault in checker.faults:
                print(f"fpstore {command}: {fault}", file=sys.stderr)
            faults += len(checker.faults)
        if faults:
            sys.exit(1)


main()
