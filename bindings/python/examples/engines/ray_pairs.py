"""Finds near pairs of fingerprints with Ray Data, without a store: packs, groups and joins them.

    python ray_pairs.py FINGERPRINTS.parquet PAIRS_FOLDER

The column `fingerprint` is uint64, or int64 with the same bits.
"""

from __future__ import annotations

import sys

import pyarrow as pa
import ray

import fpstore
from fpstore import tasks

PLAN = tasks.JoinPlan(3, groups=64)


def pack(table: pa.Table) -> pa.Table:
    return pa.table(tasks.scatter(table["fingerprint"], PLAN))


def join(group: pa.Table) -> pa.Table:
    return pa.table(tasks.join_group(group["payload"], PLAN, group["group"][0].as_py()))


def main() -> None:
    source, target = sys.argv[1:]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    packed = ray.data.read_parquet(source).map_batches(
        pack, batch_format="pyarrow", batch_size=None
    )
    pairs = packed.groupby("group").map_groups(join, batch_format="pyarrow")
    pairs.write_parquet(target)
    print(f"{ray.data.read_parquet(target).count()} pairs by fpstore {fpstore.__version__}")


if __name__ == "__main__":
    main()
