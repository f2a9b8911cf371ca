"""The crates that are linked into a package of this project, as reported by cargo.

Needs cargo, and only the standard library.
"""

import json
import subprocess


def linked(target, manifest):
    """The packages of `cargo metadata` that are compiled into the package of a manifest for a target:
    normal dependencies, without those of build scripts and tests. Packages of this project are
    included; their `source` is None. Sorted by name and version."""
    of = ["--locked", f"--manifest-path={manifest}"]
    read = ["cargo", "metadata", "--format-version=1", f"--filter-platform={target}", *of]
    metadata = json.loads(subprocess.check_output(read))
    tree = ["cargo", "tree", "--edges=normal", "--prefix=none", "--format={p}", f"--target={target}", *of]
    names = {tuple(line.split()[:2]) for line in subprocess.check_output(tree, text=True).splitlines()}
    packages = [it for it in metadata["packages"] if (it["name"], "v" + it["version"]) in names]
    return sorted(packages, key=lambda it: (it["name"], it["version"])), metadata["resolve"]["nodes"]
