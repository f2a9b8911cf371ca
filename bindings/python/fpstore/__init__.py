"""Exact search for 64-bit fingerprints within `k` bits of a query, in very large sets.

A store keeps fingerprints (SimHash, MinHash, perceptual hashes of images, or any others compared by
Hamming distance) compressed on disk, with ids, and answers exactly from a memory map:

>>> import fpstore, tempfile, os
>>> path = os.path.join(tempfile.mkdtemp(), "pages.fps")
>>> store = fpstore.build(path, [0xC0F1789BED2EB9B8, 0x5057D88DD8F1C6FF], ["a.html", "b.html"])
>>> store.query(0xC0F1789BED2EB9B9, k=3)
[Match(fingerprint=13903026135763958200, distance=1, ids=['a.html'])]

    open, Store, build, Builder, Writer      stores: query, make, change
    Recipe, Column, DfTable, images          fingerprints of texts and pictures
    from_bits, from_hex, to_hex              other fingerprints
    clean, contamination, Documents          documents in files and data frames
    pairs, group, near_pairs, components     near rows, without a store
    dedup, evaluate, stats, plan             comparison, quality, size
    backup, export, log, verify              copies, history, soundness
    serve, Client                            a server and its requests
    Rows, fpstore.types                      answers
    FpstoreError, fpstore.errors             exceptions and warnings
    fpstore.tasks, fpstore.spark             work divided among processes, Spark

`k` is the maximum distance in bits; its default is the distance for which the store is tuned.
Fingerprints are integers (`uint64`, or `int64` as bit patterns) or texts of hex digits, in lists or
in columns of numpy, Arrow, pandas or polars. Long answers are Arrow streams.
"""

from __future__ import annotations

import sys as _sys
from types import FrameType as _FrameType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import errors as errors
from . import tasks as tasks
from . import types as types
from ._fpstore import (
    Builder as Builder,
    Client as Client,
    Column as Column,
    DfTable as DfTable,
    Documents as Documents,
    Recipe as Recipe,
    Rows as Rows,
    Store as Store,
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
    images as images,
    log as log,
    near_pairs as near_pairs,
    open as open,
    pairs as pairs,
    plan as plan,
    serve as serve,
    stats as stats,
    to_hex as to_hex,
    verify as verify,
)
from .errors import FpstoreError as FpstoreError

# `open` is omitted, because `from fpstore import *` would replace the built-in function.
__all__ = [
    "Builder",
    "Client",
    "Column",
    "DfTable",
    "Documents",
    "FpstoreError",
    "Recipe",
    "Rows",
    "Store",
    "Writer",
    "backup",
    "build",
    "clean",
    "components",
    "contamination",
    "dedup",
    "errors",
    "evaluate",
    "export",
    "from_bits",
    "from_hex",
    "group",
    "images",
    "log",
    "near_pairs",
    "pairs",
    "plan",
    "serve",
    "stats",
    "tasks",
    "to_hex",
    "types",
    "verify",
]

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        for module in (types, errors):
            if name in module.__all__:
                return types._renamed(name, f"{module.__name__.rpartition('.')[2]}.{name}")
        if name in types._OLD:
            return types._renamed(name, types._OLD[name])
        raise AttributeError(f"module 'fpstore' has no attribute '{name}'")

    def __dir__() -> list[str]:
        # `help(fpstore)` shows only the docstring above, without all classes and their methods.
        caller: _FrameType | None = _sys._getframe(1)
        while caller is not None and caller.f_globals.get("__name__") == "inspect":
            caller = caller.f_back
        is_help = caller is not None and caller.f_globals.get("__name__") == "pydoc"
        return [] if is_help else sorted({*__all__, "open", "__doc__", "__version__"})
