"""Other libraries read answers through the Arrow interface."""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
from conftest import U64

import fpstore


sql: Any = duckdb.sql


def test_rows_streams_and_stores_are_tables(store: fpstore.Store, values: U64) -> None:
    rows = store.query_many(values[:100], 3)
    table = pa.table(rows)
    assert table.column_names == rows.column_names and table.num_rows == len(rows)
    assert [tuple(row.values()) for row in table.to_pylist()] == rows.to_pylist()
    assert pl.DataFrame(rows).rows() == rows.to_pylist()
    assert pd.DataFrame(pa.table(rows).to_pandas()).shape == (len(rows), 4)
    assert pa.table(rows).schema == pa.schema(rows)
    records = pl.DataFrame(store)  # pyright: ignore[reportArgumentType]
    assert len(records) == len(values) and records["fingerprint"].is_sorted()
    assert pa.table(store.pairs(3)).num_rows == len(store.pairs(3).read_all())


def test_duckdb_takes_them_by_name(store: fpstore.Store, values: U64) -> None:
    rows = store.query_many(values[:100], 3)
    counted = sql("select count(*), count(distinct query) from rows").fetchall()
    assert counted == [(len(rows), 100)]
    pairs = store.pairs(3)
    assert pairs is not None and sql("select max(distance) from pairs").fetchall() == [(3,)]
