#!/usr/bin/env python3
"""Reproduces measurements of the paper of Manku, Jain and Das Sarma, and repeats them with fpstore.

    python3 benches/paper --program target/release/fpstore [--data DATA]

"Detecting Near-Duplicates for Web Crawling", WWW 2007. Parts:

* texts: precision and recall by k;
* bits: the uniformity of fingerprints;
* tables: designs for 2^34 fingerprints;
* compression: bits per fingerprint.

All inputs come from fixed seeds and the files of tests/data; DATA is the folder of the full
collection, described in tests/data/README.md, with four labelled sets and 407 000 fingerprints.
It needs Python 3, NumPy and zstd.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "map"))

import bits
import compression
import tables
import texts

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = ("texts", "bits", "tables", "compression")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="target/release/fpstore", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, help="the folder of the full collection")
    parser.add_argument("--folder", help="folder for temporary files")
    parser.add_argument("--counts", default="1e6,1e7", help="numbers of random fingerprints")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; may be repeated")
    options = parser.parse_args()
    program = options.program.resolve()
    counts = [int(float(count)) for count in options.counts.split(",")]
    largest = max(counts)
    print(f"needs {32 * largest / 1e9 + 0.2:.1f} GB of disk, {120 * largest / 1e9 + 0.3:.1f} GB of memory,"
          " a minute or two on two cores", flush=True)
    parts = options.part or PARTS
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = pathlib.Path(scratch)
        if "texts" in parts:
            texts.report(program, folder, options.data)
        if "bits" in parts:
            bits.report(ROOT, options.data)
        if "tables" in parts:
            tables.report(program)
        if "compression" in parts:
            compression.report(program, folder, counts)


if __name__ == "__main__":
    main()
