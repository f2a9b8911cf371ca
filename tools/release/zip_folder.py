#!/usr/bin/env python3
"""Makes a ZIP archive of a folder, named after the folder. The output is reproducible: names are
sorted, and all files have the time SOURCE_DATE_EPOCH.

    python3 tools/release/zip_folder.py FOLDER ARCHIVE
"""

import os
import sys
import time
import zipfile
from pathlib import Path


def main():
    folder, archive = Path(sys.argv[1]), sys.argv[2]
    # The earliest time in a ZIP file is in 1980.
    when = max(time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6], (1980, 1, 1, 0, 0, 0))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    with zipfile.ZipFile(archive, "w") as packed:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            rights = 0o755 if path.suffix == ".exe" else 0o644
            entry.external_attr = (0o100000 | rights) << 16
            packed.writestr(entry, path.read_bytes(), compresslevel=9)


if __name__ == "__main__":
    main()
