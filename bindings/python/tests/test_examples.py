"""The scripts in examples/ give the documented results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import DATA

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
LICENCES = sorted((DATA / "licences").iterdir())


def run(name: str, *args: Path | str) -> str:
    command = [sys.executable, EXAMPLES / name, *args]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files with all licences, some twice."""
    texts = [path.read_text() for path in LICENCES]
    (tmp_path / "in").mkdir()
    paths = [tmp_path / "in" / f"file-{number}.parquet" for number in range(2)]
    pq.write_table(pa.table({"name": [path.name for path in LICENCES], "text": texts}), paths[0])
    copies = {
        "name": ["copy", "none", "new"],
        "text": [texts[0], None, "something else altogether"],
    }
    pq.write_table(pa.table(copies), paths[1])
    return paths


def test_a_dataset_is_cleaned_and_written_back(tmp_path: Path, files: list[Path]) -> None:
    assert "rows" in run("clean_dataset.py", tmp_path / "in", tmp_path / "out.parquet")
    names = pq.read_table(tmp_path / "out.parquet").column("name").to_pylist()
    assert LICENCES[0].name in names and "copy" not in names
    assert {"none", "new"} <= set(names) and len(names) < len(LICENCES)


def test_ranks_drop_what_one_process_drops(tmp_path: Path, files: list[Path]) -> None:
    for file in files:
        run("ranks.py", "hash", tmp_path / "work", file)
    run("ranks.py", "hash", tmp_path / "work", files[0])
    assert "texts to drop" in run("ranks.py", "merge", tmp_path / "work")
    kept: list[str] = []
    for file in files:
        run("ranks.py", "filter", tmp_path / "work", file, tmp_path / f"out-{file.name}")
        kept += pq.read_table(tmp_path / f"out-{file.name}").column("name").to_pylist()
    # With `-k` only fingerprints are compared, like in ranks.py.
    run("clean_dataset.py", tmp_path / "in", tmp_path / "one.parquet", "-k", "7")
    assert len(kept) == pq.read_table(tmp_path / "one.parquet").num_rows


def test_images_are_seen_again_by_month() -> None:
    lines = run("images.py", DATA / "noto_emoji_phash64.hex.zst").splitlines()
    assert lines[0].startswith("2026-09: ") and lines[0].endswith(", 0 seen before")
    assert int(lines[2].split()[3]) > 0 and lines[-1].startswith("forgot 2026-09; ")
    assert len(lines) == 9
    distances = [int(line.split()[0]) for line in lines[3:8]]
    assert distances == sorted(distances)


def test_joins_in_polars_and_duckdb_agree() -> None:
    assert "['today/new'] are new" in run("joins.py", DATA / "licences")


def test_the_notebook_ends_in_a_picture() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    os.environ["FPSTORE_DATA"] = str(DATA)
    notebook = nbformat.read(EXAMPLES / "near_duplicates.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    last = notebook.cells[-1].outputs[-1].data["text/html"]
    assert "<svg" in last and "best F1" in last
    assert np.all([cell.outputs for cell in notebook.cells if cell.cell_type == "code"][2:4])


def test_a_notebook_shows_progress_as_a_bar() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    source = (
        "import fpstore, numpy\n"
        "values = numpy.random.default_rng(1).integers(0, 2**64, 400_000, dtype='uint64')\n"
        "_ = fpstore.group(values, 8, progress=True)"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output for output in notebook.cells[0].outputs if "data" in output]
    assert len(shown) == 1 and "<progress" in shown[0].data["text/html"]
    assert shown[0].data["text/plain"].startswith("fpstore")
