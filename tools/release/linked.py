"""The crates that are linked into what a package of this project builds, as cargo tells them.

Needs cargo, and nothing but the standard library.
"""

import json
import subprocess


def linked(target, manifest):
    """The packages of `cargo metadata` that are compiled into the package of a manifest for a target:
    normal dependencies, without those of build scripts and tests. Those of this project are among
    them; their `source` is None. Sorted by name and version."""
    of = ["--locked", f"--manifest-path={manifest}"]
    read = ["cargo", "metadata", "--format-version=1", f"--filter-platform={target}", *of]
    metadata = json.loads(subprocess.check_output(read))
    tree = ["cargo", "tree", "--edges=normal", "--prefix=none", "--format={p}", f"--target={target}", *of]
    names = {tuple(line.split()[:2]) for line in subprocess.check_output(tree, text=True).splitlines()}
    packages = [it for it in metadata["packages"] if (it["name"], "v" + it["version"]) in names]
    return sorted(packages, key=lambda it: (it["name"], it["version"])), metadata["resolve"]["nodes"]
