"""Python answers the cases that every door answers: tests/doors/cases.json of the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PROJECT

import fpstore
from fpstore._types import SegmentInfo, StoreInfo, TableInfo

TABLE = json.loads((PROJECT / "tests" / "doors" / "cases.json").read_text())
CASES = [case for case in TABLE["cases"] if "python" in case["doors"]]


def text(fingerprint: int) -> str:
    return f"{fingerprint:016x}"


def identity(value: Any) -> str | None:
    return None if value is None else str(value)


def build(path: Path, name: str, **options: Any) -> fpstore.Store:
    """A store of the table; ids of digits are numbers, as the program takes them."""
    records = TABLE["stores"][name]
    ids: list[Any] = [record[1] for record in records]
    has_ids = any(it is not None for it in ids)
    if has_ids and all(it.isdigit() for it in ids):
        ids = [int(it) for it in ids]
    fingerprints = [int(record[0], 16) for record in records]
    return fpstore.build(path, fingerprints, ids if has_ids else None, **options)


def query(store: fpstore.Store, options: dict[str, Any]) -> list[dict[str, Any]]:
    needle = int(fpstore.from_hex([options["fingerprint"]])[0])
    if "nearest" in options:
        found = store.nearest(needle, options["nearest"])
    else:
        found = store.query(needle, options.get("k"), limit=options.get("limit"))
    return [
        {
            **match._asdict(),
            "fingerprint": text(match.fingerprint),
            "ids": [str(it) for it in match.ids],
        }
        for match in found
    ]


def rows(stream: Any) -> list[dict[str, Any]]:
    """The rows of a stream, in the form of JSON."""
    table = stream.read_all()
    shown = []
    for row in table.to_pylist():
        cells = dict(zip(table.column_names, row, strict=True))
        for name in ("fingerprint", "first", "second"):
            if name in cells:
                cells[name] = text(cells[name])
        for name in ("id", "first_id", "second_id"):
            if name in cells:
                cells[name] = identity(cells[name])
        shown.append(cells)
    return shown


def kept(store: fpstore.Store, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The records that a rule keeps, those in no cluster among them but for the largest cluster."""
    members = rows(store.clusters(options["k"], keep=options["rule"]))
    if options["rule"] == "largest-cluster":
        members.sort(key=lambda row: row["fingerprint"])
        return [
            {"fingerprint": row["fingerprint"], "id": row["id"]} for row in members if row["keep"]
        ]
    dropped = [(row["fingerprint"], row["id"]) for row in members if not row["keep"]]
    return [row for row in rows(store.records()) if (row["fingerprint"], row["id"]) not in dropped]


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def built(store: fpstore.Store) -> dict[str, Any]:
    info = store.info()
    return {"tuned_k": info.tuned_k, "tables": len(info.segments[0].tables)}


def answer(case: dict[str, Any], folder: Path) -> Any:
    options, operation = case["options"], case["operation"]
    if operation == "compare":
        found = fpstore.Recipe().compare(options["first"], options["second"])
        return {name: getattr(found, name) for name in case["expected"]}
    if operation == "build":
        return built(build(folder / "built.fps", case["store"], **options))
    store = build(folder / "store.fps", case["store"])
    if operation == "query":
        return query(store, options)
    if operation == "records":
        # A store without ids has no column of them.
        return [{"id": None, **row} for row in rows(store.records())]
    if operation == "info":
        info = store.info()
        return {name: getattr(info, name) for name in case["expected"]}
    if operation == "pairs":
        return rows(store.pairs(options["k"], ids=True, sorted=True))
    if operation == "clusters":
        return [without(row, "keep") for row in rows(store.clusters(options["k"]))]
    assert operation == "keep", operation
    return kept(store, options)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_python_answers_every_case(case: dict[str, Any], tmp_path: Path) -> None:
    if why := case.get("apart", {}).get("python"):
        pytest.xfail(why)
    if case["expected"] == "error":
        with pytest.raises((ValueError, OverflowError)):
            answer(case, tmp_path)
    else:
        assert answer(case, tmp_path) == case["expected"]


def test_reports_have_the_names_of_the_table() -> None:
    names = TABLE["names"]
    assert set(StoreInfo._fields) == set(names["store"])
    left_out = {"access", "information_limit", "sections"}
    assert set(SegmentInfo._fields) == set(names["segment"]) - left_out
    # The position in the tuple of tables.
    assert set(TableInfo._fields) == set(names["table"]) - {"table"}
