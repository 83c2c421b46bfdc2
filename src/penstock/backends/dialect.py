"""The little in which one engine writes what plans say otherwise than another.

`render.Renderer` knows what each node means, once for all engines. It asks a dialect for expressions, which one engine
takes as they are and another has to prove, and for what only one of them has words for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from penstock.plan.nodes import (
    Aggregate,
    AsofJoin,
    Field,
    Fixpoint,
    Generate,
    Join,
    JoinKey,
    MatchRecognize,
    Plan,
    Recompute,
    Session,
    SortKey,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar

Carry = tuple[str, ...]
Beneath = dict[str, str]
"""The names of columns by the expressions that they hold, which an engine wants computed below a window."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The answers of aggregate or window calls, named; those over other calls have these, named, in a query below.

    `beneath` is what these go by in a query below them.
    """

    answers: list[str]
    calls: list[str]
    beneath: Beneath = field(default_factory=dict)


class Dialect(ABC):
    """One engine's SQL."""

    one_sided: ClassVar[str]  # before SEMI JOIN and ANTI JOIN
    nests_calls: ClassVar[bool]  # a window call may stand within an expression
    takes_first: ClassVar[bool]  # LIMIT is how the first rows are found, and no number is needed

    @abstractmethod
    def quoted(self, name: str) -> str:
        """A name, whatever it contains."""

    @abstractmethod
    def value(self, scalar: Scalar, *below: Plan) -> str:
        """An expression over the fields of nodes."""

    def residual(self, plan: Join, condition: Scalar) -> str:
        """The condition of a join beside the equality of its keys, which sees only pairs whose keys are equal."""
        return f"({self.value(condition, plan.left, plan.right)})"

    @abstractmethod
    def key(self, scalar: Scalar, below: Plan) -> str:
        """An expression as a key of groups and partitions."""

    @abstractmethod
    def column(self, field: Field) -> str:
        """A field of a relation."""

    @abstractmethod
    def key_column(self, field: Field) -> str:
        """A field as one of the values by which rows are told apart."""

    @abstractmethod
    def check_alike(self, have: Field, wanted: Field) -> None:
        """Refuse rows whose field cannot stand for another, beside those of other inputs."""

    @abstractmethod
    def cells(self, plan: Values, row: tuple[Scalar, ...]) -> list[str]:
        """The values of a constant row."""

    @abstractmethod
    def partition_key(self, scalar: Scalar, below: Plan, beneath: Beneath) -> str:
        """An expression as a key of a window's partitions; what has to be computed before goes to `beneath`."""

    @abstractmethod
    def sorted_by(self, order: tuple[SortKey, ...], below: Plan, beneath: Beneath | None = None) -> list[str]:
        """The items of an ORDER BY; with `beneath` of a window."""

    @abstractmethod
    def sorted_row(self, fields: tuple[Field, ...]) -> list[str]:
        """The items of an ORDER BY by whole rows."""

    @abstractmethod
    def aggregates(self, plan: Aggregate) -> Computed:
        """The aggregates of a node."""

    @abstractmethod
    def windows(self, plan: Window, carry: Carry) -> Computed:
        """The window calls of a node, with what is carried as further keys of their partitions."""

    @abstractmethod
    def read_twice(self, query: str) -> tuple[str, str]:
        """The begin of a query that reads another more than once, and the relation that it reads."""

    @abstractmethod
    def rank(self, number: str) -> str:
        """A row's number or rank as an INT."""

    @abstractmethod
    def equal(self, plan: Join, pair: JoinKey) -> str:
        """The comparison of two keys."""

    @abstractmethod
    def not_in(self, plan: Join, left: str, right: str, carry: Carry) -> str:
        """The query of NOT IN with SQL's NULLs: a match, or a comparison that is unknown, removes the row."""

    @abstractmethod
    def asof_sides(self, plan: AsofJoin) -> tuple[list[str], list[str]]:
        """The keys and then the time of either side, so that one column can hold both."""

    @abstractmethod
    def packed(self, values: dict[str, str]) -> str:
        """One value that has others as named parts."""

    @abstractmethod
    def last_present(self, value: str, over: str) -> str:
        """The last value in a window that is not NULL."""

    @abstractmethod
    def packed_order(self, parts: dict[str, Field]) -> list[str]:
        """The items of an ORDER BY by parts of such values, from the greatest to the least."""

    @abstractmethod
    def later(self, plan: Session, time: str) -> str:
        """The time a session's gap behind another one."""

    @abstractmethod
    def matched(self, plan: MatchRecognize, rows: str, carry: Carry) -> str:
        """The query of MATCH_RECOGNIZE over the query of its input."""

    @abstractmethod
    def collected(self, value: str, order: str) -> str:
        """The values of a group as one list, in the order of a column of numbers."""

    @abstractmethod
    def element(self, values: str, place: str) -> str:
        """The value at a place of a list, from 0; NULL for none."""

    @abstractmethod
    def rest(self, values: str, count: str) -> str:
        """The list without so many of its first values."""

    @abstractmethod
    def unfolded(self, values: str) -> str:
        """The item of a SELECT that gives a row for each value of a list."""

    @abstractmethod
    def literal(self, value: str) -> str:
        """A text as a constant."""

    @abstractmethod
    def generated(self, plan: Generate, rows: str, carry: Carry) -> str:
        """The query of a generator over the query of its input."""

    @abstractmethod
    def recomputed(self, plan: Recompute) -> str:
        """The text of a query that is recomputed, with places for its inputs."""

    @abstractmethod
    def fixpoint(self, plan: Fixpoint) -> str:
        """The relation that holds the rows of a recursion."""
