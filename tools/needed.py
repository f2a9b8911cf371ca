"""Fails if the extension module of a wheel needs other shared libraries than those that are named.

    python3 tools/needed.py WHEEL LIBRARY...

Reads the dynamic section of the module itself, so that no readelf is needed.
"""

import pathlib
import struct
import sys
import zipfile

DYNAMIC, NEEDED, STRTAB, LOAD = 2, 1, 5, 1


def needed(module):
    """The names of the shared libraries that a 64-bit little-endian ELF file needs."""
    if module[:6] != b"\x7fELF\x02\x01":
        raise SystemExit("needed: the module is no ELF file of 64 bits, little-endian")
    place = struct.unpack_from("<Q", module, 32)[0]
    len_, count = struct.unpack_from("<HH", module, 54)
    loads, entries = [], []
    for at in range(count):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", module, place + at * len_)
        if kind == LOAD:
            loads.append((address, offset, size))
        if kind == DYNAMIC:
            entries = [struct.unpack_from("<qQ", module, offset + 16 * it) for it in range(size // 16)]
    texts = next(value for tag, value in entries if tag == STRTAB)
    start = next(texts - to + at for to, at, size in loads if to <= texts < to + size)
    names = [start + value for tag, value in entries if tag == NEEDED]
    return [module[at : module.index(b"\0", at)].decode() for at in names]


def main():
    wheel, *known = sys.argv[1:]
    with zipfile.ZipFile(wheel) as files:
        modules = [name for name in files.namelist() if name.endswith(".so")]
        if not modules:
            raise SystemExit(f"needed: {wheel} has no extension module")
        for name in modules:
            found = needed(files.read(name))
            others = [library for library in found if library not in known]
            if others:
                raise SystemExit(f"needed: {name} needs {', '.join(others)}, expected {known} alone")
            print(f"{pathlib.Path(wheel).name}: {name} needs {', '.join(found) or 'nothing'}")


if __name__ == "__main__":
    main()
