"""The columns of a lake's table against those of the view that is written into it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.backends.columns import arrow_schema, arrow_type
from penstock.errors import DataError, Diagnostic, SqlError, UnsupportedError
from penstock.outputs.sink import Sink

_NONE = ("interval", "time(", "void")


def check_types(sink: Sink) -> None:
    """SqlError for a column of a type that tables of lakes do not have."""
    for column in sink.columns:
        kind = (column.type or "").lower()
        if any(name in kind for name in _NONE) or kind == "time":
            message = f"{sink.what}: a table of a lake has no type for column {column.label}, {kind.upper()}"
            diagnostic = Diagnostic("BAD_PROPERTY", message, sink.span, hint="CAST it to STRING, or to a number")
            raise SqlError(diagnostic, sink.source)


def schema_of(sink: Sink) -> pa.Schema | None:
    """The schema of a table that is made for a sink; None if a type is not known yet."""
    if any(not column.type for column in sink.columns):
        return None
    try:
        return arrow_schema(sink.columns)
    except UnsupportedError:
        return None


def check_columns(sink: Sink, there: Mapping[str, pa.DataType], required: set[str], where: str) -> None:
    """DataError if a table lacks a column, has it of another type, or wants one that is not given."""
    for column in sink.columns:
        found = there.get(column.name)
        if found is None:
            raise _differs(sink, f"{where} has no column {column.name}, only {', '.join(there)}", "add it to the table")
        if column.type and not _alike(arrow_type(column.type), found):
            message = f"column {column.name} of {where} is {found}, and {sink.what} gives {column.type.upper()}"
            raise _differs(sink, message, "CAST it in the view")
    given = {column.name for column in sink.columns}
    missing = next(iter(sorted(required - given)), None)
    if missing is not None:
        message = f"column {missing} of {where} must not be NULL, and {sink.what} does not give it"
        raise _differs(sink, message, "give it in the view")


def _alike(given: pa.DataType, there: pa.DataType) -> bool:
    """True if all values of a type go into another: the same, or a longer one."""
    if pa.types.is_nested(given):
        return type(given) is type(there) or (pa.types.is_list(given) and pa.types.is_large_list(there))
    if given == there:
        return True
    if pa.types.is_integer(given) and pa.types.is_integer(there):
        return bool(given.bit_width <= there.bit_width)
    if pa.types.is_decimal(given) and pa.types.is_decimal(there):
        return bool(there.scale >= given.scale and there.precision - there.scale >= given.precision - given.scale)
    alike = (
        (pa.types.is_string, (pa.types.is_large_string, pa.types.is_string)),
        (pa.types.is_binary, (pa.types.is_large_binary, pa.types.is_binary)),
        (pa.types.is_float32, (pa.types.is_float64,)),
    )
    if any(of(given) and any(other(there) for other in others) for of, others in alike):
        return True
    return pa.types.is_timestamp(given) and pa.types.is_timestamp(there) and (given.tz is None) == (there.tz is None)


def _differs(sink: Sink, message: str, hint: str) -> DataError:
    return DataError(Diagnostic("OUTPUT_DIFFERS", message, sink.span, hint=hint), sink.source)
