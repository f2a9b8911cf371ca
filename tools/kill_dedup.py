#!/usr/bin/env python3
"""Kills `fpstore dedup --docs` at random moments and lets the same command go on.

    python3 tools/kill_dedup.py PROGRAM [--kills N] [--seed N]

The corpus is made up: JSON Lines, plain and compressed, CSV, TSV and a web archive, of which a third of
the documents are near to earlier ones. The command compares it with itself and with a store, adds
what it keeps, and lists what it removes. Each round kills it some times, at moments that are spread
over the time of a whole run, and then lets it end. Its output, its list and the records of the store
must be those of a run that nobody killed. The status is 1 if they are not.
"""

import argparse
import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def documents(count, source):
    made = []
    for number in range(count):
        if made and source.random() < 0.33:
            words = list(source.choice(made))
            for _ in range(source.randrange(4)):
                words[source.randrange(len(words))] = f"x{source.randrange(999)}"
        else:
            words = [f"w{source.randrange(5000)}" for _ in range(source.randrange(40, 300))]
        made.append(words)
    return [(f"d{number}", " ".join(words)) for number, words in enumerate(made)]


def write(folder, made):
    """Writes the documents to files of all kinds, in turn."""
    folder.mkdir()
    parts = [made[at::10] for at in range(10)]
    lines = lambda part: "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in part).encode()
    for number, part in enumerate(parts[:4]):
        (folder / f"{number}.jsonl").write_bytes(lines(part))
    for number, part in enumerate(parts[4:6]):
        (folder / f"packed-{number}.jsonl.gz").write_bytes(gzip.compress(lines(part), mtime=0))
    for name, part, by in [("a.csv", parts[6], ","), ("b.csv", parts[7], ","), ("c.tsv", parts[8], "\t")]:
        rows = "".join(f"{i}{by}{t}\n" for i, t in part)
        (folder / name).write_text(f"id{by}text\n{rows}")
    with open(folder / "pages.warc", "wb") as out:
        for i, t in parts[9]:
            block = t.encode()
            out.write(
                b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://example.org/%s\r\n"
                b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (i.encode(), len(block))
            )
            out.write(block + b"\r\n\r\n")


class Desk:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *args):
        done = subprocess.run([self.program, *args], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{args}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def start_store(self):
        shutil.rmtree(self.folder / "s.fps", ignore_errors=True)
        self.run("build", "--docs", "old.jsonl", "-s", "s.fps", "-q")

    def command(self, confirms):
        how = ["--confirm", "0.8"] if confirms else ["-s", "s.fps", "--within", "--add"]
        return ["dedup", "--docs", "in", *how, "-q", "-o", "out/", "--removed", "out.tsv"]

    def result(self, confirms):
        """All that the command leaves."""
        out = self.folder / "out"
        left = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        left["removed"] = (self.folder / "out.tsv").read_bytes()
        left["store"] = b"" if confirms else self.run("dump", "-s", "s.fps").encode()
        return left

    def clear(self):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "out.tsv").unlink(missing_ok=True)
        self.start_store()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=3000)
    options = parser.parse_args()
    source = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="fpstore-dedup-"))
    desk = Desk(str(Path(options.program).resolve()), folder)
    made = documents(options.documents, source)
    write(folder / "in", made)
    old = "".join(json.dumps({"id": f"old-{i}", "text": t}) + "\n" for i, t in made[:50])
    (folder / "old.jsonl").write_text(old)
    expected, seconds = {}, {}
    for confirms in [False, True]:
        desk.clear()
        began = time.monotonic()
        desk.run(*desk.command(confirms))
        seconds[confirms] = time.monotonic() - began
        expected[confirms] = desk.result(confirms)
    kills = ended = rounds = 0
    while kills < options.kills:
        confirms = rounds % 2 == 1
        rounds += 1
        desk.clear()
        for _ in range(source.randrange(1, 4)):
            process = subprocess.Popen(
                [desk.program, *desk.command(confirms)], cwd=folder, stderr=subprocess.PIPE
            )
            try:
                process.wait(timeout=source.uniform(0, 1.1 * seconds[confirms]))
            except subprocess.TimeoutExpired:
                process.kill()
            said = process.communicate()[1].decode()
            if process.returncode == -9:
                kills += 1
                continue
            if process.returncode:
                sys.exit(f"round {rounds}: status {process.returncode}\n{said}")
            ended += 1
            break
        else:
            # An end that came between the last step and the exit leaves a finished output.
            if not (folder / "out.tsv").exists() or (folder / "out/.fpstore-dedup").exists():
                desk.run(*desk.command(confirms))
        if desk.result(confirms) != expected[confirms]:
            sys.exit(f"round {rounds}: another result than that of a run which nobody killed; see {folder}")
    print(f"{rounds} rounds, {kills} kills, {ended} ended before one: the same result each time")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
