#!/usr/bin/env python3
"""Fits the unit costs of the planner to measured query times.

    for run in 1 2 3; do cargo bench --bench fit > steps.$run.tsv; done
    python3 tools/fit_costs.py steps.*.tsv

takes the minimum time of each row over the runs, because other load only adds to it (the steps are
taken from the last run), and prints the constants for src/plan/unit_costs.rs and the quality of the
fit. The fit minimises relative errors. Costs are not negative, and the cost of a touch does not
decrease with the size of the memory region. Needs numpy and scipy.
"""

import csv
import sys

import numpy
from scipy.optimize import lsq_linear

STEPS = ["query", "table", "probe", "block", "chunk", "whole_chunk", "range", "head_passed",
         "head_compared", "extra_byte", "candidate", "scanned"]
# The least cost of some steps. The rows cannot separate a look-up from the steps after it, so that
# without a minimum one of the costs may become 0.
LEAST = {"probe": 3, "block": 2, "chunk": 12, "range": 5}
TOUCH_BITS = [18, 20, 22, 24, 26, 28, 30]


def touch_shares(footprint):
    """The weights by which the costs at the known footprints are interpolated at this footprint, as
    in UnitCosts::touch_at."""
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
                key = (row["n"], row["scheme"], row["k"], row["path"])
                if key in rows and float(rows[key]["nanos"]) < float(row["nanos"]):
                    row["nanos"] = rows[key]["nanos"]
                rows[key] = row
    rows = list(rows.values())
    matrix, nanos = [], []
    for row in rows:
        number = {name: float(row[name]) for name in row if name not in ("scheme", "path")}
        # The measured number, because the expected one is valid only for queries for stored values.
        found = number["work_candidates"]
        steps = [1, number["tables"], number["probes"], number["blocks"], number["chunks"],
                 number["whole_chunks"], number["ranges"],
                 number["heads_passed"], number["heads_compared"], number["extra_bytes"], found,
                 number["scanned"]]
        # The formula of UnitCosts::nanos.
        waited = 3 * 12 if number["probes"] else 0
        touched = number["lines"] + number["blocks"] + found + waited
        shares = touched * touch_shares(number["footprint"])
        # Cumulative shares, so that the cost at a footprint is a sum of non-negative parts and does
        # not decrease with the footprint.
        matrix.append(steps + list(numpy.cumsum(shares[::-1])[::-1]))
        nanos.append(number["nanos"])
    matrix, nanos = numpy.array(matrix), numpy.array(nanos)
    weights = 1 / nanos
    least = [LEAST.get(name, 0) for name in STEPS] + [0] * len(TOUCH_BITS)
    for _ in range(5):
        fit = lsq_linear(matrix * weights[:, None], nanos * weights, bounds=(least, numpy.inf))
        # Outliers from a busy machine get less weight.
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
            print(f"# n={row['n']} scheme {row['scheme']} k={row['k']} {row['path']}: "
                  f"{row['nanos']} ns, {r:.2f}")


if __name__ == "__main__":
    main()
