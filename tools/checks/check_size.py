#!/usr/bin/env python3
"""Compares the size of each package with its limit in tools/checks/size.tsv.

A change that makes a package larger raises the limit in the same commit and gives the reason; a change
that makes a package smaller lowers it.

    python3 tools/checks/check_size.py            # fails if a package is larger than its limit
    python3 tools/checks/check_size.py --write    # records the current sizes as limits
    python3 tools/checks/check_size.py --names fpstore-base    # prints the public names of a package

Lines are lines of Rust code: not empty, no comments, no tests. Names are the public items listed by
rustdoc, methods, fields and variants included, re-exports counted once. Crates are the packages
compiled by a build, without build scripts. Needs cargo and only the standard library.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMITS = ROOT / "tools/checks/size.tsv"
TESTS = re.compile(r"^\s*#\[cfg\((all\()?test")
# Builds whose crates are counted, with their options for `cargo tree`.
BUILDS = {
    "reader": ["--package=fpstore", "--no-default-features"],
    "library": ["--package=fpstore"],
    "program": ["--package=fpstore-cli"],
}


def packages():
    """The name and the folder of each package of the workspace, and of the Python package."""
    folders = [*sorted((ROOT / "crates").iterdir()), ROOT / "bindings/python"]
    named = [(f"fpstore-{folder.name}", folder) for folder in folders]
    return [("fpstore", ROOT), ("fpstore-capi", ROOT / "bindings/c"), *named]


def code_lines(path):
    """The number of lines of code of a file, up to its test module, without items for tests."""
    count, block, skipped = 0, False, None
    for line in path.read_text().splitlines():
        text = line.strip()
        if block:
            block = "*/" not in text
        elif text.startswith("/*"):
            block = "*/" not in text
        elif TESTS.match(line):
            skipped = len(line) - len(line.lstrip())
        elif skipped is not None:
            # An item ends at its closing brace, or is a line that ends with a semicolon.
            indent = len(line) - len(line.lstrip())
            if text and indent == skipped and (text.startswith("}") or text.endswith((";", ","))):
                skipped = None
        elif text and not text.startswith("//"):
            count += 1
    return count


def lines_of(folder):
    files = (folder / "src").rglob("*.rs")
    own = [path for path in files if "tests" not in path.parts and path.name not in ("tests.rs",)]
    return sum(map(code_lines, own))


def names_of(package):
    """The public names of a library, as paths, from rustdoc's JSON output."""
    target = ROOT / "target"
    # The JSON output of rustdoc is unstable: the compiler needs a flag to write it.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1", "CARGO_TARGET_DIR": str(target)}
    features = ["--all-features"] if package != "fpstore" else ["--features=serde"]
    subprocess.run(
        ["cargo", "rustdoc", "--locked", "--quiet", "--lib", f"--package={package}", *features, "--",
         "-Zunstable-options", "--output-format=json", "--cap-lints=allow"],
        cwd=ROOT, env=environment, check=True,
    )
    doc = json.loads((target / "doc" / f"{package.replace('-', '_')}.json").read_text())
    index, names = doc["index"], set()

    def walk(key, path, seen):
        item = index.get(str(key))
        if item is None or key in seen:
            return
        (kind, inner), name = next(iter(item["inner"].items())), item["name"]
        if item["attrs"] and any("hidden" in str(attr) for attr in item["attrs"]):
            return
        if kind == "use":
            if inner["id"] is not None and not inner["is_glob"]:
                target = index.get(str(inner["id"]))
                if target is None or target["crate_id"] != 0:
                    names.add("::".join([*path, inner["name"]]))
                else:
                    walk(inner["id"], path, seen | {key})
            elif inner["is_glob"] and inner["id"] is not None:
                for child in index[str(inner["id"])]["inner"].get("module", {}).get("items", []):
                    walk(child, path, seen | {key})
            return
        if item["visibility"] not in ("public", "default"):
            return
        if kind == "impl":
            if inner["trait"] is None:
                for child in inner["items"]:
                    walk(child, path, seen | {key})
            return
        here = [*path, name]
        if kind != "module" or path:
            names.add("::".join(here))
        children = list(inner.get("items", [])) if kind in ("module", "trait") else []
        if kind == "struct":
            fields = inner["kind"]
            children += fields["plain"]["fields"] if isinstance(fields, dict) and "plain" in fields else []
        if kind == "enum":
            children += inner["variants"]
        children += inner.get("impls", []) if kind in ("struct", "enum", "union") else []
        for child in children:
            walk(child, here, seen | {key})

    walk(doc["root"], [], frozenset())
    return sorted(names)


def crate_count(options):
    tree = ["cargo", "tree", "--locked", *options, "--edges=normal", "--prefix=none", "--format={p}"]
    lines = subprocess.check_output(tree, cwd=ROOT, text=True).splitlines()
    return len({tuple(line.split()[:2]) for line in lines if line.strip()})


def measured():
    """All sizes: the package or build, what is counted, and the number."""
    for package, folder in packages():
        yield package, "lines", lines_of(folder)
        if package not in ("fpstore-cli", "fpstore-python"):
            yield package, "names", len(names_of(package))
    for build, options in BUILDS.items():
        yield build, "crates", crate_count(options)


def main():
    if sys.argv[1:2] == ["--names"] and len(sys.argv) == 3:
        print("\n".join(names_of(sys.argv[2])))
        return 0
    sizes = list(measured())
    if sys.argv[1:] == ["--write"]:
        LIMITS.write_text("".join(f"{of}\t{what}\t{count}\n" for of, what, count in sizes))
        return 0
    if sys.argv[1:]:
        sys.exit(__doc__)
    limits = {tuple(row.split("\t")[:2]): int(row.split("\t")[2]) for row in LIMITS.read_text().splitlines()}
    failed = False
    for of, what, count in sizes:
        limit = limits.pop((of, what), None)
        if limit is None or count > limit:
            failed = True
            print(f"{of}: {count} {what}, the limit in tools/checks/size.tsv is {limit}: make it smaller, or raise the "
                  "limit and give the reason in the commit", file=sys.stderr)
        elif count < limit:
            print(f"{of}: {count} {what}, the limit is {limit}: lower it with --write")
    for of, what in limits:
        failed = True
        print(f"tools/checks/size.tsv has {what} of {of}, which does not exist", file=sys.stderr)
    print(f"{sum(count for _, what, count in sizes if what == 'lines')} lines of code in all, "
          f"{sum(count for _, what, count in sizes if what == 'names')} public names")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
