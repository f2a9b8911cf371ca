#!/usr/bin/env python3
"""Fits the unit costs of the planner to what queries took.

    for run in 1 2 3; do cargo bench --bench fit > steps.$run.tsv; done
    python3 tools/fit_costs.py steps.*.tsv

takes the least time of each row over the runs, for a busy machine only ever adds to it (the steps
are those of the last run), and prints the constants for src/scheme/cost.rs and how well they fit. Every row counts by its relative
error; costs are not negative, and a touch costs no less in more memory. Needs numpy and scipy.
"""

import csv
import sys

import numpy
from scipy.optimize import lsq_linear

STEPS = ["query", "table", "probe", "block", "window", "whole_window", "range", "head_passed", "head_compared", "extra_byte",
         "candidate", "scanned"]
# Rows cannot tell a look-up from what follows it; without this one may come out free.
LEAST = {"probe": 3, "block": 2, "window": 12, "range": 5}
TOUCH_BITS = [18, 20, 22, 24, 26, 28, 30]


def touch_shares(footprint):
    """How much each known footprint counts for this one, as UnitCosts::touch_at has it."""
    place = min(max((numpy.log2(max(footprint, 1)) - TOUCH_BITS[0]) / 2, 0), 6)
    below = min(int(place), len(TOUCH_BITS) - 2)
    shares = numpy.zeros(len(TOUCH_BITS))
    shares[below], shares[below + 1] = 1 - (place - below), place - below
    return shares


def main():
    rows = {}
    for name in sys.argv[1:]:
        with open(name, encoding="ascii") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                key = (row["n"], row["scheme"], row["k"], row["way"])
                if key in rows and float(rows[key]["nanos"]) < float(row["nanos"]):
                    row["nanos"] = rows[key]["nanos"]
                rows[key] = row
    rows = list(rows.values())
    matrix, nanos = [], []
    for row in rows:
        number = {name: float(row[name]) for name in row if name not in ("scheme", "way")}
        # The queries are not all stored ones, as the expected steps have it.
        found = number["work_candidates"]
        steps = [1, number["tables"], number["probes"], number["blocks"], number["windows"], number["whole_windows"],
                 number["ranges"],
                 number["heads_passed"], number["heads_compared"], number["extra_bytes"], found,
                 number["scanned"]]
        # As UnitCosts::nanos has it.
        waited = 3 * 12 if number["probes"] else 0
        touched = number["lines"] + number["blocks"] + found + waited
        shares = touched * touch_shares(number["footprint"])
        # Cumulative, so that not negative means not falling.
        matrix.append(steps + list(numpy.cumsum(shares[::-1])[::-1]))
        nanos.append(number["nanos"])
    matrix, nanos = numpy.array(matrix), numpy.array(nanos)
    weights = 1 / nanos
    least = [LEAST.get(name, 0) for name in STEPS] + [0] * len(TOUCH_BITS)
    for _ in range(5):
        fit = lsq_linear(matrix * weights[:, None], nanos * weights, bounds=(least, numpy.inf))
        # Rows that a busy machine disturbed count for less.
        error = numpy.abs(matrix @ fit.x / nanos - 1)
        weights = 1 / nanos / numpy.sqrt(1 + (error / 0.2) ** 2)
    for name, value in zip(STEPS, fit.x):
        print(f"{name}: {value:.2f},")
    touch = numpy.cumsum(fit.x[len(STEPS):])
    print("touch: [" + ", ".join(f"{value:.1f}" for value in touch) + "],")
    ratio = matrix @ fit.x / nanos
    print(f"# expected / measured: median {numpy.median(ratio):.2f}, "
          f"quartiles {numpy.percentile(ratio, 25):.2f} to {numpy.percentile(ratio, 75):.2f}, "
          f"{numpy.mean(numpy.abs(numpy.log(ratio)) < numpy.log(1.3)):.0%} within 1.3")
    for row, r in zip(rows, ratio):
        if abs(numpy.log(r)) > numpy.log(1.5):
            print(f"# n={row['n']} scheme {row['scheme']} k={row['k']} {row['way']}: "
                  f"{row['nanos']} ns, {r:.2f}")


if __name__ == "__main__":
    main()
