"""The relational algebra that a view is bound to.

Every node is frozen, hashable by structure (so equal sub-plans of different views are found by
comparing) and knows its output `fields`. Field names are unique within one node, compared without regard
to case.
Its expressions, its `parts`, read fields of its inputs alone and call aggregates only where that is said: a node
refuses to be anything else when it is made. An example,
`SELECT carrier, COUNT(*) AS n FROM flights WHERE delay > 15 GROUP BY carrier`:

    Aggregate(groups=(carrier,), aggregates=(n: count(1),))
      Filter(`delay` > 15)
        Scan(flights)

Rows are a Z-set: each node says what it does to one weighted row, and `SEMANTICS` A4 which of them keep state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from penstock.errors import Span
from penstock.plan.joins import AsofJoin, Join, JoinKey, JoinKind, Match
from penstock.plan.matching import MatchRecognize
from penstock.plan.node import Field, Plan
from penstock.plan.parts import Calls, Part, named_parts, parts_at, refuse_misplaced
from penstock.plan.scalar import Scalar


@dataclass(frozen=True)
class Scan(Plan):
    """The rows of a table or of another view, named in the catalog; of a `tail`, those that come from now on.

    A tail may begin earlier, after step `since`. A `timeless` one is of a table without LATENESS, as far as is known.
    """

    relation: str
    outputs: tuple[Field, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    tail: bool = False
    since: int | None = None
    timeless: bool = field(default=False, compare=False, repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()

    @property
    def named_relations(self) -> frozenset[str]:
        return frozenset({self.relation.lower()})


@dataclass(frozen=True)
class Values(Plan):
    """Constant rows; `rows` of one empty tuple is the relation that a SELECT without FROM reads."""

    rows: tuple[tuple[Scalar, ...], ...]
    outputs: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs

    @property
    def parts(self) -> tuple[Part, ...]:
        return parts_at("a value", (scalar for row in self.rows for scalar in row), frozenset())


@dataclass(frozen=True)
class Project(Plan):
    """One output row for each input row. Linear."""

    input: Plan
    items: tuple[tuple[str, Scalar], ...]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, scalar.type, scalar.nullable) for name, scalar in self.items)

    @property
    def parts(self) -> tuple[Part, ...]:
        return named_parts(self.items, self.input.known)


@dataclass(frozen=True)
class Filter(Plan):
    """The input rows for which the condition is TRUE. Linear.

    One that `judges` leaves out rows that are late for what reads it; `error_view` has them.
    """

    input: Plan
    condition: Scalar
    judges: bool = field(default=False, compare=False, repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("the condition", self.condition, self.input.known),)


@dataclass(frozen=True)
class UnionAll(Plan):
    """All rows of all inputs, columns by position under the names of the first. Linear.

    `outputs` carries the common types; the binder has put casts into the branches where they differ.
    """

    branches: tuple[Plan, ...]
    outputs: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()


@dataclass(frozen=True)
class Generate(Plan):
    """The input row beside each row that a generator function gives for it (explode, inline, …). Linear.

    With `outer` an input row for which the generator gives nothing stays, with NULLs.
    """

    input: Plan
    generator: Scalar
    outputs: tuple[Field, ...]
    outer: bool = False

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + self.outputs

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("the generator", self.generator, self.input.known),)


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate: its lower-case function, its arguments and the whole call as Spark SQL (`call`).

    `call` includes DISTINCT, FILTER and WITHIN GROUP. `filter` is the condition alone. An order-sensitive function
    (first, collect_list, …) takes its rows in ascending order of the whole input row, NULLs first.
    """

    function: str
    arguments: tuple[Scalar, ...]
    call: Scalar
    distinct: bool = False
    filter: Scalar | None = None

    def __post_init__(self) -> None:
        """Refuse calls in the arguments and the filter, and columns there that the whole call does not read."""
        read = self.call.columns
        condition = () if self.filter is None else (self.filter,)
        parts = parts_at("an argument", self.arguments, read) + parts_at("the filter", condition, read)
        refuse_misplaced(f"AggregateCall {self.call.text}", parts)


@dataclass(frozen=True)
class Aggregate(Plan):
    """One row for each group; without groups one row always, even over nothing."""

    input: Plan
    groups: tuple[tuple[str, Scalar], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        groups = tuple(Field(name, scalar.type, scalar.nullable) for name, scalar in self.groups)
        return groups + tuple(Field(name, call.call.type, call.call.nullable) for name, call in self.aggregates)

    @property
    def parts(self) -> tuple[Part, ...]:
        calls = ((name, call.call) for name, call in self.aggregates)
        known = self.input.known
        return named_parts(self.groups, known) + named_parts(calls, known, Calls.AGGREGATES)


@dataclass(frozen=True)
class Distinct(Plan):
    """Each different input row once."""

    input: Plan

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()


class SetKind(Enum):
    """The left rows that a set operation gives; the value is a kind's name in plans."""

    INTERSECT = "intersect"
    EXCEPT = "except"


@dataclass(frozen=True)
class SetOperation(Plan):
    """INTERSECT or EXCEPT, columns by position under the names of the left; `all` keeps multiplicities.

    `span` is the place of the right side, whose rows decide.
    """

    left: Plan
    right: Plan
    kind: SetKind
    all: bool
    outputs: tuple[Field, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()


@dataclass(frozen=True)
class SortKey:
    """One item of an ORDER BY; Spark's default places NULLs first ascending and last descending."""

    value: Scalar
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class TopK(Plan):
    """The first `limit` rows after `offset` of each partition, ties broken by the whole row ascending, NULLs first.

    With `ties` = 'rank' or 'dense_rank' a partition keeps all rows whose rank is at most `limit`. `number` names
    an extra output column that holds the row's number (or rank) from 1, or is None. `limit` None means no limit.
    """

    input: Plan
    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0
    ties: str | None = None
    number: str | None = None

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        extra = () if self.number is None else (Field(self.number, "int", nullable=False),)
        return self.input.fields + extra

    @property
    def parts(self) -> tuple[Part, ...]:
        keys = parts_at("an ORDER BY key", (key.value for key in self.order), self.input.known)
        return parts_at("a partition key", self.partition, self.input.known) + keys


@dataclass(frozen=True)
class Window(Plan):
    """Every input row with window functions computed beside it.

    All `calls` share `partition`; each call's text is the whole `f(…) OVER (…)`, in which the binder has
    completed the ORDER BY by the whole row where the answer depends on the order of ties.
    """

    input: Plan
    partition: tuple[Scalar, ...]
    calls: tuple[tuple[str, Scalar], ...]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + tuple(Field(name, call.type) for name, call in self.calls)

    @property
    def parts(self) -> tuple[Part, ...]:
        calls = named_parts(self.calls, self.input.known, Calls.WINDOWS)
        return parts_at("a partition key", self.partition, self.input.known) + calls


@dataclass(frozen=True)
class Session(Plan):
    """Rows with a time; `start` to `end`: those of the same `keys` less than `gap` apart (`touching`: or just so)."""

    input: Plan
    keys: tuple[Scalar, ...]
    time: Scalar
    gap: Scalar
    start: str
    end: str
    touching: bool = False

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + tuple(Field(name, "timestamp", nullable=False) for name in (self.start, self.end))

    @property
    def parts(self) -> tuple[Part, ...]:
        known = self.input.known
        ends = (Part("the time", self.time, known), Part("the gap", self.gap, known))
        return parts_at("a key", self.keys, known) + ends


@dataclass(frozen=True)
class Recompute(Plan):
    """A query that is recomputed in batch and compared (A5).

    `text` is Spark SQL in which each input relation is named `{0}`, `{1}` …, by its place in `relations` (`opaque`).
    `reason` says which construct cannot be maintained by change, `span` where it stands in the SQL, and
    `rewriting` what would be incremental, if anything.
    """

    relations: tuple[Plan, ...]
    text: str
    outputs: tuple[Field, ...]
    reason: str = field(compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    rewriting: str | None = field(default=None, compare=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()


@dataclass(frozen=True)
class Fixpoint(Plan):
    """The least fixed point of mutually recursive views (implicit DISTINCT).

    `bodies` are plans in which a recursive view is read by `Scan` of its name in `views`; the node gives the rows of
    `views[output]`. Evaluation stops with an error after `bound` rounds.
    """

    bodies: tuple[Plan, ...]
    views: tuple[str, ...]
    output: int
    outputs: tuple[Field, ...]
    bound: int = 1000
    distinct: bool = True
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()


@dataclass(frozen=True)
class Arriving(Plan):
    """The rows of a stream that come in a step, in that step alone: they go with the next."""

    input: Plan

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()


@dataclass(frozen=True)
class Arrived(Plan):
    """All rows that the input has had in some step, as they were then: what comes of a stream's rows stays as it came.

    Below it stands an `Arriving`, so that tables are read as they are when a row comes.
    """

    input: Plan

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields

    @property
    def parts(self) -> tuple[Part, ...]:
        return ()


Node = (
    Scan
    | Values
    | Project
    | Filter
    | UnionAll
    | Generate
    | Join
    | AsofJoin
    | Aggregate
    | Distinct
    | SetOperation
    | TopK
    | Window
    | Session
    | MatchRecognize
    | Recompute
    | Fixpoint
    | Arriving
    | Arrived
)
"""Every kind of node: what an analysis matches exhaustively."""

__all__ = [
    "Aggregate", "AggregateCall", "Arrived", "Arriving", "AsofJoin", "Distinct", "Field", "Filter", "Fixpoint",
    "Generate", "Join", "JoinKey", "JoinKind", "Match", "MatchRecognize", "Node", "Plan", "Project", "Recompute",
    "Scan", "Session", "SetKind", "SetOperation", "SortKey", "TopK", "UnionAll", "Values", "Window",
]  # fmt: skip
