"""The values of an Arrow column, an `Unreadable` in the place of each that Python cannot hold (`backends/sound.py`)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.steps.rows.values import Unreadable


def cells(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column for Python; naive points in time are so, others have their zone."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, pa.ArrowException):
        return [_cell(value) for value in column]


def _cell(value: Any) -> Any:
    try:
        return value.as_py()
    except UnicodeDecodeError as error:
        return Unreadable(f"text that is not UTF-8 at byte {error.start}")
    except (ValueError, OverflowError, pa.ArrowException):
        return Unreadable(_beyond(value))


def _beyond(value: Any) -> str:
    """A description of a value that Python cannot hold."""
    if pa.types.is_nested(value.type):
        return f"a {value.type} with a value that cannot be read"
    return f"a {value.type} outside of the years 1 to 9999"
