#!/usr/bin/env python3
"""Adds the program to a wheel of the Python package, so that pip installs the command `fpstore`.

    python3 tools/release/add_program.py WHEEL PROGRAM

pip installs the files in `NAME-VERSION.data/scripts/` of a wheel to the folder of commands of the
environment. The wheel is rewritten; a program that is already in it is replaced.
"""

import pathlib
import sys

import wheel


def add(path, program):
    script = f"{wheel.distribution_of(path)}.data/scripts/{program.name}"
    wheel.rewrite(path, {script: program.read_bytes()}, mode=0o100755)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    add(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
