"""Runs the program `fpstore` of the wheel, as `python -m fpstore`."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path


def program() -> Path | None:
    """The path of the program in this installation, or `None` if its wheel has no program."""
    try:
        files = importlib.metadata.files("fpstore")
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files or []:
        if file.stem == "fpstore" and file.suffix in ("", ".exe"):
            path = Path(str(file.locate())).resolve()
            if path.is_file():
                return path
    return None


def main() -> None:
    """Runs the program with the arguments of this process, and exits with its status."""
    path = program()
    if path is None:
        sys.exit(
            "fpstore: this installation has only the library; build the program "
            "from the sources with 'cargo install --path crates/cli'"
        )
    arguments = [str(path), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(path, arguments)
    sys.exit(subprocess.run(arguments).returncode)


if __name__ == "__main__":
    main()
