"""Very large sets of 64-bit fingerprints, and all that lie within `k` bits of one.

A store keeps fingerprints (SimHash, MinHash, perceptual hashes of images: any that are compared by
Hamming distance) compressed on disk, with ids, and answers exactly from a memory map:

>>> import fpstore, tempfile, os
>>> path = os.path.join(tempfile.mkdtemp(), "pages.fps")
>>> store = fpstore.build(path, [0xC0F1789BED2EB9B8, 0x5057D88DD8F1C6FF], ["a.html", "b.html"])
>>> store.query(0xC0F1789BED2EB9B9, k=3)
[Match(fingerprint=13903026135763958200, distance=1, ids=['a.html'])]

`k` is in bits and inclusive; where it may be left out, it is the one that the store is tuned for.
Fingerprints are integers (`uint64`, or `int64` as bit patterns) or texts of hex digits, in anything
that holds many: lists, numpy, Arrow, pandas, polars. Long answers are Arrow streams.
"""

from __future__ import annotations

from . import errors as errors
from . import tasks as tasks
from ._fpstore import (
    Builder as Builder,
)
from ._fpstore import (
    Column as Column,
)
from ._fpstore import (
    Evaluation as Evaluation,
)
from ._fpstore import (
    Recipe as Recipe,
)
from ._fpstore import (
    Rows as Rows,
)
from ._fpstore import (
    RowStream as RowStream,
)
from ._fpstore import (
    Statistics as Statistics,
)
from ._fpstore import (
    Store as Store,
)
from ._fpstore import (
    Writer as Writer,
)
from ._fpstore import (
    __version__ as __version__,
)
from ._fpstore import (
    build as build,
)
from ._fpstore import (
    components as components,
)
from ._fpstore import (
    dedup as dedup,
)
from ._fpstore import (
    evaluate as evaluate,
)
from ._fpstore import (
    export as export,
)
from ._fpstore import (
    from_bits as from_bits,
)
from ._fpstore import (
    from_hex as from_hex,
)
from ._fpstore import (
    group as group,
)
from ._fpstore import (
    near_pairs as near_pairs,
)
from ._fpstore import (
    open as open,
)
from ._fpstore import (
    stats as stats,
)
from ._fpstore import (
    to_hex as to_hex,
)
from ._fpstore import (
    verify as verify,
)
from ._types import (
    Committed as Committed,
)
from ._types import (
    Compacted as Compacted,
)
from ._types import (
    Comparison as Comparison,
)
from ._types import (
    Deleted as Deleted,
)
from ._types import (
    Feature as Feature,
)
from ._types import (
    Finding as Finding,
)
from ._types import (
    Imported as Imported,
)
from ._types import (
    Match as Match,
)
from ._types import (
    Point as Point,
)
from ._types import (
    Progress as Progress,
)
from ._types import (
    SegmentInfo as SegmentInfo,
)
from ._types import (
    StoreInfo as StoreInfo,
)
from ._types import (
    TableInfo as TableInfo,
)
from ._types import (
    VerifyReport as VerifyReport,
)
from .errors import (
    CorruptError as CorruptError,
)
from .errors import (
    FpstoreError as FpstoreError,
)
from .errors import (
    InputError as InputError,
)
from .errors import (
    InternalError as InternalError,
)
from .errors import (
    LockedError as LockedError,
)
from .errors import (
    NoSpaceError as NoSpaceError,
)
from .errors import (
    NoStoreError as NoStoreError,
)
from .errors import (
    NotAStoreError as NotAStoreError,
)
from .errors import (
    RecipeError as RecipeError,
)
from .errors import (
    StaleStoreError as StaleStoreError,
)
from .errors import (
    StoreExistsError as StoreExistsError,
)
from .errors import (
    TooManyPairsError as TooManyPairsError,
)
from .errors import (
    VersionError as VersionError,
)
