"""Data that many tests share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import fpstore

U64 = npt.NDArray[np.uint64]

PROJECT = Path(__file__).resolve().parents[3]
DATA = PROJECT / "tests" / "data"

needs_lock = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="it says when the lock of the interpreter is held, and here is none",
)


def clustered(count: int, seed: int) -> U64:
    """Random fingerprints; a fifth of them are copies of earlier ones with 0 to 6 flipped bits."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, count, dtype=np.uint64)
    for at in range(1, count):
        if rng.random() < 0.2:
            value = int(values[rng.integers(0, at)])
            for bit in rng.integers(0, 64, rng.integers(0, 7)):
                value ^= 1 << int(bit)
            values[at] = value
    return values


def distances(one: U64, other: U64) -> npt.NDArray[np.uint8]:
    """The distances between all values of two arrays, with which all tests compare answers."""
    found: npt.NDArray[np.uint8] = np.bitwise_count(one[:, None] ^ other[None, :])
    return found


@pytest.fixture(scope="session")
def values() -> U64:
    return clustered(3000, 7)


@pytest.fixture
def store(tmp_path: Path, values: U64) -> fpstore.Store:
    ids = [f"document {at}" for at in range(len(values))]
    return fpstore.build(tmp_path / "documents.fps", values, ids)


@pytest.fixture(scope="session")
def program() -> str:
    """The path of the program `fpstore`, whose files the tests compare with those of the
    package."""
    program = os.environ.get("FPSTORE_BIN") or str(PROJECT / "target" / "debug" / "fpstore")
    if not Path(program).exists():
        pytest.skip("the program is not built: cargo build")
    return program
