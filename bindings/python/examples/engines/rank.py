"""Finds near pairs in a job of many ranks: each task knows its number (RANK) and the number of
tasks (WORLD).

    python rank.py build WORK FINGERPRINTS.npy RANK WORLD   # each rank, anywhere
    python rank.py commit WORK                              # one process
    python rank.py pairs WORK RANK WORLD                    # each rank
    python rank.py clusters WORK                            # one process

datatrove calls a step with `rank` and `world_size`, Slurm sets SLURM_ARRAY_TASK_ID and
SLURM_ARRAY_TASK_COUNT, `xargs -P` passes numbers. WORK is a folder shared by all ranks. Every step
can be repeated: it replaces its earlier output.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fpstore
from fpstore import tasks

K = 3


def build(work: Path, fingerprints: str, rank: int, world: int) -> None:
    values = np.load(fingerprints, mmap_mode="r")[rank::world]
    rows = np.arange(rank, rank + world * len(values), world)
    # The function `pairs` computes one share of a join for each rank. If the store has the tables
    # of the scheme "blocks-4", each share reads only a range of every table, not the whole store.
    receipt = tasks.write_segment(
        work / f"{rank:05}.fps", np.array(values), rows, recipe=None, scheme=f"blocks-{K + 1}"
    )
    whole_file(work / f"{rank:05}.receipt", f"{receipt}\n".encode())


def commit(work: Path) -> None:
    receipts = [path.read_text() for path in sorted(work.glob("*.receipt"))]
    print(tasks.commit(work / "store.fps", receipts, run="build", remove=True))


def pairs(work: Path, rank: int, world: int) -> None:
    store = fpstore.open(work / "store.fps")
    plan = tasks.JoinPlan.of(store, K)
    # To find clusters, the links of a share suffice: at most one for each fingerprint, not all
    # pairs.
    links = tasks.forest(tasks.join_share(store, plan, rank, world))
    pq.write_table(pa.table(links), work / f"{rank:05}.links.new")
    os.replace(work / f"{rank:05}.links.new", work / f"{rank:05}.links")


def clusters(work: Path) -> None:
    links = (pq.read_table(path) for path in sorted(work.glob("*.links")))
    whole = tasks.forest(links)
    print(f"{len(set(whole['first']))} clusters of {len(whole)} more fingerprints")


def whole_file(path: Path, text: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(text)
    new.replace(path)


def main() -> None:
    step, work, *rest = sys.argv[1:]
    folder = Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    if step == "build":
        build(folder, rest[0], int(rest[1]), int(rest[2]))
    elif step == "commit":
        commit(folder)
    elif step == "pairs":
        pairs(folder, int(rest[0]), int(rest[1]))
    elif step == "clusters":
        clusters(folder)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
