"""The stubs list exactly the option values that the package accepts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fpstore

STUBS = Path(fpstore.__file__).with_name("_fpstore.pyi")

CALLS: dict[tuple[str, str], Callable[[fpstore.Store, Any], Any]] = {
    ("open", "access"): lambda store, name: fpstore.open(store.path, access=name),
    ("open", "warm"): lambda store, name: fpstore.open(store.path, warm=name),
    ("Store.warm", "what"): lambda store, name: store.warm(name),
    ("Store.query_many", "mode"): lambda store, name: store.query_many([7], mode=name),
    ("Store.nearest_many", "mode"): lambda store, name: store.nearest_many([7], mode=name),
    ("images", "hash"): lambda store, name: fpstore.images(store.path, hash=name),
    ("Store.clusters", "method"): lambda store, name: store.clusters(3, name),
    ("Store.clusters_page", "method"): lambda store, name: store.clusters_page(3, name),
    ("Store.clusters", "keep"): lambda store, name: store.clusters(3, keep=name),
    ("Documents.__new__", "format"): lambda _, name: fpstore.Documents("a", format=name),
    ("Documents.__new__", "text_format"): lambda _, name: fpstore.Documents("a", text_format=name),
    ("Documents.__new__", "html_part"): lambda _, name: fpstore.Documents("a", html_part=name),
    ("Writer.compact", "what"): lambda store, name: fpstore.Writer(store.path).compact(name),
    ("Client.compact", "what"): lambda _, name: fpstore.Client("unix:s").compact(name),
    ("Recipe.__new__", "count"): lambda _, name: fpstore.Recipe(count=name),
}


def names_in(annotation: ast.expr | None) -> set[str]:
    """The texts of `Literal` in an annotation."""
    names: set[str] = set()
    for node in ast.walk(annotation) if annotation else ():
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            texts = (of.value for of in ast.walk(node.slice) if isinstance(of, ast.Constant))
            names.update(text for text in texts if isinstance(text, str))
    return names


def choices() -> dict[tuple[str, str], set[str]]:
    """The option values in the stubs, by function and argument."""
    found = {}
    tree = ast.parse(STUBS.read_text())
    classes = [(f"{of.name}.", of.body) for of in tree.body if isinstance(of, ast.ClassDef)]
    for prefix, body in [("", tree.body), *classes]:
        for function in body:
            if isinstance(function, ast.FunctionDef) and function.name != "__getitem__":
                for given in [*function.args.args, *function.args.kwonlyargs]:
                    if names := names_in(given.annotation):
                        found[f"{prefix}{function.name}", given.arg] = names
    return found


def test_every_choice_of_the_stubs_is_tried() -> None:
    assert set(choices()) == set(CALLS)


@pytest.mark.parametrize("place", CALLS)
def test_the_names_of_the_stubs_are_those_of_the_package(
    place: tuple[str, str], store: fpstore.Store
) -> None:
    with pytest.raises((fpstore.errors.InputError, fpstore.errors.RecipeError)) as error:
        CALLS[place](store, "?")
    said = str(error.value)
    assert "'?'" in said
    if "expected " in said:
        expected = said.rpartition("expected ")[2]
        names = re.findall("'([^']+)'", expected) or expected.split(", ")
    else:
        names = [name for name in re.findall("'([^']+)'", said) if name != "?"]
    assert set(names) == choices()[place], said
