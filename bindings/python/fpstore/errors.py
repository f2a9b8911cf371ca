"""What can go wrong, as exceptions with the bases that Python programs expect.

Every error of a store is an `FpstoreError`, and most are something that Python knows, too: a store
that is not there is a `FileNotFoundError`, a bad argument a `ValueError`. What the system refuses
comes as the `OSError` that it is, such as `PermissionError`, with its `filename`.
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
        # The reduction of OSError loses the fields, and pools send errors from one process to
        # another.
        return _rebuild, (type(self), self.message, self._fields)


def _rebuild(kind: type[FpstoreError], message: str, fields: dict[str, Any]) -> FpstoreError:
    return kind(message, **fields)


class NoStoreError(FpstoreError, FileNotFoundError):
    """There is no store at this path; `filename` has it."""

    _errno = errno.ENOENT


class NotAStoreError(FpstoreError, ValueError):
    """There is something else than a store at `path`."""

    path: str


class StoreExistsError(FpstoreError, FileExistsError):
    """There is a store already, and it was not to be replaced; `filename` has its path."""

    _errno = errno.EEXIST


class LockedError(FpstoreError, BlockingIOError):
    """Another process or another writer is changing the store; `filename` has its path."""

    _errno = errno.EWOULDBLOCK

    process: int | None = None
    """The number of that process, if it is known."""


class VersionError(FpstoreError):
    """A file of a version of the format that this release does not read."""

    path: str
    found: int
    oldest: int
    newest: int


class DistanceWarning(UserWarning):
    """A distance that is far from the usual one of the recipe."""


class CorruptError(FpstoreError):
    """A file of a store is damaged."""

    path: str
    section: str
    """The part of the file."""
    offset: int
    """Bytes from the start of the file."""
    rule: int | None = None
    """The number of the rule of format-spec.md that is broken; `None` for a wrong checksum or a
    file that is too short."""


class RecipeError(FpstoreError, ValueError):
    """Fingerprints of different recipes, or a recipe that cannot be followed."""


class StaleStoreError(FpstoreError):
    """The store is at another generation than the one that was asked for."""

    path: str
    expected: int
    found: int


class KnownRunError(StaleStoreError):
    """The store has added the records of the run already, and its result cannot be had again:
    compared with the store at `path`, all of them would be found there. Nothing was changed."""

    run: str


class TooManyPairsError(FpstoreError):
    """There are more near pairs than `most`."""

    most: int


class TooMuchLostError(FpstoreError):
    """A cleaning would remove more documents than `max_loss` allows; nothing was written.

    The same call with a higher limit goes on from there."""

    loss: Loss
    """The largest loss."""
    limit: float
    overview: Overview
    """All that would be lost, with the largest clusters."""


class NoSpaceError(FpstoreError, OSError):
    """A disk has less room than the work needs; `filename` is a directory on it."""

    _errno = errno.ENOSPC

    needed: int
    free: int


class InEffectError(FpstoreError):
    """A change of a store took effect, and then there was an error, which is the `__cause__`.

    Readers see the change, and doing it again does it twice. After any other error of a change the
    store is as before."""

    generation: int | None = None
    """That of the store with the change, if it is known."""


class UnmergedError(InEffectError):
    """Records are added and durable, but segments that were due to be merged were not. The next
    writer tries again."""


class UnreachableError(FpstoreError, ConnectionError):
    """A server cannot be reached, or the connection broke off. Of a request that changes the store, the
    change may have taken place all the same."""


class RefusedError(FpstoreError):
    """A server does not do what it was asked."""

    code: str
    """Why, for programs, such as `not-writable`; docs/serve.md lists the codes."""


class NotAServerError(FpstoreError):
    """Something else than a server of a store answers at this address."""


class CutAnswerError(FpstoreError):
    """A limit of a server cut an answer that was to be whole."""

    by: str
    """Which one: `limit`, of matches, `ids`, of ids, or `deadline`."""


class InputError(FpstoreError, ValueError):
    """An argument or a record that cannot be used."""

    argument: str | None = None
    """The name of the argument, if it is a text that has a lone surrogate, or several stores in place
    of one."""

    def add_note(self, note: str, /) -> None:
        # The extension module knows the name of an argument that it refuses only when it is refused,
        # and gives it as a note: "while processing 'label'".
        name = note.removeprefix("while processing '").removesuffix("'")
        if self.argument == "" and name.isidentifier():
            self.argument = self._fields["argument"] = name
            self.message = f"{name}: {self.message}"
        elif sys.version_info >= (3, 11):
            super().add_note(note)


class InternalError(FpstoreError):
    """A fault of fpstore itself. Please report it, with its message."""
