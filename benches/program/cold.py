#!/usr/bin/env python3
"""Measures queries of a store with a cold page cache: pages, bytes and time.

    python3 benches/program/cold.py --program target/release/fpstore --folder DISK [-n 1e8] [--slow]

There are three setups:

* the page cache is dropped before the first query;
* a control group has memory for a part of the store (`--parts`; needs permission to create groups of
  version 1 or 2);
* with `--slow`, every read of the file system takes a millisecond, as over a network. This file
  system uses FUSE and needs root, libfuse and the Python package mfusepy.

In the first setup a second table has the pages by part of the file, and rows with the prefix indexes,
or the prefix indexes and heads, in memory beforehand.

Each row also has the time to read the same number of pages one after the other, measured with `pread`
on the same file in the same run. Needs Python 3, NumPy, 10 n bytes of disk and 8 n of memory.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "map"))

import measured
import numpy as np

SLOW = 0.001


def random_read(path, count=400):
    """Microseconds to read a page, one after the other, of a file outside the page cache."""
    measured.evict(path)
    pages = os.path.getsize(path) // measured.PAGE
    chosen = np.random.default_rng(measured.SEED).choice(pages, min(count, pages), replace=False)
    with open(path, "rb", buffering=0) as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        start = time.monotonic()
        for page in chosen.tolist():
            os.pread(opened.fileno(), measured.PAGE, page * measured.PAGE)
        return (time.monotonic() - start) / len(chosen) * 1e6


def ranges(at, *kinds):
    """The byte ranges of the sections of these kinds."""
    return [(of["offset"], of["offset"] + of["len"]) for of in at.info()["sections"]
            if of["section"].startswith(kinds)]


def by_section(at):
    """Prints the pages of a query by section, with an empty page cache before the first query."""
    pages, _ = at.cold_pages()
    print("\n| part | pages a query |\n|---|---:|")
    for kind in ["prefix index", "heads", "tails"]:
        for start, end in ranges(at, kind):
            own = slice(start // measured.PAGE, -(-end // measured.PAGE))
            print(f"| {kind} of a table | {pages[own].sum():.1f} |")
            pages[own] = 0
    print(f"| other parts | {pages.sum():.1f} |")


def nothing_in_memory(at, store, rounds, hot=()):
    """Pages and microseconds of a query with an empty page cache before the first query: medians."""
    rows = [at.cold(store, measured.SEED + 60 + 2 * turn, hot) for turn in range(rounds)]
    return [statistics.median(column) for column in zip(*rows)]


def partly_in_memory(at, part, count):
    """Pages and microseconds of a query in a full group with memory for a part of the store."""
    segment = at.segment()
    measured.evict(segment)
    # The process itself needs some megabytes in addition.
    with measured.control_group(int(os.path.getsize(segment) * part) + (24 << 20)) as group:
        enter = lambda: group.joinpath("cgroup.procs").write_text(str(os.getpid()))
        # The first run fills the memory of the control group with pages. The second run has other
        # queries and is the measured one: their pages are cached only by chance.
        for seed in (measured.SEED + 70, measured.SEED + 71):
            asked = at.ask(at.store, at.needles(count, seed), preexec_fn=enter)
    return asked["read"] / measured.PAGE / count, asked["seconds"] / count * 1e6


@contextlib.contextmanager
def slow_file_system(folder, place):
    """A mount of a folder in which each read takes a millisecond."""
    code = f"""
import os, sys, time
import mfusepy
class Slow(mfusepy.Operations):
    use_ns = True
    def getattr(self, path, fh=None):
        of = os.lstat({str(folder)!r} + path)
        return {{key: getattr(of, key) for key in ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid")}}
    def readdir(self, path, fh):
        return [".", "..", *os.listdir({str(folder)!r} + path)]
    def open(self, path, flags):
        return os.open({str(folder)!r} + path, os.O_RDONLY)
    def read(self, path, size, offset, fh):
        time.sleep({SLOW})
        return os.pread(fh, size, offset)
    def release(self, path, fh):
        os.close(fh)
mfusepy.FUSE(Slow(), {str(place)!r}, foreground=True, nothreads=False, ro=True, kernel_cache=True)
"""
    serving = subprocess.Popen([sys.executable, "-c", code])
    try:
        while not os.path.ismount(place):
            if serving.poll() is not None:
                raise SystemExit("the slow file system ended")
            time.sleep(0.05)
        yield place
    finally:
        subprocess.run(["umount", place], check=True)
        serving.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore")
    parser.add_argument("--folder", help="folder for the store")
    parser.add_argument("-n", type=float, default=1e8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", type=float, nargs="*", default=[0.25, 0.5])
    parser.add_argument("--queries", type=int, default=20_000, help="queries in a control group")
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        at = measured.At(program, scratch, int(options.n), 1)
        measured.write_random(at.input, at.n, measured.SEED)
        at.build("8GiB" if at.n < 5e7 else "4GiB")
        size = os.path.getsize(at.segment())
        print(f"{at.n:.0e} fingerprints, {size} bytes\n")
        print("| in memory before | pages a query | KiB a query | us a query | one read, us | as many, one"
              " after the other, us | times |")
        print("|---|---:|---:|---:|---:|---:|---:|")

        def row(what, pages, micros, one):
            print(f"| {what} | {pages:.1f} | {pages * 4:.0f} | {micros:.0f} | {one:.0f} |"
                  f" {pages * one:.0f} | {pages * one / micros:.1f} |", flush=True)

        row("nothing", *nothing_in_memory(at, at.store, options.rounds), random_read(at.segment()))
        for kinds in [["prefix index"], ["prefix index", "heads"]]:
            found = nothing_in_memory(at, at.store, options.rounds, ranges(at, *kinds))
            row(" and ".join(kinds), *found, random_read(at.segment()))
        for part in options.parts:
            row(f"{part:.0%} of the store", *partly_in_memory(at, part, options.queries),
                random_read(at.segment()))
        if options.slow:
            place = pathlib.Path(scratch) / "slow"
            place.mkdir()
            with slow_file_system(at.folder, place):
                store = place / at.store.name
                one = random_read(at.segment(store), 100)
                row("nothing, 1 ms a read", *nothing_in_memory(at, store, options.rounds), one)
        by_section(at)


main()
