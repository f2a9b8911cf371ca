"""Fails if the extension module of a wheel needs shared libraries other than the given ones.

    python3 tools/release/needed.py WHEEL LIBRARY...

Parses the module itself, ELF or Mach-O, so it needs neither readelf nor otool.
"""

import pathlib
import struct
import sys
import zipfile

DYNAMIC, NEEDED, STRTAB, LOAD = 2, 1, 5, 1
# The load commands of Mach-O for a library: normal, weak, re-exported, upward.
LOAD_LIBRARY = {0xC, 0x80000018, 0x8000001F, 0x80000023}


def needed(module):
    """The names of the shared libraries that a 64-bit little-endian module needs."""
    if module[:6] == b"\x7fELF\x02\x01":
        return needed_by_elf(module)
    if module[:4] == b"\xcf\xfa\xed\xfe":
        return needed_by_macho(module)
    raise SystemExit("needed: the module is neither ELF nor Mach-O of 64 bits, little-endian")


def needed_by_macho(module):
    count, at = struct.unpack_from("<I", module, 16)[0], 32
    names = []
    for _ in range(count):
        command, size, name = struct.unpack_from("<III", module, at)
        if command in LOAD_LIBRARY:
            names.append(module[at + name : module.index(b"\0", at + name)].decode())
        at += size
    return names


def needed_by_elf(module):
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
