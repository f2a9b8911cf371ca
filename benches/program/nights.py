#!/usr/bin/env python3
"""Measures each night of a crawl that is cleaned every night with `fpstore clean`.

    FPSTORE=target/release/fpstore python3 benches/program/nights.py               # thirty nights of 10^5
    FPSTORE=... python3 benches/program/nights.py --nights 5 --documents 2000      # a minute

Each night has new documents of 100 words. A third of them are near copies (one word replaced) of
documents of any earlier night within the window, a tenth are near copies within the night, the rest
are new. One command cleans them against all earlier documents and adds the kept ones with the label of
the night; another command removes documents older than the window. For each night the table has
processor seconds and peak memory of the cleaning, seconds of `expire`, the number of segments, bytes
of the store per document, and the number of kept documents. Every night the command is killed once,
after half the time of the previous night, and repeated; the seconds include both runs. The originals
of copies are kept documents, and every missed copy is counted. FPSTORE is the path of the program.
"""

import argparse
import datetime
import itertools
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

SEED = 33
WORDS = 100
FIRST = datetime.date(2026, 1, 1)


class Crawl:
    """Makes the documents of each night, also near copies of documents of earlier nights."""

    def __init__(self, window):
        self.rng = random.Random(SEED)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self.rng.choices(letters, k=self.rng.randint(2, 9)))
                      for _ in range(30_000)]
        self.weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9
                                                 for rank in range(len(self.words))))
        self.window = window
        # For each night in the window: the originals, as id and words.
        self.nights = []

    def night(self, number, count, path):
        """Writes the documents of a night, and returns the ids of its copies."""
        originals, copies = [], set()
        with open(path, "w") as out:
            for at in range(count):
                name, draw = f"n{number}-{at}", self.rng.random()
                source = None
                if draw < 1 / 3 and self.nights:
                    source = self.rng.choice(self.rng.choice(self.nights))
                elif draw > 0.9 and originals:
                    source = self.rng.choice(originals)
                if source is None:
                    text = self.rng.choices(self.words, cum_weights=self.weights, k=WORDS)
                    originals.append(text)
                else:
                    text = source[:]
                    text[self.rng.randrange(WORDS)] = self.rng.choice(self.words)
                    copies.add(name)
                out.write(json.dumps({"id": name, "text": " ".join(text)}) + "\n")
        # Copies are made only of a sample of the originals, so that thirty nights fit into memory.
        self.nights = (self.nights + [self.rng.sample(originals, min(len(originals), 2_000))])
        self.nights = self.nights[-self.window:]
        return copies


def run(command, kill_after=None):
    """Runs a command; returns processor seconds, MB, and whether it was killed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status and not os.WIFSIGNALED(status):
        raise SystemExit(f"{command}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, os.WIFSIGNALED(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--documents", type=int, default=100_000, help="documents per night")
    parser.add_argument("--window", type=int, default=20, help="number of nights kept in the store")
    parser.add_argument("--no-kills", action="store_true")
    args = parser.parse_args()
    program = os.environ.get("FPSTORE", "target/release/fpstore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        store = folder / "crawl.fps"
        empty = folder / "empty.jsonl"
        empty.write_text("")
        subprocess.run([program, "build", "--docs", empty, "-s", store, "--allow-empty", "-q"],
                       check=True)
        crawl, before, missed, wrong, kills = Crawl(args.window), 0, 0, 0, 0
        print("| night | documents | seconds | MB | expire s | segments | bytes each | kept |")
        print("|---:|---:|---:|---:|---:|---:|---:|---:|")
        for number in range(args.nights):
            label = (FIRST + datetime.timedelta(days=number)).isoformat()
            tonight, kept = folder / "tonight.jsonl", folder / "kept.jsonl"
            copies = crawl.night(number, args.documents, tonight)
            command = [program, "clean", tonight, "-s", store, "--within", "--add",
                       "--label", label, "--run", label, "-o", kept, "-q", "--threads", "1"]
            spent = 0.0
            started = time.time()
            if before and not args.no_kills:
                spent, _, is_killed = run(command, before / 2)
                kills += is_killed
            seconds, memory, _ = run(command)
            before = time.time() - started
            seconds += spent
            with open(kept) as lines:
                names = {json.loads(line)["id"] for line in lines}
            missed += len(copies & names)
            wrong += args.documents - len(copies) - len(names - copies)
            oldest = (FIRST + datetime.timedelta(days=number - args.window + 1)).isoformat()
            expired = 0.0
            if number >= args.window:
                expired = run([program, "expire", "-s", store, "--before", oldest, "-q"])[0]
            info = json.loads(subprocess.check_output([program, "info", "-s", store, "--format",
                                                       "json"]))
            size = sum(file.stat().st_size for file in store.iterdir())
            documents = info["ids"]
            each = size / max(documents, 1)
            print(f"| {number + 1} | {documents} | {seconds:.2f} | {memory:.0f} | "
                  f"{expired:.2f} | {len(info['segments'])} | {each:.1f} | {len(names)} |", flush=True)
            kept.unlink()
        print(f"\n{kills} kills; {missed} copies were kept, {wrong} new documents were removed")


if __name__ == "__main__":
    main()
