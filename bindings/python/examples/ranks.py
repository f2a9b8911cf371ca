"""Removes near-duplicate texts in a job of many ranks, with datatrove, Slurm or `xargs -P`.

    python ranks.py hash   WORK FILE.parquet   # one rank for each file, anywhere
    python ranks.py merge  WORK                 # one rank, when all have hashed
    python ranks.py filter WORK FILE.parquet OUT.parquet

Each rank of `hash` makes its own store with ids `file:row`. `merge` imports all these stores into
one store in one step and writes for each file the rows to drop. Every step can be repeated: it
replaces its earlier output.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fpstore

RECIPE = fpstore.Recipe()
# The resources of a rank, small because engines start one rank for each core.
THREADS, MEMORY = 1, 256 << 20


def hash_file(work: Path, file: Path) -> None:
    texts = pq.read_table(file, columns=["text"]).column(0)
    fingerprints = RECIPE.fingerprints(texts, threads=THREADS)
    known = ~fingerprints.is_null()
    rows = np.flatnonzero(known)
    fpstore.build(
        work / "parts" / f"{file.stem}.fps",
        fingerprints.to_numpy(null=0)[known],
        [f"{file.stem}:{row}" for row in rows],
        recipe=RECIPE,
        k=RECIPE.usual_k,
        label=file.stem,
        replace=True,
        threads=THREADS,
        memory=MEMORY,
    )


def merge(work: Path) -> int:
    """Returns the number of texts to drop."""
    parts = sorted((work / "parts").glob("*.fps"))
    store = fpstore.build(work / "all.fps", [], recipe=RECIPE, k=RECIPE.usual_k, replace=True)
    with fpstore.Writer(store.path) as writer:
        writer.import_(parts)
    store.refresh()
    drop: dict[str, list[int]] = defaultdict(list)
    for rows in store.clusters(keep="smallest-id"):
        for one, keep in zip(rows["id"], rows["keep"]):
            if not keep:
                file, row = one.rsplit(":", 1)
                drop[file].append(int(row))
    (work / "drop").mkdir(exist_ok=True)
    for part in parts:
        np.save(work / "drop" / f"{part.stem}.npy", np.array(drop[part.stem], np.int64))
    return sum(map(len, drop.values()))


def filter_file(work: Path, file: Path, target: Path) -> int:
    """Returns the number of kept rows."""
    table = pq.read_table(file)
    keep = np.ones(len(table), bool)
    keep[np.load(work / "drop" / f"{file.stem}.npy")] = False
    pq.write_table(table.filter(pa.array(keep)), target)
    return int(keep.sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["hash", "merge", "filter"])
    parser.add_argument("work", type=Path)
    parser.add_argument("files", type=Path, nargs="*")
    args = parser.parse_args()
    (args.work / "parts").mkdir(parents=True, exist_ok=True)
    if args.step == "hash":
        (file,) = args.files
        hash_file(args.work, file)
    elif args.step == "merge":
        print(f"{merge(args.work)} texts to drop")
    else:
        file, target = args.files
        print(f"{filter_file(args.work, file, target)} rows kept")


if __name__ == "__main__":
    main()
