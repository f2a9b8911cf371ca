"""Measures the program at one number of fingerprints: the constants of the model.

All measurements use the commands of the program, so they need only the program, Python and NumPy.
Processor time is user plus system time, as the system reports it for the process and its threads.
All fingerprints are random with a fixed seed.
"""

import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

import numpy as np

SEED = 20261126
PAGE = 4096
# Bytes in a unit of the system's read counter.
BLOCK = 512
# Bytes of memory per fingerprint, chosen so that work does not fit into memory: 4 GiB at 10^9.
TIGHT = 4.295
# Query fingerprints per run of single queries. Each run uses other query fingerprints, so that no
# cache contains the answers.
NEEDLES = 400_000
QUERY_TURNS = 7
COLD_QUERIES = 40


def tight_memory(n):
    """Bytes of memory that are too few for the work on n fingerprints."""
    return max(64 << 20, int(TIGHT * n))


def write_random(path, count, seed):
    """Writes random fingerprints as 8 bytes each, 2^22 fingerprints at a time."""
    source = np.random.default_rng(seed)
    with open(path, "wb") as out:
        for start in range(0, count, 1 << 22):
            some = min(1 << 22, count - start)
            out.write(source.integers(0, 1 << 64, some, dtype=np.uint64).tobytes())


def run(command, allowed=(0, 1), **options):
    """Runs a command and returns its wall-clock and processor seconds, the number of voluntary thread
    switches, the bytes read from a disk, and its output."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(list(map(str, command)), stderr=subprocess.PIPE, check=False, **options)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = done.stderr.decode()
    if done.returncode not in allowed:
        raise SystemExit(f"{' '.join(map(str, command))}: {said}")
    of = lambda name: getattr(after, name) - getattr(before, name)
    return {"seconds": seconds, "cpu": of("ru_utime") + of("ru_stime"), "system": of("ru_stime"),
            "waits": of("ru_nvcsw"), "read": of("ru_inblock") * BLOCK, "said": said}


def median_cpu(rounds, measure):
    """Measures some rounds, and returns the round with the median processor time."""
    runs = sorted((measure() for _ in range(rounds)), key=lambda each: each["cpu"])
    return runs[len(runs) // 2]


def evict(path):
    """Drops the pages of a file from the page cache."""
    with open(path, "rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_back(path):
    """Reads a file to load its pages into memory."""
    with open(path, "rb", buffering=0) as opened:
        while opened.read(1 << 24):
            pass


def resident(path):
    """For each page of a file, whether it is in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    length = os.path.getsize(path)
    with open(path, "rb") as opened:
        mapped = mmap.mmap(opened.fileno(), length, prot=mmap.PROT_READ)
        whole = np.frombuffer(mapped, dtype=np.uint8)
        pages = np.zeros(-(-length // PAGE), dtype=np.uint8)
        address = ctypes.c_void_p(whole.ctypes.data)
        if libc.mincore(address, ctypes.c_size_t(length), ctypes.c_void_p(pages.ctypes.data)) != 0:
            raise SystemExit(f"mincore of {path}: {os.strerror(ctypes.get_errno())}")
        del whole
        mapped.close()
    return pages & 1 == 1


@contextlib.contextmanager
def control_group(limit):
    """A control group with a memory limit that includes the page cache."""
    base = pathlib.Path("/sys/fs/cgroup/memory")
    name = "memory.limit_in_bytes"
    if not base.is_dir():
        base, name = pathlib.Path("/sys/fs/cgroup"), "memory.max"
    group = base / f"fpstore-bench-{os.getpid()}"
    group.mkdir()
    try:
        group.joinpath(name).write_text(str(limit))
        yield group
    finally:
        group.rmdir()


class At:
    """The program at `n` fingerprints, in a folder that the caller removes."""

    def __init__(self, program, folder, n, rounds):
        self.program, self.n, self.rounds = program, n, rounds
        self.folder = pathlib.Path(folder)
        self.input, self.store = self.folder / f"{n}.u64", self.folder / f"{n}.fps"

    def all(self):
        """Takes all measurements."""
        write_random(self.input, self.n, SEED)
        row = {"n": self.n}
        tight = f"{tight_memory(self.n)}B"
        row["build_spare"] = median_cpu(self.rounds, lambda: self.build("8GiB" if self.n < 5e7 else "4GiB"))
        row["build_tight"] = median_cpu(self.rounds, lambda: self.build(tight))
        segment = self.info()
        row["bytes"], row["tables"] = segment["file_len"], segment["tables"]
        row["query_micros"], *row["query_spread"] = self.single_queries()
        row["scan_nanos"], row["page_micros"] = self.scans()
        row["batch"] = {q: self.batch(q) for q in (100_000, 1_000_000)}
        row["pairs_spare"] = median_cpu(self.rounds, lambda: self.pairs("3GiB"))
        row["pairs_tight"] = median_cpu(self.rounds, lambda: self.pairs(tight))
        # This measurement is the last: an evicted file is reloaded in small pages, which slows down
        # queries of it.
        row["cold_pages"], row["cold_micros"] = self.cold()
        return row

    def build(self, memory):
        return run([self.program, "build", self.input, "--input-format", "u64le", "--scheme", "2",
                    "--memory", memory, "--temp-dir", self.folder, "-f", "-s", self.store],
                   allowed=(0,))

    def segment(self, store=None):
        return next((store or self.store).glob("*.fps"))

    def info(self):
        """Information about the segment."""
        said = subprocess.run([self.program, "info", "-s", self.store, "--format", "json"],
                              check=True, capture_output=True).stdout
        return json.loads(said)["segments"][0]

    def needles(self, count, seed):
        """Query fingerprints: a third stored, a third stored with 1 to 3 flips, a third random."""
        source = np.random.default_rng(seed)
        stored = np.memmap(self.input, dtype=np.uint64, mode="r")
        chosen = np.array(stored[np.sort(source.integers(0, self.n, count))])
        source.shuffle(chosen)
        third = count // 3
        for at in range(third, 2 * third):
            for bit in source.choice(64, source.integers(1, 4), replace=False):
                chosen[at] ^= np.uint64(1 << int(bit))
        chosen[2 * third:] = source.integers(0, 1 << 64, count - 2 * third, dtype=np.uint64)
        source.shuffle(chosen)
        return chosen

    def ask(self, store, needles, **options):
        """Runs a process that queries all needles one by one; returns its costs."""
        lines = "".join(f"{each:016x}\n" for each in needles.tolist()).encode()
        return run([self.program, "query", "-", "-s", store, "-k", "3", "--access", "map"],
                   input=lines, stdout=subprocess.DEVNULL, **options)

    def single_queries(self):
        """Processor microseconds of a single warm query: median, minimum, maximum.

        The needles are random, so nothing is printed. The time of a warm query is the difference
        between a process that runs the needles twice and a process that runs them once: startup,
        opening and page faults cancel out. The time to read a line is measured with the same lines
        on a store of one fingerprint, and subtracted.
        """
        small = self.folder / "small.fps"
        subprocess.run([self.program, "build", "-", "-s", small, "-f", "-q"], check=True,
                       input=b"0123456789abcdef\n")
        warm = []
        for turn in range(QUERY_TURNS):
            some = np.random.default_rng(SEED + 1 + turn).integers(0, 1 << 64, NEEDLES, dtype=np.uint64)
            twice = np.concatenate([some, some])
            here, lines = (self.ask(store, twice)["cpu"] - self.ask(store, some)["cpu"]
                           for store in (self.store, small))
            warm.append((here - lines) / NEEDLES * 1e6)
        return statistics.median(warm), min(warm), max(warm)

    def scans(self):
        """Nanoseconds to decode and compare a value, and microseconds of the first access to a page.

        At k = 22 a query scans one table. The second scan of a process measures decoding; the first
        scan also includes page faults and the verification of all checksums.
        """
        needles = [f"{0x123456789abcdef * (at + 1) % 2**64:016x}" for at in range(4)]
        def cpu(count):
            return median_cpu(3, lambda: run(
                [self.program, "query", *needles[:count], "-s", self.store, "-k", "22", "--limit", "1"],
                stdout=subprocess.DEVNULL))["cpu"]
        one, four = cpu(1), cpu(4)
        scan = (four - one) / 3
        pages = os.path.getsize(self.segment()) / 2 / PAGE
        return scan / self.n * 1e9, (one - scan) / pages * 1e6

    def batch(self, count):
        """Processor seconds of a batch of `count` queries from a file, with discarded output."""
        questions = self.folder / "questions.u64"
        questions.write_bytes(self.needles(count, SEED + 100).tobytes())
        return median_cpu(max(3, self.rounds), lambda: run(
            [self.program, "query", "--from", questions, "--input-format", "u64le", "-s",
             self.store, "-k", "3"], stdout=subprocess.DEVNULL))

    def pairs(self, memory):
        return run([self.program, "pairs", self.store, "-k", "3", "--distinct", "--memory", memory,
                    "--temp-dir", self.folder, "-q"], stdout=subprocess.DEVNULL)

    def cold(self, store=None, seed=SEED + 50, hot=()):
        """Pages of the file that a query loads into memory, and its wall-clock microseconds."""
        pages, micros = self.cold_pages(store, seed, hot)
        return pages.sum(), micros

    def cold_pages(self, store=None, seed=SEED + 50, hot=()):
        """For each page of the file, how often a query loads it into memory on average; and the
        microseconds of a query. The bytes of the ranges `hot` are in memory before."""
        segment = self.segment(store)
        counts, micros = [], []
        for needles in (self.needles(3, seed), self.needles(COLD_QUERIES, seed + 1)):
            evict(segment)
            with open(segment, "rb", buffering=0) as opened:
                # Without readahead, no page after a range is read.
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                for start, end in hot:
                    opened.seek(start)
                    opened.read(end - start)
            before = resident(segment)
            micros.append(self.ask(store or self.store, needles)["seconds"] * 1e6)
            counts.append(resident(segment).astype(int) - before)
        between = COLD_QUERIES - 3
        return (counts[1] - counts[0]) / between, (micros[1] - micros[0]) / between


def join_row(program, n, folder=None):
    """An in-memory join of n fingerprints: measures hash tables that are larger than the cache."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        at = At(program, scratch, n, 1)
        write_random(at.input, n, SEED)
        at.build(f"{5 * n}B")
        at.input.unlink()
        return {"n": n, "pairs_spare": at.pairs(f"{int(8.5 * n)}B")}


def measure(program, counts, rounds_of, folder=None):
    """Returns a row for each number of fingerprints."""
    rows = []
    for n in counts:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            rows.append(At(program, scratch, n, rounds_of(n)).all())
    return rows
