#!/usr/bin/env python3
"""Adds the program to a wheel of the Python package, so that pip installs the command `fpstore`.

    python3 tools/add_program.py WHEEL PROGRAM

A file in `NAME-VERSION.data/scripts/` of a wheel goes to the folder of the commands of the
environment. The wheel is written anew, with the digest of the program in its RECORD; a program that
it has already is replaced. Needs nothing but the standard library.
"""

import base64
import hashlib
import os
import pathlib
import sys
import zipfile


def line_of(name, content):
    """The line of a file in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def add(wheel, program):
    distribution = "-".join(wheel.name.split("-")[:2])
    script = f"{distribution}.data/scripts/{program.name}"
    record = f"{distribution}.dist-info/RECORD"
    new = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as out:
        # RECORD is the last one by custom.
        for entry in old.infolist():
            if entry.filename not in (script, record):
                out.writestr(entry, old.read(entry))
        entry = zipfile.ZipInfo(script, old.getinfo(record).date_time)
        entry.external_attr = 0o100755 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        content = program.read_bytes()
        out.writestr(entry, content)
        lines = old.read(record).decode().splitlines(keepends=True)
        lines = [line for line in lines if not line.startswith(f"{script},")]
        lines.insert(len(lines) - 1, line_of(script, content))
        out.writestr(old.getinfo(record), "".join(lines))
    os.replace(new, wheel)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    add(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
