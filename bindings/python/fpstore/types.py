"""The classes of the objects that calls return, for type annotations."""

from __future__ import annotations

import operator
import sys
import warnings
from typing import TYPE_CHECKING

from ._fpstore import (
    FORMAT_VERSIONS as FORMAT_VERSIONS,
    Evaluation as Evaluation,
    Page as Page,
    RowStream as RowStream,
    Server as Server,
    Statistics as Statistics,
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
    LargeCluster as LargeCluster,
    Loss as Loss,
    Match as Match,
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

__all__ = [
    "BackedUp",
    "Change",
    "Cleaned",
    "Committed",
    "Compacted",
    "Comparison",
    "Contamination",
    "Deleted",
    "DocumentsAdded",
    "Evaluation",
    "Expected",
    "ExpiredSegment",
    "FORMAT_VERSIONS",
    "Feature",
    "Finding",
    "Forecast",
    "Imported",
    "LargeCluster",
    "Loss",
    "Match",
    "Overview",
    "Page",
    "Plan",
    "Point",
    "Price",
    "Progress",
    "Readiness",
    "RowStream",
    "SchemeEstimate",
    "SegmentInfo",
    "Server",
    "ServerInfo",
    "Statistics",
    "StoreInfo",
    "TableInfo",
    "VerifyReport",
]

# Names of the previous release, each with its new name.
_OLD = {
    "LabelledMatch": "types.Match",
    "LabelledMatchInStores": "types.Match",
    "MatchInStores": "types.Match",
    "Stores": "Store",
    "open_all": "open",
}


def _renamed(name: str, new: str, stacklevel: int = 3) -> object:
    """Returns the object that has the old name `name`, with a warning."""
    message = f"fpstore.{name} moved to fpstore.{new}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
    return operator.attrgetter(new)(sys.modules["fpstore"])


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _OLD:
            return _renamed(f"types.{name}", _OLD[name])
        raise AttributeError(f"module 'fpstore.types' has no attribute '{name}'")
