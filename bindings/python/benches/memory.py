"""What calls take beside the arrays that they are given and give back.

    python memory.py 1e7

Each call runs in a process of its own. The figure is how much the greatest size of that process
(VmHWM) is above its size before the call, less the result.
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
import fpstore, numpy as np
def size(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) << 10
    raise KeyError(name)
folder, what = sys.argv[1:]
values = np.load(folder + "/values.npy")
store = fpstore.open(folder + "/bench.fps")
limits = dict(threads=1, memory=128 << 20)
works = {
    "near_pairs": lambda: [None for _ in fpstore.near_pairs(values, k=3, **limits)],
    "build": lambda: fpstore.build(folder + "/again.fps", values, **limits),
    "group": lambda: fpstore.group(values, 3, **limits),
}
before = size("VmRSS")
result = works[what]()
print(size("VmHWM") - before - getattr(result, "nbytes", 0), values.nbytes)
"""


def main() -> None:
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        values = data(count)
        np.save(Path(folder) / "values.npy", values)
        fpstore.build(Path(folder) / "bench.fps", values[:1000])
        print(f"{count} fingerprints, memory=128 MiB, one thread\n")
        print("| | taken, MiB | array, MiB |\n|---|---:|---:|")
        for what in ("near_pairs", "build", "group"):
            command = [sys.executable, "-c", CHILD, folder, what]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            taken, given = (int(of) / 2**20 for of in done.stdout.split())
            print(f"| {what} | {taken:.0f} | {given:.0f} |", flush=True)


if __name__ == "__main__":
    main()
