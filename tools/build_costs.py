#!/usr/bin/env python3
"""Prints the cost of building fpstore from nothing, as a table.

    python3 tools/build_costs.py [SET...]

SET is reader, writer or program; the default is all of them. Each is a release build in an empty
folder, without the time to fetch crates. Seconds are the processor time of all cores together, so
that other load on the machine changes them little. For reader and writer, the bytes are the size of
a small program that uses the library. `cargo build --release --timings` prints the time of each
crate.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READS = """
    let store = fpstore::Store::open(std::env::args().nth(1).unwrap()).unwrap();
    println!("{}", store.query(fpstore::Fingerprint::new(7), 3).unwrap().len());
"""
WRITES = """
    let mut builder = fpstore::Builder::new(std::env::args().nth(1).unwrap()).unwrap();
    builder.push(fpstore::Fingerprint::new(7), 7).unwrap();
    builder.finish().unwrap();
"""
SETS = {
    "reader": ("the library that reads", [], READS),
    "writer": ("the library", ["write"], WRITES + READS),
    "program": ("the program", [], None),
}


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def build(features, main, work):
    """Builds one set; returns processor seconds, seconds, the number of crates, and the bytes."""
    manifest = ROOT / "crates/cli/Cargo.toml"
    if main is not None:
        (work / "src").mkdir()
        (work / "src/main.rs").write_text("fn main() {" + main + "}\n")
        manifest = work / "Cargo.toml"
        manifest.write_text(
            '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2024"\n'
            f'[dependencies]\nfpstore = {{ path = "{ROOT}", default-features = false, features = {features} }}\n'
            "[profile.release]\nstrip = true\n"
        )
        # Uses the dependency versions of the project.
        (work / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
    environment = os.environ | {"CARGO_TARGET_DIR": str(work / "target"), "CARGO_INCREMENTAL": "0"}
    before, since = spent(), time.monotonic()
    subprocess.run(["cargo", "build", "--quiet", "--release", "--manifest-path", manifest], check=True, env=environment)
    cost = spent() - before, time.monotonic() - since
    tree = ["cargo", "tree", "--manifest-path", manifest, "--edges=normal,build", "--prefix=none", "--format={p}"]
    crates = {tuple(line.split()[:2]) for line in subprocess.check_output(tree, text=True).splitlines() if line}
    own = 0 if main is None else 1
    return *cost, len(crates) - own, (work / "target/release" / ("probe" if main else "fpstore")).stat().st_size


def main():
    names = sys.argv[1:] or list(SETS)
    if unknown := [name for name in names if name not in SETS]:
        sys.exit(f"build_costs: no set {unknown[0]}; the sets are {', '.join(SETS)}")
    print("| what | features | crates | bytes | s of processors | s |\n|---|---|---:|---:|---:|---:|")
    for name in names:
        what, features, source = SETS[name]
        with tempfile.TemporaryDirectory() as work:
            cpu, wall, crates, length = build(features, source, Path(work))
            print(f"| {what} | {''.join(features)} | {crates} | {length} | {cpu:.0f} | {wall:.0f} |", flush=True)


if __name__ == "__main__":
    main()
