"""Plain values that the extension module returns."""

from __future__ import annotations

import sys
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import CorruptError, FpstoreError, InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._fpstore import Page, Rows


class Progress(NamedTuple):
    """How far long work is. Given to the function that is passed as `progress`."""

    phase: str
    """What is being done: `read`, `sort`, `tables`, `ids`, `join`, `search`, ..."""
    done: int
    total: int | None
    """How many there are in all, if it is known."""
    step: int | None = None
    """Which step of the work it is, from 1 on, where that has several, as `clean` has."""
    steps: int | None = None
    """How many steps there are."""

    @property
    def text(self) -> str:
        """One line for people."""
        step = f"step {self.step} of {self.steps}, " if self.step else ""
        text = f"fpstore: {step}{self.phase} {self.done}"
        if self.total:
            text += f" of {self.total} ({100 * self.done // self.total} %)"
        return text


class Match(NamedTuple):
    """A stored fingerprint near the one that was asked for."""

    fingerprint: int
    distance: int
    """In bits."""
    ids: list[int] | list[str]
    """The ids that are stored with it, in their order; empty in a store without ids."""


class LabelledMatch(NamedTuple):
    """A match with the labels of its ids: of the segments in which they are stored."""

    fingerprint: int
    distance: int
    """In bits."""
    labels: list[str]
    """The label of each id; without ids, that of each segment that holds the fingerprint."""
    ids: list[int] | list[str]


class MatchInStores(NamedTuple):
    """A match where several stores are asked as one. What two stores hold is a match in each."""

    fingerprint: int
    distance: int
    """In bits."""
    store: str
    """The store that holds it, as it was named."""
    ids: list[int] | list[str]
    """The ids that this store holds with it; empty in a store without ids."""


class LabelledMatchInStores(NamedTuple):
    """A match in one of several stores, with the labels of its ids."""

    fingerprint: int
    distance: int
    """In bits."""
    store: str
    """The store that holds it, as it was named."""
    labels: list[str]
    """The label of each id; without ids, that of each segment that holds the fingerprint."""
    ids: list[int] | list[str]


class TableInfo(NamedTuple):
    """One table of a segment."""

    mask: int
    prefix_bits: int
    block_bits: int
    tail_bits: int
    bits_per_fingerprint: float | None
    syndrome_bits: int
    """Bits of the syndrome that stands for the bits outside the mask; 0 if they are stored."""


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
    format_version: int


class StoreInfo(NamedTuple):
    """What a store holds."""

    path: str
    store_id: str
    generation: int
    manifest_digest: str
    """Two states with the same one give the same answers."""
    fingerprints: int
    """Distinct ones in each segment; one in two segments counts twice."""
    ids: int
    file_len: int
    """Bytes of all segment files."""
    sketch_len: int
    """Bytes of the sketch of each id; 0 without sketches, or where segments differ."""
    bits: int
    """Those of each fingerprint: 64, or what `build(..., bits=32)` declared."""
    tuned_k: int
    recipe: str | None
    """`None` for a store without segments."""
    segments: tuple[SegmentInfo, ...]


class ServerInfo(NamedTuple):
    """What a server says of itself."""

    version: str
    """That of its program."""
    format_versions: tuple[int, int]
    """The oldest and the newest format version that it reads."""
    store: StoreInfo
    """What its store holds; paths are as the server names them."""
    stores: tuple[str, ...]
    """The directories of several stores that are served as one, as the server names them; `store` has
    the segments of all."""
    takes_texts: bool
    """Whether it makes fingerprints of texts."""
    writable: bool
    """Whether it adds and deletes."""
    needs_token_to_read: bool
    needs_token_to_write: bool
    limits: dict[str, int]
    """Its limits, by the names of the options of `fpstore serve`; times have the unit `_ms`."""


class Readiness(NamedTuple):
    """Whether requests should come to a server."""

    ready: bool
    generation: int
    """That of the store that is shown."""
    code: str | None
    """Why they should not, for programs, such as `draining`."""
    message: str | None
    """The same for people."""


class Price(NamedTuple):
    """What a question would cost a server."""

    k: int
    queries: int
    expected_us: float
    """Of one search, in microseconds."""
    cost_us: float
    """Of all searches."""
    lane: str
    """Where it would be searched for: `inline`, `quick` or `slow`."""
    generation: int


class ExpiredSegment(NamedTuple):
    """A segment that a server has removed, or would."""

    number: int
    label: str
    fingerprints: int
    file_len: int


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
    unmerged: str | None = None
    """Why segments that were due to be merged were not; the records are added all the same."""


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


class DocumentsAdded(NamedTuple):
    """What became of documents that were to be added."""

    documents: int
    """Documents with a fingerprint, which were added."""
    empty: int
    """Documents without features, which have no fingerprint."""
    bad: int
    """Bad records that were skipped."""
    bad_files: int
    """Files in folders that could not be read to their end."""
    faults: list[str]
    """The first ten bad records, and the first ten bad files."""


class Loss(NamedTuple):
    """What a file, a source, or all files together lose in a cleaning."""

    kind: str
    """`all`, `file` or `source`."""
    name: str
    """The name of the file or of the source."""
    documents: int
    """Documents with a fingerprint."""
    removed: int
    """Those of them that are removed or annotated."""
    empty: int = 0
    """Documents without a fingerprint, which stay."""


class LargeCluster(NamedTuple):
    """A document that stays, with those that are near it."""

    documents: int
    """The documents of the cluster, with those that stay."""
    id: str | None
    """The id of the document that stays; a stored one may have none."""
    side: str
    """Whether this document is `new` or `stored`."""
    line: str | None
    """The beginning of the text of one of the documents; `None` if it cannot be read again."""


class Overview(NamedTuple):
    """What a cleaning removes, at a glance."""

    judgement: str
    """By what documents are taken as near."""
    reasons: dict[str, int]
    """How many documents are removed by each reason: `judged`, `address`, `bytes`, `text`, `near` and
    `confirmed`."""
    losses: list[Loss]
    """What all files lose together; then each file, in order; then each source, by its name. Files
    that are one document each are not listed."""
    clusters: list[LargeCluster]
    """The ten largest clusters of ten or more documents, the largest first."""


class Cleaned(NamedTuple):
    """What became of the documents of a cleaning."""

    kept: int
    """Documents that are near no other one that is kept or stored, and `spared` more."""
    near_new: int
    """Documents that are removed or annotated because they are near a new one that is kept."""
    near_stored: int
    """Documents that are removed or annotated because they are near a stored one."""
    spared: int
    """Documents that are kept though they are near a new one that is kept, see `per_cluster`."""
    empty: int
    """Documents without features, which stay as they are."""
    bad: int
    """Bad records, which stay as they are."""
    added: int
    """Documents that were added to the store."""
    files: int
    """Outputs that were written."""
    uncopied: int
    """Files in folders that could not be read to their ends. None of their documents is in an output,
    or added, or kept instead of another."""
    left_out: int
    """The documents that were read of these files."""
    was_added_before: bool
    """Whether the store has added the documents of the same run before, so that nothing was done:
    their outputs were complete before that. Without outputs that is a `KnownRunError`."""
    faults: list[str]
    """Bad records and files, the first ones of each part of the inputs."""
    removed: Rows
    """The documents that are removed or annotated: `fingerprint`, `other`, `distance`, `similarity`,
    `id`, `other_id`, as `side` whether the other one is `new` or `stored`, and as `reason` why:
    `address`, `bytes`, `text`, `near` or `confirmed`; with several stores also `other_store`, that of
    a stored one."""
    overview: Overview | None
    """The losses and the largest clusters; `None` if nothing was done."""
    rows: Rows | None = None
    """Of a table one row for each of its rows, in order: `keep`, and for a removed one `near`, the number
    of the row because of which it goes, which is null for a stored document, its id as `near_id`,
    `distance`, `similarity`, `side`, `reason`, and with several stores `near_store`. `None` for files,
    or if nothing was done."""
    changed: int = 0
    """Where passages are removed: documents from which some were cut out, or whose attributes name
    some."""
    dropped: int = 0
    """Where passages are removed: documents that went whole because of them."""
    manifest: dict[str, Any] | None = None
    """If it was asked for: settings, counts, losses, and the SHA-256 of inputs and outputs."""
    page: Page | None = None
    """If it was asked for: what is removed, for a browser."""

    @property
    def keep(self) -> npt.NDArray[np.bool_]:
        """Which rows of the table stay, as a mask: `frame[cleaned.keep]`."""
        if self.rows is None:
            raise InputError("there is no mask: the documents were those of files, or nothing was done")
        return self.rows["keep"]


class Contamination(NamedTuple):
    """The items of a benchmark that documents hold."""

    items: int
    """Items that were looked for."""
    short: int
    """Those of them with fewer than 50 words, which follow a rule of their own."""
    unjudged: int
    """Items with too few words, which were not looked for."""
    found_items: int
    """Items that are in a document."""
    whole_items: int
    """Those of them of which a document holds all shingles."""
    documents: int
    """Documents that were read."""
    contaminated: int
    """Those of them that hold an item."""
    bad: int
    """Bad records of the documents, which stay as they are."""
    files: int
    """Outputs that were written."""
    uncopied: int
    """Files in folders that could not be read to their ends. None of their documents is in an
    output."""
    faults: list[str]
    """Bad records and files, the first ones of the documents and of the items."""
    found: Rows
    """The items that documents hold: `item`, `contained`, `file`, `id`, `start`, `end` (in
    characters), `byte_start`, `byte_end`."""
    page: Page | None = None
    """If it was asked for: items beside the passages that hold them, for a browser."""


class Imported(NamedTuple):
    """What an import took."""

    segments: int
    fingerprints: int
    file_len: int


class BackedUp(NamedTuple):
    """What a backup did."""

    path: str
    generation: int
    """The one that the folder holds now."""
    is_new: bool
    """Whether it held another one before, or none."""
    copied: int
    """Segments that were copied."""
    copied_len: int
    """Bytes of their files."""
    kept: int
    """Segments that were there already."""


class Change(NamedTuple):
    """A change between two states of a store."""

    generation: int
    """The state that has the change."""
    since: int | None
    """The state before it; `None` if there is none, and all of the state counts as added."""
    act: str
    """`added`, `deleted`, `merged`, `expired` or `run`."""
    segments: list[int]
    """The numbers of the segments that have it now."""
    from_: list[int]
    """Those that had it before; in JSON `from`."""
    label: str
    """The labels of these segments, each once; or the name of the run."""
    fingerprints: int
    """Live fingerprints of the segments now."""
    fingerprints_before: int
    ids: int
    ids_before: int
    records_added: int | None
    """Of a merge: records that were added between the two states."""
    records_removed: int | None
    """Of a merge: records that were deleted between the two states."""


class Finding(NamedTuple):
    """Something that a person should know of fingerprints."""

    code: str
    """The kind, such as `decimal-read-as-hex`."""
    severity: str
    """`note`, `warning` or `serious`."""
    sentence: str
    remedy: str


class SchemeEstimate(NamedTuple):
    """A scheme of tables, what it would take, and the cost of a query for a stored fingerprint."""

    name: str
    """As `build` takes it as `scheme`."""
    masks: list[int]
    """The mask of each table."""
    radii: list[int | None] | None
    """The radius of each table; `None` if a scan of one table is cheaper than probes."""
    tables: float
    """Tables that are probed."""
    probes: float
    """Blocks that are looked up."""
    lines: float
    """Cache lines of indexes that are read."""
    blocks: float
    """Blocks that hold values."""
    chunks: float
    """Chunks of 64 bytes of heads that are summed at once."""
    whole_chunks: float
    """Those of them in which every head is decoded."""
    ranges: float
    """Ranges of heads that are searched for in the other blocks."""
    heads_passed: float
    heads_compared: float
    extra_bytes: float
    """Bytes of gaps beyond the first."""
    candidates: float
    """Values whose tail is compared."""
    look_ups: float
    """Values that syndromes name."""
    scanned: float
    """Values that are compared in a scan."""
    random_candidates: float
    """Candidates of a query for random bits."""
    largest_group: float
    """Values in the largest group that shares a prefix."""
    hot_len: float
    """Bytes that probes touch in random order; these should be in memory."""
    tables_len: float
    """Bytes of all tables, without ids."""
    bytes_per_fingerprint: float
    cold_pages: float
    """Pages of 4 KiB that a query reads, if none is in memory."""
    tail_pages: float
    """Those of them that are read if indexes and heads are in memory."""
    hot_micros: float
    """Microseconds of a query with all data in memory."""
    cold_micros: float
    """Microseconds of a query with none."""
    within_budget: bool
    on_frontier: bool
    """Whether no other scheme is both smaller and faster."""
    chosen: bool
    reason: str
    """Why it was chosen, or why not."""


class Plan(NamedTuple):
    """Which tables a store should have."""

    fingerprints: int
    k: int
    budget_len: float
    """Bytes that the tables may take."""
    schemes: list[SchemeEstimate]
    """Smallest first."""

    @property
    def chosen(self) -> SchemeEstimate:
        """The one that `build` would choose: the fastest within the budget, or one nearly as fast and
        smaller."""
        return next(scheme for scheme in self.schemes if scheme.chosen)

    def _repr_html_(self) -> str:
        names = ("scheme", "tables", "bytes/fingerprint", "hot us", "cold us", "why")
        rows = [
            (
                f"<b>{escape(it.name)}</b>" if it.chosen else escape(it.name),
                str(len(it.masks)),
                f"{it.bytes_per_fingerprint:.1f}",
                f"{it.hot_micros:.2f}",
                f"{it.cold_micros:.0f}",
                escape(it.reason),
            )
            for it in self.schemes
        ]
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{it}</td>" for it in row) + "</tr>" for row in rows)
        caption = f"{self.fingerprints} fingerprints, k = {self.k}"
        return (
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )


class Feature(NamedTuple):
    """A feature of a text: what a recipe hashes."""

    text: str
    hash: int
    occurrences: int
    weight: float


class Comparison(NamedTuple):
    """How alike two texts are."""

    fingerprints: tuple[int, int]
    distance: int
    """In bits."""
    estimate: float
    """The similarity that the distance stands for."""
    jaccard: float
    """The share of features that both texts have, exactly."""
    common_count: int
    """Distinct features that both texts have."""
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


class Expected(NamedTuple):
    """What a distance is expected to find in a larger collection."""

    k: int
    found: float
    wrong: float
    """Pairs of other documents, by their share in the documents that were measured."""
    by_chance: float
    """Pairs of random fingerprints, which no recipe can avoid."""
    precision: float
    recall: float
    f1: float


class Forecast(NamedTuple):
    """What to expect in a collection of a given size."""

    collection_size: int
    recommended_k: int
    """The distance with the greatest expected F1."""
    points: list[Expected]


class ProgressLine:
    """Shows progress as one line on standard error; for `progress=True`."""

    def __init__(self) -> None:
        self._len = 0

    def __call__(self, progress: Progress) -> None:
        text = progress.text
        sys.stderr.write("\r" + text.ljust(self._len))
        self._len = len(text)
        if progress.total and progress.done >= progress.total:
            sys.stderr.write("\n")
            self._len = 0
        sys.stderr.flush()


class ProgressBar:
    """Shows progress as a bar below the cell of a notebook; for `progress=True` there."""

    def __init__(self, display: Any) -> None:
        self._text, self._value, self._max = "fpstore", 0, 0
        self._handle = display(self, display_id=True)

    def __call__(self, progress: Progress) -> None:
        self._text = progress.text
        self._value, self._max = progress.done, progress.total or 0
        self._handle.update(self)

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        known = f' value="{min(self._value, self._max)}" max="{self._max}"' if self._max else ""
        return f"<progress{known}></progress> {escape(self._text)}"


def progress_reporter() -> ProgressLine | ProgressBar:
    """What shows progress where the interpreter runs: a bar in a notebook, else a line."""
    shell = sys.modules.get("IPython")
    if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
        return ProgressBar(shell.display.display)
    return ProgressLine()
