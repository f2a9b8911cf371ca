#!/usr/bin/env python3
"""Measures how the cost of cleaning grows with the corpus, from 10^4 to 10^7 documents.

    python3 benches/program/clean_growth.py [--program target/release/fpstore] [--folder DIR]
                                    [--words 60] [--sizes 10000 100000 1000000 10000000]
                                    [--only features] [--dry-run] [--plot FILE.svg]

Documents have 60 words from a vocabulary of 20 000, or the number of words from --words; a fifth are
copies of one of the preceding 10 000 documents with one word changed. A row has processor time
(children included, as the system accounts it), wall-clock time, peak resident memory with and without
mapped files, and the number of kept documents: by fingerprints alone, and by features. Needs
numpy, for --plot matplotlib, and 23 bytes of disk for each word; with --dry-run, which writes no
documents, 16 bytes.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

import numpy

SEED = 20261125
VOCABULARY = 20_000
BATCH = 10_000


def write(path, count, length):
    """Writes `count` documents from a fixed seed; a smaller corpus is a prefix of a larger one."""
    source = numpy.random.default_rng(SEED)
    words = numpy.array([f"w{number:05} " for number in range(VOCABULARY)], dtype="S7")
    before = None
    with open(path, "wb") as out:
        for start in range(0, count, BATCH):
            drawn = source.integers(0, VOCABULARY, (BATCH, length))
            if before is not None:
                copies = source.random(BATCH) < 0.2
                drawn[copies] = before[source.integers(0, BATCH, int(copies.sum()))]
                places = source.integers(0, length, BATCH)
                new = source.integers(0, VOCABULARY, BATCH)
                drawn[copies, places[copies]] = new[copies]
            before = drawn
            rows = min(BATCH, count - start)
            line = [("head", "S7"), ("id", "S10"), ("middle", "S10"), ("text", "S7", length), ("end", "S3")]
            lines = numpy.empty(rows, line)
            lines["head"], lines["middle"], lines["end"] = b'{"id":"', b'","text":"', b'"}\n'
            lines["id"] = numpy.char.zfill(numpy.arange(start, start + rows).astype("S10"), 10)
            lines["text"] = words[drawn[:rows]]
            lines.tofile(out)


def clean(program, folder, options):
    """Returns processor and wall-clock seconds, MiB of memory with and without mapped files, and the
    output of the program."""
    command = [program, "clean", "in.jsonl", *options]
    began, own = time.monotonic(), [0]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as process:
        watch = threading.Thread(target=watch_memory, args=(process, own))
        watch.start()
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.join()
    clock = time.monotonic() - began
    if process.returncode != 0:
        raise SystemExit(said)
    (folder / "out.jsonl").unlink(missing_ok=True)
    memory = used.ru_maxrss / 1024
    return used.ru_utime + used.ru_stime, clock, memory, own[0], said.splitlines()[-1]


def watch_memory(process, peak):
    """Sets `peak` to the largest number of MiB outside mapped files, until the process ends."""
    status = pathlib.Path(f"/proc/{process.pid}/status")
    while process.returncode is None:
        with contextlib.suppress(OSError, TypeError):
            found = re.search(r"RssAnon:\s+(\d+)", status.read_text())
            peak[0] = max(peak[0], int(found[1]) / 1024)
        time.sleep(0.05)


def plot(path, rows):
    """Plots microseconds per document against the number of documents, for each rule."""
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    for way in sorted({way for way, *_ in rows}):
        own = [(count, each) for other, count, each in rows if other == way]
        axes.plot(*zip(*own), marker="o", label=way)
    axes.set(xscale="log", yscale="log", xlabel="documents", ylabel="processor time, us a document")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.ScalarFormatter())
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.grid(which="major", alpha=0.3)
    axes.legend()
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore")
    parser.add_argument("--folder", type=pathlib.Path, help="folder for the documents")
    parser.add_argument("--words", type=int, default=60, help="words of a document")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--memory", default="1GiB", help="memory for comparing features")
    parser.add_argument("--only", help="the rule: fingerprints or features")
    parser.add_argument("--dry-run", action="store_true", help="do not write the kept documents")
    parser.add_argument("--plot", type=pathlib.Path, help="an SVG of the microseconds a document")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    ways = {
        "fingerprints, -k 7": ["-k", "7"],
        "features, --confirm 0.8": ["--confirm", "0.8", "--memory", options.memory],
    }
    output = ["--dry-run"] if options.dry_run else ["-o", "out.jsonl"]
    print("| documents | MB | way | processor s | us a document | s | MiB | own MiB | result |")
    print("|---:|---:|---|---:|---:|---:|---:|---:|---|")
    rows = []
    for count in options.sizes:
        folder = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
        try:
            write(folder / "in.jsonl", count, options.words)
            size = (folder / "in.jsonl").stat().st_size / 1e6
            for way, more in ways.items():
                if not way.startswith(options.only or ""):
                    continue
                spent, clock, memory, own, said = clean(program, folder, [*more, *output])
                each = 1e6 * spent / count
                rows.append((way, count, each))
                print(f"| {count} | {size:.0f} | {way} | {spent:.2f} | {each:.2f} | {clock:.2f} "
                      f"| {memory:.0f} | {own:.0f} | {said} |", flush=True)
        finally:
            shutil.rmtree(folder)
    if options.plot:
        plot(options.plot, rows)


if __name__ == "__main__":
    main()
