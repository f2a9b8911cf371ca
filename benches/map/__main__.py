#!/usr/bin/env python3
"""Predicts the costs of 8 * 10^9 fingerprints from measurements at 10^7 and 10^8.

    python3 benches/map --program target/release/fpstore --folder DISK [--keep rows.json]
    python3 benches/map --program target/release/fpstore --rows rows.json

The first command measures, then computes; the second computes from stored measurements. It needs
Python 3 and NumPy. 8 * 10^9 is the number in the paper of Manku, Jain and Das Sarma, "Detecting
Near-Duplicates for Web Crawling", WWW 2007; `k` = 3, two halves, random fingerprints, no ids.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import machines
import measured
from model import Blocking, Model

# Minimum and maximum of earlier measurements, on idle machines of the kind measured now:
# microseconds per query, processor seconds of a million queries, of all pairs, and of a build. The
# work on 10^9 had 4 GiB. The pairs were measured with sequential table reads, on a machine without
# AVX-512.
EARLIER = {
    10**7: {"query": (1.2, 1.9), "batch": (0.9, 1.43), "pairs": (1.46, 1.56), "build": (0.62, 1.57)},
    10**8: {"query": (2.6, 3.1), "batch": (1.2, 1.76), "pairs": (20.7, 21.4), "build": (12, 14.4)},
    10**9: {"query": (5.1, 6.5), "batch": (4.3, 5.2), "pairs": (234, 234), "build": (130, 233)},
}
MEMORY = 4 << 30
# A join of this size is measured, too: as at 10^9, its hash tables are larger than the cache.
JOINED = 4 * 10**8
PREDICT = {"query": Model.query, "batch": Model.batch, "build": Model.build,
           "pairs": lambda model, n: model.pairs(n, MEMORY)}


def rows_of(kept):
    """Converts the measurements to the rows of the model."""
    rows = []
    for row in kept["rows"]:
        n, tight, spare = row["n"], row["pairs_tight"]["cpu"], row["pairs_spare"]["cpu"]
        more_reads = Blocking.choose(n).more_reads(n, measured.tight_memory(n))
        batch = row["batch"].get("1000000", row["batch"].get(1_000_000))
        rows.append({"n": n, "query": row["query_micros"], "page": row["page_micros"],
                     "batch": batch["cpu"], "build": row["build_tight"]["cpu"], "pairs": spare,
                     "read": (tight - spare) / more_reads / n * 1e9})
    return rows


def earlier_rows(rows):
    """The earlier measurements at 10^7 and 10^8; gaps are filled from this run."""
    middle = lambda n: {name: sum(range_) / 2 for name, range_ in EARLIER[n].items()}
    return [{**row, **middle(row["n"])} for row in rows]


def show_measured(kept, rows):
    print("\n## Measured\n")
    print("| n | bytes | build to spare, tight: CPU s | query, us | scan of a value, ns | first touch of"
          " a page, us | batch of 10^5, 10^6: CPU s | pairs to spare, tight: CPU s | pages of a query, cold |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in kept["rows"]:
        batch = [each["cpu"] for each in row["batch"].values()]
        print(f"| {row['n']:.0e} | {row['bytes']:.4g} | {row['build_spare']['cpu']:.2f},"
              f" {row['build_tight']['cpu']:.2f} | {row['query_micros']:.2f} ({row['query_spread'][0]:.2f} to"
              f" {row['query_spread'][1]:.2f}) | {row['scan_nanos']:.2f} | {row['page_micros']:.2f} |"
              f" {batch[0]:.2f}, {batch[1]:.2f} | {row['pairs_spare']['cpu']:.2f},"
              f" {row['pairs_tight']['cpu']:.2f} | {row['cold_pages']:.1f} |")
    print(f"\npairs at {kept['join']['n']:.0e}: {kept['join']['pairs_spare']['cpu']:.0f} s")
    print("read again, ns a value:", [round(row["read"], 1) for row in rows])


def show_check(name, model):
    """Prints predictions next to earlier measurements."""
    print(f"\n## {name}: predicted / earlier\n")
    print(f"speed {model.speed:.2f}, join {model.join_speed:.2f}, beyond the cache {model.grouped_speed:.2f}, page"
          f" {model.page:.2f} us, answer {model.answer * 1e6:.2f} us, build {model.build_nanos:.0f} ns, read {model.read:.1f} ns\n")
    print("| what | 10^7 | 10^8 | 10^9 | earlier at 10^9 | within a quarter |")
    print("|---|---:|---:|---:|---:|---|")
    for what, predict in PREDICT.items():
        low, high = EARLIER[10**9][what]
        cells = [predict(model, n) for n in (10**7, 10**8, 10**9)]
        within = "yes" if 0.75 * low <= cells[2] <= 1.25 * high else "no"
        print(f"| {what} | " + " | ".join(f"{cell:.3g}" for cell in cells)
              + f" | {low} to {high} | {within} |")


def show_cold(model, kept):
    queries = measured.COLD_QUERIES
    print(f"\ncold pages of a query, measured and expected, mean of {queries}:")
    for row in kept["rows"]:
        expected = model.pages(row["n"], queries) / queries
        print(f"  {row['n']:.0e}: {row['cold_pages']:.1f} measured, {expected:.1f} expected")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="target/release/fpstore", type=pathlib.Path)
    parser.add_argument("--folder", help="folder for temporary files: on a disk, not in memory")
    parser.add_argument("--keep", help="write the measurements to this file")
    parser.add_argument("--rows", help="compute from the measurements in this file")
    options = parser.parse_args()
    program = options.program.resolve()
    if options.rows:
        kept = json.loads(pathlib.Path(options.rows).read_text())
    else:
        print("needs 8 GB of disk, 5 GB of memory, about eight minutes on two cores", flush=True)
        kept = {"rows": measured.measure(program, (10**7, 10**8), lambda n: 3 if n < 5e7 else 1,
                                         options.folder),
                "join": measured.join_row(program, JOINED, options.folder)}
        if options.keep:
            pathlib.Path(options.keep).write_text(json.dumps(kept, indent=1))
    rows = rows_of(kept)
    join = {"n": kept["join"]["n"], "pairs": kept["join"]["pairs_spare"]["cpu"]}
    today = Model(program, rows, join)
    quiet = Model(program, earlier_rows(rows), join)
    show_measured(kept, rows)
    show_check("From this run", today)
    show_check("From the earlier rows at 10^7 and 10^8", quiet)
    show_cold(today, kept)
    machines.report(today, {what: 1.0 for what in PREDICT})
    # The same prediction, with one more factor for each quantity: the earlier measurement at 10^9,
    # divided by its prediction.
    machines.report(today, {what: sum(EARLIER[10**9][what]) / 2 / predict(today, 10**9)
                            for what, predict in PREDICT.items()})


if __name__ == "__main__":
    main()
