#!/usr/bin/env python3
"""Removes machine-dependent and time-dependent data from the bill of materials in a wheel.

    python3 tools/release/plain_sbom.py WHEEL

maturin writes `NAME-VERSION.dist-info/sboms/*.json` with the absolute paths of the packages of this
project, a random serial number and the time. Paths are replaced by names and versions, the serial
number is derived from the content, and the time is `SOURCE_DATE_EPOCH`, or omitted. The wheel is
rewritten. Fails if a path is left.
"""

import datetime
import json
import os
import pathlib
import re
import sys
import uuid
import zipfile

import wheel

# cargo's id of a package in a local folder, and maturin's download URL of it.
PACKAGE = re.compile(r"path\+file://[^#]*#")
PLACE = re.compile(r"[?&]download_url=file://[^#&]*")
LEFT = re.compile(r"file:|(?:^|[\s'\"=])(?:/[\w.-]+/|[A-Za-z]:\\)")


def plain(value):
    """The same value with names in place of paths."""
    if isinstance(value, dict):
        return {name: plain(of) for name, of in value.items()}
    if isinstance(value, list):
        return [plain(of) for of in value]
    if not isinstance(value, str):
        return value
    text = PLACE.sub("", PACKAGE.sub("fpstore:", value))
    if LEFT.search(text):
        sys.exit(f"plain_sbom: a path of this machine is left in '{text}'")
    return text


def content_of(bill):
    bill = plain(json.loads(bill))
    bill.pop("serialNumber", None)
    metadata = bill.setdefault("metadata", {})
    metadata.pop("timestamp", None)
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        at = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
        metadata["timestamp"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    bill["serialNumber"] = serial.urn
    return (json.dumps(bill, indent=2) + "\n").encode()


def main(path):
    folder = f"{wheel.distribution_of(path)}.dist-info/sboms/"
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith(folder)]
        changed = {name: content_of(archive.read(name)) for name in names}
    if not changed:
        sys.exit(f"plain_sbom: {path} has no bill of materials in {folder}")
    wheel.rewrite(path, changed)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
