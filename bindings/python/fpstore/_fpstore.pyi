"""The part of the package written in Rust. Its names are exported by `fpstore`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import (
    Any,
    Callable,
    ClassVar,
    Final,
    Generic,
    Literal,
    NoReturn,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    final,
    overload,
)

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, TypeVar, Unpack

from ._types import (
    BackedUp,
    Change,
    Cleaned,
    Committed,
    Compacted,
    Comparison,
    Contamination,
    Deleted,
    DocumentsAdded,
    ExpiredSegment,
    Feature,
    Finding,
    Forecast,
    Imported,
    Match,
    Plan,
    Point,
    Price,
    Progress,
    Readiness,
    SegmentInfo,
    ServerInfo,
    StoreInfo,
    VerifyReport,
)
from .tasks import Receipt, SegmentsCommitted

__all__ = [
    "FORMAT_VERSIONS",
    "Addition",
    "Builder",
    "Client",
    "Column",
    "DfTable",
    "Documents",
    "Evaluation",
    "JoinPlan",
    "Page",
    "Recipe",
    "RowStream",
    "Rows",
    "Server",
    "Statistics",
    "Store",
    "Writer",
    "__version__",
    "_check_merits",
    "_df_table_of",
    "_fail_after",
    "_keep_order",
    "_near_rule",
    "_page_of",
    "_panic",
    "_plan_of",
    "_receipt_of_file",
    "_receipt_of_text",
    "_column_of",
    "_recipe_of",
    "_reopen",
    "_rows_of",
    "backup",
    "build",
    "clean",
    "commit",
    "components",
    "contamination",
    "dedup",
    "describe_documents",
    "evaluate",
    "export",
    "forest",
    "from_bits",
    "from_hex",
    "group",
    "group_documents",
    "has_run",
    "images",
    "join_group",
    "join_share",
    "log",
    "near_pairs",
    "open",
    "pairs",
    "plan",
    "query_segment",
    "scatter",
    "serve",
    "stats",
    "to_hex",
    "verify",
    "write_segment",
]

FORMAT_VERSIONS: Final[tuple[int, int]]
"""The oldest and the newest format version of stores that this package reads."""

__version__: Final[str]
"""The version of the package and of the program."""

class _ArrowArray(Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None, /
    ) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...

class _Closing:
    """A class whose objects are closed at the end of a `with` block."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

class _Equal:
    """A class whose objects are compared by value."""

    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

class _Series(Protocol):
    """A pandas Series."""

    def isna(self) -> Any: ...
    def to_numpy(self) -> npt.NDArray[Any]: ...

class _Frame(Protocol):
    """A pandas DataFrame."""

    @property
    def columns(self) -> Any: ...
    def isna(self) -> Any: ...

class _Dataset(Protocol):
    """A Dataset of the package datasets."""

    def with_format(self, type: str | None = None) -> Any: ...

class _ImageHash(Protocol):
    """A hash of the package imagehash."""

    hash: npt.NDArray[np.bool_]

_Path: TypeAlias = str | PathLike[str]
_IdType: TypeAlias = Literal["auto", "int", "str"]
_Arrow: TypeAlias = _ArrowArray | _ArrowStream
_Column: TypeAlias = _Arrow | _Series
_Table: TypeAlias = (
    _Arrow
    | _Series
    | _Frame
    | npt.NDArray[Any]
    | Iterator[_Arrow]
    | _Dataset
    | Mapping[str, Sequence[Any]]
    | list[dict[str, Any]]
    | Iterator[dict[str, Any]]
)
# Labelled pairs: a file, or a table with two columns of ids and a column of labels.
_Labels: TypeAlias = _Path | _Arrow | _Frame | Mapping[str, Sequence[Any]]
# Pictures: a folder, or a dictionary from ids to paths, bytes or pillow images.
_Images: TypeAlias = _Path | Mapping[str, Any] | Mapping[int, Any]
_StoreOrStores: TypeAlias = "Store[Any] | _Path | list[str]"
_Found = TypeVar("_Found", default=int)
_Documents: TypeAlias = "Documents | _Path | Sequence[_Path] | _Table"
_Fingerprint: TypeAlias = int | np.uint64 | np.int64 | str
# Arrays of `uint8` have the shape (n, 8). Texts are accepted only in lists and tuples, because
# `Sequence[str]` would accept a single text.
_Fingerprints: TypeAlias = (
    npt.NDArray[np.uint64]
    | npt.NDArray[np.int64]
    | npt.NDArray[np.uint8]
    | npt.NDArray[np.object_]
    | npt.NDArray[np.str_]
    | _Column
    | Sequence[int]
    | Sequence[np.uint64]
    | Sequence[np.int64]
    | list[str]
    | tuple[str, ...]
    | Iterator[int]
    | Iterator[np.uint64]
    | Iterator[str]
)
_FingerprintsOrNull: TypeAlias = _Fingerprints | list[int | None] | list[str | None]
_Numbers: TypeAlias = _Fingerprints | npt.NDArray[np.integer[Any]]
_Ids: TypeAlias = (
    npt.NDArray[np.integer[Any]]
    | npt.NDArray[np.object_]
    | npt.NDArray[np.str_]
    | _Column
    | Sequence[int]
    | Sequence[np.integer[Any]]
    | list[str]
    | tuple[str, ...]
    | Iterator[int]
    | Iterator[str]
)
_Batch: TypeAlias = _Fingerprints | tuple[_Fingerprints, _Ids | None]
_Records: TypeAlias = _Fingerprints | Iterator[_Batch] | Iterator[int] | Iterator[str]
_Texts: TypeAlias = (
    _Column | npt.NDArray[Any] | list[str] | list[str | None] | tuple[str | None, ...]
    | Iterator[str | None]
)
_Bytes: TypeAlias = int | float | str
_Sketch: TypeAlias = bool | Literal[0, 32, 64, 128]
_OnProgress: TypeAlias = Callable[[Progress], object] | bool | None
_Array: TypeAlias = npt.NDArray[Any]

# Keyword arguments of many functions. All have defaults, which `help` shows.

class _Work(TypedDict, total=False):
    threads: int | None
    memory: _Bytes | None
    progress: _OnProgress

class _Space(_Work, total=False):
    temp_dir: _Path | None

class _Join(_Space, total=False):
    max_pairs: int | None

class _Build(_Space, total=False):
    k: int | None
    scheme: str | None
    budget: _Bytes | None
    label: str
    recipe: str | Recipe | None
    sketch: _Sketch
    bits: int | None
    id_type: _IdType
    replace: bool
    wait: float | None

class _TaskJoin(TypedDict, total=False):
    max_pairs: int | None
    threads: int
    memory: _Bytes
    temp_dir: _Path | None

@final
class Column(_ArrowArray):
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int | Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> Column: ...
    def __iter__(self) -> Iterator[int | None]: ...
    def __contains__(self, value: object, /) -> bool: ...
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> _Array: ...
    @property
    def recipe(self) -> str | None: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    def _repr_html_(self) -> str: ...
    @property
    def null_count(self) -> int: ...
    def to_numpy(self, *, null: int | None = None) -> npt.NDArray[np.uint64]: ...
    def is_null(self) -> npt.NDArray[np.bool_]: ...
    def to_pylist(self) -> list[int | None]: ...

@final
class Rows(_ArrowStream):
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def cut(self) -> bool: ...
    @overload
    def __getitem__(
        self, column: Literal["fingerprint", "first", "second", "cluster", "near", "component"], /
    ) -> npt.NDArray[np.uint64]: ...
    @overload
    def __getitem__(self, column: Literal["distance"], /) -> npt.NDArray[np.uint8]: ...
    @overload
    def __getitem__(self, column: Literal["keep", "added"], /) -> npt.NDArray[np.bool_]: ...
    @overload
    def __getitem__(self, column: Literal["similarity"], /) -> npt.NDArray[np.float64]: ...
    @overload
    def __getitem__(self, column: Literal["group", "query"], /) -> npt.NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, column: str, /) -> _Array: ...
    @overload
    def __getitem__(self, column: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, column: slice, /) -> Rows: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...
    def to_pylist(self) -> list[tuple[Any, ...]]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class RowStream(_Closing, _ArrowStream):
    def __iter__(self) -> Self: ...
    def __next__(self) -> Rows: ...
    def close(self) -> None: ...
    @property
    def column_names(self) -> list[str]: ...
    def read_all(self) -> Rows: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    def __array__(self, *_args: object, **_kwargs: object) -> NoReturn: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Page:
    def html(self) -> str: ...
    def _repr_html_(self) -> str: ...

@final
class Statistics:
    @property
    def fingerprints(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def tuned_k(self) -> int: ...
    @property
    def effective_bits(self) -> float | None: ...
    @property
    def bit_shares(self) -> list[float]: ...
    @property
    def heaviest(self) -> list[tuple[int, int]]: ...
    @property
    def findings(self) -> list[Finding]: ...
    def html(self) -> str: ...
    def _repr_html_(self) -> str: ...

# `_Found` is the type of a record that `find` returns: with several stores, a fingerprint and the
# name of its store.
@final
class Store(_Closing, _ArrowStream, Generic[_Found]):
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __contains__(self, fingerprint: _Fingerprint, /) -> bool: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def path(self) -> str: ...
    @property
    def paths(self) -> list[str]: ...
    @property
    def generation(self) -> int: ...
    @property
    def generations(self) -> list[int]: ...
    @property
    def tuned_k(self) -> int: ...
    @property
    def recipe(self) -> str | None: ...
    def text_recipe(
        self,
        *,
        stop_words: str | Sequence[str] | None = None,
        df: DfTable | _Path | None = None,
        weights: Mapping[str, int] | None = None,
    ) -> Recipe: ...
    def info(self) -> StoreInfo: ...
    def stats(self) -> Statistics: ...
    def verify(
        self, samples: int = 100, *, max_rate: _Bytes | None = None, progress: _OnProgress = None
    ) -> VerifyReport: ...
    def refresh(self) -> bool: ...
    def warm(self, what: Literal["none", "hot", "all"] = "hot") -> int: ...
    def query(
        self,
        fingerprint: _Fingerprint,
        k: int | None = None,
        *,
        limit: int | None = None,
        labels: bool = False,
    ) -> list[Match]: ...
    def query_text(
        self,
        text: str,
        k: int | None = None,
        *,
        limit: int | None = None,
        labels: bool = False,
    ) -> list[Match]: ...
    def nearest(
        self,
        fingerprint: _Fingerprint,
        count: int = 1,
        k: int = 64,
        *,
        labels: bool = False,
    ) -> list[Match]: ...
    def nearest_many(
        self,
        fingerprints: _Fingerprints,
        count: int = 1,
        k: int = 64,
        *,
        ids: bool = True,
        labels: bool = False,
        mode: Literal["auto", "probe", "walk", "pass"] = "auto",
        **options: Unpack[_Work],
    ) -> Rows: ...
    def find(self, ids: _Ids, /) -> list[list[_Found]]: ...
    def query_many(
        self,
        fingerprints: _Fingerprints,
        k: int | None = None,
        *,
        ids: bool = True,
        labels: bool = False,
        limit: int | None = None,
        mode: Literal["auto", "probe", "walk", "pass"] = "auto",
        **options: Unpack[_Work],
    ) -> Rows: ...
    def count_many(
        self, fingerprints: _Fingerprints, k: int | None = None, **options: Unpack[_Work]
    ) -> npt.NDArray[np.uint32]: ...
    def has_near(
        self, fingerprints: _Fingerprints, k: int | None = None, **options: Unpack[_Work]
    ) -> npt.NDArray[np.bool_]: ...
    def pairs(
        self,
        k: int | None = None,
        *,
        ids: bool = False,
        sorted: bool = False,
        share: tuple[int, int] | None = None,
        **options: Unpack[_Join],
    ) -> RowStream: ...
    def clusters(
        self,
        k: int | None = None,
        method: Literal["components", "star", "leader"] = "components",
        *,
        keep: Literal[
            "representative", "smallest-id", "first", "largest-cluster"
        ] = "representative",
        pairs: _Labels | None = None,
        **options: Unpack[_Space],
    ) -> RowStream: ...
    def clusters_page(
        self,
        k: int | None = None,
        method: Literal["components", "star", "leader"] = "components",
        *,
        texts: _Documents | None = None,
        pairs: _Labels | None = None,
        groups: int = 1000,
        link: str | None = None,
        image: str | None = None,
        images: _Images | None = None,
        **options: Unpack[_Space],
    ) -> Page: ...
    def pairs_page(
        self,
        k: int | None = None,
        count: int = 30,
        *,
        texts: _Documents | None = None,
        link: str | None = None,
        image: str | None = None,
        images: _Images | None = None,
        **options: Unpack[_Space],
    ) -> Page: ...
    def fingerprints(self) -> npt.NDArray[np.uint64]: ...
    def records(self) -> RowStream: ...
    def _repr_html_(self) -> str: ...

@final
class Documents:
    def __new__(
        cls,
        paths: _Path | Sequence[_Path] | _Table,
        *,
        format: Literal[
            "jsonl", "features", "csv", "tsv", "parquet", "warc", "lines", "text", "html"
        ]
        | None = None,
        id_field: str | None = None,
        line_ids: bool = False,
        text_field: str | None = None,
        text_format: Literal["plain", "html", "markdown"] = "plain",
        unit: str | None = None,
        encoding: str | None = None,
        html_part: Literal["auto", "main", "full"] = "auto",
        max_document: _Bytes | None = None,
        include: str | Sequence[str] = ...,
        exclude: str | Sequence[str] = ...,
        hidden: bool = False,
        skip_bad: bool = False,
    ) -> Self: ...
    def rows(self) -> RowStream: ...
    def __iter__(self) -> Iterator[Any]: ...

@final
class Addition:
    def commit(self) -> tuple[int, list[str]]: ...
    def leave(self, *raised: object) -> None: ...

@final
class Builder(_Closing):
    def __new__(cls, path: _Path, **options: Unpack[_Build]) -> Self: ...
    def add(self, fingerprints: _Records, ids: _Ids | None = None) -> int: ...
    def add_documents(self, inputs: _Documents) -> DocumentsAdded: ...
    def finish(self) -> Store: ...
    def close(self) -> None: ...

@final
class Writer(_Closing):
    def __new__(
        cls,
        path: _Path,
        *,
        label: str = "",
        recipe: str | Recipe | None = None,
        id_type: _IdType = "auto",
        compact: bool = True,
        max_rate: _Bytes | None = None,
        wait: float | None = 0.0,
        **options: Unpack[_Space],
    ) -> Self: ...
    @property
    def store(self) -> Store: ...
    @property
    def pending(self) -> int: ...
    def add(self, fingerprints: _Records, ids: _Ids | None = None) -> int: ...
    def add_documents(self, inputs: _Documents) -> DocumentsAdded: ...
    def check_and_add(
        self, fingerprints: _Records, ids: _Ids | None = None, k: int | None = None
    ) -> Rows: ...
    def commit(self) -> Committed: ...
    def replace(self, fingerprints: _Records, ids: _Ids) -> Deleted: ...
    def delete_ids(self, ids: _Ids, *, dry_run: bool = False) -> Deleted: ...
    def delete_fingerprints(
        self, fingerprints: _Fingerprints, *, dry_run: bool = False
    ) -> Deleted: ...
    def expire(
        self,
        before: str | None = None,
        *,
        older_than: str | None = None,
        all: bool = False,
        dry_run: bool = False,
    ) -> list[SegmentInfo]: ...
    def compact(self, what: Literal["tier", "all", "one", "rewrite"] = "tier") -> Compacted: ...
    def import_(self, sources: Sequence[_Path]) -> Imported: ...
    def finish(self) -> Store: ...
    def close(self) -> None: ...

@final
class Client(_Closing):
    # For a server of several stores, `find` returns pairs of a fingerprint and a store.
    def __new__(cls, url: str, *, token: str | None = None) -> Self: ...
    @property
    def url(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def info(self) -> ServerInfo: ...
    def ready(self) -> Readiness: ...
    def plan(self, k: int | None = None, queries: int | None = None) -> Price: ...
    def refresh(self) -> bool: ...
    def query(
        self, fingerprint: _Fingerprint, k: int | None = None, *, limit: int | None = None
    ) -> list[Match]: ...
    def query_text(
        self, text: str, k: int | None = None, *, limit: int | None = None
    ) -> list[Match]: ...
    def nearest(
        self, fingerprint: _Fingerprint, count: int = 1, k: int | None = None
    ) -> list[Match]: ...
    def query_many(
        self,
        fingerprints: _Fingerprints,
        k: int | None = None,
        *,
        ids: bool = True,
        limit: int | None = None,
    ) -> Rows: ...
    def nearest_many(
        self,
        fingerprints: _Fingerprints,
        count: int = 1,
        k: int | None = None,
        *,
        ids: bool = True,
    ) -> Rows: ...
    def find(self, ids: _Ids, /) -> list[list[int | Any]]: ...
    def check_and_add(
        self,
        fingerprints: _Fingerprints | None = None,
        ids: _Ids | None = None,
        k: int | None = None,
        *,
        texts: _Texts | None = None,
        durable: bool = True,
        same_recipe: bool = False,
    ) -> Rows: ...
    def replace(
        self,
        fingerprints: _Fingerprints | None = None,
        ids: _Ids | None = None,
        *,
        texts: _Texts | None = None,
        same_recipe: bool = False,
    ) -> Deleted: ...
    def delete_ids(self, ids: _Ids, *, dry_run: bool = False) -> Deleted: ...
    def expire(
        self,
        before: str | None = None,
        *,
        older_than: str | None = None,
        all: bool = False,
        dry_run: bool = False,
    ) -> list[ExpiredSegment]: ...
    def set_label(self, label: str) -> str: ...
    def compact(self, what: Literal["tier", "all", "one", "rewrite"] = "tier") -> None: ...
    def import_(self, sources: Sequence[str]) -> Imported: ...

@final
class Server(_Closing):
    @property
    def url(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...

@final
class Recipe(_Equal):
    NAMES: ClassVar[tuple[str, ...]]
    def __new__(
        cls,
        name: str | None = None,
        *,
        segment: str | None = None,
        shingle: int | None = None,
        ngram: int | None = None,
        count: Literal["once", "log", "count"] | None = None,
        top: int | None = None,
        tie: Literal[0, 1] | None = None,
        hash: str | None = None,
        hash_key: str | None = None,
        keep_case: bool = False,
        keep_form: bool = False,
        keep_marks: bool = False,
        stop_words: str | Sequence[str] | None = None,
        df: DfTable | _Path | None = None,
        weights: Mapping[str, int] | None = None,
    ) -> Self: ...
    @property
    def text(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def usual_k(self) -> int: ...
    def candidate_k(self, similarity: float) -> int: ...
    def fingerprint(self, text: str, /) -> int | None: ...
    def fingerprints(
        self, texts: _Texts, /, *, threads: int | None = None, progress: _OnProgress = None
    ) -> Column: ...
    def df_table(
        self,
        inputs: _Documents | None = None,
        *,
        texts: _Texts | None = None,
        min_df: int = 2,
        allow_empty: bool = False,
        threads: int | None = None,
        temp_dir: _Path | None = None,
        progress: _OnProgress = None,
    ) -> DfTable: ...
    def tokens(self, text: str, /) -> list[str]: ...
    def features(self, text: str, /) -> list[Feature]: ...
    @overload
    def of_features(self, features: Mapping[str, float], /) -> int | None: ...
    @overload
    def of_features(
        self, features: list[Any] | tuple[Any, ...] | Iterator[Any], /
    ) -> Column: ...
    def compare(self, first: str, second: str, /) -> Comparison: ...
    def compare_page(
        self, first: str, second: str, /, *, names: tuple[str, str] | None = None
    ) -> Page: ...
    def confirmed_pairs(
        self, texts: _Texts, similarity: float = 0.8, **options: Any
    ) -> Rows: ...

@final
class DfTable(_Equal):
    def __new__(cls, path: _Path, /) -> Self: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    @property
    def documents(self) -> int: ...
    def save(self, path: _Path, *, replace: bool = False) -> None: ...

@final
class Evaluation:
    @property
    def points(self) -> list[Point]: ...
    @property
    def best(self) -> Point: ...
    @property
    def duplicates(self) -> int: ...
    @property
    def others(self) -> int: ...
    @property
    def area(self) -> float: ...
    def forecast(self, collection_size: int, /) -> Forecast: ...
    def svg(self) -> str: ...
    def _repr_html_(self) -> str: ...

@final
class JoinPlan(_Equal):
    def __new__(
        cls, k: int | None = None, groups: int = 1, *, sample: _Fingerprints | None = None
    ) -> Self: ...
    @staticmethod
    def of(store: Store, k: int | None = None) -> JoinPlan: ...
    @staticmethod
    def parse(text: str) -> JoinPlan: ...
    @property
    def k(self) -> int: ...
    @property
    def reads(self) -> Literal["ranges", "everything"]: ...
    @property
    def group_count(self) -> int: ...
    @property
    def scheme(self) -> str: ...

def describe_documents(
    documents: _Documents,
    recipe: Recipe,
    *,
    compared: bool = False,
    keep: str = "first",
    source_field: str | None = None,
    threads: int = 1,
) -> Rows: ...
def group_documents(
    described: _Arrow | Iterable[_Arrow],
    k: int | None = None,
    confirm: float | None = None,
    confirm_contains: float | None = None,
    *,
    threads: int = 1,
    memory: _Bytes = ...,
    temp_dir: _Path | None = None,
) -> Rows: ...
def write_segment(
    path: _Path,
    fingerprints: _Records,
    ids: _Ids | None = None,
    *,
    recipe: str | Recipe | None,
    k: int | None = None,
    scheme: str | None = None,
    budget: _Bytes | None = None,
    id_type: _IdType = "auto",
    replace: bool = True,
    threads: int = 1,
    memory: _Bytes = ...,
    temp_dir: _Path | None = None,
) -> Receipt: ...
def commit(
    store: _Path,
    receipts: Iterable[Receipt] | Iterable[tuple[Any, ...]] | Iterable[str],
    *,
    label: str = "",
    run: str | None = None,
    remove: bool = False,
    wait: float | None = 0.0,
) -> SegmentsCommitted: ...
def has_run(store: _Path, run: str) -> bool: ...
def query_segment(
    store: _Path | Store,
    segment: int,
    fingerprints: _Fingerprints,
    k: int | None = None,
    *,
    ids: bool = True,
    limit: int | None = None,
    generation: int | None = None,
    threads: int = 1,
    memory: _Bytes = ...,
) -> Rows: ...
def join_share(
    store: _Path | Store,
    plan: JoinPlan,
    number: int,
    count: int,
    *,
    generation: int | None = None,
    **options: Unpack[_TaskJoin],
) -> RowStream: ...
def scatter(fingerprints: _Fingerprints, plan: JoinPlan) -> Rows: ...
def join_group(
    payloads: _Arrow | Iterable[bytes], plan: JoinPlan, group: int, **options: Unpack[_TaskJoin]
) -> RowStream: ...
def forest(pairs: RowStream | _ArrowStream | Iterable[_ArrowStream]) -> Rows: ...
def _plan_of(text: str) -> JoinPlan: ...
def _receipt_of_text(text: str) -> Receipt: ...
def _receipt_of_file(path: _Path) -> Receipt: ...
@overload
def open(
    path: _Path,
    *,
    generation: int | None = None,
    access: Literal["auto", "map", "memory"] = "auto",
    warm: Literal["none", "hot", "all"] | None = None,
) -> Store: ...
@overload
def open(
    path: list[Any] | tuple[_Path, ...] | Iterator[_Path],
    *,
    generation: None = None,
    access: Literal["auto", "map", "memory"] = "auto",
    warm: Literal["none", "hot", "all"] | None = None,
) -> Store[tuple[int, str]]: ...
def build(
    path: _Path | None, fingerprints: _Records | Documents, ids: _Ids | None = None, **options: Unpack[_Build]
) -> Store: ...
def clean(
    inputs: _Documents,
    output: _Path | None = None,
    *,
    recipe: str | Recipe | None = None,
    confirm: float | None = None,
    confirm_contains: float | None = None,
    k: int | None = None,
    judge: str | None = None,
    pairs: _Labels | None = None,
    passages: str | None = None,
    url_field: str | None = None,
    keep: str = "first",
    source_field: str | None = None,
    target: int | None = None,
    max_loss: float | str | None = None,
    store: _StoreOrStores | None = None,
    within: bool = False,
    add: bool = False,
    label: str = "",
    run: str | None = None,
    commit: bool = True,
    annotate: str | None = None,
    per_cluster: int = 1,
    cluster_size: str | None = None,
    manifest: bool = False,
    page: int = 0,
    replace: bool = False,
    text_field: str | None = None,
    id_field: str | None = None,
    wait: float | None = 0.0,
    **options: Unpack[_Space],
) -> Cleaned: ...
def contamination(
    inputs: _Documents,
    against: _Documents,
    output: _Path | None = None,
    *,
    shingle: int | None = None,
    contains: float | None = None,
    short_shingle: int | None = None,
    short_contains: float | None = None,
    min_words: int | None = None,
    page: int = 0,
    replace: bool = False,
    text_field: str | None = None,
    id_field: str | None = None,
    against_text_field: str | None = None,
    against_id_field: str | None = None,
    **options: Unpack[_Space],
) -> Contamination: ...
def verify(
    path: _Path,
    samples: int = 100,
    *,
    max_rate: _Bytes | None = None,
    progress: _OnProgress = None,
) -> VerifyReport: ...
def export(
    store: Store | _Path, path: _Path, *, segment_number: int | None = None, hard_link: bool = False
) -> Store: ...
def backup(
    source: Store | Client | _Path,
    path: _Path,
    *,
    verify: bool = False,
    max_rate: _Bytes | None = None,
    wait: float | None = 0.0,
    progress: _OnProgress = None,
) -> BackedUp: ...
def log(states: Store | _Path | Sequence[Store | _Path], /) -> list[Change]: ...
def near_pairs(
    fingerprints: _Fingerprints,
    other: _Fingerprints | None = None,
    k: int | None = None,
    *,
    sorted: bool = False,
    **options: Unpack[_Join],
) -> RowStream: ...
def pairs(
    first: _FingerprintsOrNull | _Texts | _Table,
    second: _FingerprintsOrNull | _Texts | _Table | None = None,
    *,
    confirm: float | None = None,
    k: int | None = None,
    recipe: str | Recipe | None = None,
    text_field: str | None = None,
    id_field: str | None = None,
    **options: Unpack[_Join],
) -> Rows: ...
def images(
    path: _Path,
    *,
    hash: Literal["phash", "dhash"] = "phash",
    ignore_exif: bool = False,
    skip_bad: bool = False,
    **options: Unpack[_Work],
) -> Rows: ...
def group(
    fingerprints: _FingerprintsOrNull, k: int | None = None, **options: Unpack[_Join]
) -> npt.NDArray[np.int64]: ...
def components(first: _Numbers, second: _Numbers) -> Rows: ...
def dedup(
    new: Store | _Path,
    stored: _StoreOrStores | None = None,
    k: int | None = None,
    *,
    within: bool = True,
    **options: Unpack[_Join],
) -> RowStream: ...
@overload
def evaluate(
    fingerprints: _FingerprintsOrNull,
    first: Sequence[int] | npt.NDArray[np.integer[Any]],
    second: Sequence[int] | npt.NDArray[np.integer[Any]],
    labels: Sequence[int] | npt.NDArray[Any] | None = None,
    *,
    pairs: None = None,
    unlisted_differ: bool = False,
) -> Evaluation: ...
@overload
def evaluate(
    fingerprints: Store | Documents | _FingerprintsOrNull,
    first: None = None,
    second: None = None,
    labels: None = None,
    *,
    pairs: _Labels,
    ids: _Ids | None = None,
    recipe: str | Recipe | None = None,
    unlisted_differ: bool = False,
    threads: int | None = None,
    progress: _OnProgress = None,
) -> Evaluation: ...
def serve(
    path: _Path | Sequence[_Path],
    *,
    listen: str = "127.0.0.1:0",
    writable: bool = False,
    label: str = "",
    threads: int | None = None,
    wait: float | None = 0.0,
) -> Server: ...
def plan(
    n: int | None = None,
    k: int | None = None,
    *,
    budget: _Bytes | None = None,
    sample: _Fingerprints | None = None,
    recipe: str | Recipe | None = None,
    all: bool = False,
) -> Plan: ...
def stats(fingerprints: _Fingerprints, k: int | None = None) -> Statistics: ...
def from_hex(texts: _Texts) -> npt.NDArray[np.uint64]: ...
def to_hex(fingerprints: _Fingerprints) -> list[str]: ...
def from_bits(
    bits: npt.NDArray[np.bool_] | Iterable[npt.NDArray[np.bool_]] | Iterable[_ImageHash],
) -> npt.NDArray[np.uint64]: ...
def _reopen(
    paths: Sequence[_Path], generations: Sequence[int], names: Sequence[_Path] | None
) -> Store[Any]: ...
def _recipe_of(
    text: str, stop_words: str | None, df: bytes | None, weights: str | None
) -> Recipe: ...
def _df_table_of(bytes: bytes) -> DfTable: ...
def _page_of(html: str) -> Page: ...
def _keep_order(
    keep: str, source_field: str | None
) -> tuple[list[str], bool, int, int]: ...
def _near_rule(
    recipe: Recipe,
    confirm: float | None,
    confirm_contains: float | None,
    k: int | None,
    judge: str | None,
) -> tuple[float | None, int]: ...
def _check_merits(keep: str, found: list[bool]) -> None: ...
def _column_of(values: bytes, recipe: str | None) -> Column: ...
def _rows_of(bytes: bytes, cut: bool) -> Rows: ...
def _fail_after(generation: int) -> None: ...
def _panic(is_held: bool) -> None: ...
