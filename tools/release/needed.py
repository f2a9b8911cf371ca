"""Fails if the extension module of a wheel needs shared libraries other than the given ones.

    python tools/release/needed.py WHEEL LIBRARY...

Needs the Python package lief.
"""

import pathlib
import sys
import zipfile

import lief

wheel, *known = sys.argv[1:]
with zipfile.ZipFile(wheel) as files:
    modules = {name: lief.parse(files.read(name)) for name in files.namelist() if name.endswith(".so")}
if not modules:
    sys.exit(f"needed: {wheel} has no extension module")
for name, module in modules.items():
    found = [getattr(library, "name", library) for library in module.libraries]
    # A module for macOS lists itself, too.
    found = [library for library in found if library != f"@rpath/{pathlib.Path(name).name}"]
    if others := set(found).difference(known):
        sys.exit(f"needed: {name} needs {', '.join(sorted(others))}, expected {known} alone")
    print(f"{pathlib.Path(wheel).name}: {name} needs {', '.join(found) or 'nothing'}")
