"""The package gives the answers in tests/doors/cases.json, which every interface must give."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from conftest import PROJECT

import fpstore
from fpstore._types import SegmentInfo, StoreInfo, TableInfo

TABLE = json.loads((PROJECT / "tests" / "doors" / "cases.json").read_text())
CASES = [
    case
    for case in TABLE["cases"]
    if "python" not in TABLE["operations"][case["operation"]]
    and "python" not in case.get("without", {})
]


def text(fingerprint: int) -> str:
    return f"{fingerprint:016x}"


def identity(value: Any) -> str | None:
    return None if value is None else str(value)


def build(path: Path, name: str, **options: Any) -> fpstore.Store:
    """Builds the store `name` of the table; like in the program, ids of digits become numbers."""
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
            **{name: of for name, of in asdict(match).items() if of or name == "distance"},
            "fingerprint": text(match.fingerprint),
            "ids": [str(it) for it in match.ids],
        }
        for match in found
    ]


def rows(stream: Any) -> list[dict[str, Any]]:
    """The rows of a stream as JSON values."""
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
    """The records that a rule keeps, records outside of clusters included, except for the rule
    `largest-cluster`."""
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


def compare(options: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    found = fpstore.Recipe().compare(options["first"], options["second"])
    first, second = (text(it) for it in found.fingerprints)
    values = {**asdict(found), "first": first, "second": second}
    return {name: values[name] for name in expected}


def find(store: fpstore.Store, ids: list[str]) -> list[list[str]]:
    kind = store.info().segments[0].id_kind
    given: list[Any] = [int(it) for it in ids] if kind == "u64" else ids
    return [[text(it) for it in found] for found in store.find(given)]


def items(case: dict[str, Any]) -> tuple[list[int], list[Any]]:
    """The new records of a case."""
    ids: list[Any] = [it[1] for it in case["items"]]
    if all(it.isdigit() for it in ids):
        ids = [int(it) for it in ids]
    return [int(it[0], 16) for it in case["items"]], ids


def left(path: Path) -> int:
    return fpstore.open(path).info().ids


def check_and_add(path: Path, case: dict[str, Any]) -> dict[str, Any]:
    with fpstore.Writer(path) as writer:
        found = writer.check_and_add(*items(case), case["options"]["k"])
        results = [
            {"added": True}
            if added
            else {
                "added": False,
                "near": text(near),
                "near_id": identity(near_id),
                "distance": distance,
            }
            for added, near, near_id, distance in found.to_pylist()
        ]
        writer.finish().close()
    return {"results": results, "left": left(path)}


def replace(path: Path, case: dict[str, Any]) -> list[list[str]]:
    fingerprints, ids = items(case)
    with fpstore.Writer(path) as writer:
        writer.replace(fingerprints, ids)
        return find(writer.store, case["options"]["ids"])


def delete(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    with fpstore.Writer(path) as writer:
        dry_run = options.get("dry_run", False)
        if "ids" in options:
            ids = options["ids"]
            if all(it.isdigit() for it in ids):
                ids = [int(it) for it in ids]
            done = writer.delete_ids(ids, dry_run=dry_run)
        else:
            fingerprints = [int(it, 16) for it in options["fingerprints"]]
            done = writer.delete_fingerprints(fingerprints, dry_run=dry_run)
    return {**asdict(done), "left": left(path)}


def dedup(store: fpstore.Store, case: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    options = case["options"]
    new = fpstore.build(folder / "new.fps", *items(case))
    found = rows(fpstore.dedup(new, store, options["k"], within=options.get("within", False)))
    return [
        {"fingerprint": row["fingerprint"], "id": row["id"]} for row in found if row["keep"]
    ]


def documents(case: dict[str, Any]) -> list[list[str]]:
    rows: list[list[str]] = TABLE["documents"][case["documents"]]
    return rows


def clean(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    source, kept = folder / "docs.jsonl", folder / "clean.jsonl"
    lines = [json.dumps({"id": it[0], "text": it[1]}) + "\n" for it in documents(case)]
    source.write_text("".join(lines))
    cleaned = fpstore.clean(source, kept, **case["options"])
    names = cleaned.removed.column_names
    removed = [dict(zip(names, row, strict=True)) for row in cleaned.removed.to_pylist()]
    return {
        "ids": [json.loads(line)["id"] for line in kept.read_text().splitlines()],
        "removed": [
            {
                **row,
                "fingerprint": text(row["fingerprint"]),
                "other": text(row["other"]),
                "similarity": row["similarity"] and round(row["similarity"], 4),
            }
            for row in removed
        ],
    }


def confirmed_pairs(case: dict[str, Any]) -> list[dict[str, Any]]:
    ids = [it[0] for it in documents(case)]
    texts = [it[1] for it in documents(case)]
    options = case["options"]
    found = fpstore.pairs(texts, confirm=options["confirm"], k=options.get("k"))
    pairs = []
    for first, second, distance, similarity in found.to_pylist():
        one, other = sorted((ids[first], ids[second]))
        pair = {"first_id": one, "second_id": other}
        pairs.append({**pair, "distance": distance, "similarity": similarity})
    return sorted(pairs, key=lambda pair: (pair["first_id"], pair["second_id"]))


def evaluate(case: dict[str, Any]) -> dict[str, Any]:
    records = TABLE["stores"][case["store"]]
    ids = [record[1] for record in records]
    options, labels = case["options"], case["labels"]
    found = fpstore.evaluate(
        [int(record[0], 16) for record in records],
        [ids.index(it[0]) for it in labels],
        [ids.index(it[1]) for it in labels],
        [it[2] for it in labels],
        unlisted_differ=options.get("unlisted_differ", False),
    )
    size = options.get("collection_size")
    return {
        "points": [asdict(point) for point in found.points[:5]],
        "area": found.area,
        "best": asdict(found.best),
        "duplicates": found.duplicates,
        "others": found.others,
        "recommended_k": found.forecast(size).recommended_k if size else None,
    }


def plan(options: dict[str, Any]) -> dict[str, Any]:
    found = fpstore.plan(**options)
    frontier = [it.name for it in found.schemes if it.on_frontier]
    return {"chosen": found.chosen.name, "frontier": frontier}


def without_store(case: dict[str, Any], folder: Path) -> Any:
    """The answer to an operation that needs no store."""
    options, operation = case["options"], case["operation"]
    if operation == "compare":
        return compare(options, case["expected"])
    if operation == "clean":
        return clean(case, folder)
    if operation == "confirmed pairs":
        return confirmed_pairs(case)
    if operation == "evaluate":
        return evaluate(case)
    if operation == "plan":
        return plan(options)
    assert operation == "build", operation
    return built(build(folder / "built.fps", case["store"], **options))


def answer(case: dict[str, Any], folder: Path) -> Any:
    options, operation = case["options"], case["operation"]
    if operation in ("compare", "clean", "confirmed pairs", "evaluate", "plan", "build"):
        return without_store(case, folder)
    store = build(folder / "store.fps", case["store"])
    if operation == "query":
        return query(store, options)
    if operation == "find":
        return find(store, options["ids"])
    if operation == "records":
        # Rows of a store without ids have no column `id`.
        return [{"id": None, **row} for row in rows(store.records())]
    if operation in ("info", "segment"):
        info = store.info()
        of = info if operation == "info" else info.segments[0]
        return {name: getattr(of, name) for name in case["expected"]}
    if operation == "pairs":
        return rows(store.pairs(options["k"], ids=True, sorted=True))
    if operation == "clusters":
        return [without(row, "keep") for row in rows(store.clusters(options["k"]))]
    if operation == "dedup":
        return dedup(store, case, folder)
    if operation == "check and add":
        return check_and_add(folder / "store.fps", case)
    if operation == "replace":
        return replace(folder / "store.fps", case)
    if operation == "delete":
        return delete(folder / "store.fps", options)
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
    assert {field.name for field in fields(StoreInfo)} == set(names["store"])
    left_out = {"access", "information_limit", "sections"}
    assert {field.name for field in fields(SegmentInfo)} == set(names["segment"]) - left_out
    # JSON has an additional field `table`, the position of the table.
    assert {field.name for field in fields(TableInfo)} == set(names["table"]) - {"table"}
