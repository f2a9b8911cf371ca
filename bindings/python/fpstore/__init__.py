"""Exact search for 64-bit fingerprints within `k` bits of a query, in very large sets.

A store keeps fingerprints (SimHash, MinHash, perceptual hashes of images, or any others compared by
Hamming distance) compressed on disk, with ids, and answers exactly from a memory map:

>>> import fpstore, tempfile, os
>>> path = os.path.join(tempfile.mkdtemp(), "pages.fps")
>>> store = fpstore.build(path, [0xC0F1789BED2EB9B8, 0x5057D88DD8F1C6FF], ["a.html", "b.html"])
>>> store.query(0xC0F1789BED2EB9B9, k=3)
[Match(fingerprint=13903026135763958200, distance=1, ids=['a.html'])]

`k` is in bits and inclusive; its default is the distance that the store is tuned for.
Fingerprints are integers (`uint64`, or `int64` as bit patterns) or texts of hex digits, in anything
that holds many: lists, numpy, Arrow, pandas, polars. Long answers are Arrow streams.
"""

from __future__ import annotations

from . import errors as errors
from . import tasks as tasks
from ._fpstore import (
    FORMAT_VERSIONS as FORMAT_VERSIONS,
    Builder as Builder,
    Client as Client,
    Column as Column,
    DfTable as DfTable,
    Documents as Documents,
    Evaluation as Evaluation,
    Page as Page,
    Recipe as Recipe,
    Rows as Rows,
    RowStream as RowStream,
    Server as Server,
    Statistics as Statistics,
    Store as Store,
    Stores as Stores,
    Writer as Writer,
    __version__ as __version__,
    backup as backup,
    build as build,
    clean as clean,
    components as components,
    contamination as contamination,
    dedup as dedup,
    evaluate as evaluate,
    export as export,
    from_bits as from_bits,
    from_hex as from_hex,
    group as group,
    log as log,
    near_pairs as near_pairs,
    open as open,
    open_all as open_all,
    plan as plan,
    serve as serve,
    stats as stats,
    to_hex as to_hex,
    verify as verify,
)
from ._types import (
    BackedUp as BackedUp,
    Change as Change,
    Cleaned as Cleaned,
    Committed as Committed,
    Compacted as Compacted,
    Comparison as Comparison,
    Contamination as Contamination,
    Deleted as Deleted,
    DocumentsAdded as DocumentsAdded,
    Expected as Expected,
    ExpiredSegment as ExpiredSegment,
    Feature as Feature,
    Finding as Finding,
    Forecast as Forecast,
    Imported as Imported,
    LabelledMatch as LabelledMatch,
    LabelledMatchInStores as LabelledMatchInStores,
    LargeCluster as LargeCluster,
    Loss as Loss,
    Match as Match,
    MatchInStores as MatchInStores,
    Overview as Overview,
    Plan as Plan,
    Point as Point,
    Price as Price,
    Progress as Progress,
    Readiness as Readiness,
    SchemeEstimate as SchemeEstimate,
    SegmentInfo as SegmentInfo,
    ServerInfo as ServerInfo,
    StoreInfo as StoreInfo,
    TableInfo as TableInfo,
    VerifyReport as VerifyReport,
)
from .errors import (
    CorruptError as CorruptError,
    CutAnswerError as CutAnswerError,
    DistanceWarning as DistanceWarning,
    FpstoreError as FpstoreError,
    InEffectError as InEffectError,
    InputError as InputError,
    InternalError as InternalError,
    KnownRunError as KnownRunError,
    LockedError as LockedError,
    NoSpaceError as NoSpaceError,
    NoStoreError as NoStoreError,
    NotAServerError as NotAServerError,
    NotAStoreError as NotAStoreError,
    RecipeError as RecipeError,
    RefusedError as RefusedError,
    StaleStoreError as StaleStoreError,
    StoreExistsError as StoreExistsError,
    TooManyPairsError as TooManyPairsError,
    TooMuchLostError as TooMuchLostError,
    UnmergedError as UnmergedError,
    UnreachableError as UnreachableError,
    VersionError as VersionError,
)
