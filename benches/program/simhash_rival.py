#!/usr/bin/env python3
"""Compares the PyPI package `simhash` with fpstore: same documents, same features, one thread.

    pip install simhash
    python3 benches/program/simhash_rival.py target/release/fpstore DOCS.jsonl

Texts: the package has its defaults (windows of four characters, MD5), and fpstore gets
`--recipe 1e0ng`, which yields the same fingerprints. Features: the lower-cased words of each text,
with their counts. The package gets them as dictionaries in memory, its best case; fpstore reads and
parses them as JSON Lines. The fingerprints by MD5 must be equal; fpstore then runs once more with
its own hash. Times are CPU times, medians of rounds in turn; for fpstore they include the start of
the program.
"""

import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from simhash import Simhash

ROUNDS = 5
DOCUMENTS = 2000


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip().split("\n\n")[1])
    program, source = sys.argv[1], Path(sys.argv[2])
    texts = [json.loads(line)["text"] for line in source.open(encoding="utf-8")][:DOCUMENTS]
    features = [dict(Counter(re.findall(r"\w+", text.lower()))) for text in texts]
    # The package fails with weights above 255 under numpy 2.
    assert max(max(f.values(), default=0) for f in features) < 256
    byte_count = sum(len(text.encode("utf-8")) for text in texts)
    file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8")
    documents = tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8")
    with file, documents:
        for number, text in enumerate(texts):
            documents.write(json.dumps({"id": number, "text": text}) + "\n")
        documents.flush()
        for number, feature in enumerate(features):
            file.write(json.dumps({"id": number, "features": feature}) + "\n")
        file.flush()
        texts_command = [program, "simhash", documents.name, "--threads", "1"]
        base = [program, "simhash", file.name, "--docs-format", "features", "--threads", "1"]
        contenders = {
            "texts: simhash (PyPI)": lambda: [f"{Simhash(t).value:016x}" for t in texts],
            "texts: fpstore, 1e0ng": lambda: run([*texts_command, "--recipe", "1e0ng"]),
            "texts: fpstore, auto": lambda: run(texts_command),
            "features: simhash (PyPI)": lambda: [f"{Simhash(f).value:016x}" for f in features],
            "features: fpstore, md5-low-64": lambda: run([*base, "--hash", "md5-low-64"]),
            "features: fpstore, siphash-1-3": lambda: run(base),
        }
        times: dict[str, list[float]] = {name: [] for name in contenders}
        values = {}
        for _ in range(ROUNDS):
            for name, contender in contenders.items():
                start = cpu_time()
                values[name] = contender()
                times[name].append(cpu_time() - start)
    for kind, ours in (("texts", "1e0ng"), ("features", "md5-low-64")):
        assert values[f"{kind}: simhash (PyPI)"] == values[f"{kind}: fpstore, {ours}"], kind
    print(f"{len(texts)} documents, {byte_count / 1e6:.1f} MB of text, {sum(map(len, features))} features")
    for name, rounds in times.items():
        median = statistics.median(rounds)
        slowest = statistics.median(times[name.split(":")[0] + ": simhash (PyPI)"])
        print(f"{name:30} {median:8.3f} s {byte_count / 1e6 / median:8.1f} MB/s {slowest / median:6.1f} x")


def cpu_time() -> float:
    """CPU seconds of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(command: list[str]) -> list[str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return [line.split(b"\t")[0].decode() for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main()
