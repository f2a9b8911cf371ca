#!/usr/bin/env python3
"""Counts the instructions of fixed workloads and compares them with the recorded numbers.

    python3 tools/checks/check_instructions.py PROGRAM           # fails if a workload takes a tenth more
    python3 tools/checks/check_instructions.py PROGRAM --write   # records the current numbers

PROGRAM is the example `workload`, built by `cargo test`: target/debug/examples/workload. The recorded
numbers are valid only for that profile. Unlike seconds, instructions are the same on a busy machine;
they differ a little between versions of the compiler and of the C library, hence the tolerance. Needs
valgrind, which supports AVX2 but not AVX-512.
"""

import pathlib
import re
import subprocess
import sys

RECORDED = pathlib.Path(__file__).with_name("instructions.tsv")
WORKLOADS = {
    "query-2": "counted_queries",
    "query-4": "counted_queries",
    "crowded": "counted_queries",
    "batch": "counted_batch",
    "build": "counted_build",
    "pairs": "counted_pairs",
}
TOLERANCE = 1.10


def count(program, name, function):
    """The instructions that one workload executes in `function` and its callees, on all threads."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
               f"--toggle-collect=*{function}*", program, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"check_instructions: {name} failed:\n{done.stderr}")
    return int(found.group(1))


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(__doc__)
    counted = {name: count(sys.argv[1], name, function) for name, function in WORKLOADS.items()}
    if sys.argv[2:]:
        lines = [f"{name}\t{instructions}\n" for name, instructions in counted.items()]
        RECORDED.write_text("".join(lines), encoding="ascii")
        return
    recorded = dict(line.split("\t") for line in RECORDED.read_text(encoding="ascii").splitlines())
    slower = False
    for name, instructions in counted.items():
        before = int(recorded[name])
        share = instructions / before
        verdict = ""
        if share > TOLERANCE:
            slower, verdict = True, "too many"
        elif share < 1 / TOLERANCE:
            verdict = "fewer: record them with --write"
        print(f"{name:10} {instructions:>13,} instructions, {share:6.3f} of the recorded  {verdict}")
    if slower:
        sys.exit("check_instructions: a workload takes over a tenth more instructions than recorded "
                 f"in {RECORDED.name}; make it cheaper, or record it and give the reason in the commit")


if __name__ == "__main__":
    main()
