"""Drops near-duplicate texts of a Parquet dataset and writes the rest back, with all columns.

The dataset is read twice, batch by batch, so it need not fit into memory: first to select the kept
rows, by the rule of `fpstore clean`, then to write them. Rows without text are kept.
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


def kept_rows(
    dataset: ds.Dataset, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[pa.RecordBatch]:
    at = 0
    for batch in dataset.to_batches():
        yield batch.filter(pa.array(keep[at : at + len(batch)]))
        at += len(batch)


def clean(
    source: Path,
    target: Path,
    column: str = "text",
    confirm: float | None = None,
    k: int | None = None,
) -> tuple[int, int]:
    """Returns the number of rows of the dataset, and the number of kept rows."""
    dataset = ds.dataset(source, format="parquet")
    texts = dataset.scanner(columns=[column]).to_reader()
    keep = fpstore.clean(fpstore.Documents(texts, text_field=column), confirm=confirm, k=k).keep
    with pq.ParquetWriter(target, dataset.schema) as writer:
        for batch in kept_rows(dataset, keep):
            writer.write_batch(batch)
    return len(keep), int(keep.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="a folder with Parquet files, or one file")
    parser.add_argument("target", type=Path, help="the Parquet file to write")
    parser.add_argument("--column", default="text")
    parser.add_argument("--confirm", type=float, help="the similarity of near texts; 0.8 without -k")
    parser.add_argument("-k", type=int, help="distance in bits within which fingerprints alone decide")
    args = parser.parse_args()
    before, after = clean(args.source, args.target, args.column, args.confirm, args.k)
    print(f"{before} rows, {after} kept")


if __name__ == "__main__":
    main()
