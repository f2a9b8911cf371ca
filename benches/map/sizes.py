#!/usr/bin/env python3
"""Measures how the cost of each job grows with the number of fingerprints, 10^6 to 10^9.

    python3 benches/map/sizes.py --program target/release/fpstore --folder DISK
                                 [--sizes 1e6 1e7 1e8 1e9] [--plot growth.svg]
    python3 benches/map/sizes.py --program OLDER --program target/release/fpstore ...

Random fingerprints, k = 3, two halves, no ids. A row contains:

* the bytes of the store;
* processor and wall-clock time of a build in 4 GiB;
* microseconds of a warm query (see measured.py);
* processor seconds of a batch of 10^6 queries, page faults included;
* processor and wall-clock time of all pairs in 1 GiB, from 10^9 on in 4 GiB;
* the same with 10 bytes of memory for each fingerprint, so that all of them fit.

Up to 10^7 a cell is the median of three runs. Needs Python 3, NumPy, for --plot matplotlib, 35 bytes
of disk for each fingerprint of the largest size, and memory: 20 GiB at 10^9, where the page cache
holds the store in addition to the join. That takes about fifteen minutes on two cores.
"""

import argparse
import itertools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import measured


def row_of(program, n, folder):
    """Takes all measurements at n fingerprints; returns the row as a dictionary."""
    rounds = 3 if n <= 10**7 else 1
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        at = measured.At(program, scratch, n, rounds)
        measured.write_random(at.input, n, measured.SEED)
        build = measured.median_cpu(rounds, lambda: at.build("4GiB"))
        size = at.segment().stat().st_size
        # The input and other files of the build must not keep the store out of the page cache.
        measured.evict(at.input)
        measured.read_back(at.segment())
        query, *spread = at.single_queries()
        batch = at.batch(1_000_000)
        pairs = measured.median_cpu(rounds, lambda: at.pairs("4GiB" if n >= 10**9 else "1GiB"))
        spare = measured.median_cpu(rounds, lambda: at.pairs(f"{max(10 * n, 1 << 30)}B"))
    return {"n": n, "bytes": size, "build": build, "query": query, "spread": spread, "batch": batch,
            "pairs": pairs, "spare": spare}


def plot(path, rows):
    """Plots nanoseconds per fingerprint, and microseconds per query, against the number of fingerprints."""
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(figsize=(6.4, 3.8))
    counts = [row["n"] for row in rows]
    curves = {
        "all pairs, ns of processor a fingerprint": [1e9 * row["pairs"]["cpu"] / row["n"] for row in rows],
        "build, ns of processor a fingerprint": [1e9 * row["build"]["cpu"] / row["n"] for row in rows],
        "one warm query, us": [row["query"] for row in rows],
        "one of 10^6 queries at once, us": [row["batch"]["cpu"] for row in rows],
    }
    for name, values in curves.items():
        axes.plot(counts, values, marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="fingerprints")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.ScalarFormatter())
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.grid(which="major", alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", action="append", type=pathlib.Path, help="may be repeated")
    parser.add_argument("--folder", help="folder for files: on a disk, not in memory")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e6, 1e7, 1e8, 1e9])
    parser.add_argument("--plot", type=pathlib.Path, help="an SVG of the costs of the last program")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes]
    print(f"needs {35 * max(sizes) / 1e9:.1f} GB of disk and {max(4, 20 * max(sizes) / 1e9):.0f} GiB of memory\n")
    programs = options.program or [pathlib.Path("target/release/fpstore")]
    print("| program | n | bytes each | build, s | clock | query, us | batch of 10^6, s | all pairs, s | clock | ns each |"
          " in memory, s | clock | ns each |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    rows = []
    for n, (number, program) in itertools.product(sizes, enumerate(programs, 1)):
        row = row_of(program.resolve(), n, options.folder)
        if number == len(programs):
            rows.append(row)
        build, pairs, spare, (least, most) = (row[name] for name in ("build", "pairs", "spare", "spread"))
        print(f"| {number} | {n:.0e} | {row['bytes'] / n:.2f} | {build['cpu']:.2f} | {build['seconds']:.1f} |"
              f" {row['query']:.2f} ({least:.2f} to {most:.2f}) | {row['batch']['cpu']:.2f} |"
              f" {pairs['cpu']:.2f} | {pairs['seconds']:.1f} | {1e9 * pairs['cpu'] / n:.0f} |"
              f" {spare['cpu']:.2f} | {spare['seconds']:.1f} | {1e9 * spare['cpu'] / n:.0f} |", flush=True)
    if options.plot:
        plot(options.plot, rows)


if __name__ == "__main__":
    main()
