#!/usr/bin/env python3
"""FAISS, DuckDB and SQLite on the files that `fpstore-peers --write-files DIR` wrote.

    pip install faiss-cpu duckdb        # who is missing is said and left out
    python3 peers.py DIR --out results

The same measures as the Rust harness takes, one line of JSON each, added to
OUT/peers.jsonl; then tables and pictures are drawn anew. Contenders take turns among
themselves; fpstore is not in this process, so ratios to it stand in brackets.
"""

import argparse
import ctypes
import datetime
import gc
import json
import os
import pathlib
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy
except ImportError:
    sys.exit("peers.py: numpy is missing: pip install numpy")

QUERIES = 30_000
FEW = 10
QUERIES_MIN = 12
BLOCKS = range(4)
MASK = (1 << 64) - 1


class FaissContender:
    """A binary index. Its range search takes what is *below* a radius, so it gets k + 1."""

    package = "faiss-cpu"

    def __init__(self, faiss, name, make, settings, k):
        self.faiss, self.name, self.make, self.radius = faiss, name, make, k + 1
        self.settings = settings

    def build(self, values, folder):
        self.values = values
        self.faiss.omp_set_num_threads(1)
        self.index = self.make()
        self.index.add(rows(values))
        return None

    def finish(self, folder):
        """Seconds to read it from a file; and what the way through Python takes."""
        path = str(folder / self.name)
        self.faiss.write_index_binary(self.index, path)
        start = time.perf_counter()
        self.faiss.read_index_binary(path)
        seconds = time.perf_counter() - start
        os.unlink(path)
        empty, one, times = self.make(), rows(self.values[:1]), []
        for _ in range(300):
            begin = time.perf_counter()
            empty.range_search(one, self.radius)
            times.append(time.perf_counter() - begin)
        self.settings += f"; {statistics.median(times) * 1e6:.1f} us of a query pass in Python"
        return seconds

    def prepare(self, needles):
        array = rows(needles)
        return [array[at : at + 1] for at in range(len(array))]

    def ask(self, needle):
        return int(self.index.range_search(needle, self.radius)[0][1])

    def found(self, needle):
        ids = self.index.range_search(needle, self.radius)[2]
        return [int(value) for value in self.values[ids]]

    def ask_many(self, needles):
        return int(self.index.range_search(rows(needles), self.radius)[0][-1])


class SqliteContender:
    """A table for each block, in the order of block and value, in a file."""

    package = "sqlite"
    name = "sqlite"
    settings = "four tables (block, value) without rowid; popcount by a Python function; 1 GiB cache"

    def __init__(self, k):
        self.k = k

    def build(self, values, folder):
        self.path = folder / "peers.sqlite"
        base = self.connect()
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("PRAGMA synchronous = OFF")
        for block in BLOCKS:
            base.execute(
                f"CREATE TABLE t{block} (b INTEGER, v INTEGER, PRIMARY KEY (b, v)) WITHOUT ROWID"
            )
            order = numpy.lexsort((values.view(numpy.int64), block_of(values, block)))
            pairs = zip(
                block_of(values, block)[order].tolist(), values.view(numpy.int64)[order].tolist()
            )
            base.executemany(f"INSERT INTO t{block} VALUES (?, ?)", pairs)
        base.commit()
        base.execute("ANALYZE")
        base.commit()
        base.close()
        return self.path

    def connect(self):
        k = self.k
        base = sqlite3.connect(self.path)
        base.execute("PRAGMA cache_size = -1048576")
        base.execute("PRAGMA mmap_size = 17179869184")
        near = lambda a, b: ((a ^ b) & MASK).bit_count() <= k
        base.create_function("near", 2, near, deterministic=True)
        return base

    def finish(self, folder):
        start = time.perf_counter()
        self.base = self.connect()
        self.base.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        seconds = time.perf_counter() - start
        parts = [f"SELECT v FROM t{b} WHERE b = ?{b + 2} AND near(v, ?1)" for b in BLOCKS]
        self.one = " UNION ".join(parts)
        # CROSS JOIN keeps the order: a look-up for each query.
        parts = [
            f"SELECT q.v, t.v FROM q CROSS JOIN t{b} t ON t.b = q.b{b} WHERE near(t.v, q.v)"
            for b in BLOCKS
        ]
        self.many = f"SELECT count(*) FROM ({' UNION '.join(parts)})"
        self.base.execute("CREATE TEMP TABLE q (v, b0, b1, b2, b3)")
        return seconds

    def prepare(self, needles):
        signed = needles.view(numpy.int64)
        return list(zip(signed.tolist(), *(block_of(needles, b).tolist() for b in BLOCKS)))

    def ask(self, needle):
        return len(self.base.execute(self.one, needle).fetchall())

    def found(self, needle):
        return [value & MASK for (value,) in self.base.execute(self.one, needle)]

    def ask_many(self, needles):
        self.base.execute("DELETE FROM q")
        self.base.executemany("INSERT INTO q VALUES (?, ?, ?, ?, ?)", self.prepare(needles))
        return self.base.execute(self.many).fetchall()[0][0]


class DuckdbContender:
    """A table with a column and an index for each block, in a file."""

    package = "duckdb"
    name = "duckdb"
    settings = "one table, four blocks with an index each for single queries, hash joins for many"

    def __init__(self, duckdb, k):
        self.duckdb, self.k = duckdb, k

    def build(self, values, folder):
        self.path = folder / "peers.duckdb"
        base = self.duckdb.connect(str(self.path), config={"threads": 1})
        drawn = {"v": values}
        blocks = ", ".join(f"(v >> {48 - 16 * b} & 65535)::USMALLINT AS b{b}" for b in BLOCKS)
        base.register("drawn", drawn)
        base.execute(f"CREATE TABLE f AS SELECT v::UBIGINT AS v, {blocks} FROM drawn")
        for block in BLOCKS:
            base.execute(f"CREATE INDEX i{block} ON f (b{block})")
        base.execute("CHECKPOINT")
        base.close()
        return self.path

    def finish(self, folder):
        start = time.perf_counter()
        self.base = self.duckdb.connect(str(self.path), config={"threads": 1})
        self.base.execute("SELECT 1").fetchall()
        seconds = time.perf_counter() - start
        near = f"bit_count(xor({{}}, {{}})) <= {self.k}"
        # The equality alone, or no index is used; without MATERIALIZED the two are joined again.
        parts = [f"SELECT v FROM f WHERE b{b} = ?::USMALLINT" for b in BLOCKS]
        self.one = (
            f"WITH c AS MATERIALIZED ({' UNION ALL '.join(parts)}) "
            f"SELECT DISTINCT v FROM c WHERE {near.format('v', '?::UBIGINT')}"
        )
        parts = [
            f"SELECT q.v AS qv, f.v AS fv FROM q JOIN f ON f.b{b} = q.b{b} WHERE {near.format('f.v', 'q.v')}"
            for b in BLOCKS
        ]
        self.many = f"SELECT count(*) FROM ({' UNION '.join(parts)})"
        return seconds

    def prepare(self, needles):
        blocks = [block_of(needles, b).tolist() for b in BLOCKS]
        plain = needles.tolist()
        return [[*(block[at] for block in blocks), plain[at]] for at in range(len(plain))]

    def ask(self, needle):
        return len(self.base.execute(self.one, needle).fetchall())

    def found(self, needle):
        return [value for (value,) in self.base.execute(self.one, needle).fetchall()]

    def ask_many(self, needles):
        blocks = {f"b{b}": block_of(needles, b).astype(numpy.uint16) for b in BLOCKS}
        self.base.register("q", {"v": needles, **blocks})
        return self.base.execute(self.many).fetchall()[0][0]


def rows(values):
    """Fingerprints as FAISS takes them: eight bytes each."""
    return values.view(numpy.uint8).reshape(-1, 8)


def block_of(values, block):
    return (values >> numpy.uint64(48 - 16 * block) & numpy.uint64(0xFFFF)).astype(numpy.int64)


def contenders(k):
    """Those whose packages are here; and the versions."""
    found, versions = [], {"python": platform.python_version(), "numpy": numpy.__version__}
    try:
        import faiss

        versions["faiss-cpu"] = faiss.__version__

        def hashed(cls, flips, *arguments):
            index = cls(64, *arguments)
            index.nflip = flips
            return index

        flat = lambda: faiss.IndexBinaryFlat(64)
        one = lambda: hashed(faiss.IndexBinaryHash, k, 16)
        four = lambda: hashed(faiss.IndexBinaryMultiHash, 0, 4, 16)
        two = lambda: hashed(faiss.IndexBinaryMultiHash, 1, 2, 32)
        found.append(FaissContender(faiss, "faiss-flat", flat, "IndexBinaryFlat", k))
        settings = f"IndexBinaryHash, 16 bits, nflip {k}"
        found.append(FaissContender(faiss, "faiss-hash", one, settings, k))
        if k <= 3:
            settings = "IndexBinaryMultiHash, 4 x 16 bits, nflip 0"
            found.append(FaissContender(faiss, "faiss-4x16", four, settings, k))
            settings = "IndexBinaryMultiHash, 2 x 32 bits, nflip 1"
            found.append(FaissContender(faiss, "faiss-2x32", two, settings, k))
    except ImportError:
        say("FAISS is left out: pip install faiss-cpu")
    if k > 3:
        say(f"DuckDB and SQLite are left out: four blocks answer k = 3, not {k}")
        return found, versions
    try:
        import duckdb

        versions["duckdb"] = duckdb.__version__
        found.append(DuckdbContender(duckdb, k))
    except ImportError:
        say("DuckDB is left out: pip install duckdb")
    versions["sqlite"] = sqlite3.sqlite_version
    found.append(SqliteContender(k))
    return found, versions


def memory():
    """Bytes that the process has in memory, given back what it can give back."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        pass
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def build(contender, values, folder):
    """Builds it and says what that cost."""
    before, start = memory(), time.perf_counter()
    path = contender.build(values, folder)
    seconds = time.perf_counter() - start
    grown = max(memory() - before, 0)
    open_seconds = contender.finish(folder)
    return {
        "bytes": path.stat().st_size if path else grown,
        "resident_bytes": None if path else grown,
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
    """Rounds in turn; a list of measures for each."""
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
        # A join of two tables costs little more for more queries, so trials grow until one is long.
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
            cpu = time.process_time()
            for needle in prepared[:singles]:
                start = time.perf_counter_ns()
                matches = contender.ask(needle)
                times.append((max(time.perf_counter_ns() - start - clock, 0) / 1000, matches))
            loop = singles / max(time.process_time() - cpu, 1e-9)
            cpu = time.process_time()
            matches = contender.ask_many(batch)
            many = len(batch) / max(time.process_time() - cpu, 1e-9)
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
    """Recall, and how many answers are wrong or given twice."""
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
        results = measure(built, queries, count, arguments.rounds, arguments.seconds)
        arguments.out.mkdir(parents=True, exist_ok=True)
        with open(arguments.out / "peers.jsonl", "a") as out:
            for (contender, cost), rounds in zip(built, results):
                recall, wrong = check(contender, queries, truth)
                used = {"python", "numpy", contender.package}
                row = line(case, contender, cost, rounds, recall, wrong)
                row["versions"] = {name: versions[name] for name in sorted(used & set(versions))}
                out.write(json.dumps(row) + "\n")


def line(case, contender, cost, rounds, recall, wrong):
    """What `Row` of the Rust harness is."""
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


def say(text):
    print(text, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="what --write-files wrote to")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each part of a round")
    names = lambda text: text.split(",")
    parser.add_argument("--only", type=names, default=[], help="NAME,NAME")
    parser.add_argument("--leave-out", type=names, default=[], help="NAME,NAME")
    parser.add_argument("--no-draw", action="store_true", help="leave tables and pictures be")
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
