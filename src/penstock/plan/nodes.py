"""The relational algebra that a view is bound to.

Every node is frozen, hashable by structure (so equal sub-plans of different views are found by
comparing) and knows its output `fields`. Field names are unique within one node, compared without regard
to case. An example, `SELECT carrier, COUNT(*) AS n FROM flights WHERE delay > 15 GROUP BY carrier`:

    Aggregate(groups=(carrier,), aggregates=(n: count(1),))
      Filter(`delay` > 15)
        Scan(flights)

Rows are a Z-set: each node says what it does to one weighted row, and `SEMANTICS` A4 which of them keep state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from typing import Any

from penstock.catalog.types import Type
from penstock.errors import Span
from penstock.plan.scalar import Scalar, column


@dataclass(frozen=True, slots=True)
class Field:
    """One output column; `type` is None until Spark has been asked."""

    name: str
    type: Type | None = field(default=None, compare=False)
    nullable: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class Plan:
    """A relation; subclasses say what they emit for their inputs."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The output columns."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The nodes that this one reads, left to right."""
        found: list[Plan] = []
        for name in dataclass_fields(self):
            value = getattr(self, name.name)
            if isinstance(value, Plan):
                found.append(value)
            elif isinstance(value, tuple) and value and all(isinstance(item, Plan) for item in value):
                found.extend(value)
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the output columns."""
        return tuple(item.name for item in self.fields)

    def field(self, name: str) -> Field:
        """The output column of that exact name."""
        return next(item for item in self.fields if item.name == name)

    def columns(self) -> tuple[Scalar, ...]:
        """A reference to every output column."""
        return tuple(column(item.name, item.type, item.nullable) for item in self.fields)

    def with_inputs(self, *inputs: Plan) -> Plan:
        """The same node over other inputs."""
        remaining = iter(inputs)
        changes: dict[str, Any] = {}
        for name in dataclass_fields(self):
            value = getattr(self, name.name)
            if isinstance(value, Plan):
                changes[name.name] = next(remaining)
            elif isinstance(value, tuple) and value and all(isinstance(item, Plan) for item in value):
                changes[name.name] = tuple(next(remaining) for _ in value)
        return replace(self, **changes) if changes else self

    def walk(self) -> Iterator[Plan]:
        """The node and all below it, parents first."""
        yield self
        for item in self.inputs:
            yield from item.walk()

    @cached_property
    def scanned(self) -> frozenset[str]:
        """The lower-case names of the relations that the node and all below it read."""
        return frozenset(node.relation.lower() for node in self.walk() if isinstance(node, Scan))

    def __post_init__(self) -> None:
        """Refuse two output columns of one name."""
        seen: set[str] = set()
        for item in self.fields:
            lower = item.name.lower()
            if lower in seen:
                msg = f"{type(self).__name__} has two fields named {item.name!r}: {', '.join(self.names)}"
                raise ValueError(msg)
            seen.add(lower)


@dataclass(frozen=True)
class Scan(Plan):
    """The rows of a table or of another view, named in the catalog."""

    relation: str
    outputs: tuple[Field, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs


@dataclass(frozen=True)
class Values(Plan):
    """Constant rows; `rows` of one empty tuple is the relation that a SELECT without FROM reads."""

    rows: tuple[tuple[Scalar, ...], ...]
    outputs: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs


@dataclass(frozen=True)
class Project(Plan):
    """One output row for each input row. Linear."""

    input: Plan
    items: tuple[tuple[str, Scalar], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, scalar.type, scalar.nullable) for name, scalar in self.items)


@dataclass(frozen=True)
class Filter(Plan):
    """The input rows for which the condition is TRUE. Linear."""

    input: Plan
    condition: Scalar

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


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


@dataclass(frozen=True)
class Generate(Plan):
    """The input row beside each row that a generator function gives for it (explode, inline, …). Linear.

    With `outer` an input row for which the generator gives nothing stays, with NULLs.
    """

    input: Plan
    generator: Scalar
    outputs: tuple[Field, ...]
    outer: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + self.outputs


@dataclass(frozen=True)
class JoinKey:
    """One equality of a join; `null_safe` for `<=>`."""

    left: Scalar
    right: Scalar
    null_safe: bool = False


INNER, LEFT, RIGHT, FULL, SEMI, ANTI = "inner", "left", "right", "full", "semi", "anti"


@dataclass(frozen=True)
class Join(Plan):
    """A join of two inputs whose field names do not clash.

    Inner joins are bilinear; the outer ones, SEMI and ANTI work key by key. `residual` is the rest of the condition,
    over the fields of both sides. SEMI and ANTI give the left fields only. A cross join is INNER without keys.
    ANTI with `null_aware` is NOT IN: no row at all if the right side has a NULL (keys hold the one compared value;
    correlation keys come after it).
    """

    left: Plan
    right: Plan
    kind: str
    keys: tuple[JoinKey, ...] = ()
    residual: Scalar | None = None
    null_aware: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        if self.kind in (SEMI, ANTI):
            return self.left.fields
        left = _nullable(self.left.fields) if self.kind in (RIGHT, FULL) else self.left.fields
        right = _nullable(self.right.fields) if self.kind in (LEFT, FULL) else self.right.fields
        return left + right


def _nullable(found: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(Field(item.name, item.type, nullable=True) for item in found)


@dataclass(frozen=True)
class Match:
    """The comparison of an ASOF join: a left time with a right one, by `>=`, `>`, `<=` or `<`."""

    left: Scalar
    comparison: str
    right: Scalar

    @property
    def backwards(self) -> bool:
        """True if the right row lies before the left one."""
        return self.comparison in (">=", ">")

    @property
    def strict(self) -> bool:
        """True if two equal times do not match."""
        return self.comparison in (">", "<")


@dataclass(frozen=True)
class AsofJoin(Plan):
    """Each left row with the one right row that matches and lies closest to it; field names do not clash.

    Of right rows equally close the least is taken, the whole row ascending, NULLs first. INNER leaves out left rows
    that find none, LEFT keeps them with NULLs.
    """

    left: Plan
    right: Plan
    kind: str
    keys: tuple[JoinKey, ...]
    match: Match

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.left.fields + (_nullable(self.right.fields) if self.kind == LEFT else self.right.fields)


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


@dataclass(frozen=True)
class Aggregate(Plan):
    """One row for each group; without groups one row always, even over nothing."""

    input: Plan
    groups: tuple[tuple[str, Scalar], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        groups = tuple(Field(name, scalar.type, scalar.nullable) for name, scalar in self.groups)
        return groups + tuple(Field(name, call.call.type, call.call.nullable) for name, call in self.aggregates)


@dataclass(frozen=True)
class Distinct(Plan):
    """Each different input row once."""

    input: Plan

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True)
class SetOperation(Plan):
    """INTERSECT or EXCEPT, columns by position under the names of the left; `all` keeps multiplicities."""

    left: Plan
    right: Plan
    kind: str  # 'intersect' | 'except'
    all: bool
    outputs: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.outputs


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

    @property
    def fields(self) -> tuple[Field, ...]:
        extra = () if self.number is None else (Field(self.number, "int", nullable=False),)
        return self.input.fields + extra


@dataclass(frozen=True)
class Window(Plan):
    """Every input row with window functions computed beside it.

    All `calls` share `partition`; each call's text is the whole `f(…) OVER (…)`, in which the binder has
    completed the ORDER BY by the whole row where the answer depends on the order of ties.
    """

    input: Plan
    partition: tuple[Scalar, ...]
    calls: tuple[tuple[str, Scalar], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + tuple(Field(name, call.type) for name, call in self.calls)


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

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + tuple(Field(name, "timestamp", nullable=False) for name in (self.start, self.end))


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
    | Recompute
    | Fixpoint
)
"""Every kind of node: what an analysis matches exhaustively."""
