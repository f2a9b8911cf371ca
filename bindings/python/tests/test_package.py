"""The metadata of the installed package."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.metadata import distribution

import pytest

INSTALLED = distribution("fpstore")


def is_editable() -> bool:
    origin = INSTALLED.read_text("direct_url.json")
    return bool(origin and json.loads(origin).get("dir_info", {}).get("editable"))


@pytest.mark.skipif(is_editable(), reason="no wheel was finished: the sources are used")
def test_the_bill_of_materials_has_no_paths_of_the_machine() -> None:
    bills = [file for file in INSTALLED.files or [] if "/sboms/" in str(file)]
    assert len(bills) == 1
    text = bills[0].read_text()
    assert not re.search(r"file:|\"/|[^\\w.]/(home|root|tmp|work|build|usr)/", text)
    bill = json.loads(text)
    names = {(part["name"], part["bom-ref"]) for part in bill["components"]}
    assert {"fpstore", "fpstore-text", "arrow-array"} <= {name for name, _ in names}
    # Each required component is listed in the bill of materials, under the same reference.
    needed = {other for part in bill["dependencies"] for other in part.get("dependsOn", [])}
    assert needed <= {reference for _, reference in names}


def test_every_file_is_the_recorded_one() -> None:
    for file in INSTALLED.files or []:
        if file.hash is not None and not str(file).endswith("/fpstore"):
            digest = hashlib.new(file.hash.mode, file.read_binary()).digest()
            assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value, file
