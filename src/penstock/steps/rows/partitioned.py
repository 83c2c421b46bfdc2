"""The partitions of a source, and from which of them each row of a batch has come (B2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Partitioned:
    """The partitions that a source has, by name, and for each row of a batch the place of its own among them.

    A row whose place is NULL has come from none, of one at -1 nobody knows. `unread` are those that are known to have
    more than has been read; a partition that has not, and says nothing for `idle_after`, is silent.
    """

    names: tuple[str, ...]
    places: pa.Array
    unread: frozenset[str]
    idle_after: timedelta

    def taken(self, rows: Any) -> Partitioned:
        """Those of some rows: places, or a slice."""
        places = self.places[rows] if isinstance(rows, slice) else self.places.take(pa.array(rows, pa.int64()))
        return replace(self, places=places)

    def of(self, name: str) -> Any:
        """For each row whether it has come from a partition."""
        return pc.fill_null(pc.equal(self.places, self.names.index(name)), False)  # noqa: FBT003 - the value for NULL

    def present(self) -> set[str]:
        """The partitions that have rows here."""
        places = pc.unique(self.places).to_pylist()
        return {self.names[place] for place in places if place is not None and place >= 0}


def joined(parts: Sequence[tuple[Partitioned | None, int]]) -> Partitioned | None:
    """The partitions of batches of so many rows, one behind the other; the last that has any says which there are."""
    known = [part for part, _ in parts if part is not None]
    if not known:
        return None
    names = list(dict.fromkeys(name for part in reversed(known) for name in part.names))
    places: list[pa.Array] = []
    for part, rows in parts:
        if part is None:
            places.append(pa.nulls(rows, pa.int32()))
        else:
            moved = pa.array([names.index(name) for name in part.names], pa.int32())
            places.append(moved.take(part.places))
    last = known[-1]
    return Partitioned(tuple(names), pa.concat_arrays(places), last.unread, last.idle_after)
