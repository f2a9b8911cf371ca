"""Uniformity of fingerprints: figures 2(a) and 2(b) of the paper, and the share of ones per bit."""

import pathlib

import numpy as np

from texts import unpacked

SEED = 20261126
RANDOM_COUNT = 1 << 20
# The paper divided the value range into this many intervals of equal width.
INTERVALS = 128
# The distances from the most frequent position for which the table has a column.
PLACES = (-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12)
FILES = ("tang_store.tsv.zst", "tlsh_malware_w0.hex.zst", "pdq_video_frames_a.hex.zst")


def read(path):
    """The fingerprints of a file with one per line, in ascending order, repeats included."""
    values = [int(line[:16], 16) for line in unpacked(path).split("\n")
              if line and not line.startswith("#")]
    return np.sort(np.array(values, dtype=np.uint64))


def zeros_above(numbers):
    """Leading zeros of non-zero 64-bit numbers.

    Each 32-bit half is handled separately, because the logarithm of a float may round up to the next
    power of two.
    """
    high = numbers >> np.uint64(32)
    half = np.where(high > 0, high, numbers & np.uint64(0xFFFFFFFF)).astype(np.float64)
    return np.where(high > 0, 0, 32) + 31 - np.floor(np.log2(half)).astype(np.int64)


def leading_positions(values):
    """For each bit: the number of neighbours in sorted order whose highest differing bit it is."""
    distinct = np.unique(values)
    return np.bincount(63 - zeros_above(distinct[1:] ^ distinct[:-1]), minlength=64)


def ones(values):
    """The share of ones of each bit, 0 to 63."""
    return np.array([float(((values >> np.uint64(bit)) & np.uint64(1)).mean()) for bit in range(64)])


def intervals(values):
    """Number of fingerprints in each of 128 intervals of equal width."""
    return np.bincount((values >> np.uint64(57)).astype(np.int64), minlength=INTERVALS)


def around_mode(counts):
    """The most frequent position, the shares of the positions around it, and of all lower positions."""
    shares, mode = counts / counts.sum(), int(counts.argmax())
    # Places count downwards from the mode: position 63, the highest bit, has the most negative
    # place.
    near = [float(shares[mode - place]) if 0 <= mode - place < 64 else 0.0 for place in PLACES]
    return mode, near, float(shares[:max(mode - PLACES[-1], 0)].sum())


def describe(name, values):
    share, buckets = ones(values), intervals(values)
    counts = leading_positions(values)
    mode, near, below = around_mode(counts)
    expected = len(values) / INTERVALS
    distinct = len(np.unique(values))
    return {
        "name": name, "lines": len(values), "distinct": distinct,
        "ones": (float(share.min()), float(share.max())),
        "log2": float(np.log2(distinct)), "mode": 63 - mode, "near": near, "below": below,
        "intervals": (float(buckets.min() / expected), float(np.median(buckets) / expected),
                      float(buckets.max() / expected)),
    }


def report(root, data):
    """Prints one row for each set."""
    random = np.sort(np.random.default_rng(SEED).integers(0, 1 << 64, RANDOM_COUNT, dtype=np.uint64))
    rows = [describe("random", random)]
    for name in FILES:
        rows.append(describe(name.split(".")[0], read(pathlib.Path(root) / "tests" / "data" / name)))
    if data:
        folder = pathlib.Path(data) / "fingerprints"
        rows.append(describe("text_simhash_all", read(folder / "text_simhash_all.hex.zst")))
    print("\n## How even fingerprints are\n")
    print("| set | fingerprints | distinct | share of ones of a bit | intervals: least, median, most |")
    print("|---|---:|---:|---|---|")
    for row in rows:
        low, middle, high = row["intervals"]
        print(f"| {row['name']} | {row['lines']} | {row['distinct']} | {row['ones'][0]:.3f} to"
              f" {row['ones'][1]:.3f} | {low:.2f}, {middle:.2f}, {high:.2f} |")
    print("\nThe highest bit in which neighbours differ: shares by the distance from the most frequent"
          " position (0 is the highest bit; lower bits have a plus)\n")
    print("| set | log2 n | most frequent | " + " | ".join(f"{place:+d}" for place in PLACES)
          + f" | beyond {PLACES[-1]:+d} |")
    print("|---|---:|---:|" + "---:|" * (len(PLACES) + 1))
    for row in rows:
        cells = " | ".join(f"{share:.3f}" for share in row["near"])
        print(f"| {row['name']} | {row['log2']:.1f} | {row['mode']} | {cells} | {row['below']:.3f} |")
