"""The examples for other engines find the same pairs as one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import clustered
from test_clean import corpus
from test_tables import frame_of

import fpstore

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "engines"
VALUES = clustered(20_000, 21)


def run(name: str, *args: object) -> str:
    command = [sys.executable, str(EXAMPLES / name), *map(str, args)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def joined() -> set[tuple[int, ...]]:
    return set(fpstore.near_pairs(VALUES, k=3).read_all().to_pylist())


def test_ranks_build_and_join(tmp_path: Path) -> None:
    np.save(tmp_path / "fps.npy", VALUES)
    work = tmp_path / "work"
    for rank in (0, 1, 2, 1):
        run("rank.py", "build", work, tmp_path / "fps.npy", rank, 3)
    assert "added=3" in run("rank.py", "commit", work)
    assert "known_run=True" in run("rank.py", "commit", work)
    for rank in range(5):
        run("rank.py", "pairs", work, rank, 5)
    pairs = fpstore.near_pairs(VALUES, k=3).read_all()
    found = fpstore.components(pairs["first"], pairs["second"])
    clusters = len(set(found["component"].tolist()))
    line = f"{clusters} clusters of {len(found) - clusters} more fingerprints\n"
    assert run("rank.py", "clusters", work) == line
    stored = fpstore.open(work / "store.fps").fingerprints()
    assert stored.tolist() == np.unique(VALUES).tolist()


def test_spark_cleans_files(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    frame = frame_of(corpus(tmp_path / "in"))[["date", "id", "text"]]
    frame.to_parquet(tmp_path / "texts.parquet")
    out = run("spark_clean.py", tmp_path / "texts.parquet", tmp_path / "out", "newest:date")
    ordered = frame.sort_values("id", ignore_index=True)
    keep = fpstore.clean(ordered, keep="newest:date").keep
    assert out == f"{len(frame)} rows, {(~keep).sum()} removed\n" and not keep.all()
    kept = pq.read_table(tmp_path / "out" / "kept")
    assert kept.column_names == ["date", "id", "text"]
    assert sorted(kept["id"].to_pylist()) == ordered["id"][keep].tolist()
    removed = pq.read_table(tmp_path / "out" / "removed")["id"].to_pylist()
    assert sorted(removed) == ordered["id"][~keep].tolist()


def test_ray_joins_groups(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (tmp_path / "in").mkdir()
    for number, part in enumerate(np.array_split(VALUES, 4)):
        pq.write_table(pa.table({"fingerprint": part}), tmp_path / "in" / f"{number}.parquet")
    run("ray_pairs.py", tmp_path / "in", tmp_path / "out")
    table = pq.read_table(tmp_path / "out")
    assert set(zip(*table.to_pydict().values())) == joined() and len(table) == len(joined())


def test_dask_joins_shares(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    fpstore.build(tmp_path / "s.fps", VALUES, scheme="blocks-4")
    out = run("dask_shares.py", tmp_path / "s.fps", 7, tmp_path / "pairs.parquet")
    assert out.startswith("shares read ranges\n")
    table = pq.read_table(tmp_path / "pairs.parquet")
    assert set(zip(*table.to_pydict().values())) == joined() and len(table) == len(joined())
