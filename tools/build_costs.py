#!/usr/bin/env python3
"""Prints the cost of building fpstore from nothing, as tables.

    python3 tools/build_costs.py [SET...]

SET is reader, writer or program; the default is all of them. Each is a release build in an empty
folder, without the time to fetch crates. Seconds are the processor time of all cores together, so
that other load on the machine changes them little. For the library, the bytes are the size of a
program that opens and queries a store, or that also builds one.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
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
    "reader": ("the library that reads", "", READS),
    "writer": ("the library", "write", WRITES + READS),
    "program": ("the program", None, None),
}
LOG = "FPSTORE_BUILD_COSTS"


def spent(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def wrapped():
    """Acts as the wrapper of rustc: runs it, and records the costs of each crate."""
    # Keeps the file descriptors of cargo's jobserver open.
    status = subprocess.run(sys.argv[1:], close_fds=False).returncode
    words = sys.argv[1:]
    if "--crate-name" in words:
        name = words[words.index("--crate-name") + 1]
        with open(os.environ[LOG], "a") as log:
            log.write(f"{name} {spent(resource.RUSAGE_CHILDREN):.2f}\n")
    return status


def build(features, main, work):
    """Builds one set; returns processor seconds, seconds, the program, and seconds by crate."""
    target, log = work / "target", work / "log"
    log.touch()
    if main is None:
        manifest = ROOT / "crates/cli/Cargo.toml"
        command = []
    else:
        (work / "src").mkdir()
        (work / "src/main.rs").write_text("fn main() {" + main + "}\n")
        manifest = work / "Cargo.toml"
        manifest.write_text(
            '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2024"\n'
            f'[dependencies]\nfpstore = {{ path = "{ROOT}", default-features = false, features = [{quoted(features)}] }}\n'
            "[profile.release]\nstrip = true\n"
        )
        # Uses the dependency versions of the project.
        (work / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
        command = []
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(target), "RUSTC_WRAPPER": str(Path(__file__).resolve()), LOG: str(log),
        "CARGO_INCREMENTAL": "0",
    }
    before, since = spent(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--manifest-path", manifest, *command], check=True, env=environment
    )
    whole = spent(resource.RUSAGE_CHILDREN) - before, time.monotonic() - since
    crates = Counter()
    for line in log.read_text().splitlines():
        name, seconds = line.split()
        crates[name] += float(seconds)
    return *whole, target / "release" / ("probe" if main else "fpstore"), crates


def quoted(features):
    return f'"{features}"' if features else ""


def crate_count(features):
    of = ["--package=fpstore-cli"] if features is None else [
        "--package=fpstore", "--no-default-features", f"--features={features}"
    ]
    tree = subprocess.check_output(
        ["cargo", "tree", "--locked", *of, "--edges=normal,build", "--prefix=none", "--format={p}"], cwd=ROOT, text=True
    )
    return len({tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()})


def main():
    if LOG in os.environ:
        return wrapped()
    names = sys.argv[1:] or list(SETS)
    unknown = [name for name in names if name not in SETS]
    if unknown:
        print(f"build_costs: no set {unknown[0]}; the sets are {', '.join(SETS)}", file=sys.stderr)
        return 2
    print("| what | features | crates | bytes | s of processors | s |\n|---|---|---:|---:|---:|---:|")
    dearest = []
    for name in names:
        what, features, source = SETS[name]
        with tempfile.TemporaryDirectory() as work:
            cpu, wall, program, crates = build(features, source, Path(work))
            count, length = crate_count(features), program.stat().st_size
            print(f"| {what} | {features or ''} | {count} | {length} | {cpu:.0f} | {wall:.0f} |", flush=True)
        dearest.append((name, cpu - sum(crates.values()), crates))
    for name, others, crates in dearest:
        most = ", ".join(f"{crate} {seconds:.0f}" for crate, seconds in crates.most_common(12))
        print(f"\n{name}: s of processors: {most}; build scripts and C {others:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
