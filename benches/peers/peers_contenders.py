"""The contenders of peers.py: FAISS, DuckDB and SQLite; Postgres is in peers_postgres.py.

Each contender is built (which returns the bytes on disk, if any), finished (opened from its file, if
it has one) and queried. `prepare` converts queries to the input format of `ask`, so that the time
does not include the conversion of numbers into Python objects.
"""

import os
import platform
import sqlite3
import statistics
import sys
import time

import numpy

from peers_postgres import PostgresContender, obstacle, server_version

BLOCKS = range(4)
MASK = (1 << 64) - 1


class InProcess:
    """The common part of contenders that answer in this process."""

    def processor_time(self):
        return time.process_time()

    def close(self):
        pass


class FaissContender(InProcess):
    """A binary index. The radius of its range search is exclusive, so it gets k + 1."""

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
        """Seconds to read the index from a file, and seconds of Python overhead."""
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


class SqliteContender(InProcess):
    """A database file with a table for each block, sorted by block and value."""

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
        return self.path.stat().st_size

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
        # CROSS JOIN fixes the join order: one look-up per query.
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


class DuckdbContender(InProcess):
    """A database file with a table that has a column and an index for each block."""

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
        return self.path.stat().st_size

    def finish(self, folder):
        start = time.perf_counter()
        self.base = self.duckdb.connect(str(self.path), config={"threads": 1})
        self.base.execute("SELECT 1").fetchall()
        seconds = time.perf_counter() - start
        near = f"bit_count(xor({{}}, {{}})) <= {self.k}"
        # DuckDB uses an index only for a condition that is a single equality, so each block has its
        # own SELECT. Without MATERIALIZED it evaluates them twice.
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


def say(text):
    print(text, file=sys.stderr)


def rows(values):
    """Fingerprints in FAISS's format: eight bytes each."""
    return values.view(numpy.uint8).reshape(-1, 8)


def block_of(values, block):
    return (values >> numpy.uint64(48 - 16 * block) & numpy.uint64(0xFFFF)).astype(numpy.int64)


def contenders(k):
    """The contenders with installed packages, and their versions."""
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
        say(f"DuckDB, SQLite and Postgres are left out: four blocks answer k = 3, not {k}")
        return found, versions
    try:
        import duckdb

        versions["duckdb"] = duckdb.__version__
        found.append(DuckdbContender(duckdb, k))
    except ImportError:
        say("DuckDB is left out: pip install duckdb")
    versions["sqlite"] = sqlite3.sqlite_version
    found.append(SqliteContender(k))
    reason = obstacle()
    if reason:
        say(f"Postgres is left out: {reason}")
    else:
        versions["postgres"] = server_version()
        found += [PostgresContender(k, with_ids) for with_ids in (False, True)]
    return found, versions
