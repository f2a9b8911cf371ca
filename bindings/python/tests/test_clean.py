"""Cleaning files writes the same bytes as the program; cleaned documents are added to stores."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fpstore

KEEP_RULES = [
    "first",
    "last",
    "longest",
    "newest:date",
    "best:score",
    "source:8,3,newest:date,longest,last",
]


def corpus(folder: Path) -> list[Path]:
    """Files in JSON Lines and CSV; many documents are near earlier documents."""
    numbers = random.Random(11)
    words = [f"word{number}" for number in range(400)]
    documents: list[dict[str, Any]] = []
    for at in range(120):
        text = numbers.choices(words, k=60)
        if documents and numbers.random() < 0.5:
            text = str(numbers.choice(documents)["text"]).split()
            text[numbers.randrange(len(text))] = numbers.choice(words)
            text = text[: numbers.randrange(50, 61)]
        date = f"2026-{numbers.randrange(1, 13):02}-01"
        score = numbers.randrange(9)
        documents.append({"id": f"d{at}", "text": " ".join(text), "date": date, "score": score})
    documents[7]["text"] = ""
    folder.mkdir()
    paths = [folder / "one.jsonl", folder / "two.csv"]
    paths[0].write_text("".join(json.dumps(document) + "\n" for document in documents[:60]))
    rows = [",".join(str(value) for value in document.values()) for document in documents[60:]]
    paths[1].write_text("\n".join(["id,text,date,score", *rows]) + "\n")
    return paths


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def shown(rows: fpstore.Rows) -> list[list[str]]:
    """The rows as texts, in the format of the program."""
    lines: list[list[str]] = []
    for fingerprint, other, distance, similarity, *texts in rows:
        near = "" if similarity is None else f"{similarity:.4f}"
        lines.append([f"{fingerprint:016x}", f"{other:016x}", str(distance), near, *texts])
    return lines


@pytest.mark.parametrize("k", [7, None])
@pytest.mark.parametrize("keep", KEEP_RULES)
def test_the_kept_bytes_are_those_of_the_program(
    tmp_path: Path, program: str, keep: str, k: int | None
) -> None:
    inputs = corpus(tmp_path / "in")
    command: list[str | Path] = [program, "clean", *inputs, "--keep", keep, "--quiet"]
    command += ["--source-field", "score"]
    command += ["-o", tmp_path / "theirs", "--removed", tmp_path / "removed.tsv"]
    if k is not None:
        command += ["-k", str(k)]
    subprocess.run(command, check=True)
    cleaned = fpstore.clean(inputs, tmp_path / "ours", keep=keep, source_field="score", k=k)
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")
    theirs = (tmp_path / "removed.tsv").read_text().splitlines()
    ours = shown(cleaned.removed)
    assert [line[:3] + line[4:] for line in ours] == [
        line.split("\t")[:3] + line.split("\t")[4:] for line in theirs
    ]
    for line, their in zip(ours, theirs, strict=True):
        similarity = their.split("\t")[3]
        assert (line[3] == "") == (similarity == "")
        assert not similarity or abs(float(line[3]) - float(similarity)) < 0.01
    assert len(ours) == cleaned.near_new > 10
    assert (cleaned.kept + cleaned.near_new, cleaned.empty, cleaned.files) == (119, 1, 2)
    assert (cleaned.near_stored, cleaned.bad, cleaned.added, cleaned.faults) == (0, 0, 0, [])


def test_losses_and_clusters_are_those_of_the_program(tmp_path: Path, program: str) -> None:
    inputs = corpus(tmp_path / "in")
    template = " ".join(f"t{number}" for number in range(60))
    lines = [json.dumps({"id": f"t{at}", "text": f"{template} {at}"}) for at in range(110)]
    inputs.append(tmp_path / "in" / "three.jsonl")
    inputs[-1].write_text("".join(f"{line}\n" for line in lines))
    command: list[str | Path] = [program, "clean", *inputs, "-o", tmp_path / "theirs"]
    subprocess.run([*command, "--losses", tmp_path / "losses.tsv", "--quiet"], check=True)
    cleaned = fpstore.clean(inputs, tmp_path / "ours")
    overview = cleaned.overview
    assert overview is not None
    assert overview.judgement.startswith("by Jaccard similarity 0.8 or more, computed")
    theirs = [line.split("\t") for line in (tmp_path / "losses.tsv").read_text().splitlines()]
    assert [[str(value) for value in astuple(loss)] for loss in overview.losses] == theirs
    assert (overview.losses[0].documents, overview.losses[0].removed) == (cleaned.kept + cleaned.near_new, cleaned.near_new)
    assert overview.losses[0].empty == cleaned.empty == 1
    line = " ".join(f"t{number}" for number in range(60))[:80]
    largest = fpstore.types.LargeCluster(110, "t0", "new", overview.clusters[0].line)
    assert overview.clusters[0] == largest and line.startswith((largest.line or "none")[:70])

    with pytest.raises(fpstore.errors.TooMuchLostError, match="three.jsonl would lose 99.1 %") as error:
        fpstore.clean(inputs, tmp_path / "limited", max_loss=0.6)
    assert error.value.limit == 0.6
    assert error.value.loss == fpstore.types.Loss("file", str(inputs[-1]), 110, 109)
    assert error.value.overview == overview
    assert [path.name for path in (tmp_path / "limited").iterdir()] == [".fpstore-dedup"]
    fpstore.clean(inputs, tmp_path / "limited", max_loss=1.0)
    assert files(tmp_path / "limited") == files(tmp_path / "theirs")
    with pytest.raises(fpstore.errors.InputError, match="max_loss is 50"):
        fpstore.clean(inputs, max_loss=50)


def test_what_is_kept_contains_what_goes(tmp_path: Path, program: str) -> None:
    inputs = corpus(tmp_path / "in")
    command: list[str | Path] = [program, "clean", *inputs, "-o", tmp_path / "theirs"]
    command += ["--confirm", "0.5", "--confirm-contains", "0.97", "--keep", "longest", "--quiet"]
    subprocess.run(command, check=True)
    options: dict[str, Any] = {"confirm": 0.5, "keep": "longest"}
    cleaned = fpstore.clean(inputs, tmp_path / "ours", confirm_contains=0.97, **options)
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")
    assert 0 < cleaned.near_new < fpstore.clean(inputs, **options).near_new
    with pytest.raises(fpstore.errors.InputError, match="documents are compared by the distance"):
        fpstore.clean(inputs, k=7, confirm_contains=1.0)


def test_several_of_a_cluster_stay_as_with_the_program(tmp_path: Path, program: str) -> None:
    inputs = corpus(tmp_path / "in")
    command: list[str | Path] = [program, "clean", *inputs, "-o", tmp_path / "theirs"]
    command += ["--per-cluster", "3", "--cluster-size", "size", "--source-field", "score"]
    subprocess.run([*command, "--quiet"], check=True)
    options: dict[str, Any] = {"cluster_size": "size", "source_field": "score"}
    cleaned = fpstore.clean(inputs, tmp_path / "ours", per_cluster=3, **options)
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")
    assert cleaned.spared > 5 and cleaned.kept + cleaned.near_new == 119
    assert cleaned.overview is not None
    sources = [loss.name for loss in cleaned.overview.losses if loss.kind == "source"]
    assert sources == [str(score) for score in range(9)]
    with pytest.raises(fpstore.errors.InputError, match="per_cluster is 0, expected 1 to"):
        fpstore.clean(inputs, per_cluster=0)


def test_reasons_and_targets_are_those_of_the_program(tmp_path: Path, program: str) -> None:
    inputs = corpus(tmp_path / "in")
    pages = tmp_path / "in" / "pages.jsonl"
    addresses = ["http://a.b/1", "https://A.B/1/?utm_source=x", "http://a.b/2"]
    texts = ["one two three", "four five six", "One, two three!"]
    lines = [
        json.dumps({"id": f"p{at}", "url": url, "text": text})
        for at, (url, text) in enumerate(zip(addresses, texts, strict=True))
    ]
    pages.write_text("".join(f"{line}\n" for line in lines))
    cleaned = fpstore.clean(pages, tmp_path / "pages.jsonl", url_field="url")
    found = list(zip(cleaned.removed["id"], cleaned.removed["reason"], strict=True))
    assert found == [("p1", "address"), ("p2", "text")]
    assert cleaned.overview is not None
    counts = {"judged": 0, "address": 1, "bytes": 0, "text": 1, "near": 0, "confirmed": 0}
    assert cleaned.overview.reasons == counts

    command: list[str | Path] = [program, "clean", *inputs, "-o", tmp_path / "theirs"]
    command += ["--removed", tmp_path / "r.tsv", "--confirm", "0.5", "--target", "100"]
    subprocess.run([*command, "--quiet"], check=True)
    cleaned = fpstore.clean(inputs, tmp_path / "ours", confirm=0.5, target=100)
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")
    theirs = [line.split("\t")[7] for line in (tmp_path / "r.tsv").read_text().splitlines()]
    assert list(cleaned.removed["reason"]) == theirs
    with pytest.raises(fpstore.errors.InputError, match="target of 2 cannot be reached"):
        fpstore.clean(inputs, target=2)
    assert fpstore.clean(inputs, judge="bytes").kept >= cleaned.kept
    with pytest.raises(fpstore.errors.InputError, match="judge: expected some of address"):
        fpstore.clean(inputs, judge="url")


def test_passages_judged_pairs_and_the_manifest_are_those_of_the_program(
    tmp_path: Path, program: str
) -> None:
    notice = "we use cookies to make this site better for all of you and for us"
    texts = [f"{notice}\n\nown words {at} {at * at} {at % 7} of page {at}" for at in range(9)]
    rows = [{"id": f"p{at}", "text": text} for at, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = fpstore.Documents(tmp_path / "in.jsonl", unit="paragraph")
    for fate, counts in [("cut", (8, 0)), ("drop:0.5", (0, 8)), ("annotate", (8, 0))]:
        own, other = tmp_path / f"own-{fate}.jsonl", tmp_path / f"other-{fate}.jsonl"
        cleaned = fpstore.clean(given, own, passages=fate, manifest=True)
        assert (cleaned.changed, cleaned.dropped) == counts
        assert cleaned.manifest is not None
        assert cleaned.manifest["settings"]["passages"] == fate
        assert [file["path"] for file in cleaned.manifest["outputs"]] == [str(own)]
        arguments = ["clean", str(tmp_path / "in.jsonl"), "--unit", "paragraph", "-q"]
        subprocess.run([program, *arguments, "--passages", fate, "-o", str(other)], check=True)
        assert own.read_bytes() == other.read_bytes()
    with pytest.raises(fpstore.errors.InputError, match="passages: expected cut, annotate, or drop:"):
        fpstore.clean(given, tmp_path / "x.jsonl", passages="all")
    (tmp_path / "pairs.tsv").write_text("p0\tp1\t1\np2\tp3\t1\n")
    judged = fpstore.clean(
        tmp_path / "in.jsonl", judge="bytes", pairs=tmp_path / "pairs.tsv", k=None
    )
    assert list(judged.removed["id"]) == ["p1", "p3"]
    assert judged.manifest is None
    (tmp_path / "pairs.tsv").write_text("p0\tp1\tyes\np2\tp3\tyes\n")
    with pytest.raises(fpstore.errors.InputError, match="pairs.tsv: line 1: label is 'yes'"):
        fpstore.clean(tmp_path / "in.jsonl", pairs=tmp_path / "pairs.tsv")


def test_marks_stay_beside_all_documents(tmp_path: Path) -> None:
    inputs = corpus(tmp_path / "in")
    cleaned = fpstore.clean(inputs[0], tmp_path / "marked.jsonl", annotate="duplicates")
    lines = (tmp_path / "marked.jsonl").read_text().splitlines()
    marks = {one["id"]: one["duplicates"] for one in map(json.loads, lines)}
    assert len(marks) == 60
    named = dict(zip(cleaned.removed["id"], cleaned.removed["other_id"], strict=True))
    assert {name: other for name, other in marks.items() if other is not None} == named


def test_kept_documents_are_added_to_the_store_once(tmp_path: Path) -> None:
    inputs = corpus(tmp_path / "in")
    with fpstore.Builder(tmp_path / "all.fps", recipe="minhash") as builder:
        added = builder.add_documents(inputs[0])
        assert (added.documents, added.empty, added.bad, added.faults) == (59, 1, 0, [])
    store = fpstore.open(tmp_path / "all.fps")
    count = store.info().ids
    assert count == 59
    options: dict[str, Any] = {"store": store, "within": True, "add": True, "run": "night 1"}
    cleaned = fpstore.clean(inputs[1], tmp_path / "new.csv", **options)
    assert cleaned.near_stored > 5 and cleaned.near_new > 0
    assert cleaned.added == cleaned.kept and not cleaned.was_added_before
    assert set(cleaned.removed["side"]) == {"new", "stored"}
    assert store.refresh() and store.info().ids == count + cleaned.added
    again = fpstore.clean(inputs[1], tmp_path / "new.csv", **options)
    assert again.was_added_before
    with pytest.raises(fpstore.errors.KnownRunError, match="again.csv does not exist"):
        fpstore.clean(inputs[1], tmp_path / "again.csv", **options)
    assert not (tmp_path / "again.csv").exists()


def test_a_run_of_a_table_that_the_store_knows_is_an_error_and_no_empty_night(
    tmp_path: Path,
) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "all.fps"
    (tmp_path / "old.jsonl").write_text('{"id": "old", "text": "one two three four five six"}\n')
    with fpstore.Builder(path, recipe="minhash") as builder:
        builder.add_documents(tmp_path / "old.jsonl")
    texts = [f"document {number} " + f"word{number} " * 20 for number in range(10)]
    frame = pandas.DataFrame({"id": [f"n{number}" for number in range(10)], "text": texts})
    before = shutil.copytree(path, tmp_path / "before.fps")

    def night(store: Path, **options: Any) -> Any:
        return fpstore.clean(frame, store=fpstore.open(store), within=True, **options)

    first = night(path, add=True, run="n1")
    assert first.kept == first.added == 10
    count = fpstore.open(path).info().ids
    for again in (frame, frame.head(3)):
        with pytest.raises(fpstore.errors.KnownRunError, match="documents of the run 'n1'") as error:
            fpstore.clean(again, store=fpstore.open(path), within=True, add=True, run="n1")
        assert (error.value.run, error.value.path) == ("n1", str(path))
        assert isinstance(error.value, fpstore.errors.StaleStoreError)
    assert fpstore.open(path).info().ids == count
    # The remedy in the error message: compare with a copy of the store from before the run.
    assert list(night(before).keep) == list(first.keep)
    with fpstore.Writer(path) as writer:
        writer.delete_ids(list(frame["id"]))
    second = night(path, add=True, run="n1, again")
    assert list(second.keep) == list(first.keep) and second.added == 10


def test_documents_in_stores_are_those_of_the_program(tmp_path: Path, program: str) -> None:
    inputs = corpus(tmp_path / "in")
    theirs = tmp_path / "theirs.fps"
    subprocess.run([program, "build", "--docs", *inputs, "-s", theirs, "--quiet"], check=True)
    with fpstore.Builder(tmp_path / "ours.fps", recipe=fpstore.Recipe()) as builder:
        assert builder.add_documents(inputs).documents == 119
    records = fpstore.open(theirs).records().read_all().to_pylist()
    assert fpstore.open(tmp_path / "ours.fps").records().read_all().to_pylist() == records
    with fpstore.Builder(tmp_path / "grown.fps", recipe="minhash") as builder:
        builder.add_documents(inputs[0])
    with fpstore.Writer(tmp_path / "grown.fps") as writer:
        assert writer.add_documents([inputs[1]]).documents == 60
        assert writer.pending == 60
    grown = fpstore.open(tmp_path / "grown.fps").records().read_all().to_pylist()
    assert sorted(map(str, grown)) == sorted(map(str, records))


def test_options_of_reading_are_followed(tmp_path: Path) -> None:
    lines = ['{"doc": {"key": 1, "body": "<p>one two three</p>"}}', "no JSON"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "in" / "b.md").write_text("not looked at")
    documents = fpstore.Documents(
        tmp_path / "in",
        format="jsonl",
        id_field="doc.key",
        text_field="doc.body",
        text_format="html",
        include=["*.txt"],
        skip_bad=True,
    )
    with fpstore.Builder(tmp_path / "docs.fps", recipe="minhash") as builder:
        added = builder.add_documents(documents)
    assert (added.documents, added.bad, len(added.faults)) == (1, 1, 1)
    store = fpstore.open(tmp_path / "docs.fps")
    fingerprint = fpstore.Recipe().fingerprint("one two three")
    assert store.records().read_all().to_pylist() == [(fingerprint, 1)]


def test_what_cannot_be_done_is_refused_by_name(tmp_path: Path) -> None:
    inputs = corpus(tmp_path / "in")
    (tmp_path / "there.jsonl").write_text("")
    with pytest.raises(FileExistsError, match="replace=True"):
        fpstore.clean(inputs[0], tmp_path / "there.jsonl")
    assert fpstore.clean(inputs[0], tmp_path / "there.jsonl", replace=True).files == 1
    with pytest.raises(fpstore.errors.InputError, match="keep is 'oldest'"):
        fpstore.clean(inputs, keep="oldest")
    with pytest.raises(fpstore.errors.InputError, match="similarity"):
        fpstore.clean(inputs, confirm=1.5)
    with pytest.raises(fpstore.errors.InputError, match="add=True"):
        fpstore.clean(inputs, run="night")
    with pytest.raises(FileNotFoundError):
        fpstore.clean(tmp_path / "none.jsonl")
    with pytest.raises(fpstore.errors.InputError, match="there is no encoding"):
        fpstore.Documents(inputs, encoding="none")
    with fpstore.Builder(tmp_path / "plain.fps") as builder:
        with pytest.raises(fpstore.errors.InputError, match="recipe"):
            builder.add_documents(inputs)
        builder.add([1])
    with fpstore.Builder(tmp_path / "code.fps", recipe="code") as builder:
        builder.add_documents(inputs)
    with pytest.raises(fpstore.errors.RecipeError):
        fpstore.clean(inputs, store=fpstore.open(tmp_path / "code.fps"), recipe="minhash")


def test_a_progress_function_ends_the_work(tmp_path: Path) -> None:
    inputs = corpus(tmp_path / "in")
    seen: list[fpstore.types.Progress] = []
    fpstore.clean(inputs, progress=seen.append)
    assert seen

    def end(progress: fpstore.types.Progress) -> None:
        raise RuntimeError(progress.phase)

    with pytest.raises(RuntimeError):
        fpstore.clean(inputs, progress=end)
    cleaned = fpstore.clean(inputs, tmp_path / "out", replace=True)
    assert cleaned.files == 2


def test_items_of_a_benchmark_are_found_as_the_program_finds_them(
    tmp_path: Path, program: str
) -> None:
    numbers = random.Random(3)
    words = [f"word{number}" for number in range(400)]
    items = [" ".join(numbers.choices(words, k=length)) for length in (5, 9, 60, 80)]
    texts = [" ".join(numbers.choices(words, k=90)) for _ in range(20)]
    texts[3] = f"\u00e9 {items[1].upper()}! {texts[3]}"
    texts[7] += "\n" + items[2].replace(" word1", " other")
    benchmark, corpus = tmp_path / "items.jsonl", tmp_path / "all.jsonl"
    benchmark.write_text("".join(json.dumps({"question": item}) + "\n" for item in items))
    lines = [json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts)]
    corpus.write_text("".join(lines))
    against = fpstore.Documents(benchmark, text_field="question", line_ids=True)
    answer = fpstore.contamination(corpus, against, tmp_path / "clean.jsonl")
    assert (answer.items, answer.short, answer.unjudged, answer.documents) == (3, 1, 1, 20)
    assert (answer.found_items, answer.contaminated, answer.files) == (2, 2, 1)
    found = answer.found
    assert list(found["item"]) == ["2", "3"] and list(found["id"]) == ["3", "7"]
    passage = texts[3][found["start"][0] : found["end"][0]]
    assert passage.lower() == items[1]
    kept = "".join(line for at, line in enumerate(lines) if at not in (3, 7))
    assert (tmp_path / "clean.jsonl").read_text() == kept
    args = ["--against", str(benchmark), "--against-text-field", "question", "--docs", str(corpus)]
    done = subprocess.run(
        [program, "contamination", *args, "--format", "json", "-q"],
        capture_output=True,
        check=True,
        text=True,
    )
    table = pa.table(found)
    assert [json.loads(line) for line in done.stdout.splitlines()] == table.to_pylist()
    wrongs: list[dict[str, Any]] = [
        {"contains": 2.0},
        {"shingle": 0},
        {"short_shingle": 101},
        {"min_words": 2**80},
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError):
            fpstore.contamination(corpus, against, **wrong)


def test_items_are_found_in_a_table_as_in_a_file() -> None:
    item = " ".join(f"word{number}" for number in range(30))
    corpus = pa.table({"text": ["nothing of it", f"before {item} after", None]})
    items = pa.table({"id": ["mine"], "text": [item]})
    answer = fpstore.contamination(corpus, items)
    assert (answer.items, answer.documents, answer.contaminated) == (1, 3, 1)
    found = answer.found
    assert list(found["item"]) == ["mine"] and list(found["id"]) == ["1"]
    assert (list(found["start"]), list(found["file"])) == ([7], [""])
    with pytest.raises(ValueError, match="output is for files"):
        fpstore.contamination(corpus, items, "out.jsonl")


def test_passages_are_documents_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text(json.dumps({"id": "a", "text": "one two three\n\nfour five six"}) + "\n")
    with fpstore.Builder(tmp_path / "s.fps", recipe="minhash") as builder:
        added = builder.add_documents(fpstore.Documents(path, unit="paragraph"))
    assert added.documents == 2
    with pytest.raises(ValueError, match="paragraph, line"):
        fpstore.Documents(path, unit="sentence")
