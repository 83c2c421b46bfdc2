"""Rows with weights as Arrow tables, whose last column is the weight: what a policy of emission keeps and shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import fitted
from penstock.backends.rows import canonical_row, python_values
from penstock.catalog.reserved import WEIGHT

Rows: TypeAlias = pa.Table


def added_up(kept: Rows | None, change: Rows | None) -> Rows | None:
    """Two weighted relations as one, each different row once; None if there are no rows."""
    present = [item for item in (kept, change) if item is not None and item.num_rows]
    if not present:
        return None
    together = pa.concat_tables([fitted(item, present[-1].schema) for item in present])
    found = _grouped(together)
    return found if found.num_rows else None


def _grouped(rows: Rows) -> Rows:
    if rows.num_columns == 1 or any(_is_nested(item.type) for item in rows.schema):
        return _grouped_by_values(rows)
    # Columns may have equal names, and a weight's is theirs as well while they are added up.
    numbered = rows.rename_columns([f"c{place}" for place in range(rows.num_columns)])
    keys, weight = numbered.column_names[:-1], numbered.column_names[-1]
    added = numbered.group_by(keys, use_threads=False).aggregate([(weight, "sum")]).select([*keys, f"{weight}_sum"])
    found: Rows = added.filter(pc.not_equal(added.column(added.num_columns - 1), 0))
    return fitted(found.rename_columns(rows.column_names), rows.schema)


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def _grouped_by_values(rows: Rows) -> Rows:
    """The same where Arrow has no order of the values: the first row of each kind stands for all."""
    weights: dict[Any, int] = {}
    first: dict[Any, int] = {}
    for place, row in enumerate(python_values(rows)):
        key = canonical_row(row[:-1])
        first.setdefault(key, place)
        weights[key] = weights.get(key, 0) + row[-1]
    left = [key for key, weight in weights.items() if weight]
    taken = rows.take(pa.array([first[key] for key in left], pa.int64()))
    return weighted(taken, [weights[key] for key in left])


@dataclass(frozen=True, slots=True)
class Pile:
    """Rows that wait: a base, each different row once, and changes on top that are added up when they are many.

    So a small change costs what it is, however much waits.
    """

    base: Rows | None = None
    pieces: tuple[Rows, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if nothing waits; rows that cancel each other may still."""
        return self.base is None and not self.pieces

    def rows(self) -> Rows | None:
        """All rows, each different one once; None if there are none."""
        if not self.pieces:
            return self.base
        return added_up(self.base, pa.concat_tables([fitted(item, self.pieces[-1].schema) for item in self.pieces]))

    def grown(self, change: Rows | None) -> Pile:
        """The pile with one more change."""
        if change is None or not change.num_rows:
            return self
        found = Pile(self.base, (*self.pieces, change))
        there = 0 if self.base is None else self.base.num_rows
        return found if sum(item.num_rows for item in found.pieces) <= there + _FEW else Pile(found.rows())

    def has(self, wanted: Callable[[Rows], pa.Array]) -> bool:
        """True if a condition holds for one of its rows."""
        present = (*(() if self.base is None else (self.base,)), *self.pieces)
        return any(pc.any(wanted(item)).as_py() for item in present)


_FEW = 256  # rows; so many are added up at no cost that one would notice


def weighted(rows: Rows, weights: Sequence[int]) -> Rows:
    """The rows with other weights."""
    place = rows.num_columns - 1
    return rows.set_column(place, WEIGHT, pa.chunked_array([pa.array(weights, pa.int64())]))


def negated(rows: Rows) -> Rows:
    """The rows with the opposite weights: what comes is taken back."""
    place = rows.num_columns - 1
    return rows.set_column(place, rows.schema.field(place), pc.negate(rows.column(place)))


def inserted(rows: Rows | None) -> Rows | None:
    """The rows that come; those that are taken back are left out."""
    return None if rows is None else _some(rows.filter(pc.greater(rows.column(WEIGHT_AT), 0)))


def parted(rows: Rows | None, mask: pa.Array | pa.ChunkedArray) -> tuple[Rows | None, Rows | None]:
    """The rows for which a mask is true, and the others."""
    if rows is None:
        return None, None
    return _some(rows.filter(mask)), _some(rows.filter(pc.invert(mask)))


def takes_back(rows: Rows | None) -> bool:
    """True if a row is taken back."""
    return rows is not None and bool(pc.any(pc.less(rows.column(WEIGHT_AT), 0)).as_py())


WEIGHT_AT = -1


def _some(rows: Rows) -> Rows | None:
    return rows if rows.num_rows else None
