"""Plain values that the extension module returns."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import NamedTuple

from .errors import CorruptError, FpstoreError


class Progress(NamedTuple):
    """How far long work is. Given to the function that is passed as `progress`."""

    phase: str
    """What is being done: `read`, `sort`, `tables`, `ids`, `join`, `search`, ..."""
    done: int
    total: int | None
    """How many there are in all, if it is known."""


class Match(NamedTuple):
    """A stored fingerprint near the one that was asked for."""

    fingerprint: int
    distance: int
    """In bits."""
    ids: list[int] | list[str]
    """The ids that are stored with it, in their order; empty in a store without ids."""


class TableInfo(NamedTuple):
    """One table of a segment."""

    mask: int
    prefix_bits: int
    block_bits: int
    tail_bits: int
    bits_per_fingerprint: float | None


class SegmentInfo(NamedTuple):
    """One segment of a store."""

    path: str
    number: int
    label: str
    fingerprints: int
    ids: int
    deleted_fingerprints: int
    deleted_ids: int
    id_kind: str
    """`none`, `u64` or `text`."""
    sketch_len: int
    file_len: int
    tuned_k: int
    recipe: str
    written: datetime | None
    tables: tuple[TableInfo, ...]


class StoreInfo(NamedTuple):
    """What a store holds."""

    path: str
    store_id: str
    generation: int
    fingerprints: int
    """Distinct ones in each segment; one in two segments counts twice."""
    ids: int
    file_len: int
    segments: tuple[SegmentInfo, ...]


class VerifyReport(NamedTuple):
    """What a verification found."""

    segments: int
    pages: int
    values: int
    samples: int
    faults: list[FpstoreError]
    """Damage and wrong answers; empty if the store is sound."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    @property
    def damaged(self) -> list[CorruptError]:
        """The faults that are damage of a file."""
        return [fault for fault in self.faults if isinstance(fault, CorruptError)]


class Committed(NamedTuple):
    """What a commit made."""

    generation: int
    segment: int | None
    """The number of the new segment; `None` if there were no records."""
    records: int
    fingerprints: int


class Deleted(NamedTuple):
    """What a deletion did."""

    wanted: int
    """Distinct ids or fingerprints that were named."""
    found: int
    """Those of them that were in the store."""
    fingerprints: int
    ids: int


class Compacted(NamedTuple):
    """What a compaction did."""

    merged: int
    made: int
    read_len: int
    written_len: int
    deleted_fingerprints: int
    deleted_ids: int


class Imported(NamedTuple):
    """What an import took."""

    segments: int
    fingerprints: int
    file_len: int


class Finding(NamedTuple):
    """Something that a person should know of fingerprints."""

    code: str
    """The kind, such as `decimal-read-as-hex`."""
    severity: str
    """`note`, `warning` or `serious`."""
    sentence: str
    remedy: str


class Feature(NamedTuple):
    """A feature of a text: what a recipe hashes."""

    text: str
    hash: int
    occurrences: int
    weight: float


class Comparison(NamedTuple):
    """How alike two texts are."""

    fingerprints: tuple[int | None, int | None]
    distance: int | None
    """In bits; `None` if a text has no fingerprint."""
    estimate: float | None
    """The similarity that the distance stands for."""
    jaccard: float
    """The share of features that both texts have, exactly."""
    only_first: list[str]
    only_second: list[str]


class Point(NamedTuple):
    """The labelled pairs that a distance finds."""

    k: int
    found: int
    wrong: int
    missed: int
    precision: float
    recall: float
    f1: float


class ProgressLine:
    """Shows progress as one line on standard error; for `progress=True`."""

    def __init__(self) -> None:
        self._len = 0

    def __call__(self, progress: Progress) -> None:
        text = f"fpstore: {progress.phase} {progress.done}"
        if progress.total:
            text += f" of {progress.total} ({100 * progress.done // progress.total} %)"
        sys.stderr.write("\r" + text.ljust(self._len))
        self._len = len(text)
        if progress.total and progress.done >= progress.total:
            sys.stderr.write("\n")
            self._len = 0
        sys.stderr.flush()
