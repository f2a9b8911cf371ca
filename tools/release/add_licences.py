#!/usr/bin/env python3
"""Adds third-party licences to a wheel of the Python package.

    python3 tools/release/add_licences.py WHEEL THIRD_PARTY

THIRD_PARTY is the output of tools/release/third_party.py. It is stored next to the licence of the
package, and listed in the metadata, as PEP 639 requires. The wheel is replaced.
"""

import pathlib
import sys
import zipfile

import wheel


def add(path, licences):
    folder = f"{wheel.distribution_of(path)}.dist-info"
    with zipfile.ZipFile(path) as archive:
        metadata = archive.read(f"{folder}/METADATA").decode()
    line = f"License-File: {licences.name}\n"
    if line not in metadata:
        own = metadata.find("License-File: ")
        if own < 0:
            sys.exit(f"add_licences: the metadata of {path} name no licence file of the package")
        metadata = metadata[:own] + line + metadata[own:]
    changed = {f"{folder}/METADATA": metadata.encode(), f"{folder}/licenses/{licences.name}": licences.read_bytes()}
    wheel.rewrite(path, changed)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    add(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
