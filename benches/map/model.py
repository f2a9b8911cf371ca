"""The model: what work takes at n fingerprints, from its causes and measured constants.

Each quantity is a sum of counts times costs. The counts follow from n: table lines, pages, passes,
inserts into hash tables. `plan` says those of a query and the bytes; those of a join follow the rule
by which the library chooses its blocking. The costs are those that the program itself counts with,
times one factor for each quantity that is measured at 10^7 and 10^8 (`measured`); each has its
source beside it. `k` is 3 and the scheme two halves throughout.
"""

import dataclasses
import json
import math
import statistics
import subprocess

PAGE, LINE = 4096, 64
# Queries of a batch.
BATCH = 10**6
# src/plan/unit_costs.rs, nanoseconds: a query, each of its steps by their names in `plan`, and a
# cache line among 2^18, 2^20, ... 2^30 bytes; lines that a query waits for beside those it reads.
QUERY = 53.4
STEPS = {"tables": 54.5, "probes": 4.8, "blocks": 2.0, "chunks": 12.0, "whole_chunks": 51.5,
         "ranges": 5.2, "heads_passed": 0.33, "heads_compared": 0.8, "extra_bytes": 0.1,
         "candidates": 11.3}
TOUCH_BITS = (18, 20, 22, 24, 26, 28, 30)
TOUCH = (0.0, 0.2, 1.5, 4.6, 8.0, 14.5, 22.0)
WAITED = 36
# src/join/engine/costs.rs and blocking.rs, nanoseconds: insert a value into a hash table and compare
# two values in it, where few values agree on the first block, and where they leave the cache; move a
# value to its partition.
FEW, MANY, MOVE = (3.5, 1.0), (11.0, 0.3), 5.0
# src/join/engine/hash_table.rs: the few.
FEW_VALUES = 1 << 14
# src/join/engine/finder.rs: values of a partition that stay in a core's cache; the most partitions.
CACHED_VALUES, PARTITIONS = 1 << 13, 1 << 10
# src/join/engine/cut.rs: first blocks with which one of the two tables leads.
LED = 2
# src/join/batch/query_batch.rs: the cost of a probe after its neighbour in the table.
SORTED = 0.5


def schemes(program, n):
    """The planner's rows at n random fingerprints, by the names of schemes."""
    said = subprocess.run([program, "plan", "-n", str(int(n)), "-k", "3", "--all", "--format", "json"],
                          check=True, capture_output=True).stdout
    return {each["name"]: each for each in json.loads(said)["schemes"]}


@dataclasses.dataclass
class Blocking:
    """How a join of n values with themselves is divided: pairs agree on `agreeing` of `blocks`."""

    blocks: int
    agreeing: int
    firsts: int
    combinations: int
    candidates: float
    is_grouped: bool  # beyond the cache

    @staticmethod
    def choose(n):
        """The cheapest blocking into hash tables, by the costs of the library."""
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
        """Nanoseconds of the hash tables."""
        insert, candidate = MANY if self.is_grouped else FEW
        return self.combinations * n * insert + self.candidates * candidate

    def moves(self, n):
        """Moves of a value to a partition: once for each first block, twice beyond 2^10 partitions;
        not for those that a table leads with."""
        return n * (self.firsts - LED) * (2 if n > CACHED_VALUES * PARTITIONS else 1)

    def more_reads(self, n, memory):
        """How often the values are read again, if not all fit: for each pass over each first block, and
        in the order of the first table."""
        passes = math.ceil(8 * n / memory)
        return 0 if passes == 1 else 1 + (self.firsts - LED) * passes


def touch(footprint):
    """Nanoseconds for a cache line in random order, by the bytes among which it lies.

    As the planner, which knows no more than 2^30 bytes: beyond, the cost stays.
    """
    place = min(max(math.log2(max(footprint, 1)), TOUCH_BITS[0]), TOUCH_BITS[-1] - 1e-9)
    at = int((place - TOUCH_BITS[0]) // 2)
    share = (place - TOUCH_BITS[at]) / 2
    return TOUCH[at] * (1 - share) + TOUCH[at + 1] * share


def query_steps(row):
    """Nanoseconds for the steps of a query in the cache, and how many lines it waits for."""
    steps = QUERY + sum(cost * row[name] for name, cost in STEPS.items())
    return steps, row["lines"] + row["blocks"] + row["candidates"] + WAITED


def distinct(cells, touches):
    """How many of `cells` cells are touched at least once."""
    return cells * -math.expm1(-touches / cells)


class Model:
    """Costs from rows at 10^7 and 10^8, and what they predict."""

    def __init__(self, program, rows, join):
        self.program, self.plans = program, {}
        # What this machine takes, as times the unit costs of the program.
        self.speed = statistics.median(row["query"] * 1e3 / self.planned_nanos(row["n"]) for row in rows)
        self.page = statistics.median(row["page"] for row in rows)
        small, large = rows[0], rows[-1]
        # What a query of a batch takes beside its steps: to be read, sorted, and its answer printed.
        each = self.speed * query_steps(self.plan(small["n"]))[0] / 1e9
        self.answer = max(0.0, (small["batch"] - self.batch_store(small["n"])) / BATCH - each)
        # Sorting beyond memory: records and the second table are written, read and merged once.
        self.build_nanos = large["build"] / large["n"] * 1e9
        # What a join takes here, as times the unit costs: where few values agree, and beyond the cache.
        speed_of = lambda row: row["pairs"] / self.join_seconds(row["n"])
        self.join_speed = statistics.median(speed_of(row) for row in rows)
        self.grouped_speed = speed_of(join)
        self.read = large["read"]

    def plan(self, n):
        if n not in self.plans:
            self.plans[n] = schemes(self.program, n)["halves"]
        return self.plans[n]

    def planned_nanos(self, n):
        """Nanoseconds of a warm query by the unit costs of the program."""
        row = self.plan(n)
        steps, lines = query_steps(row)
        return steps + lines * touch(row["hot_len"])

    def bytes(self, n):
        return self.plan(n)["tables_len"]

    def query(self, n):
        """Microseconds of one warm query."""
        return self.speed * self.planned_nanos(n) / 1e3

    def pages(self, n, queries):
        """Pages of the store that queries touch, each counted once."""
        row = self.plan(n)
        hot, tails = row["hot_len"], row["tables_len"] - row["hot_len"]
        return (distinct(hot / PAGE, queries * (row["cold_pages"] - row["tail_pages"]))
                + distinct(tails / PAGE, queries * row["tail_pages"]))

    def batch_store(self, n):
        """Seconds for the lines and pages of the store that a batch touches, each once.

        A sorted batch touches a line once, whoever of its queries asks for it, and goes forward.
        """
        row = self.plan(n)
        touched = BATCH * (row["lines"] + row["blocks"] + row["candidates"])
        lines = distinct(row["tables_len"] / LINE, touched)
        waiting = SORTED * self.speed * lines * touch(row["hot_len"])
        return waiting / 1e9 + self.pages(n, BATCH) * self.page / 1e6

    def batch(self, n):
        """Processor seconds of a batch, from a file, pages touched first."""
        each = self.speed * query_steps(self.plan(n))[0] / 1e9 + self.answer
        return BATCH * each + self.batch_store(n)

    @staticmethod
    def join_seconds(n):
        """Seconds of a join by the costs of the library."""
        way = Blocking.choose(n)
        return (way.moves(n) * MOVE + way.compared(n)) / 1e9

    def pairs(self, n, memory):
        """Processor seconds of all pairs; the store is read again where it does not fit."""
        way = Blocking.choose(n)
        speed = self.grouped_speed if way.is_grouped else self.join_speed
        return speed * self.join_seconds(n) + way.more_reads(n, memory) * n * self.read / 1e9

    def build(self, n):
        """Processor seconds of a build in half of the bytes of its input."""
        return self.build_nanos * n / 1e9

    def cold_pages(self, n):
        """Pages of a query when nothing is in memory, and when the index and heads are."""
        return self.plan(n)["cold_pages"], self.plan(n)["tail_pages"]
