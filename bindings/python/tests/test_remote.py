"""Documents at addresses are read and written with fsspec, here in its in-memory file system."""

from __future__ import annotations

import builtins
import gzip
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fpstore

fsspec = pytest.importorskip("fsspec")

TEXTS = ["one two three four", "other words are here", "One two three four!"]


def lines(names: str) -> bytes:
    rows = zip(names, TEXTS)
    return "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in rows).encode()


@pytest.fixture
def bucket() -> Iterator[str]:
    """The address of a folder with two files."""
    folder = f"memory://bucket-{uuid.uuid4().hex}"
    files = fsspec.filesystem("memory")
    files.pipe({f"{folder}/in/a.jsonl": lines("abc"), f"{folder}/in/deep/b.jsonl.gz": gzip.compress(lines("xyz"))})
    yield folder
    files.rm(folder, recursive=True)


def read(address: str) -> bytes:
    with fsspec.open(address) as file:
        data: bytes = file.read()
    return data


def test_files_are_cleaned_from_and_to_addresses(bucket: str, tmp_path: Path) -> None:
    cleaned = fpstore.clean(f"{bucket}/in/a.jsonl", f"{bucket}/out.jsonl", manifest=True)
    assert cleaned.kept == 2 and cleaned.near_new == 1 and cleaned.files == 1
    assert read(f"{bucket}/out.jsonl") == b"".join(lines("abc").splitlines(True)[:2])
    shown = json.dumps(cleaned.manifest) + repr(cleaned.overview)
    assert str(tmp_path.parent) not in shown and ".fpstore-work" not in shown
    assert f"{bucket}/in/a.jsonl" in shown
    with pytest.raises(FileExistsError, match="replace=True"):
        fpstore.clean(f"{bucket}/in/a.jsonl", f"{bucket}/out.jsonl")
    fpstore.clean(f"{bucket}/in/deep/b.jsonl.gz", f"{bucket}/out.jsonl", replace=True)
    assert b'"id": "x"' in read(f"{bucket}/out.jsonl")


def test_folders_and_patterns_are_copied_as_a_whole(bucket: str, tmp_path: Path) -> None:
    cleaned = fpstore.clean(f"{bucket}/in", f"{bucket}/out")
    assert cleaned.kept == 2 and cleaned.near_new == 4 and cleaned.files == 2
    assert len(read(f"{bucket}/out/a.jsonl").splitlines()) == 2
    assert gzip.decompress(read(f"{bucket}/out/deep/b.jsonl.gz")) == b""
    assert fpstore.clean(f"{bucket}/in/**/*.gz").kept == 2
    ids = [row.id for row in fpstore.Documents([f"{bucket}/in/*.jsonl", f"{bucket}/in/deep"])]
    assert ids == list("abcxyz")
    with fpstore.Builder(tmp_path / "s.fps", recipe="minhash") as builder:
        assert builder.add_documents(f"{bucket}/in").documents == 6
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        fpstore.clean(f"{bucket}/none")
    local = tmp_path / "local.jsonl"
    local.write_bytes(lines("abc"))
    assert fpstore.clean(str(tmp_path / "*.jsonl")).kept == 2
    (tmp_path / "with blanks").mkdir()
    (tmp_path / "with blanks" / "a.jsonl").write_bytes(lines("abc"))
    assert fpstore.clean(str(tmp_path / "with blanks" / "?.jsonl")).kept == 2
    with pytest.raises(FileNotFoundError):
        fpstore.clean(str(tmp_path / "*.none"))
    with pytest.raises(fpstore.errors.InputError, match="is not a file; texts are given"):
        fpstore.clean(["is this a text?"])


def test_more_than_ten_addresses_keep_their_names(bucket: str) -> None:
    names = [f"{bucket}/part{at}.jsonl" for at in range(12)]
    fsspec.filesystem("memory").pipe({name: lines("abc") for name in names})
    overview = fpstore.clean(names).overview
    assert overview is not None and [loss.name for loss in overview.losses[1:]] == names
    fpstore.clean(names, f"{bucket}/all")
    fsspec.filesystem("memory").pipe(f"{bucket}/all/note.txt", b"mine")
    fpstore.clean(names, f"{bucket}/all", replace=True)
    assert read(f"{bucket}/all/note.txt") == b"mine"


def test_a_failed_output_adds_nothing(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = fpstore.build(tmp_path / "s.fps", [], recipe="minhash", sketch=True)

    def night(**options: Any) -> fpstore.types.Cleaned:
        return fpstore.clean(
            f"{bucket}/in", f"{bucket}/out", store=store.path, within=True, add=True, run="one", **options
        )

    with monkeypatch.context() as patched:
        patched.setattr("fpstore._remote.publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            night()
    store.refresh()
    assert len(store) == 0
    assert night().added == 2 and store.refresh() and len(store) == 2
    # The output of the first call is complete.
    written = read(f"{bucket}/out/a.jsonl")
    assert night().was_added_before and read(f"{bucket}/out/a.jsonl") == written
    store.refresh()
    assert len(store) == 2


def test_contamination_is_removed_at_addresses(bucket: str) -> None:
    item = "which of the two rivers that meet in mainz is the longer one of both"
    documents = [{"id": "a", "text": f"a quiz {item} yes"}, {"id": "b", "text": "more words"}]
    data = "".join(json.dumps(document) + "\n" for document in documents).encode()
    fsspec.filesystem("memory").pipe({f"{bucket}/docs.jsonl": data, f"{bucket}/items.txt": item.encode()})
    found = fpstore.contamination(f"{bucket}/docs.jsonl", f"{bucket}/items.txt", f"{bucket}/clean.jsonl")
    assert found.contaminated == 1 and found.found["file"].tolist() == [f"{bucket}/docs.jsonl"]
    assert read(f"{bucket}/clean.jsonl") == data.splitlines(True)[1]


def test_errors_name_addresses_and_the_missing_package(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.filesystem("memory").pipe(f"{bucket}/bad.jsonl", b"no JSON\n")
    for call in (fpstore.clean, lambda of: list(fpstore.Documents(of))):
        with pytest.raises(fpstore.errors.InputError) as error:
            call(f"{bucket}/bad.jsonl")
        assert f"{bucket}/bad.jsonl" in str(error.value) and ".fpstore" not in str(error.value)
    with pytest.raises(fpstore.errors.InputError, match="unknown-kind://a"):
        fpstore.clean("unknown-kind://a")
    imported = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "fsspec":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(fpstore.errors.InputError, match="needs the package fsspec: pip install fsspec"):
        fpstore.clean(f"{bucket}/in")
