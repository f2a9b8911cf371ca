"""Rewrites wheels of the Python package with some files changed.

A wheel is an archive whose RECORD has the digest of every file. Needs only the standard library.
"""

import base64
import hashlib
import os
import zipfile


def line_of(name, content):
    """The line of a file in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def distribution_of(wheel):
    """The name and version at the start of the folder names of a wheel."""
    return "-".join(wheel.name.split("-")[:2])


def rewrite(wheel, changed, mode=0o100644):
    """Replaces the contents of files of a wheel, by name; a missing file is added, with the mode."""
    record = f"{distribution_of(wheel)}.dist-info/RECORD"
    new = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as out:
        names = old.namelist()
        # RECORD is the last file by convention.
        for entry in old.infolist():
            if entry.filename != record:
                out.writestr(entry, changed.get(entry.filename) or old.read(entry))
        for name in (name for name in changed if name not in names):
            entry = zipfile.ZipInfo(name, old.getinfo(record).date_time)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, changed[name])
        lines = old.read(record).decode().splitlines(keepends=True)
        lines = [line for line in lines if line.rsplit(",", 2)[0] not in changed]
        lines[-1:-1] = [line_of(name, content) for name, content in changed.items()]
        out.writestr(old.getinfo(record), "".join(lines))
    os.replace(new, wheel)
