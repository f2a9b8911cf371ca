#!/usr/bin/env python3
"""Builds several large stores and queries all of them together, in less memory than they take.

    python3 benches/map/corpus.py --program target/release/fpstore --folder DISK
    python3 benches/map/corpus.py --stores 1 --each 1e8 --third --folder DISK    # two minutes

The default is the corpus of the paper: eight stores of 10^9 fingerprints. A fifth of the values
differ in 1 to 3 bits from an earlier value of the corpus. Two thirds of the queries differ in 1 to 3
bits from a stored value, which must be found; the others are random. Four queries are compared with
a scan of all values. k = 3, default schemes. Rows have wall-clock and processor seconds, the seconds
in the kernel, and the bytes read from the disk. With --third, a control group limits the memory of
the queries, page cache included, to a third of the stores.

Needs Python 3, NumPy 2 and 8 bytes of memory for each fingerprint of a store in addition to the
page cache; prints the space and the time before it begins.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import measured
import numpy as np

K = 3
SINGLE = 1_500
SCANNED = 4


def changed(values, source):
    """Flips 1 to 3 bits of each value."""
    bits = np.left_shift(np.uint64(1), source.integers(0, 64, (K, len(values)), dtype=np.uint64))
    count = source.integers(1, K + 1, len(values))
    masks = bits[0] | np.where(count > 1, bits[1], 0) | np.where(count > 2, bits[2], 0)
    return values ^ masks


class Corpus:
    """Values in chunks, each of which can be computed again."""

    def __init__(self, total):
        self.chunk = min(10**7, total // 10)
        self.count = total // self.chunk

    def fresh(self, chunk):
        """The random values of a chunk: four fifths of it."""
        source = np.random.default_rng((measured.SEED, chunk))
        return source.integers(0, 1 << 64, self.chunk * 4 // 5, dtype=np.uint64)

    def values(self, chunk):
        """All values of a chunk; one fifth are near values of the same or an earlier chunk."""
        fresh, source = self.fresh(chunk), np.random.default_rng((measured.SEED, chunk, 1))
        earlier = self.fresh(int(source.integers(0, chunk + 1)))
        near = changed(source.choice(earlier, self.chunk - len(fresh)), source)
        return np.concatenate([fresh, near])

    def queries(self, count, seed):
        """Queries, and the stored value near each of the first two thirds."""
        source = np.random.default_rng((measured.SEED, seed, 2))
        planted = count * 2 // 3
        chunks = source.choice(self.count, min(self.count, 100), replace=False)
        stored = np.concatenate([source.choice(self.fresh(int(chunk)), -(-planted // len(chunks)))
                                 for chunk in chunks])[:planted]
        others = source.integers(0, 1 << 64, count - planted, dtype=np.uint64)
        order = source.permutation(count)
        return np.concatenate([changed(stored, source), others])[order], stored, order


def distances(values, query):
    return np.bitwise_count(values ^ query)


def check(found, queries, stored, order):
    """Fails unless each planted value is found and each match lies within K."""
    if (distances(found[:, 0], found[:, 1]) > K).any():
        raise SystemExit(f"a match is farther than {K} bits from its query")
    inverse = np.argsort(order)
    wanted = np.stack([queries[inverse[:len(stored)]], stored], axis=1)
    pairs = np.dtype([("query", np.uint64), ("stored", np.uint64)])
    missing = np.setdiff1d(wanted.view(pairs), found.view(pairs))
    if len(missing):
        raise SystemExit(f"{len(missing)} of {len(stored)} planted values are not found: {missing[:3]}")


class Run:
    """The stores, and the commands that query all of them."""

    def __init__(self, options, folder):
        self.program, self.folder = options.program.resolve(), pathlib.Path(folder)
        self.each, self.memory = int(options.each), f"{options.gib}GiB"
        self.corpus = Corpus(self.each * options.stores)
        self.stores = [self.folder / f"{at}.fps" for at in range(options.stores)]
        self.scanned = self.corpus.queries(SCANNED, 9)[0]
        self.near = [set() for _ in self.scanned]

    def build(self, at):
        """Builds a store, and scans its values for the queries that are compared with a scan."""
        chunks, values = self.corpus.count // len(self.stores), self.folder / "values.u64"
        with open(values, "wb") as out:
            for chunk in range(at * chunks, (at + 1) * chunks):
                some = self.corpus.values(chunk)
                for query, near in zip(self.scanned, self.near):
                    near.update(some[distances(some, query) <= K].tolist())
                some.tofile(out)
        done = measured.run([self.program, "build", values, "--input-format", "u64le", "-k", str(K),
                             "--memory", self.memory, "--temp-dir", self.folder, "-s", self.stores[at]],
                            allowed=(0,))
        values.unlink()
        return done

    def segments(self):
        return [path for store in self.stores for path in store.glob("*.fps")]

    def evict(self):
        for path in self.segments():
            measured.evict(path)

    def query(self, count, seed, single=False, **limits):
        """Runs a process with `count` queries, one by one or at once, and checks its answers."""
        queries, stored, order = self.corpus.queries(count, seed)
        done, found = self.answers(queries, self.stores, single, **limits)
        check(found, queries, stored, order)
        return done

    def query_first(self, count, seed):
        """Queries the first store alone, whose pages are in memory after the first time."""
        return self.answers(self.corpus.queries(count, seed)[0], self.stores[:1], False)[0]

    def dedup(self, count):
        """Compares new fingerprints with all stores and with each other."""
        new = self.folder / "new.u64"
        self.corpus.queries(count, 5)[0].tofile(new)
        return self.join(["dedup", new, "--input-format", "u64le"], len(self.stores))

    def join(self, command, stores):
        """Runs a join of the first stores, in too little memory for all their values."""
        options = ["-k", str(K), "--memory", f"{measured.tight_memory(self.each)}B", "--temp-dir", self.folder]
        options += [word for store in self.stores[:stores] for word in ("-s", store)]
        self.evict()
        return measured.run([self.program, *command, *options, "-q"], stdout=subprocess.DEVNULL)

    def answers(self, queries, stores, single, **limits):
        """Runs a process with these queries; also returns its matches, as pairs of query and value."""
        asked, output = self.folder / "queries", self.folder / "answers"
        options = ["-k", str(K)] + [word for store in stores for word in ("-s", store)]
        if single:
            asked.write_text("".join(f"{each:016x}\n" for each in queries.tolist()))
            options = ["-", "--access", "map", *options]
        else:
            asked.write_bytes(queries.tobytes())
            options = ["--from", asked, "--input-format", "u64le", *options]
        with open(output, "wb") as out, open(asked, "rb") as lines:
            done = measured.run([self.program, "query", *options], stdin=lines, stdout=out, **limits)
        with open(output, "rb") as lines:
            words = (int(word, 16) for line in lines for word in line.split(b"\t")[:2])
            return done, np.fromiter(words, np.uint64).reshape(-1, 2)


def plot(path, curves):
    """Plots seconds of the clock against the number of queries."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    for name, points in curves.items():
        axes.plot(*zip(*points), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="queries of a batch", ylabel="s")
    axes.grid(which="major", alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("target/release/fpstore"))
    parser.add_argument("--folder", help="folder for the stores: on a disk, not in memory")
    parser.add_argument("--stores", type=int, default=8)
    parser.add_argument("--each", type=float, default=1e9, help="fingerprints of a store")
    parser.add_argument("--batches", type=float, nargs="+", default=[1e6], help="queries of each batch")
    parser.add_argument("--gib", type=float, default=4, help="memory of a build, GiB")
    parser.add_argument("--plot", type=pathlib.Path, help="an SVG of the batches; needs matplotlib")
    parser.add_argument("--joins", action="store_true", help="measure joins, too")
    parser.add_argument("--third", action="store_true", help="limit the memory of the queries to a third of the stores and 64 MiB")
    options = parser.parse_args()
    # A build that does not fit in memory writes temporary files.
    scratch = 0 if options.gib * 2**30 >= 12 * options.each else 14
    needed = options.each * (7.6 * options.stores + 8 + scratch)
    print(f"needs {needed / 1e9:.0f} GB of disk and, at 1 GB/s, about"
          f" {options.stores * options.each * 2e-7 / 60 + 2:.0f} minutes", flush=True)
    free = shutil.disk_usage(options.folder or tempfile.gettempdir()).free
    if free < needed:
        raise SystemExit(f"{options.folder} has {free / 1e9:.0f} GB; choose fewer --stores")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, contextlib.ExitStack() as stack:
        run = Run(options, folder)
        print("\n| job | s, clock | s, processors | in the kernel | GB read |\n|---|---:|---:|---:|---:|")

        def row(job, done):
            print(f"| {job} | {done['seconds']:.2f} | {done['cpu']:.2f} | {done['system']:.2f} |"
                  f" {done['read'] / 1e9:.3f} |", flush=True)

        for at in range(options.stores):
            row(f"build {at + 1}", run.build(at))
        size = sum(path.stat().st_size for path in run.segments())
        limits = {}
        if options.third:
            group = stack.enter_context(measured.control_group(size // 3 + (64 << 20))) / "cgroup.procs"
            limits["preexec_fn"] = lambda: group.write_text(str(os.getpid()))
        run.evict()
        row(f"{SINGLE} single queries, nothing cached", run.query(SINGLE, 1, single=True, **limits))
        row(f"{SINGLE} others", run.query(SINGLE, 2, single=True, **limits))
        row("the same in a new process", run.query(SINGLE, 2, single=True, **limits))
        curves = {"all stores, nothing cached": [], "one store, in memory": []}
        for count in map(int, options.batches):
            run.evict()
            row(f"batch of {count}, nothing cached", cold := run.query(count, 3, **limits))
            run.evict()
            row(f"batch of {count}, one store, nothing cached", run.query_first(count, 3))
            row(f"batch of {count} others, one store", warm := run.query_first(count, 4))
            for curve, done in zip(curves.values(), (cold, warm)):
                curve.append((count, done["seconds"]))
        if options.plot:
            plot(options.plot, curves)
        for query, near in zip(run.scanned, run.near):
            found = run.answers(np.array([query]), run.stores, True, **limits)[1]
            if set(found[:, 1].tolist()) != near:
                raise SystemExit(f"query {query:016x} differs from a scan")
        if options.joins:
            count = int(options.each / 100)
            row(f"dedup of {count} new", run.dedup(count))
            for stores in {1, min(2, options.stores)}:
                row(f"all pairs of {stores} of the stores", run.join(["pairs", "--distinct"], stores))
        print(f"\n{size} bytes, {size / (options.stores * run.each):.2f} for each fingerprint; all planted"
              f" values found, {SCANNED} queries equal a scan")


if __name__ == "__main__":
    main()
