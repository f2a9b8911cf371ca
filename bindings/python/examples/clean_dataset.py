"""Drops near-duplicate texts of a Parquet dataset and writes the rest back, with all columns.

The dataset is read twice, batch by batch, so it need not fit into memory: first for fingerprints,
8 bytes a row, then to write the rows that stay. Of near texts the first one stays; rows without
text stay, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import fpstore


def fingerprints_of(dataset: ds.Dataset, column: str, recipe: fpstore.Recipe) -> pa.ChunkedArray:
    """The fingerprint of each row, null where a text has no features."""
    batches = dataset.to_batches(columns=[column])
    arrays = [pa.array(recipe.fingerprints(batch.column(0))) for batch in batches]
    return pa.chunked_array(arrays, pa.uint64())


def kept_rows(
    dataset: ds.Dataset, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[pa.RecordBatch]:
    at = 0
    for batch in dataset.to_batches():
        yield batch.filter(pa.array(keep[at : at + len(batch)]))
        at += len(batch)


def clean(
    source: Path, target: Path, column: str = "text", k: int | None = None
) -> tuple[int, int]:
    """Returns the numbers of rows before and after."""
    recipe = fpstore.Recipe()
    dataset = ds.dataset(source, format="parquet")
    fingerprints = fingerprints_of(dataset, column, recipe)
    groups = fpstore.group(fingerprints, recipe.usual_k if k is None else k)
    keep = groups == np.arange(len(groups))
    with pq.ParquetWriter(target, dataset.schema) as writer:
        for batch in kept_rows(dataset, keep):
            writer.write_batch(batch)
    return len(keep), int(keep.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="a folder with Parquet files, or one file")
    parser.add_argument("target", type=Path, help="the Parquet file to write")
    parser.add_argument("--column", default="text")
    parser.add_argument("-k", type=int, help="bits; the usual distance of the recipe by default")
    args = parser.parse_args()
    before, after = clean(args.source, args.target, args.column, args.k)
    print(f"{before} rows, {after} kept")


if __name__ == "__main__":
    main()
