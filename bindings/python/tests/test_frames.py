"""Tables and paths are accepted in all documented forms."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from conftest import U64, distances

import fpstore

pandas = pytest.importorskip("pandas")
TEXTS = ["one two three four five", "other words of a text", "one two three four five"]


def test_parquet_is_read_and_written(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"id": ["a", "b", "c"], "text": TEXTS, "n": [1, 2, 3]})
    for compression in ("snappy", "zstd", "gzip", "lz4", "brotli", "none"):
        parquet.write_table(table, tmp_path / "in.parquet", compression=compression)
        cleaned = fpstore.clean(tmp_path / "in.parquet", tmp_path / "out.parquet", replace=True)
        assert cleaned.kept == 2, compression
        assert parquet.read_table(tmp_path / "out.parquet").to_pydict()["n"] == [1, 2]


def test_a_stream_becomes_a_table_or_is_refused() -> None:
    def pairs() -> fpstore.types.RowStream:
        return fpstore.near_pairs([1, 2, 3, 4], k=3)

    expected = pairs().read_all().to_pylist()
    assert [tuple(row) for row in pairs().to_pandas().itertuples(index=False)] == expected
    assert pairs().to_polars().rows() == expected
    assert pairs().to_arrow().num_rows == len(expected)
    for make in (pandas.DataFrame, np.asarray, np.array):
        with pytest.raises(fpstore.errors.InputError, match="to_pandas"):
            make(pairs())
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(pairs()).rows() == expected
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(pairs()).num_rows == len(expected)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_nearest_of_many_queries_are_those_of_a_scan(
    count: int, store: fpstore.Store, values: U64
) -> None:
    rng = np.random.default_rng(count)
    near = rng.choice(values, 60) ^ np.uint64(0b1011 << 40)
    queries = np.concatenate([near, rng.integers(0, 2**64, 40, dtype=np.uint64), near[:5]])
    stored = np.unique(values)
    table = distances(queries, stored)
    for k in (3, 8, 12, 20, 27, 64):
        expected = []
        for query, row in enumerate(table):
            places = np.lexsort((stored, row))[:count]
            found = [(query, int(stored[at]), int(row[at])) for at in places if row[at] <= k]
            expected += found
        for mode in ("auto", "pass", "probe", "walk"):
            rows: Any = store.nearest_many(queries, count, k, ids=False, mode=mode)
            assert rows.to_pylist() == expected, (k, mode)
    single = [(found.fingerprint, found.distance) for found in store.nearest(int(queries[0]), count)]
    assert single == [row[1:] for row in store.nearest_many(queries[:1], count, ids=False).to_pylist()]


def test_a_column_that_lost_its_recipe_is_a_warning(tmp_path: Path) -> None:
    column = fpstore.Recipe().fingerprints(TEXTS)
    frame = pandas.DataFrame({"fp": column})
    calls: list[Any] = [
        lambda given, **k: fpstore.near_pairs(given, **k).close(),
        lambda given, **k: fpstore.group(given, **k),
        lambda given, **k: fpstore.build(tmp_path / "s.fps", given, replace=True, **k),
    ]
    for call in calls:
        with pytest.warns(fpstore.errors.DistanceWarning, match="recipe of this column is unknown"):
            call(frame["fp"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(frame["fp"], k=7)
            call(column)
            call(column.to_pandas())
            call([1, 2, 3])
            fpstore.build(tmp_path / "t.fps", fpstore.build(None, [1]), replace=True)
    assert fpstore.build(tmp_path / "s.fps", column.to_pandas(), replace=True).tuned_k == 7
    # A Series taken from a frame has the `attrs` of the frame.
    frame.attrs["fpstore.recipe"] = column.recipe
    assert fpstore.build(tmp_path / "s.fps", frame["fp"], replace=True).tuned_k == 7


def test_a_list_of_texts_is_refused_with_the_way_to_give_them() -> None:
    for texts in (TEXTS, ["a text " * 100], [("word" * 2000)]):
        with pytest.raises(fpstore.errors.InputError, match=r"Documents\(\{'text': texts\}\)"):
            fpstore.clean(texts)
    with pytest.raises(FileNotFoundError):
        fpstore.clean(["nothing.jsonl"])
    assert fpstore.clean({"text": TEXTS}).keep.tolist() == [True, True, False]


def test_dictionaries_are_tables() -> None:
    expected = [True, True, False]
    records = [{"id": str(at), "text": text} for at, text in enumerate(TEXTS)]
    assert fpstore.clean(records).keep.tolist() == expected
    assert fpstore.clean(iter(records)).keep.tolist() == expected
    columns: dict[str, Any] = {"id": ["a", "b", "c"], "text": TEXTS, "when": [1, 2, 3]}
    cleaned = fpstore.clean(columns, keep="newest:when")
    assert cleaned.keep.tolist() == [False, True, True]
    assert cleaned.rows[0].near_id == "c"
    assert len(fpstore.clean(iter(records * 1000)).keep) == 3000
    bads: list[dict[str, Any]] = [{"id": ["a"], "text": TEXTS}, {"when": [1], "text": TEXTS}]
    for bad in bads:
        with pytest.raises(fpstore.errors.InputError, match="for each text"):
            fpstore.clean(bad, keep="newest:when" if "when" in bad else "first")
    with pytest.raises(fpstore.errors.InputError, match="give paths in a list"):
        fpstore.clean(Path(name) for name in ["a.jsonl"])  # type: ignore[arg-type]


def test_the_column_of_texts_is_named() -> None:
    other = pandas.DataFrame({"url": ["a", "b", "c"], "words": TEXTS})
    with pytest.raises(fpstore.errors.InputError, match="text_field names the column of texts"):
        fpstore.clean(other)
    cleaned = fpstore.clean(other, text_field="words", id_field="url")
    assert cleaned.rows[2].near_id == "a"
    with pytest.raises(fpstore.errors.InputError, match="have their own"):
        fpstore.clean(fpstore.Documents(other), text_field="words")


def test_strings_are_taken_where_a_neighbour_takes_them(store: fpstore.Store, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one two three\n")
    (tmp_path / "b.txt").write_text("one two three\n")
    documents = fpstore.Documents(tmp_path, include="*.py", format="text")
    with fpstore.Builder(tmp_path / "texts.fps", recipe="minhash", memory="1GB") as builder:
        assert builder.add_documents(documents).documents == 1
    path = store.path
    assert list(fpstore.dedup(path, path)) is not None
    assert fpstore.log(path) == fpstore.log([store])
    assert fpstore.backup(path, tmp_path / "copy").is_new
    assert len(fpstore.export(path, tmp_path / "export")) == len(store)
    for memory in ("100MiB", 1e9, 10**9):
        assert len(store.query_many([1], 3, memory=memory)) >= 0
    with pytest.raises(fpstore.errors.InputError, match="not an amount of bytes such as '1.5GB'"):
        store.query_many([1], 3, memory="much")
    with pytest.raises(fpstore.errors.TooMuchLostError, match="the table|all files"):
        fpstore.clean({"text": TEXTS}, max_loss="1%")


def test_labels_are_bool_and_pairs_a_table(store: fpstore.Store) -> None:
    first, second, labels = [0, 0], [1, 2], [True, False]
    best = fpstore.evaluate([0, 1, 255], first, second, [1, 0]).best
    for given in (labels, np.array(labels), np.array([1.0, 0.0]), pandas.Series(labels)):
        assert fpstore.evaluate([0, 1, 255], first, second, given).best == best
    pairs: dict[str, Any] = {"a": ["x", "x"], "b": ["y", "z"], "label": labels}
    expected = fpstore.evaluate([0, 1, 255], pairs=pairs, ids=["x", "y", "z"]).best
    assert expected == best
    for table in (pandas.DataFrame(pairs), pytest.importorskip("polars").DataFrame(pairs)):
        assert fpstore.evaluate([0, 1, 255], pairs=table, ids=["x", "y", "z"]).best == best
    with pytest.raises(fpstore.errors.InputError, match="has 2 columns"):
        fpstore.evaluate([0, 1], pairs={"a": ["x"], "b": ["y"]}, ids=["x", "y"])
    frame = pandas.DataFrame({"id": ["a", "b", "c"], "text": TEXTS})
    judged = fpstore.clean(frame, pairs={"a": ["a"], "b": ["c"], "label": [0]})
    assert judged.keep.all()


def test_labels_are_csv(tmp_path: Path) -> None:
    expected = fpstore.evaluate([0, 1, 255], [0, 0], [1, 2], [1, 0]).best
    rows = 'x,"y",1\nx,z,False\n'
    for text in (rows, "first,second,label\n" + rows):
        (tmp_path / "labels.csv").write_text(text)
        found = fpstore.evaluate([0, 1, 255], pairs=tmp_path / "labels.csv", ids=["x", "y", "z"])
        assert found.best == expected
    (tmp_path / "labels.csv").write_text("x,y,1\nx,z\n")
    with pytest.raises(fpstore.errors.InputError, match="two ids and a label"):
        fpstore.evaluate([0, 1, 255], pairs=tmp_path / "labels.csv", ids=["x", "y", "z"])


PASSAGES = ["one two three four\n\nfive six seven eight", "five six seven eight\n\nother words are here"]


def test_passages_of_a_table_leave_a_text_for_each_row() -> None:
    frame = pandas.DataFrame({"id": ["a", "a", "c"], "text": [*PASSAGES, "Five six seven eight!"]})
    documents = fpstore.Documents(frame, unit="paragraph")
    cleaned = fpstore.clean(documents, passages="cut")
    assert cleaned.rows["text"].tolist() == [PASSAGES[0], "other words are here", None]
    assert frame[cleaned.keep]["id"].tolist() == ["a", "a"]
    assert (cleaned.changed, cleaned.dropped, cleaned.files) == (1, 1, 0)
    dropped = fpstore.clean(documents, passages="drop:0.9")
    assert dropped.keep.tolist() == [True, True, False]
    assert dropped.rows["text"].tolist() == [*PASSAGES, None]
    # A mask of passages is not a mask of rows.
    listed = fpstore.clean(documents)
    assert len(listed.removed) == 2
    with pytest.raises(fpstore.errors.InputError, match="exist only for a table"):
        listed.keep
    store = fpstore.build(None, [], recipe="minhash")
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (documents, {"passages": "annotate"}, "is for files"),
        (frame, {"passages": "cut"}, "needs a unit"),
        (documents, {"passages": "cut", "store": store, "add": True, "k": 3}, "are not added"),
    ]
    for given, options, message in refused:
        with pytest.raises(fpstore.errors.InputError, match=message):
            fpstore.clean(given, **options)


def test_columns_of_a_contamination_are_named() -> None:
    item = "which of the two rivers that meet in mainz is the longer one of both"
    frame = pandas.DataFrame({"url": ["u", "v"], "words": [f"a quiz {item} yes", "more words"]})
    items = [{"question": item, "number": "q7"}]
    found = fpstore.contamination(
        frame,
        items,
        text_field="words",
        id_field="url",
        against_text_field="question",
        against_id_field="number",
    )
    assert found.keep.tolist() == [False, True]
    assert [(row.id, row.item) for row in found.found] == [("u", "q7")]


def test_amounts_of_bytes_are_texts_everywhere(store: fpstore.Store, tmp_path: Path) -> None:
    with fpstore.Writer(store.path, max_rate="50MB") as writer:
        writer.add([5], ["five"])
    assert fpstore.verify(store.path, 1, max_rate="1GB").is_sound
    assert fpstore.backup(store, tmp_path / "copy", max_rate=1e9).is_new
    assert fpstore.plan(10**6, budget=10**8).budget_len == 10**8
    part = fpstore.tasks.write_segment(tmp_path / "p.fps", [1], recipe=None, memory="300MiB", budget="64MB")
    assert part.fingerprints == 1
    (tmp_path / "long.jsonl").write_text('{"id": 1, "text": "' + "word " * 300 + '"}\n')
    documents = fpstore.Documents(tmp_path / "long.jsonl", max_document="1kB", skip_bad=True)
    assert fpstore.clean(documents).bad == 1


def test_rows_without_an_item_are_a_mask() -> None:
    item = "which of the two rivers that meet in mainz is the longer one of both"
    frame = pandas.DataFrame({"text": ["something else", f"a quiz {item} yes", "more words"]})
    found = fpstore.contamination(frame, {"text": [item]})
    assert found.keep.tolist() == [True, False, True]
    with pytest.raises(fpstore.errors.InputError, match="were read from files"):
        replace(found, mask=None).keep


def test_answers_about_a_table_name_no_temporary_file() -> None:
    texts = [" ".join(f"w{at // 2}x{n}" for n in range(20)) for at in range(200)]
    losses = fpstore.clean({"text": texts}).overview
    assert losses is not None and [loss.name for loss in losses.losses] == ["", "the table"]
    with pytest.raises(fpstore.errors.TooMuchLostError) as error:
        fpstore.clean({"text": texts}, max_loss=0.01)
    assert "/" not in str(error.value) and "/" not in error.value.loss.name


def test_a_dropped_writer_is_a_warning(store: fpstore.Store, tmp_path: Path) -> None:
    writer = fpstore.Writer(store.path)
    writer.add([5], ["five"])
    with pytest.warns(ResourceWarning, match="a writer was garbage-collected before it was finished"):
        del writer
    builder = fpstore.Builder(tmp_path / "new.fps")
    builder.add([5])
    with pytest.warns(ResourceWarning, match="a builder was garbage-collected .*; nothing was built"):
        del builder
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unused = fpstore.Writer(store.path)
        del unused
        with fpstore.Writer(store.path) as writer:
            writer.add([5], ["five"])


def test_progress_is_one_fraction(tmp_path: Path) -> None:
    texts = [" ".join(f"w{at}x{n}" for n in range(30)) for at in range(20000)]
    frame = pandas.DataFrame({"text": texts})
    seen: list[fpstore.types.Progress] = []
    fpstore.clean(frame, progress=seen.append)
    fractions = [it.fraction for it in seen]
    assert seen and fractions == sorted(fractions) and 0 <= fractions[0] <= fractions[-1] <= 1
    assert all(it.text.endswith(f" ({100 * it.fraction:.0f} %)") for it in seen)


def test_progress_ends_at_the_end_of_the_last_phase(tmp_path: Path, values: U64) -> None:
    texts = [" ".join(f"w{at // 2}x{n}" for n in range(30)) for at in range(20000)]
    many = np.arange(2_000_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    calls: list[Callable[[Any], Any]] = [
        lambda tell: fpstore.clean({"text": texts}, progress=tell),
        lambda tell: fpstore.pairs(texts, confirm=0.8, progress=tell),
        lambda tell: fpstore.build(tmp_path / "s.fps", many, range(len(many)), k=3, progress=tell),
        lambda tell: fpstore.Recipe().fingerprints(texts * 3, progress=tell),
    ]
    for call in calls:
        seen: list[fpstore.types.Progress] = []
        call(seen.append)
        fractions = [it.fraction for it in seen]
        assert seen and fractions == sorted(fractions) and fractions[-1] == 1
        # The first of several phases ends at a fraction below 1.
        phases = list(dict.fromkeys((it.step, it.phase) for it in seen))
        first = [it.fraction for it in seen if (it.step, it.phase) == phases[0]]
        assert len(phases) == 1 or first[-1] <= 0.75


def test_a_stream_and_documents_are_not_pickled(store: fpstore.Store) -> None:
    for thing in (store.pairs(3), fpstore.Documents("a.jsonl")):
        with pytest.raises(TypeError, match="not pickled; .* can be"):
            pickle.dumps(thing)


def test_answers_are_shown_as_tables() -> None:
    cleaned = fpstore.clean({"text": TEXTS})
    assert "<th>kept</th><td>2</td>" in cleaned._repr_html_()
    assert "<th>jaccard</th>" in fpstore.Recipe().compare("a <b>", "a b c")._repr_html_()
    info = fpstore.build(None, [1]).info()._repr_html_()
    assert info.startswith("<table><caption>StoreInfo") and "<th>segments</th>" in info


def test_answers_are_immutable_plain_and_pickled(store: fpstore.Store) -> None:
    info = store.info()
    assert pickle.loads(pickle.dumps(info)) == info == copy.deepcopy(info)
    with pytest.raises(AttributeError):
        info.ids = 7  # type: ignore[misc]
    match = store.query(store.fingerprints()[0])[0]
    assert json.loads(json.dumps(asdict(match)))["distance"] == 0
    assert match == eval(repr(match), {"Match": fpstore.types.Match})
    assert not hasattr(match, "count") and not isinstance(match, tuple)


def test_a_store_in_memory_answers_as_one_on_disk(store: fpstore.Store, values: U64) -> None:
    ids = [f"document {at}" for at in range(len(values))]
    memory = fpstore.build(None, values, ids, k=store.tuned_k)
    queries = values[:300] ^ np.uint64(5)
    for k in (0, 3, 9):
        expected = store.query_many(queries, k).to_pylist()
        assert memory.query_many(queries, k).to_pylist() == expected
    assert not Path(memory.path).exists() and len(memory) == len(store)
    with pytest.raises(fpstore.FpstoreError):
        fpstore.Writer(memory.path)


def test_documents_are_iterated(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "one\\n\\ntwo"}\n{"id": "b", "text": ""}\n')
    documents = fpstore.Documents(tmp_path / "a.jsonl")
    assert [tuple(row) for row in documents] == [("1", "one\n\ntwo"), ("b", "")]
    assert documents.rows().to_pandas()["text"].tolist() == ["one\n\ntwo", ""]
    passages = fpstore.Documents(tmp_path / "a.jsonl", unit="paragraph")
    assert [row.text for row in passages][:2] == ["one", "two"]
    (tmp_path / "b.jsonl").write_text("no JSON\n")
    with pytest.raises(fpstore.errors.InputError, match="b.jsonl"):
        list(fpstore.Documents(tmp_path / "b.jsonl"))


def test_a_text_is_searched_for_by_the_recipe_of_the_store(tmp_path: Path) -> None:
    texts = fpstore.Documents({"id": ["a", "b"], "text": [*TEXTS[:2]]})
    store = fpstore.build(tmp_path / "s.fps", texts, recipe="minhash")
    prints = fpstore.Recipe("minhash").fingerprints(TEXTS)
    assert store.query_text(TEXTS[2].upper()) == store.query(prints[2]) != []
    assert store.query_text(TEXTS[1], 0, limit=1)[0].ids == ["b"] and store.query_text("") == []
    with pytest.raises(fpstore.errors.InputError, match="leave ids out"):
        fpstore.build(tmp_path / "t.fps", texts, [1, 2], recipe="minhash")


# Near rows by position.


def jaccard(recipe: fpstore.Recipe, one: str, other: str) -> float:
    first, second = ({it.hash for it in recipe.features(text)} for text in (one, other))
    return len(first & second) / max(1, len(first | second))


def test_pairs_of_two_tables_are_those_of_a_scan() -> None:
    rng = np.random.default_rng(11)
    words = [f"w{at}" for at in range(4000)]
    base = [list(rng.choice(words, 30)) for _ in range(40)]

    def edited() -> list[str]:
        texts = []
        for at in rng.integers(0, 40, 60):
            text = list(base[at])
            for place in rng.integers(0, 30, rng.integers(0, 6)):
                text[place] = str(rng.choice(words))
            texts.append(" ".join(text))
        return [*texts, "", texts[0]]

    left, right, recipe = edited(), edited(), fpstore.Recipe()
    prints = [recipe.fingerprints(texts) for texts in (left, right)]
    for threshold in (0.6, 0.9):
        expected = []
        for first, one in enumerate(left):
            for second, other in enumerate(right):
                similarity = jaccard(recipe, one, other)
                if one and other and similarity >= threshold:
                    distance = (prints[0][first] ^ prints[1][second]).bit_count()
                    expected.append((first, second, distance, pytest.approx(similarity)))
        found = fpstore.pairs(left, right, confirm=threshold, k=64)
        assert found.to_pylist() == expected and len(expected) > 5
        alone = fpstore.pairs(left, confirm=threshold, k=64)
        assert alone.to_pylist() == fpstore.pairs(left, confirm=threshold, k=64, recipe=recipe).to_pylist()
    frame = pandas.DataFrame({"id": [f"l{at}" for at in range(len(left))], "text": left})
    numbered: dict[str, Any] = {"text": right, "id": list(range(len(right)))}
    rows = fpstore.pairs(frame, numbered, confirm=0.6, k=64).to_pylist()
    plain = fpstore.pairs(left, right, confirm=0.6, k=64).to_pylist()
    assert rows == [(*row, f"l{row[0]}", row[1]) for row in plain]
    assert fpstore.pairs(frame["text"], right).column_names == ["first", "second", "distance", "similarity"]
    assert fpstore.pairs(left, right, k=7).to_pylist() == fpstore.pairs(*prints, k=7).to_pylist()


@pytest.mark.parametrize("k", [0, 3, 7, 12])
def test_pairs_of_fingerprints_are_those_of_a_scan(k: int, values: U64) -> None:
    left, right = values[:900], np.concatenate([values[500:1300], values[:5], values[:5]])
    table = distances(left, right)
    expected = [(i, j, int(table[i, j])) for i, j in np.argwhere(table <= k).tolist()]
    assert fpstore.pairs(left, right, k=k).to_pylist() == expected
    table = distances(right, right)
    expected = [(i, j, int(table[i, j])) for i, j in np.argwhere(table <= k).tolist() if i < j]
    assert fpstore.pairs(right, k=k).to_pylist() == expected
    with pytest.raises(fpstore.errors.TooManyPairsError):
        fpstore.pairs(right, k=k, max_pairs=len(expected) - 1)
    assert fpstore.pairs([], [], k=k).to_pylist() == fpstore.pairs([5], k=k).to_pylist() == []


def test_pairs_need_one_kind_and_known_columns() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: fpstore.pairs(["a b"], [1]), "cannot be paired with fingerprints"),
        (lambda: fpstore.pairs([1], confirm=0.8), "confirm is for texts"),
        (lambda: fpstore.pairs({"body": ["a"]}), "choose a column with text_field"),
        (lambda: fpstore.pairs(["a"], text_field="a"), "but a single column was given"),
        (lambda: fpstore.pairs({"text": ["a b", "c"], "id": [1]}), "2 rows and 1 ids"),
        (lambda: fpstore.pairs(["a b"], confirm=2), "similarity is 2,"),
    ]
    for wrong, message in cases:
        with pytest.raises(fpstore.errors.InputError, match=message):
            wrong()


# Pictures.


def test_pictures_are_hashed_as_the_program_and_imagehash_do(tmp_path: Path, program: str) -> None:
    image = pytest.importorskip("PIL.Image")
    imagehash = pytest.importorskip("imagehash")
    folder = tmp_path / "pictures"
    (folder / "more").mkdir(parents=True)
    rng = np.random.default_rng(5)
    for at, name in enumerate(["a.png", "b.jpg", "more/c.webp"]):
        pixels = rng.integers(0, 256, (40 + at, 50, 3), dtype=np.uint8)
        image.fromarray(pixels).resize((300, 200)).save(folder / name)
    (folder / "note.txt").write_text("no picture")
    for name, hash in [("phash", imagehash.phash), ("dhash", imagehash.dhash)]:
        rows: Any = fpstore.images(folder, hash=name)  # type: ignore[arg-type]
        assert list(rows["id"]) == ["a.png", "b.jpg", "more/c.webp"]
        expected = fpstore.from_bits([hash(image.open(folder / id)) for id in rows["id"]])
        assert rows["fingerprint"].tolist() == expected.tolist()
        ours = fpstore.build(tmp_path / f"{name}.fps", rows)
        theirs = str(tmp_path / f"{name}-theirs.fps")
        command = [program, "build", "--images", str(folder), "--image-hash", name, "-s", theirs]
        subprocess.run([*command, "--quiet"], check=True)
        assert ours.recipe == fpstore.open(theirs).recipe
        assert ours.tuned_k == fpstore.open(theirs).tuned_k
    (folder / "bad.png").write_bytes(b"no picture")
    with pytest.raises(fpstore.errors.InputError, match="skip_bad=True skips them"):
        fpstore.images(folder)
    assert len(fpstore.images(folder, skip_bad=True)) == 3


def test_pictures_are_embedded_in_a_page(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for name in ("a.png", "b.png"):
        image.new("RGB", (400, 300), "red").save(tmp_path / name)
    ids = ["a.png", "b.png", "../a.png", "missing.png"]
    store = fpstore.build(tmp_path / "s.fps", [1, 1, 1, 1], ids)
    html = store.clusters_page(images=tmp_path).html()
    assert html.count("data:image/jpeg;base64,") == 2
    given = {"a.png": (tmp_path / "a.png").read_bytes(), "b.png": image.open(tmp_path / "b.png")}
    assert store.clusters_page(images=given).html() == html
    assert "data:image" in store.pairs_page(images=given).html()
    assert "data:image/jpeg" not in store.clusters_page().html()


def test_old_names_warn_and_new_ones_do_not() -> None:
    with pytest.warns(DeprecationWarning, match=r"fpstore\.Match moved to fpstore\.types\.Match"):
        assert vars(fpstore)["__getattr__"]("Match") is fpstore.types.Match
    with pytest.warns(DeprecationWarning, match=r"moved to fpstore\.errors\.InputError"):
        assert getattr(fpstore, "InputError") is fpstore.errors.InputError
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(fpstore, "nothing")
    assert "open" not in fpstore.__all__ and len(fpstore.__all__) <= 34
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(hasattr(fpstore, name) for name in fpstore.__all__)
        exec("from fpstore import *", {})
