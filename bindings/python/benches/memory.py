"""Memory of calls in addition to their input arrays.

    python memory.py 1e7          # with the default memory limit
    python memory.py 1e7 128      # with memory=128 MiB

Each call runs in a separate process, on one thread. `taken` is the peak memory of that process (VmHWM)
less its memory before the call; it includes the copy of the array and the result.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import fpstore
import numpy as np

from fingerprints import data

CHILD = """
import sys
from pathlib import Path
import fpstore, numpy as np, pyarrow
def size(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) << 10
    raise KeyError(name)
folder, what, memory = sys.argv[1:]
values = np.load(folder + "/values.npy")
store = fpstore.open(folder + "/bench.fps", warm="all")
limits = dict(threads=1, memory=int(memory) << 20 if memory else None)
works = {
    "query_many": lambda: store.query_many(values, 3, **limits),
    "count_many": lambda: store.count_many(values, 3, **limits),
    "has_near": lambda: store.has_near(values, 3, **limits),
    "group": lambda: fpstore.group(values, 3, **limits),
    "near_pairs": lambda: [None for _ in fpstore.near_pairs(values, k=3, **limits)],
    "build": lambda: fpstore.build(folder + "/again.fps", values, **limits),
}
Path("/proc/self/clear_refs").write_text("5")
before = size("VmRSS")
result = works[what]()
taken = size("VmHWM") - before
if isinstance(result, fpstore.Rows):
    result = pyarrow.table(result)
print(values.nbytes, getattr(result, "nbytes", 0), taken)
"""


def main() -> None:
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    memory = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as folder:
        values = data(count)
        np.save(Path(folder) / "values.npy", values)
        fpstore.build(Path(folder) / "bench.fps", values, np.arange(count))
        print(f"{count} fingerprints, MiB\n")
        print("| | array | result | taken |\n|---|---:|---:|---:|")
        for what in ("query_many", "count_many", "has_near", "group", "near_pairs", "build"):
            command = [sys.executable, "-c", CHILD, folder, what, memory]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
            given, result, taken = (int(of) / 2**20 for of in done.stdout.split())
            print(f"| {what} | {given:.0f} | {result:.0f} | {taken:.0f} |", flush=True)


if __name__ == "__main__":
    main()
