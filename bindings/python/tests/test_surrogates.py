"""A lone surrogate in any text argument raises an InputError that names the argument."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Callable

import pytest

import fpstore
from fpstore import tasks

BAD = "a\ud800"


def calls(tmp_path: Path) -> dict[str, Callable[[], Any]]:
    store = fpstore.build(tmp_path / "s.fps", [1, 2], ["a", "b"])
    docs = tmp_path / "docs.jsonl"
    docs.write_text('{"id": "a", "text": "one two three"}\n')
    any_fpstore: Any = fpstore
    writer: Any = lambda **more: fpstore.Writer(store.path, **more)  # noqa: E731
    return {
        "path": lambda: fpstore.open(BAD),
        "access": lambda: any_fpstore.open(store.path, access=BAD),
        "warm": lambda: any_fpstore.open(store.path, warm=BAD),
        "what": lambda: any_fpstore.open(store.path).warm(BAD),
        "label": lambda: fpstore.build(tmp_path / "new.fps", [1], label=BAD),
        "scheme": lambda: fpstore.build(tmp_path / "new.fps", [1], scheme=BAD),
        "budget": lambda: fpstore.build(tmp_path / "new.fps", [1], budget=BAD),
        "temp_dir": lambda: fpstore.build(tmp_path / "new.fps", [1], temp_dir=BAD),
        "id_type": lambda: writer(id_type=BAD),
        "recipe": lambda: fpstore.build(tmp_path / "new.fps", [1], recipe=BAD),
        "before": lambda: writer().expire(BAD),
        "older_than": lambda: writer().expire(older_than=BAD),
        "sources": lambda: writer().import_([store.path, BAD]),
        "mode": lambda: any_fpstore.open(store.path).query_many([1], mode=BAD),
        "method": lambda: any_fpstore.open(store.path).clusters(method=BAD),
        "keep": lambda: fpstore.clean(docs, keep=BAD),
        "judge": lambda: fpstore.clean(docs, judge=BAD),
        "pairs": lambda: fpstore.clean(docs, pairs=BAD),
        "passages": lambda: fpstore.clean(docs, passages=BAD),
        "url_field": lambda: fpstore.clean(docs, url_field=BAD),
        "source_field": lambda: fpstore.clean(docs, source_field=BAD),
        "output": lambda: fpstore.clean(docs, BAD),
        "annotate": lambda: fpstore.clean(docs, annotate=BAD),
        "run": lambda: fpstore.clean(docs, run=BAD),
        "cluster_size": lambda: fpstore.clean(docs, cluster_size=BAD),
        "link": lambda: store.pairs_page(link=BAD),
        "image": lambda: store.clusters_page(image=BAD),
        "paths": lambda: fpstore.Documents(["x.jsonl", BAD]),
        "format": lambda: any_fpstore.Documents(docs, format=BAD),
        "id_field": lambda: fpstore.Documents(docs, id_field=BAD),
        "text_field": lambda: fpstore.Documents(docs, text_field=BAD),
        "text_format": lambda: any_fpstore.Documents(docs, text_format=BAD),
        "unit": lambda: fpstore.Documents(docs, unit=BAD),
        "encoding": lambda: fpstore.Documents(docs, encoding=BAD),
        "html_part": lambda: any_fpstore.Documents(docs, html_part=BAD),
        "include": lambda: fpstore.Documents(docs, include=["*", BAD]),
        "exclude": lambda: fpstore.Documents(docs, exclude=[BAD]),
        "name": lambda: fpstore.Recipe(BAD),
        "segment": lambda: fpstore.Recipe(segment=BAD),
        "hash": lambda: fpstore.Recipe(hash=BAD),
        "hash_key": lambda: fpstore.Recipe(hash_key=BAD),
        "count": lambda: any_fpstore.Recipe("simhash", count=BAD),
        "stop_words": lambda: fpstore.Recipe(stop_words=["the", BAD]),
        "df": lambda: fpstore.Recipe("simhash", df=BAD),
        "weights": lambda: fpstore.Recipe("simhash", weights={BAD: 2}),
        "features": lambda: fpstore.Recipe("simhash", segment="given").of_features({BAD: 1.0}),
        "text": lambda: fpstore.Recipe().fingerprint(BAD),
        "second": lambda: fpstore.Recipe().compare("one", BAD),
        "names": lambda: fpstore.Recipe().compare_page("one", "two", names=("a", BAD)),
        "url": lambda: fpstore.Client(BAD),
        "token": lambda: fpstore.Client("http://127.0.0.1:9", token=BAD),
        "listen": lambda: fpstore.serve(store.path, listen=BAD),
        "store": lambda: tasks.has_run(BAD, "run"),
    }


def test_the_argument_is_named(tmp_path: Path) -> None:
    for name, call in calls(tmp_path).items():
        with pytest.raises(fpstore.errors.InputError) as error:
            call()
        shown = str(error.value)
        assert shown.startswith(f"{name}: ") and "has a lone surrogate" in shown, (name, shown)
        assert r"'a\ud800'" in shown, shown
        assert (error.value.argument, error.value.message) == (name, shown)
        again = pickle.loads(pickle.dumps(error.value))
        assert (str(again), again.argument) == (shown, name)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["docs.jsonl", "s.fps"]


def test_other_errors_keep_their_message_and_take_notes(tmp_path: Path) -> None:
    with pytest.raises(fpstore.errors.InputError) as error:
        fpstore.build(tmp_path / "s.fps", [1], k=99)
    message = str(error.value)
    error.value.add_note("while processing 'label'")
    assert str(error.value) == message and error.value.argument is None
    with pytest.raises(TypeError):
        fpstore.build(tmp_path / "s.fps", [1], label=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        fpstore.open(5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_names_of_files_that_are_not_utf_8_are_kept(tmp_path: Path) -> None:
    # Python represents non-UTF-8 bytes of a file name as surrogates, so paths with them are valid.
    path = tmp_path / "caf\udce9.fps"
    store = fpstore.build(path, [1, 2], ["a", "b"])
    assert store.path == str(path) and store.info().path == str(path)
    assert pickle.loads(pickle.dumps(store)).query(1, 0) == store.query(1, 0)
    with pytest.raises(fpstore.errors.StoreExistsError) as error:
        fpstore.build(path, [1])
    assert error.value.filename == str(path)
    with pytest.raises(fpstore.errors.NoStoreError) as missing:
        fpstore.open(tmp_path / "n\udce9.fps")
    assert missing.value.filename == str(tmp_path / "n\udce9.fps")
