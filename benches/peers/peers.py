#!/usr/bin/env python3
"""Measures FAISS, DuckDB, SQLite and Postgres on the files of `fpstore-peers --write-files DIR`.

    pip install faiss-cpu duckdb 'psycopg[binary]'        # missing packages are reported and skipped
    python3 peers.py DIR --out results

It takes the same measurements as the Rust harness, appends them to OUT/peers.jsonl, one line of JSON
each, and redraws all tables and charts. Contenders take turns. fpstore does not run in this process,
so ratios to fpstore are printed in brackets.
"""

import argparse
import ctypes
import datetime
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy
except ImportError:
    sys.exit("peers.py: numpy is missing: pip install numpy")

from peers_contenders import contenders, say

QUERIES = 30_000
FEW = 10
QUERIES_MIN = 12


def memory():
    """Resident bytes of the process after it has freed unused pages."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        pass
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def build(contender, values, folder):
    """Builds the contender and returns the cost."""
    before, start = memory(), time.perf_counter()
    stored = contender.build(values, folder)
    seconds = time.perf_counter() - start
    grown = max(memory() - before, 0)
    open_seconds = contender.finish(folder)
    return {
        "bytes": grown if stored is None else stored,
        "resident_bytes": grown if stored is None else None,
        "build_seconds": seconds,
        "open_seconds": open_seconds,
    }


def clock_cost():
    costs = []
    for _ in range(10_001):
        start = time.perf_counter_ns()
        costs.append(time.perf_counter_ns() - start)
    return statistics.median(costs)


def measure(built, queries, count, rounds, seconds):
    """Measures the contenders in turn for some rounds; returns a list of measurements for each."""
    clock = clock_cost()
    plans, results = [], [[] for _ in built]
    for contender, _ in built:
        prepared = contender.prepare(queries[:count])
        start, asked = time.perf_counter(), 0
        for needle in prepared:
            contender.ask(needle)
            asked += 1
            if asked >= 3 and time.perf_counter() - start > 0.1:
                break
        fitting = int(seconds * asked / (time.perf_counter() - start))
        singles = max(QUERIES_MIN, min(fitting, count))
        # DuckDB, SQLite and Postgres answer a batch by a join of two tables, which costs little
        # more with more queries: the trial batch grows until a trial takes long.
        batch = min(max(singles, 1000), len(queries))
        while True:
            start = time.perf_counter()
            contender.ask_many(queries[:batch])
            took = time.perf_counter() - start
            if took > seconds / 2 or batch == len(queries):
                break
            batch = min(4 * batch, len(queries))
        if took > 2 * seconds:
            batch = max(QUERIES_MIN, int(batch * seconds / took))
        plans.append((prepared, singles, queries[:batch]))
    for turn in range(rounds):
        for place in range(len(built)):
            number = (turn + place) % len(built)
            contender = built[number][0]
            prepared, singles, batch = plans[number]
            times = []
            cpu = contender.processor_time()
            for needle in prepared[:singles]:
                start = time.perf_counter_ns()
                matches = contender.ask(needle)
                times.append((max(time.perf_counter_ns() - start - clock, 0) / 1000, matches))
            loop = singles / max(contender.processor_time() - cpu, 1e-9)
            cpu = contender.processor_time()
            matches = contender.ask_many(batch)
            many = len(batch) / max(contender.processor_time() - cpu, 1e-9)
            times.sort()
            few = [time for time, matches in times if matches <= FEW]
            results[number].append(
                {
                    "p50": times[(len(times) - 1) // 2][0],
                    "p99": times[(len(times) - 1) * 99 // 100][0],
                    "mean": sum(time for time, _ in times) / len(times),
                    "few": few[(len(few) - 1) * 99 // 100] if few else None,
                    "loop": loop,
                    "many": many,
                    "queries": singles,
                    "batch": len(batch),
                    "matches": matches,
                }
            )
    return results


def check(contender, queries, truth):
    """Recall, and the number of wrong or repeated answers."""
    right = total = reported = 0
    for needle, answer in zip(contender.prepare(queries[: len(truth)]), truth):
        found = contender.found(needle)
        reported += len(found)
        total += len(answer)
        right += len(set(found) & answer)
    return (right / total if total else 1.0), reported - right


def read_truth(path, count):
    flat, answers, at = numpy.fromfile(path, dtype="<u8").tolist(), [], 0
    for _ in range(count):
        answers.append(set(flat[at + 1 : at + 1 + flat[at]]))
        at += 1 + flat[at]
    return answers


def run_case(folder, arguments):
    case = json.loads((folder / "case.json").read_text())
    values = numpy.fromfile(folder / "fingerprints.u64le", dtype="<u8")
    queries = numpy.fromfile(folder / "queries.u64le", dtype="<u8")
    truth = read_truth(folder / "truth.u64le", case["sample_count"])
    everyone, versions = contenders(case["k"])
    wanted = lambda name: (not arguments.only or name in arguments.only) and (
        name not in arguments.leave_out
    )
    with tempfile.TemporaryDirectory() as scratch:
        built = []
        for contender in everyone:
            if wanted(contender.name):
                cost = build(contender, values, pathlib.Path(scratch))
                say(f"  {contender.name}: built in {cost['build_seconds']:.2f} s")
                built.append((contender, cost))
        count = min(QUERIES, len(queries))
        if not built:
            return
        results = measure(built, queries, count, arguments.rounds, arguments.seconds)
        arguments.out.mkdir(parents=True, exist_ok=True)
        with open(arguments.out / "peers.jsonl", "a") as out:
            for (contender, cost), rounds in zip(built, results):
                recall, wrong = check(contender, queries, truth)
                used = {"python", "numpy", contender.package}
                row = line(case, contender, cost, rounds, recall, wrong)
                row["versions"] = {name: versions[name] for name in sorted(used & set(versions))}
                out.write(json.dumps(row) + "\n")
        for contender, _ in built:
            contender.close()


def line(case, contender, cost, rounds, recall, wrong):
    """A measurement as a dictionary with the fields of `Row` in the Rust harness."""
    middle = lambda name: statistics.median_low([r[name] for r in rounds if r[name] is not None])
    few = [r["few"] for r in rounds if r["few"] is not None]
    return {
        "contender": contender.name,
        "settings": contender.settings,
        **{name: case[name] for name in ("data", "n", "distinct", "k")},
        **cost,
        "bytes_per_fingerprint": cost["bytes"] / case["distinct"],
        "p50_us": middle("p50"),
        "p50_least_us": min(r["p50"] for r in rounds),
        "p50_most_us": max(r["p50"] for r in rounds),
        "p99_us": middle("p99"),
        "mean_us": middle("mean"),
        "p99_few_us": statistics.median_low(few) if few else None,
        "p50_ratio": None,
        "loop_per_cpu_second": middle("loop"),
        "batch_per_cpu_second": middle("many"),
        "recall": recall,
        "wrong": wrong,
        "sample": case["sample_count"],
        "rounds": len(rounds),
        "queries": rounds[0]["queries"],
        "batch": rounds[0]["batch"],
        "matches": rounds[0]["matches"],
        "machine": case["machine"],
        "date": datetime.date.today().isoformat(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="the folder given to --write-files")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="time limit for each part of a round")
    names = lambda text: text.split(",")
    parser.add_argument("--only", type=names, default=[], help="NAME,NAME")
    parser.add_argument("--leave-out", type=names, default=[], help="NAME,NAME")
    parser.add_argument("--no-draw", action="store_true", help="do not redraw tables and charts")
    arguments = parser.parse_args()
    cases = sorted(path.parent for path in arguments.folder.glob("*/case.json"))
    if not cases:
        sys.exit(f"peers.py: no case in {arguments.folder}: run fpstore-peers --write-files first")
    for folder in cases:
        say(folder.name)
        run_case(folder, arguments)
    if not arguments.no_draw:
        here = pathlib.Path(__file__).resolve().parent
        draw = ["cargo", "run", "--release", "--locked", "--quiet", "--manifest-path"]
        draw += [here / "Cargo.toml", "--", "--draw", "--out", arguments.out]
        subprocess.run(draw, check=True)


if __name__ == "__main__":
    main()
