"""Bits per fingerprint: section 3.2 of the paper as a baseline, go-simstore, and fpstore.

The scheme of the paper: a table is sorted and divided into blocks of 1024 bytes. A block begins with
an uncompressed value. Each next value is stored as the Huffman code of the highest bit in which it
differs from its predecessor, followed by all lower bits. If the next value does not fit, a new block
begins. The paper also stores one key of 64 bits for each block.

go-simstore stores 64 bits per value, or with its option -z the blocks above with an additional
end-of-block code. Both sizes are computed here from its source, without running it.
"""

import heapq
import itertools
import statistics

import numpy as np

from bits import zeros_above
from measured import SEED, At, write_random

BLOCK_BITS = 8 * 1024
CHECKED_BLOCKS = 500


def code_lengths(counts):
    """Lengths of the Huffman codes of symbols with these counts; 0 for unused symbols."""
    lengths = [0] * len(counts)
    number = itertools.count()
    heap = [(count, next(number), [symbol]) for symbol, count in enumerate(counts) if count]
    if len(heap) == 1:
        lengths[heap[0][2][0]] = 1
        return lengths
    heapq.heapify(heap)
    while len(heap) > 1:
        one, _, some = heapq.heappop(heap)
        other, _, more = heapq.heappop(heap)
        for symbol in some + more:
            lengths[symbol] += 1
        heapq.heappush(heap, (one + other, next(number), some + more))
    return lengths


def codes_of(lengths):
    """Canonical prefix codes: for each symbol a number with as many bits as its length."""
    codes, code, before = {}, 0, 0
    for length, symbol in sorted((length, s) for s, length in enumerate(lengths) if length):
        code <<= length - before
        codes[symbol], before = code, length
        code += 1
    return codes


class Paper:
    """Sorted distinct values in the blocks of the paper."""

    def __init__(self, values, with_end):
        self.values = values
        self.zeros = zeros_above(values[1:] ^ values[:-1])
        counts = np.bincount(self.zeros, minlength=64).tolist()
        # go-simstore also encodes the end of a block; that symbol counts as one occurrence.
        self.lengths = code_lengths(counts + [1] if with_end else counts)
        self.codes = codes_of(self.lengths)
        self.end_bits = self.lengths[64] if with_end else 0
        self.each = np.array(self.lengths[:64])[self.zeros] + 63 - self.zeros
        self.starts = self.cut()

    def cut(self):
        """The positions of the first values of the blocks."""
        ends = np.concatenate([[0], np.cumsum(self.each)])
        starts, at, room = [], 0, BLOCK_BITS - 64 - self.end_bits
        while at < len(self.values):
            starts.append(at)
            at = int(np.searchsorted(ends, ends[at] + room, side="right"))
        return starts

    def bits(self):
        """Bits per value in the blocks, and in the keys of the blocks."""
        blocks = len(self.starts)
        return blocks * BLOCK_BITS / len(self.values), blocks * 64 / len(self.values)

    def bits_without_blocks(self):
        return float(self.each.mean())

    def encoded(self, block):
        """The bits of a block as a string."""
        start = self.starts[block]
        stop = self.starts[block + 1] if block + 1 < len(self.starts) else len(self.values)
        parts = [f"{int(self.values[start]):064b}"]
        for at in range(start + 1, stop):
            zeros = int(self.zeros[at - 1])
            rest = 63 - zeros
            parts.append(f"{self.codes[zeros]:0{self.lengths[zeros]}b}")
            if rest:
                parts.append(f"{int(self.values[at]) & ((1 << rest) - 1):0{rest}b}")
        return "".join(parts), stop - start

    def decoded(self, bits, count):
        """Decodes the values of a block."""
        symbols = {f"{code:0{self.lengths[s]}b}": s for s, code in self.codes.items()}
        values, at = [int(bits[:64], 2)], 64
        while len(values) < count:
            length = next(n for n in range(1, 65) if bits[at:at + n] in symbols)
            zeros = symbols[bits[at:at + length]]
            at += length
            rest, before = 63 - zeros, values[-1]
            # The bit at that position is 1, because the values ascend.
            value = before >> (rest + 1) << (rest + 1) | 1 << rest
            values.append(value | int(bits[at:at + rest] or "0", 2))
            at += rest
        return values

    def check(self):
        """Checks that some blocks decode to their values and that each fits into 1024 bytes."""
        step = max(1, len(self.starts) // CHECKED_BLOCKS)
        for block in range(0, len(self.starts), step):
            bits, count = self.encoded(block)
            assert len(bits) <= BLOCK_BITS, (block, len(bits))
            start = self.starts[block]
            assert self.decoded(bits, count) == self.values[start:start + count].tolist(), block


def limit(n):
    """Lower bound in bits per value for any encoding of a set of n random 64-bit values."""
    return 64 - np.log2(n) + 1 / np.log(2)


def of_program(at):
    """Bits per value in the tables of a store, averaged over the tables."""
    _, tables = at.info()
    return statistics.mean(table["bits_per_fingerprint"] for table in tables)


def report(program, folder, counts):
    """Prints bits per fingerprint of all schemes, for each number of random fingerprints."""
    print("\n## Bits of a fingerprint in one table\n")
    print("| n | limit | paper, without blocks | paper, blocks of 1024 bytes | with keys | go-simstore -z |"
          " go-simstore | fpstore |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    speeds = []
    for n in counts:
        at = At(program, folder, n, 3)
        write_random(at.input, n, SEED)
        values = np.unique(np.fromfile(at.input, dtype=np.uint64))
        paper, simstore = Paper(values, False), Paper(values, True)
        paper.check()
        at.build("2GiB")
        blocks, keys = paper.bits()
        simstore_bits = sum(simstore.bits())
        print(f"| {n:.0e} | {limit(n):.2f} | {paper.bits_without_blocks():.2f} | {blocks:.2f} |"
              f" {blocks + keys:.2f} | {simstore_bits:.2f} | 64.00 | {of_program(at):.2f} |", flush=True)
        speeds.append((n, at.scans()[0], at.single_queries()[0]))
    print("\nfpstore, processor time of one core:\n\n| n | a value decoded and compared, ns |"
          " values a second | a query, us |\n|---:|---:|---:|---:|")
    for n, nanos, warm in speeds:
        print(f"| {n:.0e} | {nanos:.2f} | {1e9 / nanos:.2e} | {warm:.2f} |")
