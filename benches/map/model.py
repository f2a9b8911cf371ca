"""The model: predicts costs at n fingerprints from operation counts and measured constants.

Each quantity is a sum of counts times costs. The counts follow from n: table lines, pages, passes,
inserts into hash tables. `plan` reports the counts of a query and the bytes; the counts of a join
follow the rule by which the library chooses its blocking. The costs are the unit costs of the
program, times one factor per quantity, measured at 10^7 and 10^8 (`measured`); a comment at each
constant names its source. `k` is 3 and the scheme two halves throughout.
"""

import dataclasses
import json
import math
import statistics
import subprocess

PAGE, LINE = 4096, 64
# Queries of a batch.
BATCH = 10**6
# src/plan/unit_costs.rs, nanoseconds: a query; each of its steps, named as in `plan`; an access to
# a random cache line among 2^18, 2^20, ... 2^30 bytes. WAITED counts the other cache misses of a
# query.
QUERY = 53.4
STEPS = {"tables": 54.5, "probes": 4.8, "blocks": 2.0, "chunks": 12.0, "whole_chunks": 51.5,
         "ranges": 5.2, "heads_passed": 0.33, "heads_compared": 0.8, "extra_bytes": 0.1,
         "candidates": 11.3}
TOUCH_BITS = (18, 20, 22, 24, 26, 28, 30)
TOUCH = (0.0, 0.2, 1.5, 4.6, 8.0, 14.5, 22.0)
WAITED = 36
# src/join/engine/costs.rs and blocking.rs, nanoseconds: inserting a value into a hash table and
# comparing two values of it, if few values agree on the first block (FEW) and if the table is
# larger than the cache (MANY); moving a value to its partition.
FEW, MANY, MOVE = (3.5, 1.0), (11.0, 0.3), 5.0
# src/join/engine/hash_table.rs: the limit for "few values".
FEW_VALUES = 1 << 14
# src/join/engine/finder.rs: values of a partition that fit into a core's cache; the largest number
# of partitions.
CACHED_VALUES, PARTITIONS = 1 << 13, 1 << 10
# src/join/engine/cut.rs: the number of first blocks that are the leading block of a table, so that
# its order replaces the partitions.
LED = 2
# src/join/batch/query_batch.rs: the cost of a probe that follows its neighbour in the table.
SORTED = 0.5


def schemes(program, n):
    """The planner's rows at n random fingerprints, keyed by scheme name."""
    said = subprocess.run([program, "plan", "-n", str(int(n)), "-k", "3", "--all", "--format", "json"],
                          check=True, capture_output=True).stdout
    return {each["name"]: each for each in json.loads(said)["schemes"]}


@dataclasses.dataclass
class Blocking:
    """Blocking of a self-join of n values: compared values agree on `agreeing` of all blocks."""

    blocks: int
    agreeing: int
    firsts: int
    combinations: int
    candidates: float
    is_grouped: bool  # are the hash tables larger than the cache?

    @staticmethod
    def choose(n):
        """The cheapest blocking for hash tables, according to the costs of the library."""
        return min((Blocking.of(n, agreeing) for agreeing in (1, 2, 3, 4)),
                   key=lambda each: n * each.firsts * MOVE + each.compared(n))

    @staticmethod
    def of(n, agreeing):
        blocks = 3 + agreeing
        combinations = math.comb(blocks, agreeing)
        candidates = combinations * n * n / 2 / 2 ** (64 * agreeing / blocks)
        is_grouped = n / 2 ** (64 / blocks) > FEW_VALUES
        return Blocking(blocks, agreeing, blocks - agreeing + 1, combinations, candidates, is_grouped)

    def compared(self, n):
        """Nanoseconds of hash-table work."""
        insert, candidate = MANY if self.is_grouped else FEW
        return self.combinations * n * insert + self.candidates * candidate

    def moves(self, n):
        """Number of moves of values to partitions. For each first block that leads no table, each
        value is moved once, or twice if there are more than 2^10 partitions."""
        return n * (self.firsts - LED) * (2 if n > CACHED_VALUES * PARTITIONS else 1)

    def more_reads(self, n, memory):
        """Number of additional passes over the values, which is 0 if all fit into memory: one in
        the order of the first table, and some for each first block that leads no table."""
        passes = math.ceil(8 * n / memory)
        return 0 if passes == 1 else 1 + (self.firsts - LED) * passes


def touch(footprint):
    """Nanoseconds of a random access to a cache line, by the size of the memory region.

    Like the planner, uses the cost at 2^30 bytes for larger regions.
    """
    place = min(max(math.log2(max(footprint, 1)), TOUCH_BITS[0]), TOUCH_BITS[-1] - 1e-9)
    at = int((place - TOUCH_BITS[0]) // 2)
    share = (place - TOUCH_BITS[at]) / 2
    return TOUCH[at] * (1 - share) + TOUCH[at + 1] * share


def query_steps(row):
    """Nanoseconds of the steps of a query without cache misses, and the number of cache misses."""
    steps = QUERY + sum(cost * row[name] for name, cost in STEPS.items())
    return steps, row["lines"] + row["blocks"] + row["candidates"] + WAITED


def distinct(cells, touches):
    """Expected number of distinct cells that `touches` random accesses to `cells` cells reach."""
    return cells * -math.expm1(-touches / cells)


class Model:
    """Costs from rows at 10^7 and 10^8, and the predictions from them."""

    def __init__(self, program, rows, join):
        self.program, self.plans = program, {}
        # The cost of a query on this machine, relative to the unit costs of the program.
        self.speed = statistics.median(row["query"] * 1e3 / self.planned_nanos(row["n"]) for row in rows)
        self.page = statistics.median(row["page"] for row in rows)
        small, large = rows[0], rows[-1]
        # Cost per query of a batch in addition to its steps: reading, sorting, and printing the
        # answer.
        each = self.speed * query_steps(self.plan(small["n"]))[0] / 1e9
        self.answer = max(0.0, (small["batch"] - self.batch_store(small["n"])) / BATCH - each)
        # External sort: records and the second table are written, read and merged once.
        self.build_nanos = large["build"] / large["n"] * 1e9
        # The cost of a join on this machine, relative to the unit costs: `join_speed` if few values
        # agree on a block, `grouped_speed` if hash tables are larger than the cache.
        speed_of = lambda row: row["pairs"] / self.join_seconds(row["n"])
        self.join_speed = statistics.median(speed_of(row) for row in rows)
        self.grouped_speed = speed_of(join)
        self.read = large["read"]

    def plan(self, n):
        if n not in self.plans:
            self.plans[n] = schemes(self.program, n)["halves"]
        return self.plans[n]

    def planned_nanos(self, n):
        """Nanoseconds of a warm query according to the unit costs of the program."""
        row = self.plan(n)
        steps, lines = query_steps(row)
        return steps + lines * touch(row["hot_len"])

    def bytes(self, n):
        return self.plan(n)["tables_len"]

    def query(self, n):
        """Microseconds of one warm query."""
        return self.speed * self.planned_nanos(n) / 1e3

    def pages(self, n, queries):
        """Number of distinct pages of the store that a batch accesses."""
        row = self.plan(n)
        hot, tails = row["hot_len"], row["tables_len"] - row["hot_len"]
        return (distinct(hot / PAGE, queries * (row["cold_pages"] - row["tail_pages"]))
                + distinct(tails / PAGE, queries * row["tail_pages"]))

    def batch_store(self, n):
        """Seconds for the distinct table lines and pages of the store that a batch accesses.

        A sorted batch reads each line once for all its queries, in ascending order.
        """
        row = self.plan(n)
        touched = BATCH * (row["lines"] + row["blocks"] + row["candidates"])
        lines = distinct(row["tables_len"] / LINE, touched)
        waiting = SORTED * self.speed * lines * touch(row["hot_len"])
        return waiting / 1e9 + self.pages(n, BATCH) * self.page / 1e6

    def batch(self, n):
        """Processor seconds of a batch from a file, including page faults."""
        each = self.speed * query_steps(self.plan(n))[0] / 1e9 + self.answer
        return BATCH * each + self.batch_store(n)

    @staticmethod
    def join_seconds(n):
        """Seconds of a join according to the costs of the library."""
        way = Blocking.choose(n)
        return (way.moves(n) * MOVE + way.compared(n)) / 1e9

    def pairs(self, n, memory):
        """Processor seconds of all pairs; the store is read repeatedly if it does not fit into memory."""
        way = Blocking.choose(n)
        speed = self.grouped_speed if way.is_grouped else self.join_speed
        return speed * self.join_seconds(n) + way.more_reads(n, memory) * n * self.read / 1e9

    def build(self, n):
        """Processor seconds of a build with memory for half of its input."""
        return self.build_nanos * n / 1e9

    def cold_pages(self, n):
        """Pages read by a query with an empty page cache, and with index and heads in memory."""
        return self.plan(n)["cold_pages"], self.plan(n)["tail_pages"]
