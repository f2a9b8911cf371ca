#!/usr/bin/env python3
"""Prints the licences of the crates that are compiled into the program for a target, as these licences
require of distributors; with --python, of the crates in the Python package.

    python3 tools/release/third_party.py [--python] TARGET
"""

import pathlib
import sys

from linked import linked

NAMES = ("licen", "copying", "notice", "unlicense", "copyright")


def main():
    given = sys.argv[1:]
    of_python = given[:1] == ["--python"]
    if len(given) != 1 + of_python:
        sys.exit(__doc__)
    built = "bindings/python/Cargo.toml" if of_python else "crates/cli/Cargo.toml"
    texts = {}
    for package in linked(given[-1], built)[0]:
        if package["source"] is None:
            continue
        folder = pathlib.Path(package["manifest_path"]).parent
        files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(NAMES))
        name = f"{package['name']} {package['version']} ({package['license']})"
        found = [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]
        for text in found or [f"The crate has no file with its licence, {package['license']}.\n{package['repository'] or ''}"]:
            texts.setdefault(text, []).append(name)
    print("fpstore is made with the crates below, under their licences. Its own is in LICENSE.")
    for text, names in sorted(texts.items(), key=lambda it: it[1]):
        print("\n" + "=" * 100 + "\n" + "\n".join(names) + "\n" + "-" * 100 + "\n" + text)


main()
