"""Reads sets of documents with labelled pairs."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

Pairs = set[tuple[int, int]]


@dataclass
class Labelled:
    """Texts, and pairs of their positions: the duplicates, and the ignored pairs."""

    texts: list[str]
    duplicates: Pairs
    ignored: Pairs

    def scores(self, pairs: Pairs) -> tuple[float, float]:
        """Recall and precision, if a method reports the given pairs."""
        found, wrong = pairs & self.duplicates, pairs - self.duplicates - self.ignored
        recall = len(found) / max(1, len(self.duplicates))
        return recall, len(found) / max(1, len(found) + len(wrong))


def read(documents: str, near: str, most: int | None = None) -> Labelled:
    """Reads the first documents of a file with `id` and `text`, and a list with two ids and a label on
    each line: 1 for duplicates, 0 for others, -1 for ignored pairs."""
    found = [json.loads(line) for line in _lines(documents)[:most]]
    row_of = {document["id"]: row for row, document in enumerate(found)}
    labels: dict[tuple[int, int], int] = {}
    for line in _lines(near):
        one, other, label, *_ = line.split("\t")
        if one in row_of and other in row_of:
            a, b = sorted((row_of[one], row_of[other]))
            labels[a, b] = int(label)
    duplicates = {pair for pair, label in labels.items() if label == 1}
    ignored = {pair for pair, label in labels.items() if label == -1}
    return Labelled([document["text"] for document in found], duplicates, ignored)


def _lines(path: str) -> list[str]:
    with pa.input_stream(path) as file:
        return [line for line in file.read().decode().split("\n") if line]
