"""Fingerprints of 32 bits: building, reading and searching."""

from __future__ import annotations

import random
from pathlib import Path

import numpy
import pytest

import fpstore


@pytest.fixture
def values() -> list[int]:
    chance = random.Random(32)
    made = [chance.getrandbits(32) for _ in range(200)]
    made += [value ^ 1 << chance.randrange(32) for value in made[:50]]
    return [*made, 0, 2**32 - 1]


def test_a_store_of_32_bits_answers_as_a_scan(tmp_path: Path, values: list[int]) -> None:
    store = fpstore.build(tmp_path / "a.fps", values, list(range(len(values))), bits=32)
    info = store.info()
    assert (info.bits, info.tuned_k, info.recipe) == (32, 1, "external\nbits=32")
    for needle in values[:20]:
        for k in (0, 1, 2):
            found = sorted(id for match in store.query(needle, k=k) for id in match.ids)
            near = [at for at, value in enumerate(values) if (value ^ needle).bit_count() <= k]
            assert found == near
    assert store.query(f"{values[0]:08x}", k=0)[0].fingerprint == values[0]
    again = fpstore.open(tmp_path / "a.fps")
    assert again.info().bits == 32 and again.verify().faults == []


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    store = fpstore.build(tmp_path / "a.fps", [1, 2], bits=32)
    with pytest.raises(fpstore.errors.InputError, match="more than 32 bits"):
        store.query(2**32)
    with pytest.raises(fpstore.errors.InputError, match="more than 32 bits"):
        store.query_many(numpy.array([1, 2**40], dtype="u8"))
    with pytest.raises(fpstore.errors.InputError, match="more than 32 bits"):
        fpstore.build(tmp_path / "b.fps", [2**32], bits=32)
    with pytest.raises(fpstore.errors.InputError, match="64 bits"):
        store.stats()
    with pytest.raises(fpstore.errors.InputError, match="expected a multiple of 8"):
        fpstore.build(tmp_path / "c.fps", [1], bits=33)
    with pytest.raises(fpstore.errors.InputError, match="recipe or bits"):
        fpstore.build(tmp_path / "c.fps", [1], bits=32, recipe="minhash")
