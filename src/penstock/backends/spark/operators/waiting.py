"""Rows that wait for their round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.cancelling import may_be_null
from penstock.backends.spark.change import Delta
from penstock.backends.spark.workspace import Workspace
from penstock.circuit.rounds import ROUND
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class Waiting:
    """Changes of one recursive view by the round in which they count; `schema` is the view's, with the round."""

    def __init__(self, workspace: Workspace, schema: StructType) -> None:
        self.workspace = workspace
        self.schema = schema
        self._parts: defaultdict[int, list[Delta]] = defaultdict(list)

    def rounds(self) -> Iterator[int]:
        """The rounds for which rows wait."""
        yield from self._parts

    def add(self, delta: Delta) -> None:
        """Let the rows of a change wait, each for its round."""
        settled = self._cast(delta).settled()
        if settled.is_empty():
            return
        numbers = _rounds_of(settled)
        for number in numbers:
            part = settled if len(numbers) == 1 else _of_round(settled, number)
            self._parts[number].append(part)

    def take(self, number: int) -> Delta | None:
        """The rows of a round, each once; None if there are none left when they are added up."""
        parts = self._parts.pop(number, [])
        if not parts:
            return None
        found = self._together(parts).consolidated()
        return None if found.is_empty() else found

    def _together(self, parts: list[Delta]) -> Delta:
        if len(parts) == 1:
            return parts[0]
        if all(part.on_driver for part in parts):
            tables = [part.arrow() for part in parts]
            joined = pa.concat_tables([may_be_null(table).rename_columns(self.schema.names) for table in tables])
            return Delta.of_arrow(self.workspace, joined, self.schema)
        query = " UNION ALL ".join(f"SELECT * FROM {part.view}" for part in parts)
        return Delta.of_query(self.workspace, query, self.schema, estimate=sum(part.count() for part in parts))

    def _cast(self, delta: Delta) -> Delta:
        """The change in the view's types: a step may give wider ones than the base."""
        have = [item.dataType for item in delta.schema.fields]
        if have == [item.dataType for item in self.schema.fields]:
            return delta
        casts = ", ".join(
            f"cast({quoted(old.name)} AS {new.dataType.simpleString()}) AS {quoted(new.name)}"
            for old, new in zip(delta.schema.fields, self.schema.fields, strict=True)
        )
        query = f"SELECT {casts} FROM {delta.view}"
        return Delta.of_query(self.workspace, query, self.schema, estimate=delta.estimate)


def _rounds_of(delta: Delta) -> list[int]:
    if delta.on_driver:
        return sorted(pc.unique(delta.arrow()[ROUND]).to_pylist())
    return sorted(row[0] for row in delta.frame().select(ROUND).distinct().collect())


def _of_round(delta: Delta, number: int) -> Delta:
    if delta.on_driver:
        table = delta.arrow()
        return Delta.of_arrow(delta.workspace, table.filter(pc.equal(table[ROUND], number)), delta.schema)
    frame = delta.frame()
    return Delta.of_frame(delta.workspace, frame.where(frame[ROUND] == number), estimate=delta.count())
