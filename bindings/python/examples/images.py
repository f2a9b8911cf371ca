"""Labelled hashes of images: a store that grows every month, is queried, and drops old months.

The hashes are the 64 bits of `imagehash.phash`, here as hex digits, the usual form in databases.
`fpstore.from_bits` converts the hash objects of `imagehash`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pyarrow as pa

import fpstore


def read_hashes(path: Path) -> list[str]:
    """Reads one hash per line from a plain or compressed file."""
    with pa.input_stream(str(path)) as file:
        return [line.split()[0] for line in file.read().decode().splitlines() if line]


def watch(hashes: list[str], path: Path) -> list[str]:
    """Adds the hashes month by month; reports for each month how many pictures were seen before."""
    report: list[str] = []
    months = {month: hashes[at::3] for at, month in enumerate(["2026-09", "2026-10", "2026-11"])}
    store = fpstore.build(path, [], k=6, id_type="str")
    for month, of_month in months.items():
        values = fpstore.from_hex(of_month)
        seen = store.has_near(values)
        report.append(f"{month}: {len(values)} pictures, {seen.sum()} seen before")
        with fpstore.Writer(path, label=month, id_type="str", compact=False) as writer:
            writer.add(values, [f"{month}/{at}.png" for at in range(len(values))])
        store.refresh()
    # The five stored hashes nearest to the hash of a new picture, at any distance.
    nearest = store.nearest("f0f0f0f00f0f0f0f", count=5)
    report += [f"{match.distance} bits: {match.ids[0]}" for match in nearest]
    with fpstore.Writer(path) as writer:
        expired = [segment.label for segment in writer.expire("2026-10")]
    store.refresh()
    report.append(f"forgot {', '.join(expired)}; {len(store)} left")
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "hashes", type=Path, help="hashes in hex, one on each line; .gz and .zst too"
    )
    parser.add_argument("store", type=Path, nargs="?", help="path of the new store")
    args = parser.parse_args()
    path = args.store or Path(tempfile.mkdtemp()) / "images.fps"
    print("\n".join(watch(read_hashes(args.hashes), path)))


if __name__ == "__main__":
    main()
