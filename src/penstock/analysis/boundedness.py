"""What each operator of a view keeps, whether it stays bounded, and if not, what would bound it (SEMANTICS B9, D7).

State is bounded where its rows leave it: a waterline passes what tells them apart, so that no accepted input can touch
them again. Without one it is as large as the relation that is kept (`growth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from penstock.analysis.changelog import append_only
from penstock.analysis.derived import Derived, least
from penstock.analysis.growth import Growth, few_values, growth
from penstock.analysis.waterline import Reader, Waterlines
from penstock.catalog.model import Catalog, Table
from penstock.errors import Span
from penstock.plan.expressions import place_of, plan_reads_clock
from penstock.plan.nodes import (
    INNER,
    Aggregate,
    Distinct,
    Filter,
    Fixpoint,
    Join,
    Plan,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    Window,
)
from penstock.plan.scalar import Scalar


@dataclass(frozen=True)
class Collected:
    """State that is dropped: the rows of input `side` whose `column` is below `waterline` (an aggregate: groups)."""

    side: int
    column: str
    waterline: Derived


@dataclass(frozen=True)
class StateFact:
    """The state of one operator: what it keeps, how that grows, why, and what would bound it."""

    operator: str
    keeps: str
    growth: Growth
    because: str
    fix: str | None = None
    span: Span | None = field(default=None, compare=False)
    collected: tuple[Collected, ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether the state cannot grow for ever."""
        return self.growth is Growth.BOUNDED


_SUMS = frozenset({"count", "sum", "avg", "mean", "count_if"})
_EXTREMES = frozenset({"min", "max"})


def keeps_partial_results(node: Aggregate, catalog: Catalog) -> bool:
    """Whether an aggregate needs no rows of its input: sums do not, MIN and MAX only if nothing is retracted."""
    calls = [call for _, call in node.aggregates]
    if any(call.distinct or call.function not in _SUMS | _EXTREMES for call in calls):
        return False
    return all(call.function in _SUMS for call in calls) or append_only(node.input, catalog)


def state_of(
    plan: Plan, catalog: Catalog, partial: Callable[[Aggregate, Catalog], bool] = keeps_partial_results
) -> tuple[StateFact, ...]:
    """One fact for each operator of the plan that keeps state, from the result down; views keep their own.

    `partial` says which aggregates are kept as partial results alone.
    """
    finder = _Finder(catalog, Reader(catalog, passing_time=True), partial)
    return tuple(fact for node in _maintained(plan) for fact in finder.facts(node))


def _maintained(plan: Plan) -> Iterator[Plan]:
    """The nodes that have an operator of their own: what is inside a recursion is evaluated with it."""
    yield plan
    for item in () if isinstance(plan, Fixpoint) else plan.inputs:
        yield from _maintained(item)


@dataclass(frozen=True)
class _Finder:
    catalog: Catalog
    reader: Reader
    partial: Callable[[Aggregate, Catalog], bool]

    def facts(self, node: Plan) -> Iterator[StateFact]:
        match node:
            case Join():
                yield self._join(node)
            case Aggregate():
                yield self._aggregate(node)
            case Distinct():
                keeps = "each different row, with how often it is there"
                yield self._kept_by(node, "DISTINCT", keeps, node.names, self.reader.of(node))
            case SetOperation():
                keeps = "each different row, with how often it is there on each side"
                yield self._kept_by(node, node.kind.upper(), keeps, node.names, self.reader.of(node))
            case TopK():
                yield self._top(node)
            case Window():
                keys = _columns(node.partition)
                yield self._kept_by(node, "Window", _ALL_ROWS[bool(keys)], keys, self.reader.of(node.input))
            case Session():
                names = (node.end, *_columns(node.keys))
                yield self._kept_by(node, "SESSION", "all rows, with their sessions", names, self.reader.of(node))
            case Filter() if plan_reads_clock(node):
                yield self._clock(node)
            case Recompute():
                yield self._whole(
                    node, "Recomputed query", "all rows of its inputs, and its last answer", self._inputs(node)
                )
            case Fixpoint():
                yield self._whole(node, "Recursion", "all rows of its inputs, and of its rounds", self._inputs(node))
            case _:
                return

    def _inputs(self, node: Plan) -> Growth:
        return max((growth(item, self.catalog) for item in node.inputs), default=Growth.BOUNDED)

    def _aggregate(self, node: Aggregate) -> StateFact:
        sums = self.partial(node, self.catalog)
        keeps = "partial results, one row for each group" if sums else "all rows that it reads, by group"
        collected = _collected(self.reader.of(node), [name for name, _ in node.groups])
        if collected:
            return self._bounded(node, "Aggregate", keeps, collected)
        few = few_values(node.input, self.catalog)
        if sums and all(scalar.columns <= few for _, scalar in node.groups):
            because = "the number of groups does not grow" if node.groups else "there is one group"
            return StateFact("Aggregate", keeps, Growth.BOUNDED, because, span=place_of(node))
        return self._growing(node, "Aggregate", keeps, "GROUP BY", self.reader.of(node.input))

    def _top(self, node: TopK) -> StateFact:
        if append_only(node.input, self.catalog) and growth(node, self.catalog) is Growth.BOUNDED:
            because = "nothing is retracted, so a row that falls out never comes back"
            return StateFact("Top-K", "its rows", Growth.BOUNDED, because, span=place_of(node))
        known = self.reader.of(node.input)
        keys = _columns(node.partition)
        return self._kept_by(node, "Top-K", _ALL_ROWS[bool(keys)], keys, known)

    def _kept_by(self, node: Plan, operator: str, keeps: str, keys: Iterable[str], known: Waterlines) -> StateFact:
        collected = _collected(known, keys)
        if collected:
            return self._bounded(node, operator, keeps, collected)
        clause = "PARTITION BY" if isinstance(node, TopK | Window) else "SELECT"
        return self._growing(node, operator, keeps, clause, known)

    def _bounded(self, node: Plan, operator: str, keeps: str, collected: tuple[Collected, ...]) -> StateFact:
        groups = dict(node.groups) if isinstance(node, Aggregate) else {}
        # A group that the binder named is better known by its expression, unless that is long.
        short = {name: scalar.text for name, scalar in groups.items() if len(scalar.text) <= _READABLE}
        named = [(short.get(item.column, item.column), item) for item in collected]
        shown = dict.fromkeys(f"{name} is below the waterline {item.waterline.shown}" for name, item in named)
        because = f"rows are dropped once {', '.join(shown)}"
        return StateFact(operator, keeps, Growth.BOUNDED, because, span=place_of(node), collected=collected)

    def _growing(self, node: Plan, operator: str, keeps: str, clause: str, known: Waterlines) -> StateFact:
        size = self._inputs(node)
        fix = None
        if size is Growth.UNBOUNDED:
            fix = (
                f"use a column with a waterline in {clause}: {', '.join(known)}"
                if known
                else self._declare(node, clause)
            )
        return StateFact(operator, keeps, size, _BECAUSE[size], fix, place_of(node))

    def _declare(self, node: Plan, clause: str) -> str:
        tables = dict.fromkeys(self._growing_tables(node))
        late = [f"{name}.{column}" for name in tables for column in self._late_columns(name)]
        if late:
            return f"use a column with LATENESS in {clause}: {', '.join(late)}"
        return f"declare LATENESS on a time column of {', '.join(tables)}, and use that column in {clause}"

    def _late_columns(self, name: str) -> list[str]:
        table = self.catalog.tables.get(name.lower())
        return [] if table is None else [column.name for column in table.columns if column.lateness is not None]

    def _growing_tables(self, plan: Plan) -> Iterator[str]:
        for node in plan.walk():
            if isinstance(node, Scan) and growth(node, self.catalog) is Growth.UNBOUNDED:
                relation = self.catalog.relation(node.relation)
                inner = None if relation is None or isinstance(relation, Table) else relation.plan
                yield from self._growing_tables(inner) if inner is not None else [node.relation]

    def _whole(self, node: Plan, operator: str, keeps: str, size: Growth) -> StateFact:
        fix = getattr(node, "rewriting", None) if size is not Growth.BOUNDED else None
        return StateFact(operator, keeps, size, _BECAUSE[size], fix, place_of(node))

    def _clock(self, node: Filter) -> StateFact:
        size = growth(node, self.catalog)
        because = "rows are dropped once the clock has passed them" if size is Growth.BOUNDED else _BECAUSE[size]
        keeps = "the rows that the clock can still reach"
        return StateFact("Clock filter", keeps, size, because, span=place_of(node))

    def _join(self, node: Join) -> StateFact:
        operator = f"{node.kind.capitalize()} join"
        known = self.reader.of(node.left), self.reader.of(node.right)
        sides = [
            self._join_side(node, 0, node.left, known[0], known[1]),
            self._join_side(node, 1, node.right, known[1], known[0]),
        ]
        collected = tuple(item for side in sides for item in side)
        sizes = [growth(item, self.catalog) for item in node.inputs]
        open_sides = [size for size, side in zip(sizes, sides, strict=True) if not side]
        size = max(open_sides, default=Growth.BOUNDED)
        keeps = "the rows of both sides, by the columns compared"
        if size is Growth.BOUNDED and collected:
            return self._bounded(node, operator, keeps, collected)
        fix = self._lock(node, *known) if size is Growth.UNBOUNDED else None
        return StateFact(operator, keeps, size, _BECAUSE[size], fix, place_of(node), collected)

    def _join_side(
        self, node: Join, number: int, side: Plan, own: Waterlines, other: Waterlines
    ) -> tuple[Collected, ...]:
        """What no later row of the other side can match; of an outer join only what neither side can touch."""
        if node.null_aware:
            return ()
        found = self.reader.joined_bounds(node, side, other)
        if node.kind != INNER:
            both = {name: least((own.get(name), bound)) for name, bound in found.items()}
            found = {name: bound for name, bound in both.items() if bound is not None}
        return tuple(Collected(number, name, bound) for name, bound in found.items())

    def _lock(self, node: Join, left: Waterlines, right: Waterlines) -> str:
        if left and right:
            one, other = next(iter(left)), next(iter(right))
            return f"say how far apart the times may be: {one} BETWEEN {other} - INTERVAL … AND {other} + INTERVAL …"
        sizes = [growth(item, self.catalog) for item in node.inputs]
        if Growth.CONTENT in sizes:
            changing = node.inputs[sizes.index(Growth.CONTENT)]
            names = ", ".join(dict.fromkeys(item.relation for item in changing.walk() if isinstance(item, Scan)))
            return f"any row may be met again, since {names} may change at any time; a time in the key would bound that"
        return self._declare(node, "the condition, on both sides")


_READABLE = 60  # characters

_ALL_ROWS = {True: "all rows, by partition", False: "all rows"}

_BECAUSE = {
    Growth.BOUNDED: "what it reads does not grow",
    Growth.CONTENT: "rows leave it when they are deleted there",
    Growth.UNBOUNDED: "it grows as long as rows come, no waterline passes them",
}


def _collected(known: Waterlines, columns: Iterable[str]) -> tuple[Collected, ...]:
    return tuple(Collected(0, name, known[name]) for name in columns if name in known)


def _columns(scalars: tuple[Scalar, ...]) -> list[str]:
    return [scalar.column for scalar in scalars if scalar.column is not None]
