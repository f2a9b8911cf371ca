"""Four ways to store 8 * 10^9 fingerprints, computed from the model and some assumptions.

The constants below list all unmeasured assumptions: the disk, and the network between machines,
which were not available. Processor seconds refer to one core of the measured machine.
"""

from model import Blocking

N = 8 * 10**9
GIB = 1 << 30

# Assumption: the bytes that an NVMe disk sequentially reads and writes in a second.
DISK_RATE = 2e9
# docs/measurements/queries.md: 0.09 ms a query at 10^8 with index and heads in memory, which reads
# 3.2 pages of tails from disk; pages are prefetched.
TAIL_PAGE_MICROS = 0.09e3 / 3.2
# docs/measurements/queries.md: 0.6 ms a query at 10^8 with a cold page cache, which reads 61 pages.
COLD_PAGE_MICROS = 0.6e3 / 61
# docs/measurements/server.md: processor microseconds of a request with one query.
REQUEST_MICROS = 17.5
# Bytes of temporary files for each fingerprint: `build` of 10^7 in 64 MiB reports 162.5 MiB. Each
# byte is written and read.
TEMPORARY_BYTES = 17.0
# The paper: map processes, seconds and input bytes of 10^6 queries against 8 * 10^9 fingerprints.
PAPER_MAPPERS, PAPER_SECONDS, PAPER_BYTES = 200, 100, 32e9


class Scaled:
    """The model, with each quantity multiplied by its prediction error at 10^9."""

    def __init__(self, model, factors):
        self.model, self.factors = model, factors
        self.plan, self.bytes, self.cold_pages = model.plan, model.bytes, model.cold_pages

    def query(self, n):
        return self.factors["query"] * self.model.query(n)

    def batch(self, n):
        return self.factors["batch"] * self.model.batch(n)

    def build(self, n):
        return self.factors["build"] * self.model.build(n)

    def pairs(self, n, memory):
        return self.factors["pairs"] * self.model.pairs(n, memory)


def build_disk(model, n):
    """Disk seconds: reading the input, writing and reading temporary files, and writing the store."""
    return n * (8 + 2 * TEMPORARY_BYTES) / DISK_RATE + model.bytes(n) / DISK_RATE


def one_large(model):
    """One machine with 128 GiB: the store is in memory, and 48 GiB remain for work."""
    cold, _ = model.cold_pages(N)
    return {
        "bytes": f"{model.bytes(N) / 1e9:.1f} GB",
        "build": f"{model.build(N):.0f} s; disk {build_disk(model, N):.0f} s",
        "query": f"{model.query(N):.1f} us",
        "batch": f"{model.batch(N):.0f} s",
        "pairs": f"{model.pairs(N, 48 * GIB):.0f} s",
        "cold": f"{cold:.0f} pages, {cold * COLD_PAGE_MICROS / 1e3:.1f} ms",
    }


def eight(model):
    """Eight machines, each with an eighth of the fingerprints, and 4 GiB of work memory."""
    part = N // 8
    cold, _ = model.cold_pages(part)
    # All pairs: each two of the eight parts are joined as one set, so pairs inside a part are found
    # seven times.
    pairs = 28 * model.pairs(2 * part, 4 * GIB)
    return {
        "bytes": f"8 of {model.bytes(part) / 1e9:.2f} GB",
        "build": f"8 of {model.build(part):.0f} s; disk {build_disk(model, part):.0f} s",
        "query": f"8 of {model.query(part):.1f} us and {REQUEST_MICROS} us a request",
        "batch": f"8 of {model.batch(part):.1f} s",
        "pairs": f"{pairs:.0f} s in 28 joins of two parts",
        "cold": f"8 of {cold:.0f} pages, {cold * COLD_PAGE_MICROS / 1e3:.1f} ms",
    }


def one_small(model):
    """One machine with 32 GiB and NVMe: index and heads in memory, tails on disk, 8 GiB for work."""
    row = model.plan(N)
    _, tails = model.cold_pages(N)
    # A join reads both tables sequentially. It reads the first table also to count its values, and
    # once for each pass over the blocks that lead no table.
    reads = 2 + Blocking.choose(N).more_reads(N, 8 * GIB)
    table = model.bytes(N) / 2
    return {
        "bytes": f"{model.bytes(N) / 1e9:.1f} GB, {row['hot_len'] / 1e9:.1f} in memory",
        "build": f"{model.build(N):.0f} s; disk {build_disk(model, N):.0f} s",
        "query": f"{model.query(N):.1f} us and {tails:.0f} pages of tails:"
                 f" {tails * TAIL_PAGE_MICROS / 1e3:.1f} ms",
        "batch": f"{model.batch(N):.0f} s; disk {model.bytes(N) / DISK_RATE:.0f} s",
        "pairs": f"{model.pairs(N, 8 * GIB):.0f} s; disk {reads * table / DISK_RATE:.0f} s",
        "cold": f"{row['cold_pages']:.0f} pages, {row['cold_pages'] * COLD_PAGE_MICROS / 1e3:.1f} ms",
    }


def report(model, factors):
    """Prints the costs of each way, and the main figure of the paper for comparison."""
    scaled = Scaled(model, factors)
    ways = {"128 GiB": one_large(scaled), "eight of 10^9": eight(scaled),
            "32 GiB, NVMe": one_small(scaled)}
    print("\nfactors by the rows at 10^9:", {what: round(each, 2) for what, each in factors.items()})
    print(f"\n## 8 * 10^9, processor seconds of one core\n\n| what | {' | '.join(ways)} |")
    print("|---|" + "---|" * len(ways))
    for what in ("bytes", "build", "query", "batch", "pairs", "cold"):
        print(f"| {what} | " + " | ".join(way[what] for way in ways.values()) + " |")
    batch, seconds = scaled.batch(N), PAPER_MAPPERS * PAPER_SECONDS
    print(f"\nthe paper: {PAPER_MAPPERS} mappers, under {PAPER_SECONDS} s: {seconds} s of mappers,"
          f" {PAPER_BYTES / 1e9:.0f} GB; here {batch:.0f} s of one core, 1 : {seconds / batch:.0f}")
    print(f"of the batch {model.batch_store(N) * factors['batch']:.0f} s are lines and pages")
