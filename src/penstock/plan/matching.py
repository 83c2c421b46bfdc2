"""MATCH_RECOGNIZE: the rows that follow one another as a pattern says.

    MatchRecognize(partition=(user,), number=__number, pattern=A+ B)
      Project(user, __number, __r0: upper(name) = 'X', __r1: price)       what the matcher reads of a row, and shows
        Window(row_number() OVER (PARTITION BY user ORDER BY at, …))
          …

What depends on one row alone, or on a fixed number of rows before or behind it, the engine computes below the node.
Conditions that look at the rows of the match so far are `Code`, which the matcher evaluates (`backends.matching`):

    ("<", ("column", 1), ("at", ("last", ("A",), 1, False), 1))           price < LAST(A.price, 1)

    ("constant", value)  ("decimal", digits)  ("column", read)  ("at", row, read)  ("classifier", row)
    ("count", variables, final, read or None)  ("sum" | "average", variables, final, read)  (operator, operand, …)
    ("match number",)  ("reach",)  ("matched",)

A row is `("own",)`, the row itself, `("first" | "last", variables, offset, final)`, or the one that has the least or
greatest value of a column, `("min" | "max", variables, final, read)`. No variables stand for all of them; what is not
final sees the rows up to the present one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.catalog.types import Type
from penstock.errors import Span
from penstock.plan.node import Field, Plan
from penstock.plan.parts import Part, parts_at
from penstock.plan.scalar import Scalar, column
from penstock.sql.rowpattern import Anchor, has
from penstock.sql.rowpattern import Part as Pattern

Code = tuple[Any, ...]
OWN: Code = ("own",)
REACH: Code = ("reach",)


@dataclass(frozen=True, slots=True)
class Taken:
    """An output column with the value that a column of the input has in a row of the match."""

    name: str
    row: Code
    source: str


@dataclass(frozen=True, slots=True)
class Told:
    """An output column that the matcher computes; `shape` is how it hands it over: longs, doubles or texts."""

    name: str
    code: Code
    shape: str
    type: Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Skip:
    """Where the search goes on behind a match: 'past', 'next', or 'first' or 'last' with a variable."""

    kind: str = "past"
    variable: str = ""

    @property
    def text(self) -> str:
        """The place in words."""
        return {"past": "past its last row", "next": "to its next row"}.get(
            self.kind, f"to the {self.kind} {self.variable}"
        )


@dataclass(frozen=True)
class MatchRecognize(Plan):
    """The matches in the rows of each partition, in the order of `number`: a row for each, or for each of their rows.

    `reads` are the columns that conditions read; WITHIN and `reach` go by `time`, one of them, in microseconds.
    A condition that is missing in `define` is TRUE. `shows` says 'one', 'all', 'omit empty' or 'unmatched'. `within`
    is in microseconds.
    `written` has the conditions as they were written, and under "" where to skip, for errors.
    """

    input: Plan
    partition: tuple[Scalar, ...]
    number: str
    time: str | None
    reads: tuple[str, ...]
    pattern: Pattern
    define: tuple[tuple[str, Code], ...]
    subsets: tuple[tuple[str, tuple[str, ...]], ...]
    outputs: tuple[Taken | Told, ...]
    shows: str = "one"
    skip: Skip = Skip()
    within: int | None = None
    written: tuple[tuple[str, Scalar], ...] = field(default=(), compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(self._field(item) for item in self.outputs)

    def _field(self, item: Taken | Told) -> Field:
        if isinstance(item, Told):
            return Field(item.name, item.type, item.nullable)
        source = self.input.field(item.source)
        return Field(item.name, source.type, item.row != OWN or source.nullable)

    @property
    def parts(self) -> tuple[Part, ...]:
        known = self.input.known
        taken = {item.source: None for item in self.outputs if isinstance(item, Taken)}
        read = [column(name) for name in (self.number, *self.reads, *taken)]
        return parts_at("a partition key", self.partition, known) + parts_at("a column", read, known)

    @property
    def numbered(self) -> bool:
        """True if the number of a match is shown, or read by a condition."""
        codes = [*(item.code for item in self.outputs if isinstance(item, Told)), *(code for _, code in self.define)]
        return any(_reads_number(code) for code in codes)

    @property
    def anchored(self) -> bool:
        """True if a match may depend on where the partition begins or ends."""
        return has(self.pattern, Anchor)


def _reads_number(code: object) -> bool:
    return isinstance(code, tuple) and (code == ("match number",) or any(map(_reads_number, code)))
