"""Finds the near pairs of a store with Dask: each worker computes shares of the join.

    python dask_shares.py STORE.fps SHARES PAIRS.parquet

The workers receive the path and generation of the store, so the job fails if the store changes
meanwhile.
"""

from __future__ import annotations

import sys

import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client

import fpstore
from fpstore import tasks

K = 3


def share(store: fpstore.Store, plan: tasks.JoinPlan, number: int, count: int) -> pa.Table:
    return pa.table(tasks.join_share(store, plan, number, count))


def main() -> None:
    path, count, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    store = fpstore.open(path)
    plan = tasks.JoinPlan.of(store, K)
    print(f"shares read {plan.reads}")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        futures = [client.submit(share, store, plan, number, count) for number in range(count)]
        pairs = pa.concat_tables(client.gather(futures))
    pq.write_table(pairs, target)
    print(f"{len(pairs)} pairs")


if __name__ == "__main__":
    main()
