"""Answers as objects of other libraries, which are imported on demand."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
Nulls = npt.NDArray[np.bool_]
# The name of a column, its values, and a mask of nulls if it has any.
Part = tuple[str, Values, Nulls | None]


_ROWS: dict[tuple[str, ...], type[tuple[Any, ...]]] = {}


def row_class(names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The class of rows with these columns. The rows can be pickled."""
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
    """An array of records. Columns with nulls are objects, and a null is `None`."""
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
    """The array interface of an array of records. It keeps the array alive."""
    made = records(parts, count)
    interface: dict[str, Any] = dict(made.__array_interface__)
    interface["data"] = made
    return interface
