"""Reads and writes documents at addresses such as `s3://bucket/name`, with the optional package
fsspec.

Documents are read more than once, so files are copied to a temporary directory first, and outputs are
written there and copied to their address when they are complete.
"""

from __future__ import annotations

import errno
import glob
import os
import re
from pathlib import PurePosixPath
from typing import Any

from .errors import InputError


def _file_system(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path of the address in it."""
    try:
        import fsspec
    except ImportError as error:
        raise InputError(f"'{address}' needs the package fsspec: pip install fsspec") from error
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(address)
    except ImportError as error:
        # The error names the package that the protocol needs.
        raise InputError(f"'{address}' cannot be read: {error}") from error
    except ValueError as error:
        raise InputError(f"'{address}' is an invalid address: {error}") from error
    return found


def _missing(address: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "no such file or folder", address)


def expanded(pattern: str) -> list[str]:
    """The local paths that match a glob pattern, sorted."""
    return sorted(glob.glob(pattern, recursive=True))


def _base(path: str) -> str:
    """The folder of a path; for a glob pattern, the last folder before its special characters."""
    fixed = re.split(r"[*?\[]", path, maxsplit=1)[0]
    return (path.rstrip("/") if fixed == path else fixed).rpartition("/")[0]


def fetch(address: str, folder: str) -> tuple[list[str], str]:
    """Copies the files of an address, which may be a folder or a glob pattern, to a new folder.

    Returns the paths of the copies, and the address of the folder that contains the originals.
    """
    files, path = _file_system(address)
    is_pattern = re.search(r"[*?\[]", path) is not None
    if is_pattern:
        names = sorted(name for name in files.glob(path) if files.isfile(name))
    else:
        names = sorted(files.find(path)) if files.exists(path) else []
    base = _base(path)
    if not names:
        raise _missing(address)
    copies = []
    for name in names:
        parts = PurePosixPath(name[len(base) :].lstrip("/")).parts
        if ".." in parts:
            raise InputError(f"'{address}' has a file with '..' in its name: {name}")
        copy = os.path.join(folder, *parts)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        files.get_file(name, copy)
        copies.append(copy)
    if not is_pattern and files.isdir(path):
        copies = [os.path.join(folder, PurePosixPath(path).name)]
    return copies, _base(address)


def exists(address: str) -> bool:
    """Whether there is a file or a folder at an address."""
    files, path = _file_system(address)
    return bool(files.exists(path))


def check_absent(address: str) -> None:
    """Fails if there is a file or a folder at an address."""
    if exists(address):
        message = "exists; replace=True replaces it once the new one is complete"
        raise FileExistsError(errno.EEXIST, message, address)


def publish(local: str, address: str, replace: bool) -> None:
    """Copies an output (a file or a folder) to its address. Other files in a folder there are
    kept."""
    if not replace:
        check_absent(address)
    files, path = _file_system(address)
    if os.path.isfile(local):
        files.makedirs(files._parent(path), exist_ok=True)
        files.put_file(local, path)
        return
    for folder, _, names in os.walk(local):
        relative = os.path.relpath(folder, local).split(os.sep)
        target = "/".join([path.rstrip("/"), *(part for part in relative if part != ".")])
        files.makedirs(target, exist_ok=True)
        for name in names:
            files.put_file(os.path.join(folder, name), f"{target}/{name}")
