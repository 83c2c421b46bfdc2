"""The groups of rows: as values by which they are remembered, or as numbers, where many rows are told apart at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.backends.rows import canonical_row, python_values
from penstock.backends.weighted import Rows

Numbers: TypeAlias = npt.NDArray[Any]


def groups_of(rows: Rows, places: tuple[int, ...]) -> list[Any]:
    """The group of each row, hashable; without places all are one."""
    if not places:
        return [()] * rows.num_rows
    return [canonical_row(row) for row in python_values(rows.select(list(places)))]


def numbered(rows: Rows, places: Sequence[int]) -> Numbers:
    """A number for each row, the same for those that are equal in some columns."""
    codes = np.zeros(rows.num_rows, np.int64)
    for place in places:
        found = _codes(rows, place)
        codes = np.unique(codes * (int(found.max(initial=0)) + 1) + found, return_inverse=True)[1]
    return codes


def _codes(rows: Rows, place: int) -> Numbers:
    """The same of one column."""
    column = rows.column(place).combine_chunks()
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        values = groups_of(rows, (place,))  # equal ones may differ in bits
        known = {value: code for code, value in enumerate(dict.fromkeys(values))}
        return np.array([known[value] for value in values], np.int64)
    found: Numbers = column.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
    return found
