"""Classes of the plain values that the extension module returns, and the displays of progress.

This module does not postpone annotations, so that `help` shows types and not strings.
"""

import sys
from dataclasses import dataclass, field, fields
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._fpstore import Addition, Page, Rows
from .errors import CorruptError, FpstoreError, InputError


if TYPE_CHECKING:
    from typing_extensions import Self


def _table(answer: Any) -> str:
    """An HTML table of the fields of an answer, for a notebook. Long values are replaced by their
    length."""
    rows = []
    for of in fields(answer):
        value = getattr(answer, of.name)
        if isinstance(value, (list, tuple)) and len(value) > 3:
            value = f"{len(value)} items"
        shown = str(value)
        shown = shown if len(shown) <= 200 else repr(value)[:199] + "…"
        rows.append(f"<tr><th>{of.name.rstrip('_')}</th><td>{escape(shown)}</td></tr>")
    return f"<table><caption>{type(answer).__name__}</caption>{''.join(rows)}</table>"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of long work, passed to the function given as `progress`.

    Attributes
    ----------
    phase : str
        The current phase: `read`, `sort`, `tables`, `ids`, `join`, `search`, ...
    total : int | None
        The total amount of work in the phase, if it is known.
    step : int | None
        The number of the current step, from 1, for work with several steps, such as `clean`.
    steps : int | None
        The number of steps.
    fraction : float
        The fraction of all steps that is done, from 0 to 1. It never decreases during a call, so a
        tqdm bar is updated with `bar.update(progress.fraction - bar.n)`.
    """

    phase: str
    done: int
    total: int | None
    step: int | None = None
    steps: int | None = None
    fraction: float = 0.0

    @property
    def text(self) -> str:
        """The progress as one line of text."""
        step = f"step {self.step} of {self.steps}, " if self.step else ""
        of = f" of {self.total}" if self.total else ""
        # Reading is counted in bytes, because the number of documents is unknown before the end.
        unit = " bytes" if self.phase == "docs" else ""
        return f"fpstore: {step}{self.phase} {self.done}{of}{unit} ({100 * self.fraction:.0f} %)"


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """A stored fingerprint within `k` bits of the query. With several stores, a fingerprint in two
    stores is a match in both.

    Attributes
    ----------
    distance : int
        The distance from the query fingerprint in bits.
    ids : list[int] | list[str]
        The ids of the fingerprint, in order; empty in a store without ids.
    store : str
        With several stores, the path of the store with the match, as given to `open`; else empty.
    labels : list[str]
        With `labels=True` the label of each id; without ids, the label of each segment that
        contains the fingerprint.
    """

    fingerprint: int
    distance: int
    ids: list[int] | list[str]
    store: str = ""
    labels: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        shown = f"fingerprint={self.fingerprint}, distance={self.distance}, ids={self.ids}"
        shown += f", store={self.store!r}" if self.store else ""
        shown += f", labels={self.labels}" if self.labels else ""
        return f"Match({shown})"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """One table of a segment.

    Attributes
    ----------
    syndrome_bits : int
        Bits of the syndrome that replaces the bits outside the mask; 0 if these bits are stored.
    """

    mask: int
    prefix_bits: int
    block_bits: int
    tail_bits: int
    bits_per_fingerprint: float | None
    syndrome_bits: int


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment of a store.

    Attributes
    ----------
    id_kind : str
        The kind of the ids: `none`, `u64` or `text`.
    """

    path: str
    number: int
    label: str
    fingerprints: int
    ids: int
    deleted_fingerprints: int
    deleted_ids: int
    id_kind: str
    sketch_len: int
    file_len: int
    tuned_k: int
    recipe: str
    written: datetime | None
    tables: tuple[TableInfo, ...]
    format_version: int


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The contents of a store.

    Attributes
    ----------
    manifest_digest : str
        The digest of the manifest. Snapshots with equal digests give equal answers.
    fingerprints : int
        The sum of the distinct fingerprints of each segment: a fingerprint in two segments counts
        twice.
    file_len : int
        Bytes of all segment files.
    sketch_len : int
        Bytes of the sketch of each id; 0 without sketches, or if segments differ.
    bits : int
        Bits of each fingerprint: 64, or the value of `build(..., bits=32)`.
    recipe : str | None
        The text of the recipe; `None` for a store without segments.
    """

    path: str
    store_id: str
    generation: int
    manifest_digest: str
    fingerprints: int
    ids: int
    file_len: int
    sketch_len: int
    bits: int
    tuned_k: int
    recipe: str | None
    segments: tuple[SegmentInfo, ...]

    _repr_html_ = _table


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Information about a server.

    Attributes
    ----------
    version : str
        The version of the program of the server.
    format_versions : tuple[int, int]
        The oldest and the newest format version of stores that the server reads.
    store : StoreInfo
        The contents of the served store, with paths on the server.
    stores : tuple[str, ...]
        The directories of several stores that are served as one; `store` then contains the segments
        of all. Empty for a single store.
    takes_texts : bool
        Whether the server makes fingerprints of texts.
    writable : bool
        Whether clients can add and delete records.
    limits : dict[str, int]
        The limits of the server, with the names of the options of `fpstore serve`; names of times
        end in `_ms`.
    """

    version: str
    format_versions: tuple[int, int]
    store: StoreInfo
    stores: tuple[str, ...]
    takes_texts: bool
    writable: bool
    needs_token_to_read: bool
    needs_token_to_write: bool
    limits: dict[str, int]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a server is ready for requests.

    Attributes
    ----------
    generation : int
        The generation of the served snapshot.
    code : str | None
        The reason why the server is not ready, as a code for programs, such as `draining`.
    message : str | None
        The reason why the server is not ready, as a sentence.
    """

    ready: bool
    generation: int
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Price:
    """The estimated cost of queries on a server.

    Attributes
    ----------
    expected_us : float
        Time of one search in microseconds.
    cost_us : float
        Time of all searches in microseconds.
    lane : str
        The threads that run the searches: `inline` (the thread that reads the request), `quick` or
        `slow`.
    """

    k: int
    queries: int
    expected_us: float
    cost_us: float
    lane: str
    generation: int


@dataclass(frozen=True, slots=True)
class ExpiredSegment:
    """A segment that a server removed, or would remove in a dry run."""

    number: int
    label: str
    fingerprints: int
    file_len: int


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of a verification.

    Attributes
    ----------
    faults : list[FpstoreError]
        Damage and wrong answers; empty if the store is sound.
    """

    segments: int
    pages: int
    values: int
    samples: int
    faults: list[FpstoreError]

    @property
    def is_sound(self) -> bool:
        """Whether the store has no damage and gave no wrong answers."""
        return not self.faults

    @property
    def damaged(self) -> list[CorruptError]:
        """The faults that are damaged files."""
        return [fault for fault in self.faults if isinstance(fault, CorruptError)]


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of a commit.

    Attributes
    ----------
    segment : int | None
        The number of the new segment; `None` if there were no records.
    unmerged : str | None
        The reason why merging segments failed; the records are added nevertheless.
    """

    generation: int
    segment: int | None
    records: int
    fingerprints: int
    unmerged: str | None = None


@dataclass(frozen=True, slots=True)
class SegmentsCommitted:
    """The result of `fpstore.tasks.commit`.

    Attributes
    ----------
    generation : int
        The generation of the store after the commit.
    added : int
        The number of added segments.
    fingerprints : int
        The number of fingerprints in the added segments.
    repeated : int
        The number of receipts that are repeated, or whose segments are already in the store.
    empty : int
        The number of skipped segments, which contain no fingerprints.
    copied : int
        The number of files that were copied because they could not be linked.
    known_run : bool
        Whether the store already contains this run, so that nothing was done.
    tables_differ : bool
        Whether the tables of the segments differ, so that shares of a join read everything.
    """

    generation: int
    added: int
    fingerprints: int
    file_len: int
    repeated: int
    empty: int
    copied: int
    known_run: bool
    tables_differ: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of a deletion.

    Attributes
    ----------
    wanted : int
        The number of distinct ids or fingerprints to delete.
    found : int
        The number of those that the store contained.
    """

    wanted: int
    found: int
    fingerprints: int
    ids: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result of a compaction."""

    merged: int
    made: int
    read_len: int
    written_len: int
    deleted_fingerprints: int
    deleted_ids: int


@dataclass(frozen=True, slots=True)
class DocumentsAdded:
    """The result of adding documents.

    Attributes
    ----------
    documents : int
        The number of added documents.
    empty : int
        Documents without features, which have no fingerprint and were not added.
    bad : int
        The number of skipped bad records.
    bad_files : int
        The number of files in folders that could not be read to their end.
    faults : list[str]
        Messages for the first ten bad records and the first ten bad files.
    """

    documents: int
    empty: int
    bad: int
    bad_files: int
    faults: list[str]


@dataclass(frozen=True, slots=True)
class Loss:
    """How many documents a cleaning removes from a file, from a source, or from all files together.

    Attributes
    ----------
    kind : str
        The scope of the loss: `all`, `file` or `source`.
    name : str
        The name of the file or of the source.
    documents : int
        The number of documents with a fingerprint.
    removed : int
        The number of those that are removed or annotated.
    empty : int
        The number of documents without a fingerprint, which are kept.
    """

    kind: str
    name: str
    documents: int
    removed: int
    empty: int = 0


@dataclass(frozen=True, slots=True)
class LargeCluster:
    """A kept document with its near-duplicates.

    Attributes
    ----------
    documents : int
        The number of documents in the cluster, including kept ones.
    id : str | None
        The id of the kept document; `None` for a stored document without an id.
    side : str
        Whether the kept document is `new` or `stored`.
    line : str | None
        The beginning of the text of one of the documents; `None` if it cannot be read again.
    """

    documents: int
    id: str | None
    side: str
    line: str | None


@dataclass(frozen=True, slots=True)
class Overview:
    """A summary of a cleaning.

    Attributes
    ----------
    judgement : str
        The criterion for near-duplicates.
    reasons : dict[str, int]
        The number of removed documents for each reason: `judged`, `address`, `bytes`, `text`,
        `near` and `confirmed`.
    losses : list[Loss]
        The loss of all files together, then of each file, in their order, then of each source,
        sorted by name. Files that contain one document each are not listed.
    clusters : list[LargeCluster]
        The ten largest clusters of ten or more documents, the largest first.
    """

    judgement: str
    reasons: dict[str, int]
    losses: list[Loss]
    clusters: list[LargeCluster]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result of a cleaning.

    Attributes
    ----------
    kept : int
        The number of kept documents: those without a near kept or stored document, and the spared
        ones.
    near_new : int
        The number of documents removed or annotated because they are near a kept new document.
    near_stored : int
        The number of documents removed or annotated because they are near a stored document.
    spared : int
        The number of documents kept although they are near another kept document, see
        `per_cluster`.
    empty : int
        The number of documents without features, which are kept unchanged.
    bad : int
        The number of bad records, which are kept unchanged.
    added : int
        The number of documents added to the store, or to be added by `commit`.
    files : int
        The number of written output files.
    uncopied : int
        The number of files in folders that could not be read completely. Their documents are in no
        output, are not added, and replace no other document.
    left_out : int
        The number of documents that were read from these files.
    was_added_before : bool
        Whether the store already contains the documents of this run, and the outputs exist, so that
        nothing was done. If outputs are missing, or `commit=True` is set without an output,
        `KnownRunError` is raised instead.
    faults : list[str]
        Messages for the first bad records and files of each part of the inputs.
    removed : Rows
        The removed or annotated documents: `fingerprint` and `id`; `other` and `other_id` of the
        kept document; `distance`, `similarity`; `side`, which is `new` or `stored` for the kept
        document; and `reason`: `judged`, `address`, `bytes`, `text`, `near` or `confirmed`. With
        several stores also `other_store`, the store of a stored document.
    overview : Overview | None
        A summary with the losses and the largest clusters; `None` if nothing was done.
    decisions : Rows | None
        The value of `rows`; `None` for files, or if nothing was done.
    changed : int
        If passages are removed: the number of documents with some passages cut out or annotated.
    dropped : int
        If passages are removed: the number of documents removed completely because of them.
    manifest : dict[str, Any] | None
        If requested: settings, counts, losses, and the SHA-256 of inputs and outputs.
    page : Page | None
        If requested: an HTML page of removed documents.
    addition : Addition | None
        With `commit=False`: the pending addition to the store, which `commit` makes.
    """

    kept: int
    near_new: int
    near_stored: int
    spared: int
    empty: int
    bad: int
    added: int
    files: int
    uncopied: int
    left_out: int
    was_added_before: bool
    faults: list[str]
    removed: Rows
    overview: Overview | None
    decisions: Rows | None = None
    changed: int = 0
    dropped: int = 0
    manifest: dict[str, Any] | None = None
    page: Page | None = None
    addition: Addition | None = None

    @property
    def rows(self) -> Rows:
        """For a table: the decision on each of its rows, in order: `keep`, and for a removed row
        `near` (the number of the kept row that it duplicates, null for a stored document),
        `near_id`, `distance`, `similarity`, `side`, `reason`, and with several stores `near_store`.
        With `passages` the columns are `keep` and `text`, the remaining text.

        Raises
        ------
        InputError
            The documents were in files, or nothing was done.
        """
        if self.decisions is not None:
            return self.decisions
        if self.was_added_before:
            raise InputError(
                "there are no rows: an earlier call added the documents of this run, and its output was "
                "complete before; skip writing if was_added_before"
            )
        raise InputError(
            "'rows' and 'keep' exist only for a table passed as rows: not for files, not for "
            "passages that are only listed, and not if nothing was done"
        )

    @property
    def keep(self) -> npt.NDArray[np.bool_]:
        """The mask of kept table rows, so that `frame[cleaned.keep]` selects them."""
        return self.rows["keep"]

    def commit(self) -> int:
        """Adds the kept documents to the store, after `clean(..., add=True, commit=False)`. Returns
        their number; 0 if the store already contains the documents of this run. An error other than
        `InEffectError` changes nothing."""
        if self.was_added_before:
            return 0
        if self.addition is None:
            raise InputError("there is nothing to commit: give add=True and commit=False to clean")
        count, faults = self.addition.commit()
        self.faults.extend(faults)
        return count

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *raised: Any) -> None:
        """Commits. If an exception was raised, adds nothing."""
        if self.addition is not None:
            self.addition.leave(*raised)

    _repr_html_ = _table


@dataclass(frozen=True, slots=True)
class Contamination:
    """The result of searching for items of a benchmark in documents.

    Attributes
    ----------
    items : int
        The number of items searched for.
    short : int
        The number of items with fewer than 50 words, for which the rule for short items is used.
    unjudged : int
        The number of items with fewer words than `min_words`, which were skipped and are not
        counted in `items`.
    found_items : int
        The number of items found in a document.
    whole_items : int
        The number of items that are in a document with all their shingles.
    documents : int
        The number of documents read.
    contaminated : int
        The number of documents that contain an item.
    bad : int
        The number of bad records of the documents, which are kept unchanged.
    files : int
        The number of written output files.
    uncopied : int
        The number of files in folders that could not be read completely. Their documents are in no
        output.
    faults : list[str]
        Messages for the first bad records and files of the documents and of the items.
    found : Rows
        The found items: `item`, `contained`, `file`, `id`, `start`, `end` (in characters),
        `byte_start`, `byte_end`.
    page : Page | None
        If requested: an HTML page of found items and their passages.
    mask : npt.NDArray[np.bool_] | None
        For a table: the mask that `keep` returns.
    """

    items: int
    short: int
    unjudged: int
    found_items: int
    whole_items: int
    documents: int
    contaminated: int
    bad: int
    files: int
    uncopied: int
    faults: list[str]
    found: Rows
    page: Page | None = None
    mask: npt.NDArray[np.bool_] | None = None

    @property
    def keep(self) -> npt.NDArray[np.bool_]:
        """The mask of table rows without an item, so that `frame[answer.keep]` selects them."""
        if self.mask is None:
            raise InputError(
                "'keep' exists only for a table passed as rows; these documents were read from "
                "files"
            )
        return self.mask

    _repr_html_ = _table


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    segments: int
    fingerprints: int
    file_len: int


@dataclass(frozen=True, slots=True)
class BackedUp:
    """The result of a backup.

    Attributes
    ----------
    generation : int
        The generation of the copy after the call.
    is_new : bool
        Whether the folder contained another generation, or no copy, before the call.
    copied : int
        The number of copied segments.
    copied_len : int
        The length of the copied segment files in bytes.
    kept : int
        The number of segments that the folder already contained.
    """

    path: str
    generation: int
    is_new: bool
    copied: int
    copied_len: int
    kept: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change between two snapshots of a store.

    Attributes
    ----------
    generation : int
        The generation after the change.
    since : int | None
        The generation before the change; `None` for the first snapshot, whose contents all count as
        added.
    act : str
        The kind of change: `added`, `deleted`, `merged`, `expired` or `run`.
    segments : list[int]
        The numbers of the segments after the change.
    from_ : list[int]
        The numbers of the segments before the change. In JSON the field is named `from`.
    label : str
        The labels of these segments, each once; or the name of the run.
    fingerprints : int
        The number of fingerprints in these segments after the change, deleted ones excluded.
    records_added : int | None
        For a merge: the number of records added between the two snapshots.
    records_removed : int | None
        For a merge: the number of records deleted between the two snapshots.
    """

    generation: int
    since: int | None
    act: str
    segments: list[int]
    from_: list[int]
    label: str
    fingerprints: int
    fingerprints_before: int
    ids: int
    ids_before: int
    records_added: int | None
    records_removed: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of fingerprints that the user should know.

    Attributes
    ----------
    code : str
        The kind of problem, such as `decimal-read-as-hex`.
    severity : str
        `note`, `warning` or `serious`.
    """

    code: str
    severity: str
    sentence: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SchemeEstimate:
    """A table scheme, its size, and the mean cost of a query for a stored fingerprint.

    Attributes
    ----------
    name : str
        The value of `scheme` for `build`.
    masks : list[int]
        The mask of each table.
    radii : list[int | None] | None
        The radius of each table; `None` if a scan of one table is cheaper than probes.
    tables : float
        Tables that a query probes.
    probes : float
        Blocks that a query looks up.
    lines : float
        Cache lines of indexes read.
    blocks : float
        Blocks looked up that are not empty.
    chunks : float
        Chunks of 64 bytes of heads that are summed at once.
    whole_chunks : float
        Chunks in which every head is decoded.
    ranges : float
        Ranges of heads searched in blocks with restart points.
    extra_bytes : float
        Bytes of gaps beyond the first byte of each gap.
    candidates : float
        Values whose tail is compared.
    look_ups : float
        Values looked up by syndromes.
    scanned : float
        Values that a scan compares.
    random_candidates : float
        Candidates of a query for a random fingerprint.
    largest_group : float
        Values in the largest group of values with a common prefix.
    hot_len : float
        Bytes that probes read in random order; these should be in memory.
    tables_len : float
        Bytes of all tables, without ids.
    cold_pages : float
        Pages of 4 KiB that a query reads if no page is in memory.
    tail_pages : float
        Pages that a query reads if only indexes and heads are in memory.
    hot_micros : float
        Microseconds of a query with all data in memory.
    cold_micros : float
        Microseconds of a query with no data in memory.
    on_frontier : bool
        Whether no other scheme is both smaller and faster.
    reason : str
        The reason why the scheme was chosen or not.
    """

    name: str
    masks: list[int]
    radii: list[int | None] | None
    tables: float
    probes: float
    lines: float
    blocks: float
    chunks: float
    whole_chunks: float
    ranges: float
    heads_passed: float
    heads_compared: float
    extra_bytes: float
    candidates: float
    look_ups: float
    scanned: float
    random_candidates: float
    largest_group: float
    hot_len: float
    tables_len: float
    bytes_per_fingerprint: float
    cold_pages: float
    tail_pages: float
    hot_micros: float
    cold_micros: float
    within_budget: bool
    on_frontier: bool
    chosen: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The table schemes that a store could have.

    Attributes
    ----------
    budget_len : float
        Maximum bytes of the tables.
    schemes : list[SchemeEstimate]
        The schemes, sorted by ascending size.
    """

    fingerprints: int
    k: int
    budget_len: float
    schemes: list[SchemeEstimate]

    @property
    def chosen(self) -> SchemeEstimate:
        """The scheme that `build` would choose: the fastest within the budget, or a smaller one of
        nearly the same speed."""
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


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a text, which a recipe hashes."""

    text: str
    hash: int
    occurrences: int
    weight: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two texts.

    Attributes
    ----------
    distance : int
        The distance of the fingerprints in bits.
    estimate : float
        The similarity estimated from the distance.
    jaccard : float
        The exact Jaccard similarity of the feature sets.
    common_count : int
        The number of distinct features in both texts.
    """

    fingerprints: tuple[int, int]
    distance: int
    estimate: float
    jaccard: float
    common_count: int
    only_first: list[str]
    only_second: list[str]

    _repr_html_ = _table


@dataclass(frozen=True, slots=True)
class Point:
    """How many labelled pairs are found within a distance, with precision and recall."""

    k: int
    found: int
    wrong: int
    missed: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Expected:
    """How many pairs are expected within a distance in a larger collection.

    Attributes
    ----------
    wrong : float
        The number of pairs of different documents, estimated from the measured documents.
    by_chance : float
        The number of pairs that random fingerprints would have, which no recipe can avoid.
    """

    k: int
    found: float
    wrong: float
    by_chance: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected results in a collection of a given size.

    Attributes
    ----------
    recommended_k : int
        The distance with the greatest expected F1.
    """

    collection_size: int
    recommended_k: int
    points: list[Expected]


class ProgressLine:
    """Shows progress as one line on standard error, for `progress=True` outside of notebooks."""

    def __init__(self) -> None:
        self._len, self._next = 0, 0.0

    def __call__(self, progress: Progress) -> None:
        text = progress.text
        if sys.stderr.isatty():
            sys.stderr.write("\r" + text.ljust(self._len))
            self._len = len(text)
            if progress.fraction >= 1:
                sys.stderr.write("\n")
        elif progress.fraction >= self._next:
            # Standard error is not a terminal: write one line for each tenth of the work.
            sys.stderr.write(text + "\n")
            self._next = progress.fraction + 0.1
        sys.stderr.flush()


class ProgressBar:
    """Shows progress as a bar below the cell of a notebook; for `progress=True` in a notebook."""

    def __init__(self, display: Any) -> None:
        self._text, self._value = "fpstore", 0.0
        self._handle = display(self, display_id=True)

    def __call__(self, progress: Progress) -> None:
        self._text = progress.text
        self._value = progress.fraction
        self._handle.update(self)

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f'<progress value="{self._value:.3f}"></progress> {escape(self._text)}'


def progress_reporter() -> ProgressLine | ProgressBar:
    """The display of progress: a bar in a notebook, else a line."""
    shell = sys.modules.get("IPython")
    if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
        return ProgressBar(shell.display.display)
    return ProgressLine()
