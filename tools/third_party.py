#!/usr/bin/env python3
"""Prints the licences of the crates that are compiled into the program for a target, as those
licences ask of who passes the program on.

    python3 tools/third_party.py TARGET
"""

import json
import pathlib
import subprocess
import sys

NAMES = ("licen", "copying", "notice", "unlicense", "copyright")


def main():
    target = sys.argv[1]
    metadata = json.loads(
        subprocess.check_output(
            ["cargo", "metadata", "--locked", "--features=full", "--format-version=1", f"--filter-platform={target}"]
        )
    )
    # What is linked: normal dependencies, without those of build scripts and tests.
    tree = ["cargo", "tree", "--locked", "--features=full", "--edges=normal", "--prefix=none", "--format={p}", f"--target={target}"]
    linked = {tuple(line.split()[:2]) for line in subprocess.check_output(tree, text=True).splitlines()}
    packages = sorted(metadata["packages"], key=lambda it: (it["name"], it["version"]))
    texts = {}
    for package in packages:
        if package["source"] is None or (package["name"], "v" + package["version"]) not in linked:
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
