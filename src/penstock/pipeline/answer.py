"""The answer of a query, or the content of a relation: rows that are here, or a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from penstock.backends.api import Relation, Relations
from penstock.backends.rows import python_values
from penstock.outputs.textual import text_of
from penstock.steps.rows.rejected import json_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Reads rows, and says what goes wrong with them in Penstock's words.
Reading = Callable[[Callable[[], Any]], Any]


def _as_it_is(work: Callable[[], Any]) -> Any:
    return work()


class Answer:
    """The rows of an answer, in its order.

    `columns` are their names. `rows` are tuples of Python values: timestamps are naive UTC datetimes, a struct is a
    dict. `arrow()` gives an Arrow table, `df()` a Spark DataFrame, for which Spark starts if it has not; `show()`
    prints the first rows. Iterating gives the rows, and `len()` their number. What was answered on Spark is computed
    when it is first read, so that it has to be read before the next step; DataError if an expression raises then.
    """

    def __init__(self, relations: Relations, found: pa.Table | Relation, reading: Reading = _as_it_is) -> None:
        self._relations = relations
        self._found = found
        self._reading = reading

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        found = self._found
        return tuple(found.column_names) if isinstance(found, pa.Table) else self._relations.names_of(found)

    @cached_property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples."""
        found = self._found
        if isinstance(found, pa.Table):
            return python_values(found)
        return cast("list[tuple[Any, ...]]", self._reading(lambda: self._relations.rows(found)))

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        found = self._found
        return found if isinstance(found, pa.Table) else self._reading(lambda: self._relations.arrow(found))

    def df(self) -> DataFrame:
        """The rows as a Spark DataFrame."""
        if isinstance(self._found, pa.Table):
            return self._relations.given(self._found.combine_chunks())
        return self._found

    def first(self, count: int) -> Answer:
        """The first so many rows."""
        found, relations = self._found, self._relations
        first = found.slice(0, count) if isinstance(found, pa.Table) else relations.first(found, count)
        return Answer(relations, first, self._reading)

    def show(self, count: int = 20) -> None:
        """Print the first rows as a table."""
        print(text_of(None, self.columns, self.first(count).rows, _cell), end="")  # noqa: T201 - what it is for

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Answer(columns={self.columns!r}, rows={self.rows!r})"


def _cell(value: Any) -> str:
    """A value for people."""
    if value is None:
        return "NULL"
    if isinstance(value, list | dict):
        return json_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
