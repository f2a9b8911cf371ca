"""Spark columns of fingerprints: conversions, distances, checks of types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ID_TYPES = ("string", "bigint", "int", "smallint", "tinyint")


def to_hex(fingerprint: Column | str) -> Column:
    """Converts a column of fingerprints to texts of 16 hex digits, the format of all output of
    fpstore."""
    from pyspark.sql import functions as F

    return F.lower(F.lpad(F.hex(_column(fingerprint)), 16, "0"))


def from_hex(text: Column | str) -> Column:
    """Converts a column of texts of 1 to 16 hex digits to fingerprints. Any other text ends the
    job."""
    from pyspark.sql import functions as F

    given = _column(text)
    digits = F.regexp_replace(given, "^0[xX]", "")
    fault = F.raise_error(
        F.concat(F.lit("no fingerprint of 1 to 16 hex digits: '"), given, F.lit("'"))
    )
    value = F.conv(digits, 16, -10).cast("bigint")
    is_right = digits.rlike("^[0-9a-fA-F]{1,16}$")
    return F.when(given.isNull(), F.lit(None)).when(is_right, value).otherwise(fault.cast("bigint"))


def distance(one: Column | str, other: Column | str) -> Column:
    """The number of bits in which two columns of fingerprints differ."""
    from pyspark.sql import functions as F

    return F.bit_count(_column(one).bitwiseXOR(_column(other))).cast("int")


def _column(given: Column | str) -> Column:
    from pyspark.sql import functions as F

    return F.col(f"`{given}`") if isinstance(given, str) else given


def check_column(df: DataFrame, name: str, types: tuple[str, ...], what: str) -> str:
    """Checks that exactly one column is named `name` and has one of `types`, and returns its
    type."""
    if df.columns.count(name) != 1:
        many = "no column" if name not in df.columns else "more than one column"
        raise InputError(f"{many} '{name}' for {what}; columns: {', '.join(df.columns)}")
    found: str = df.schema[name].dataType.simpleString()
    if found not in types:
        raise InputError(f"column '{name}' is {found}, expected {' or '.join(types)} for {what}")
    return found


def check_fingerprints(df: DataFrame, name: str) -> None:
    """Checks that a column has a type for fingerprints."""
    if name in df.columns and df.schema[name].dataType.simpleString() == "string":
        message = f"column '{name}' is string: make fingerprints of hex digits with from_hex"
        raise InputError(message)
    check_column(df, name, ("bigint",), "fingerprints")


def kept_columns(df: DataFrame, keep: list[str] | None, new: list[str]) -> list[str]:
    """The columns to keep. Fails if one has the name of a new column."""
    kept = df.columns if keep is None else list(keep)
    for name in kept:
        if df.columns.count(name) != 1:
            many = "no column" if name not in df.columns else "more than one column"
            raise InputError(f"{many} '{name}' to keep; columns: {', '.join(df.columns)}")
    taken = [name for name in new if name in kept]
    if taken:
        message = f"there is a column '{taken[0]}' already: rename it, or leave it out of keep"
        raise InputError(message)
    return kept
