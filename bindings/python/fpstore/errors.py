"""Exceptions, with the base classes that Python programs expect.

Every error of a store is an `FpstoreError`, and most also have a built-in base class: a missing store
is a `FileNotFoundError`, an invalid argument a `ValueError`. Errors of the operating system are
raised as `OSError`, such as `PermissionError`, with their `filename`.
"""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._types import Loss, Overview

__all__ = [
    "CorruptError",
    "CutAnswerError",
    "DistanceWarning",
    "FpstoreError",
    "InEffectError",
    "InputError",
    "InternalError",
    "KnownRunError",
    "LockedError",
    "NoSpaceError",
    "NoStoreError",
    "NotAServerError",
    "NotAStoreError",
    "RecipeError",
    "RefusedError",
    "SimilarityWarning",
    "StaleStoreError",
    "StoreExistsError",
    "TooManyPairsError",
    "TooMuchLostError",
    "UnmergedError",
    "UnreachableError",
    "VersionError",
]


class FpstoreError(Exception):
    """The base of all errors of this package."""

    message: str
    _errno: ClassVar[int | None] = None

    def __init__(self, message: str = "", **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        if self._errno is not None:
            setattr(self, "errno", self._errno)
        self._fields = fields
        for name, value in fields.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # `OSError.__reduce__` would lose the fields, and process pools pickle errors.
        return _rebuild, (type(self), self.message, self._fields)


def _rebuild(kind: type[FpstoreError], message: str, fields: dict[str, Any]) -> FpstoreError:
    return kind(message, **fields)


class NoStoreError(FpstoreError, FileNotFoundError):
    """There is no store at the path `filename`."""

    _errno = errno.ENOENT


class NotAStoreError(FpstoreError, ValueError):
    """The file or folder at `path` is not a store."""

    path: str


class StoreExistsError(FpstoreError, FileExistsError):
    """There is already a store at the path `filename`, and `replace` was not set."""

    _errno = errno.EEXIST


class LockedError(FpstoreError, BlockingIOError):
    """Another process or writer is changing the store at the path `filename`."""

    _errno = errno.EWOULDBLOCK

    process: int | None = None
    """The id of the other process, if it is known."""


class VersionError(FpstoreError):
    """A file has a format version that this release does not read."""

    path: str
    found: int
    oldest: int
    newest: int


class DistanceWarning(UserWarning):
    """The given distance is far from the usual distance of the recipe."""


class SimilarityWarning(UserWarning):
    """Fingerprints alone decide: a store has no sketches, which the default similarity needs."""


class CorruptError(FpstoreError):
    """A file of a store is damaged."""

    path: str
    section: str
    """The damaged section of the file."""
    offset: int
    """The position of the damage, in bytes from the start of the file."""
    rule: int | None = None
    """The number of the violated rule of format-spec.md; `None` for a wrong checksum or a truncated
    file."""


class RecipeError(FpstoreError, ValueError):
    """Fingerprints have different recipes, or a recipe is unusable."""


class StaleStoreError(FpstoreError):
    """The store has another generation than expected."""

    path: str
    expected: int
    found: int


class KnownRunError(StaleStoreError):
    """The store at `path` already contains the records of the run, and the result cannot be
    repeated: a comparison would find all records in the store. Nothing was changed."""

    run: str


class TooManyPairsError(FpstoreError):
    """There are more near pairs than `most`."""

    most: int


class TooMuchLostError(FpstoreError):
    """A cleaning would remove more documents than `max_loss` allows. Nothing was written.

    The same call with a higher limit continues the job."""

    loss: Loss
    """The largest loss that exceeds the limit."""
    limit: float
    overview: Overview
    """All losses, with the largest clusters."""


class NoSpaceError(FpstoreError, OSError):
    """A disk has less space than required; `filename` is a directory on it."""

    _errno = errno.ENOSPC

    needed: int
    free: int


class InEffectError(FpstoreError):
    """A change of a store took effect, but an error followed; `__cause__` is that error.

    Readers see the change, and repeating the call would make the change twice. After any other
    error of a change the store is unchanged."""

    generation: int | None = None
    """The generation with the change, if it is known."""


class UnmergedError(InEffectError):
    """Records are added and durable, but merging segments failed afterwards. The next writer tries
    to merge them again."""


class UnreachableError(FpstoreError, ConnectionError):
    """A server cannot be reached, or the connection broke. A requested change may have taken place
    nevertheless."""


class RefusedError(FpstoreError):
    """A server refused a request."""

    code: str
    """The reason as a code for programs, such as `not-writable`; docs/serve.md lists the codes."""


class NotAServerError(FpstoreError):
    """The program at this address is not a server of a store."""


class CutAnswerError(FpstoreError):
    """An answer is incomplete because of a limit of the server."""

    by: str
    """The limit that cut the answer: `limit` (of matches), `ids` or `deadline`."""


class InputError(FpstoreError, ValueError):
    """An invalid argument or record."""

    argument: str | None = None
    """The name of the invalid argument, if it is a text with a lone surrogate, or several stores
    instead of one."""

    def add_note(self, note: str, /) -> None:
        # The extension module adds the name of a refused argument in a note:
        # "while processing 'label'".
        name = note.removeprefix("while processing '").removesuffix("'")
        if self.argument == "" and name.isidentifier():
            self.argument = self._fields["argument"] = name
            self.message = f"{name}: {self.message}"
        elif sys.version_info >= (3, 11):
            super().add_note(note)


class InternalError(FpstoreError):
    """A bug of fpstore. Please report the message."""
