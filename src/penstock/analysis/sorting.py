"""The order of a relation's rows as they come: sorted by what, sortable after which delay, and its progress (C17).

    clicks, at LATENESS INTERVAL 0 SECONDS       sorted by at
    clicks, at LATENESS INTERVAL 1 HOUR          sortable by at, an hour behind; the rows of an hour are kept for it
    SELECT -n FROM …, n LATENESS 3 ROWS          sortable by -n, DESC, three rows behind
    GROUP BY FLOOR(at TO HOUR)                   sortable by the hour, once the waterline has passed it

Rows are sorted by a column if none comes with a value before those of an earlier step. They can be sorted by it if a
waterline says below, or of a column that goes down above, which value none comes any more. Rows without a value are in
no order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never, cast

from penstock.analysis.bounds import is_zero
from penstock.analysis.changelog import append_only
from penstock.analysis.derived import Derived, SourceColumn, least
from penstock.analysis.direction import Direction
from penstock.analysis.final import title_of
from penstock.analysis.monotonic import directions
from penstock.analysis.views import column_read, of_view
from penstock.analysis.waterline import Reader, Waterlines
from penstock.catalog.model import Catalog, Lateness, Table, View
from penstock.catalog.types import Type
from penstock.errors import Span
from penstock.plan.expressions import place_of, plan_reads_clock
from penstock.plan.forms import Call, Form, Opaque, Reference, swapped
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Filter,
    Fixpoint,
    Generate,
    Join,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column


@dataclass(frozen=True)
class Behind:
    """A source's waterline, and how far that is behind the greatest value seen: a bound, or a number of rows."""

    source: SourceColumn
    bound: str
    rows: int | None = None

    @property
    def is_nothing(self) -> bool:
        """True if the waterline is the greatest value itself."""
        return self.rows == 0 if self.rows is not None else is_zero(self.bound)


@dataclass(frozen=True)
class Order:
    """A column by which rows can be sorted, from its waterline on.

    `falls` tells of a column that goes down; `line` is then the waterline of its negative. `plain` is true if each row
    comes of one row of the only source, of which the column is a copy; `there` if the rows are sorted as they come.
    """

    column: str
    line: Derived
    behind: tuple[Behind, ...]
    falls: bool = False
    plain: bool = False
    there: bool = False


@dataclass(frozen=True)
class NoProgress:
    """The reason for which no waterline passes a relation's rows, and its place."""

    reason: str
    span: Span | None = None


@dataclass(frozen=True)
class Sorting:
    """A relation: the columns by which its rows are, or can be, sorted, and if there are none, why.

    `kind` is 'stream', 'table', 'view' or 'query'.
    """

    name: str
    kind: str
    span: Span | None
    orders: tuple[Order, ...]
    none: NoProgress | None


_IN_A_CIRCLE = NoProgress("it reads itself")


def sorting_of(plan: Plan, catalog: Catalog, name: str = "", span: Span | None = None) -> Sorting:
    """The order of the rows of a query, or of the relation of that name that a plan scans."""
    reading = _Reading(plan, catalog)
    orders = tuple(reading.orders())
    relation = catalog.relation(name) if name else None
    kind = "query" if relation is None else "view" if isinstance(relation, View) else _kind(relation)
    none = None if orders else reading.why_none(plan)
    return Sorting(name, kind, relation.span if relation is not None else span, orders, none)


def _kind(table: Table) -> str:
    return "stream" if table.stream else "table"


class _Reading:
    """Finds the orders of one plan's rows; holds what does not change on the way down."""

    def __init__(self, plan: Plan, catalog: Catalog) -> None:
        self._plan = plan
        self._catalog = catalog
        self._reader = Reader(catalog)

    def orders(self) -> Iterator[Order]:
        """Each column that has a waterline, or whose negative has one."""
        lines = self._reader.of(self._plan)
        for name in self._plan.names:
            rises = lines.get(name)
            line = rises or self._negative(column(name, self._types[name]), self._plan)
            if line is not None:
                yield self._order(name, line, falls=rises is None)

    def _order(self, name: str, line: Derived, *, falls: bool) -> Order:
        way = self._directions[name]
        follows = (way.down if falls else way.up) and len(line.parts) == len(line.sources) == 1 and self._stays
        behind = tuple(self._behind(source) for source in sorted(line.sources))
        plain = follows and not falls and isinstance(line.parts[0].form, Reference)
        return Order(name, line, behind, falls, plain, there=follows and behind[0].is_nothing)

    @cached_property
    def _directions(self) -> dict[str, Direction]:
        return dict(directions(self._plan, self._catalog))

    @cached_property
    def _stays(self) -> bool:
        return append_only(self._plan, self._catalog)

    def _behind(self, source: SourceColumn) -> Behind:
        found = _lateness(source, self._catalog)
        return Behind(source, found.bound, found.rows)

    @cached_property
    def _types(self) -> dict[str, Type | None]:
        return {item.name: item.type for item in self._plan.fields}

    def _negative(self, scalar: Scalar, plan: Plan) -> Derived | None:
        """The waterline of an expression's negative, found as far down as its columns have waterlines."""
        types = {item.name: item.type for item in plan.fields}
        found = self._reader.bound(Call("-", (scalar.form,)), self._reader.of(plan), types)
        if found is not None:
            return found
        node = cast("Node", plan)
        match node:
            case Project():
                return self._negative(scalar.over(dict(node.items)), node.input)
            case Aggregate() if scalar.columns <= {name for name, _ in node.groups}:
                return self._negative(scalar.over(dict(node.groups)), node.input)
            case Filter() | Distinct() | Arrived():
                return self._negative(scalar, node.input)
            case UnionAll():
                return least(self._renamed(scalar, node.names, item) for item in node.branches)
            case Scan():
                return self._of_view(scalar, node)
            case Values() | Generate() | Join() | AsofJoin() | Aggregate() | SetOperation() | TopK() | Window():
                return None
            case Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving():
                return None
            case _:
                assert_never(node)

    def _renamed(self, scalar: Scalar, names: Iterable[str], plan: Plan) -> Derived | None:
        """The same over a plan that has these columns, in this order, under names of its own."""
        given = {name: column(item.name, item.type) for name, item in zip(names, plan.fields, strict=True)}
        return self._negative(scalar.over({name: given[name] for name in scalar.columns}), plan)

    def _of_view(self, scalar: Scalar, scan: Scan) -> Derived | None:
        """The same over a view: what is known of the negatives of its columns is found once for all who read it."""
        relation = self._catalog.relation(scan.relation)
        if not isinstance(relation, View) or relation.plan is None:
            return None
        falling = of_view(self._catalog, relation, "negatives", self._negatives, {})
        columns = tuple(item.name for item in relation.columns)
        lines = dict(zip(columns, map(falling.get, relation.plan.names), strict=False))
        read = {name: column_read(scan, name, columns) for name in scalar.columns}
        falls = {name: line for name, found in read.items() if found is not None and (line := lines.get(found))}
        if scalar.column:
            return falls.get(scalar.column)
        if not falls or any(isinstance(item, Opaque) for item in scalar.form.walk()):
            return None

        def negated(form: Form) -> Form | None:
            return Call("-", (form,)) if isinstance(form, Reference) and form.name in falls else None

        types = {item.name: item.type for item in scan.fields}
        return self._reader.bound(
            Call("-", (swapped(scalar.form, negated),)), {**self._reader.of(scan), **falls}, types
        )

    def _negatives(self, plan: Plan) -> Waterlines:
        """The waterline of the negative of each column that has one."""
        found = {item.name: self._negative(column(item.name, item.type), plan) for item in plan.fields}
        return {name: line for name, line in found.items() if line is not None}

    def why_none(self, plan: Plan) -> NoProgress:
        """The operator that has no waterline although its input has one, or the table that has none."""
        if isinstance(plan, Scan):
            return self._none_of_relation(plan)
        if isinstance(plan, Values):
            return NoProgress("its rows are written in the query", place_of(plan))
        inputs = [self._whole(plan.input)] if isinstance(plan, Aggregate) else plan.inputs
        lines = [sorted(self._reader.of(item)) for item in inputs]
        lost = [item for item, known in zip(inputs, lines, strict=True) if not known]
        if lost and (isinstance(plan, UnionAll | SetOperation) or len(lost) == len(inputs)):
            return self.why_none(next((item for item in lost if not isinstance(item, Values)), lost[0]))
        return NoProgress(_losing(plan, [name for known in lines for name in known]), place_of(plan))

    def _whole(self, plan: Plan) -> Plan:
        """The plan with the columns that were left out because nobody reads them."""
        while isinstance(plan, Project) and not self._reader.of(plan) and all(item.column for _, item in plan.items):
            plan = plan.input
        return plan

    def _none_of_relation(self, scan: Scan) -> NoProgress:
        relation = self._catalog.relation(scan.relation)
        if isinstance(relation, View) and relation.plan is not None:
            return of_view(self._catalog, relation, "no progress", self.why_none, _IN_A_CIRCLE)
        if isinstance(relation, Table) and not any(item.lateness for item in relation.columns):
            return NoProgress(f"no column of {relation.name} has LATENESS", scan.span or relation.span)
        return NoProgress(f"no column of {scan.relation} that is read has a waterline", scan.span)


def _losing(plan: Plan, names: list[str]) -> str:
    """The reason in words, of a node whose inputs have waterlines under these names."""
    if plan_reads_clock(plan):
        return "the rows change as the clock moves"
    match plan:
        case Project():
            computed = [item.text for _, item in plan.items if item.columns & set(names)]
            if not computed:
                return f"{_listed(names, 'and')} {'is' if len(names) == 1 else 'are'} left out"
            return f"{computed[0]} is not known to follow {_listed(names, 'or')}"
        case Aggregate() if not plan.groups:
            return "any row changes the one row of the result"
        case Aggregate():
            return f"no key of GROUP BY follows {_listed(names, 'or')}"
        case Recompute():
            return f"the query is recomputed ({plan.reason}), and any of its rows may change"
        case _:
            return f"{title_of(plan)} can still change rows with an old {_listed(names, 'or')}"


def _listed(names: list[str], word: str) -> str:
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _lateness(source: SourceColumn, catalog: Catalog) -> Lateness:
    """The declaration that a waterline comes from."""
    relation = catalog.relation(source.relation)
    if isinstance(relation, View):
        return next(item for name, item in relation.lateness.items() if name.lower() == source.column.lower())
    column = None if relation is None else relation.column(source.column)
    assert column is not None and column.lateness is not None  # noqa: PT018, S101 - it has a waterline
    return column.lateness
