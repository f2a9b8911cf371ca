"""Near-duplicate joins in DuckDB and polars: `query_many` returns the pairs, the engines join them.

Yesterday's pages are in a store, today's pages in a table. Which of today's pages are new, and
which of yesterday's pages do the others repeat?
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import fpstore


def tables(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The texts of a folder as yesterday's pages, and with changes as today's."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    texts = [path.read_text(errors="replace") for path in files]
    names = [path.name for path in files]
    yesterday = pl.DataFrame({"url": names, "text": texts, "visits": range(len(files))})
    changed = [text.replace("2013", "2026") for text in texts[::2]] + [
        "a page about something else"
    ]
    today = pl.DataFrame(
        {"url": [*(f"today/{name}" for name in names[::2]), "today/new"], "text": changed}
    )
    return yesterday, today


def join_in_polars(
    store: fpstore.Store, today: pl.DataFrame, yesterday: pl.DataFrame
) -> pl.DataFrame:
    near = pl.DataFrame(store.query_many(today["fingerprint"]))
    return (
        today.with_row_index("query")
        .with_columns(pl.col("query").cast(pl.UInt32))
        .join(near, on="query", how="left")
        .sort("query", "distance", "id")
        .unique("query", keep="first", maintain_order=True)
        .join(yesterday, left_on="id", right_on="url", how="left", suffix="_yesterday")
        .select("url", "distance", "id", "visits")
    )


def join_in_duckdb(
    store: fpstore.Store, today: pl.DataFrame, yesterday: pl.DataFrame
) -> pl.DataFrame:
    rows = store.query_many(today["fingerprint"])
    numbered = today.with_row_index("query")
    sql: Any = duckdb.sql
    joined: pl.DataFrame = sql(
        """
        select n.url, r.distance, r.id, y.visits
        from numbered n
        left join (
            select * from rows qualify row_number() over (partition by query order by distance, id) = 1
        ) r on r.query = n.query
        left join yesterday y on y.url = r.id
        order by n.query
        """
    ).pl()
    # DuckDB reads these three variables by name in the SQL, so linters would report them as unused.
    del rows, numbered, yesterday
    return joined


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with texts")
    args = parser.parse_args()
    yesterday, today = tables(args.folder)
    recipe = fpstore.Recipe()
    store = fpstore.build(
        Path(tempfile.mkdtemp()) / "yesterday.fps",
        recipe.fingerprints(yesterday["text"]),
        yesterday["url"],
        recipe=recipe,
        k=recipe.usual_k,
    )
    # polars accepts any object with an Arrow interface, which its type annotations omit.
    column: Any = recipe.fingerprints(today["text"])
    today = today.with_columns(fingerprint=pl.Series(column))
    joined = join_in_polars(store, today, yesterday)
    assert joined.rows() == join_in_duckdb(store, today, yesterday).rows()
    print(joined.filter(pl.col("id").is_null())["url"].to_list(), "are new")
    print(joined.drop_nulls().height, "are near yesterday's")


if __name__ == "__main__":
    main()
