"""Converts between answers and objects of other libraries, which are imported on demand."""

from __future__ import annotations

import base64
import collections
import csv
import io
import os
from typing import Any, Iterator

import numpy as np
import numpy.typing as npt

from .errors import InputError

Values = npt.NDArray[Any]
Nulls = npt.NDArray[np.bool_]
# A column: its name, its values, and its null mask, or `None` if it has no nulls.
Part = tuple[str, Values, Nulls | None]


# The maximum side of a thumbnail on an HTML page, in pixels.
THUMBNAIL = 160

_ROWS: dict[tuple[str, ...], type[tuple[Any, ...]]] = {}


def row_class(names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The named tuple class of rows with the columns `names`. Its rows can be pickled."""
    known = _ROWS.get(names)
    if known is not None:
        return known

    def reduced(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return row_of, (names, tuple(row))

    make: Any = collections.namedtuple
    made: type[tuple[Any, ...]] = make("Row", names, module="fpstore")
    setattr(made, "__reduce__", reduced)
    return _ROWS.setdefault(names, made)


def row_of(names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Restores a pickled row."""
    return tuple.__new__(row_class(names), values)


def columns_of(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Converts a list of dictionaries to columns; a missing value is `None`."""
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def grouped_records(parts: Iterator[Any]) -> Iterator[Any]:
    """Yields the parts of a table. Dictionaries that are single rows are collected in lists of up
    to 1000."""
    records: list[dict[str, Any]] = []
    for part in parts:
        is_record = type(part) is dict and not any(
            isinstance(value, (list, tuple, np.ndarray)) for value in part.values()
        )
        if is_record:
            records.append(part)
        if records and (not is_record or len(records) == 1000):
            yield records
            records = []
        if not is_record:
            yield part
    if records:
        yield records


def thumbnails(images: Any, ids: list[str]) -> dict[str, str]:
    """Thumbnails of pictures by id, as `data:` URLs; missing pictures are omitted."""
    from PIL import Image

    made: dict[str, str] = {}
    is_folder = isinstance(images, (str, os.PathLike))
    for id in dict.fromkeys(ids):
        if is_folder:
            parts = id.split("/")
            given: Any = os.path.join(images, *parts)
            if ".." in parts or not all(parts) or not os.path.isfile(given):
                continue
        else:
            given = images.get(id, images.get(int(id)) if id.isdecimal() else None)
        if given is None:
            continue
        if isinstance(given, (bytes, bytearray)):
            given = io.BytesIO(given)
        picture = given if isinstance(given, Image.Image) else Image.open(given)
        small = picture.convert("RGB")
        small.thumbnail((THUMBNAIL, THUMBNAIL))
        out = io.BytesIO()
        small.save(out, "JPEG", quality=75)
        made[id] = "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()
    return made


def side_of(
    given: Any, text_field: str | None, id_field: str | None
) -> tuple[Any, Any | None, bool]:
    """The column of texts or fingerprints in an argument of `pairs`, its ids, and whether it
    contains texts."""
    if isinstance(given, list) and given and isinstance(given[0], dict):
        given = columns_of(given)
    # The column names of a table of pandas or polars, of pyarrow, or of a dictionary.
    names = getattr(given, "columns", None)
    if names is None or not hasattr(given, "__getitem__"):
        names = None
    elif hasattr(given, "column_names"):
        names = given.column_names
    if isinstance(given, dict):
        names = list(given)
    if names is None:
        if text_field is not None or id_field is not None:
            raise InputError("text_field and id_field are for a table, but a single column was given")
        return given, None, _holds_texts(given)
    text, id = text_field or "text", id_field or "id"
    if text not in names or (id_field is not None and id not in names):
        name = text if text not in names else id
        option = "text_field" if name == text else "id_field"
        there = ", ".join(str(name) for name in names)
        raise InputError(f"the table has no column '{name}', only {there}; choose a column with {option}")
    column = given[text]
    return column, given[id] if id in names else None, _holds_texts(column)


def _holds_texts(column: Any) -> bool:
    if isinstance(column, (list, tuple)):
        return isinstance(next((value for value in column if value is not None), None), str)
    kind = str(getattr(column, "dtype", getattr(column, "type", "int"))).lower()
    return "int" not in kind


_LABELS = {"1": 1, "0": 0, "-1": -1, "true": 1, "false": 0}


def csv_lines(text: str) -> str:
    """Converts labels in CSV, with or without a header, to lines separated by tabs."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    has_header = bool(rows) and len(rows[0]) == 3 and rows[0][2].strip().lower() not in _LABELS
    return label_lines(rows[has_header:])


def label_lines(table: Any) -> str:
    """Converts a table of labels to lines of two ids and a label, separated by tabs."""
    if isinstance(table, dict):
        columns = list(table.values())
    elif hasattr(table, "to_dict"):
        # pandas or polars
        columns = [table[name].to_list() for name in table.columns]
    elif hasattr(table, "to_pydict"):
        columns = list(table.to_pydict().values())
    else:
        short = next((row for row in table if len(row) != 3), None)
        if short is not None:
            raise InputError(f"pairs must be rows of two ids and a label, not {short}")
        columns = list(zip(*table))
    if columns and len(columns) != 3:
        raise InputError(f"pairs: the table has {len(columns)} columns, expected two ids and a label")
    lines = []
    for first, second, label in zip(*columns):
        if any("\t" in str(id) or "\n" in str(id) for id in (first, second)):
            raise InputError(f"pairs: an id has a tab or a line end: {first!r}, {second!r}")
        known = _LABELS.get(str(label).strip().lower())
        lines.append(f"{first}\t{second}\t{int(label) if known is None else known}\n")
    return "".join(lines)


def whole_labels(labels: Any) -> Any:
    """Converts labels that are bool or whole floats to integers, and returns others unchanged."""
    array = np.asarray(labels)
    is_whole = array.dtype.kind == "f" and bool((array == array.round()).all())
    return array.astype(np.int64) if array.dtype.kind == "b" or is_whole else labels


def pandas_frame(parts: list[Part]) -> Any:
    import pandas

    columns = {name: pandas_series(values, is_null) for name, values, is_null in parts}
    return pandas.DataFrame(columns)


def pandas_series(values: Values, is_null: Nulls | None) -> Any:
    import pandas

    if is_null is None or values.dtype == object:
        return pandas.Series(values)
    if values.dtype == bool:
        return pandas.Series(pandas.arrays.BooleanArray(values, is_null))
    if values.dtype.kind == "f":
        return pandas.Series(pandas.arrays.FloatingArray(values, is_null))
    return pandas.Series(pandas.arrays.IntegerArray(values, is_null))


def records(parts: list[Part], count: int) -> Values:
    """A structured array. Fields with nulls have the type object, and a null is `None`."""
    columns: list[tuple[str, Values]] = []
    for name, values, is_null in parts:
        if is_null is not None:
            values = values.astype(object)
            values[is_null] = None
        columns.append((name, values))
    made = np.empty(count, [(name, values.dtype) for name, values in columns])
    for name, values in columns:
        made[name] = values
    return made


def records_interface(parts: list[Part], count: int) -> dict[str, Any]:
    """The array interface of a structured array, with a reference that keeps the array alive."""
    made = records(parts, count)
    interface: dict[str, Any] = dict(made.__array_interface__)
    interface["data"] = made
    return interface
