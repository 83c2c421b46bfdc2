"""The state of each operator of a view, whether it stays bounded, and if not, what would bound it (SEMANTICS B9, D7).

State is bounded where its rows leave it: a waterline passes what tells them apart, so that no accepted input can touch
them again. Without one it is as large as the relation that is kept (`growth`). What leaves it when is read off the
operators' own `expiries`, which the engine goes by.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never, cast

from penstock.analysis.derived import OfKeys
from penstock.analysis.growth import Growth, few_values, growth
from penstock.analysis.views import of_view
from penstock.analysis.waterline import Reader, Waterlines
from penstock.catalog.model import SYSTEM_TABLES, Catalog, Column, Table, View
from penstock.catalog.reserved import VERSIONS
from penstock.catalog.shown_names import ShownNames
from penstock.circuit.buckets import BUCKET_TITLE, BUCKETS, is_by_bucket
from penstock.circuit.build import build_circuit
from penstock.circuit.closing import base_of, determining
from penstock.circuit.column_names import with_written_names
from penstock.circuit.forgetting import Best, Expiry, Unsettled
from penstock.circuit.operators import (
    Additive,
    AnyOperator,
    Arrived,
    Arriving,
    Bilinear,
    Cleaned,
    Clocked,
    Constant,
    Counted,
    Iterated,
    Keyed,
    Linear,
    Operator,
    Ranked,
    Recomputed,
    Sessions,
    Source,
)
from penstock.errors import Span
from penstock.plan.expressions import kept_sides, place_of, reads_tables
from penstock.plan.nodes import (
    Aggregate,
    AsofJoin,
    Filter,
    Join,
    MatchRecognize,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    TopK,
    Window,
)
from penstock.sql.rowpattern import endless


@dataclass(frozen=True)
class StateFact:
    """The state of one operator: what it keeps, how that grows, why, and what would bound it."""

    operator: str
    keeps: str
    growth: Growth
    because: str
    fix: str | None = None
    span: Span | None = field(default=None, compare=False)
    collected: tuple[Expiry, ...] = ()
    number: int | None = field(default=None, compare=False)

    @property
    def bounded(self) -> bool:
        """True if the state cannot grow for ever."""
        return self.growth is Growth.BOUNDED


def state_of(plan: Plan, catalog: Catalog) -> tuple[StateFact, ...]:
    """The facts about the operators that would maintain a plan."""
    return state_facts(build_circuit({"": plan}, catalog).operators, catalog)


def state_facts(operators: Iterable[Operator], catalog: Catalog) -> tuple[StateFact, ...]:
    """One fact for each operator that keeps state, from the result down."""
    finder = _Finder(catalog, Reader(catalog, passing_time=True))
    names = ShownNames(catalog)
    found = (finder.fact(item) for item in sorted(operators, key=lambda item: -item.number))
    return tuple(_said(fact, names) for fact in found if fact is not None)


def _said(fact: StateFact, names: ShownNames) -> StateFact:
    return replace(fact, because=names.text(fact.because), fix=None if fact.fix is None else names.text(fact.fix))


@dataclass(frozen=True)
class _Finder:
    catalog: Catalog
    reader: Reader

    def fact(self, operator: Operator) -> StateFact | None:
        """The fact about one operator; None if it keeps nothing that could grow."""
        return None if operator.plan is None else self._fact(cast("AnyOperator", operator), operator.plan)

    def _fact(self, operator: AnyOperator, node: Plan) -> StateFact | None:
        match operator:
            case Source() | Constant() | Linear() | Cleaned() | Arriving() | Arrived():
                return None
            case Bilinear() | Keyed() if isinstance(node, Join | AsofJoin):
                return self._join(operator, node)
            case Additive() | Keyed() if isinstance(node, Aggregate):
                return self._aggregate(operator, node)
            case Bilinear() | Additive() | Counted():
                return self._by(operator, node, "SELECT")
            case Ranked() if operator.append_only and growth(node, self.catalog) is Growth.BOUNDED:
                because = "nothing is retracted, so a row that falls out never comes back"
                return replace(self._made(operator, Growth.BOUNDED, because), keeps="its rows")
            case Keyed() if isinstance(node, MatchRecognize):
                return self._matches(operator, node)
            case Keyed() | Ranked():
                return self._by(operator, node, "PARTITION BY")
            case Sessions():
                return self._by(operator, node, "SESSION")
            case Clocked():
                return self._clock(operator, node)
            case Recomputed() | Iterated():
                size = self._inputs(node)
                fix = node.rewriting if isinstance(node, Recompute) and size is not Growth.BOUNDED else None
                return self._made(operator, size, _BECAUSE[size], fix)
            case _:
                assert_never(operator)

    @staticmethod
    def _made(operator: Operator, size: Growth, because: str, fix: str | None = None) -> StateFact:
        span, expiries = None, operator.expiries
        if operator.plan is not None:
            span, because = place_of(operator.plan), with_written_names(because, operator.plan)
            fix = None if fix is None else with_written_names(fix, operator.plan)
        return StateFact(operator.title, operator.keeps, size, because, fix, span, expiries, operator.number)

    def _inputs(self, node: Plan) -> Growth:
        return max((growth(item, self.catalog) for item in node.inputs), default=Growth.BOUNDED)

    def _aggregate(self, operator: Operator, node: Aggregate) -> StateFact:
        if isinstance(operator, Keyed) and operator.few:
            return self._made(operator, Growth.BOUNDED, _FEW_BUCKETS)
        sums = isinstance(operator, Additive)
        if is_by_bucket(node) and (sums or operator.expiries):
            because = _dropped([_going(_in_buckets(item)) for item in operator.expiries])
            return self._made(operator, Growth.BOUNDED, _FEW_BUCKETS if sums else because)
        few = few_values(node.input, self.catalog)
        if not operator.expiries and sums and all(scalar.columns <= few for _, scalar in node.groups):
            because = "the number of groups does not grow" if node.groups else "there is one group"
            return self._made(operator, Growth.BOUNDED, because)
        return self._by(operator, node, "GROUP BY")

    def _by(self, operator: Operator, node: Plan, clause: str) -> StateFact:
        """State in one trace: what goes, and if that is not enough what would."""
        going = [_going(item, determining(node, _unquoted(item.shown), self.catalog)) for item in operator.expiries]
        if any(isinstance(item.waterline, OfKeys) for item in operator.expiries):
            because = f"{_dropped(going)}; the last ones of each substream stay until it goes on"
            return self._made(operator, self._inputs(node), because)
        if operator.expiries:
            if any(self._leaves_few(item, node.inputs[0]) for item in operator.expiries):
                return self._made(operator, Growth.BOUNDED, _dropped(going))
            keys = ", ".join(_partition(operator.expiries[0]))
            if versions_below(node.inputs[0]):
                return self._made(operator, Growth.CONTENT, self._history(node.inputs[0], _dropped(going), keys))
            because = f"{_dropped(going)}; it grows with the number of different {keys}"
            few = f"declare DOMAIN CONSTANT at {keys}, if there are only so many values{self._key_wanted(node)}"
            return self._made(operator, self._inputs(node), because, few)
        size = self._inputs(node)
        known = self.reader.of(node.input if isinstance(node, Aggregate | TopK | Window | Session) else node)
        use = self._use(node, clause, known) if size is Growth.UNBOUNDED else None
        return self._made(operator, size, _BECAUSE[size], use)

    def _matches(self, operator: Operator, node: MatchRecognize) -> StateFact:
        """Rows go when no match can begin or go on with them; WITHIN says when that is."""
        dropped = _dropped([_going(item) for item in operator.expiries])
        size = self._inputs(node)
        if any(self._leaves_few(item, node.inputs[0]) for item in operator.expiries):
            return self._made(operator, Growth.BOUNDED, dropped)
        if operator.expiries:
            fix = f"{_said_of_endless(node)}WITHIN INTERVAL … behind PATTERN says when a match is over"
            return self._made(operator, size, dropped, fix if size is Growth.UNBOUNDED else None)
        fix = self._why_all(node)
        return self._made(operator, size, _BECAUSE[size], fix if size is Growth.UNBOUNDED else None)

    def _why_all(self, node: MatchRecognize) -> str:
        if node.anchored:
            return "leave ^ and $ out: they ask for the first and the last row of all"
        if node.numbered:
            return "leave MATCH_NUMBER() out: it counts from the first row of all"
        if node.time is None:
            return "order rows by a TIMESTAMP with LATENESS, ascending"
        return self._declare(node, "ORDER BY, and leave NEXT out")

    @staticmethod
    def _history(rows: Plan, dropped: str, keys: str) -> str:
        return f"{dropped}; of the history of {versions_below(rows)} the last version of each {keys} stays"

    def _leaves_few(self, item: Expiry, rows: Plan) -> bool:
        """True if what an expiry spares cannot grow: nothing, or some rows of few partitions."""
        few = {f"`{name}`" for name in few_values(rows, self.catalog)}
        return all(_is_nothing(keep) or (_is_few(keep) and set(keep.partition) <= few) for keep in item.keep)

    def _use(self, node: Plan, clause: str, known: Waterlines) -> str:
        use = f"use a column with a waterline in {clause}: {', '.join(known)}" if known else self._declare(node, clause)
        return f"{use}{self._key_wanted(node)}"

    def _key_wanted(self, node: Plan) -> str:
        """The PRIMARY KEY that would close the keys of an operator above a join, in words; "" if there can be none."""
        base, keys = base_of(node, self.catalog)
        if not isinstance(base, Join):
            return ""
        known = self.reader.of(base)
        for side in base.inputs:
            table = self._table_below(side)
            given = [key for key in keys if key in side.names]
            closing = [name for name in known if name in side.names and name not in keys]
            if table is not None and not table.key and given and closing:
                return f"; or, if {table.name} has a key among {', '.join(given)}, declare that PRIMARY KEY"
        return ""

    def _table_below(self, plan: Plan) -> Table | None:
        """The table that a side of a join is, but for columns and rows left out."""
        while isinstance(plan, Project | Filter):
            plan = plan.input
        name = plan.relation.lower() if isinstance(plan, Scan) else ""
        return None if name in SYSTEM_TABLES else self.catalog.tables.get(name)

    def _declare(self, node: Plan, clause: str) -> str:
        if system := self._system_alone(node):
            return system
        tables = [name for name in self._growing_tables(node) if name.lower() not in SYSTEM_TABLES]
        late = [f"{name}.{column}" for name in tables for column in self._late_columns(name)]
        without = [name for name in tables if not self._late_columns(name)]
        if late and isinstance(node, Join) and without:
            wanted = f"declare LATENESS on a time column of {', '.join(without)}, and use it in {clause}"
            return f"{wanted}, with {', '.join(late)}{self._lock_to_paste(node)}"
        if late:
            return f"use a column with LATENESS in {clause}: {', '.join(late)}{self._lock_to_paste(node)}"
        text = f"declare LATENESS on a time column of {', '.join(tables)}, and use that column in {clause}"
        return f"{text}{self._to_paste(node, tables, clause)}"

    def _to_paste(self, node: Plan, tables: list[str], clause: str) -> str:
        """The same as SQL that can be put there; "" where it is not known which column is a time, or what to say."""
        found = {name: time for name in tables if (time := self._time_of(name)) is not None}
        said = _said_in(node, clause, list(found.values()))
        if len(found) < len(tables) or not said or not {name.lower() for name in tables} <= node.scanned:
            return ""  # a column that a view between has left out cannot be named
        declared = [
            f"in {name}: {time.name} {time.type.upper()} LATENESS INTERVAL 1 HOUR" for name, time in found.items()
        ]
        return f". Such as {'; '.join([*declared, said])}"

    def _lock_to_paste(self, node: Plan) -> str:
        """The condition that would lock the times of two joined tables; "" where it is not known which these are."""
        sides = [self._growing_tables(side) for side in node.inputs] if isinstance(node, Join) else []
        times = [self._late_time(*side) for side in sides if len(side) == 1]
        found = [time for time in times if time is not None]
        said = _said_in(node, "", found) if len(found) == 2 else ""  # noqa: PLR2004 - one of each side
        return f". Such as {said}" if said else ""

    def _late_time(self, name: str) -> Column | None:
        """The first TIMESTAMP of a table that has LATENESS, or else the first of all."""
        table = self.catalog.table(name)
        late = [item for item in (() if table is None else table.columns) if item.lateness is not None]
        return next((item for item in late if item.type in _TIMES), None) or self._time_of(name)

    def _time_of(self, name: str) -> Column | None:
        """The first column of a table that is a TIMESTAMP."""
        table = self.catalog.table(name)
        columns = () if table is None else table.columns
        return next((item for item in columns if item.type in _TIMES and not item.hidden), None)

    def _system_alone(self, node: Plan) -> str | None:
        """The advice where nothing but system relations grows, which nobody declares; else None."""
        found = self._growing_tables(node)
        if not found or any(name.lower() not in SYSTEM_TABLES for name in found):
            return None
        return f"{', '.join(found)} takes no LATENESS: a query instead of the view keeps nothing"

    def _late_columns(self, name: str) -> list[str]:
        table = self.catalog.table(name)
        columns = () if table is None else table.columns
        return [column.name for column in columns if column.lateness is not None and not column.hidden]

    def _growing_tables(self, plan: Plan) -> tuple[str, ...]:
        """The tables below a plan that grow for ever."""
        growing = (node for node in plan.walk() if isinstance(node, Scan) and self._grows(node))
        return tuple(dict.fromkeys(name for node in growing for name in self._growing_behind(node)))

    def _grows(self, scan: Scan) -> bool:
        return growth(scan, self.catalog) is Growth.UNBOUNDED

    def _growing_behind(self, scan: Scan) -> tuple[str, ...]:
        relation = self.catalog.relation(scan.relation)
        if not isinstance(relation, View) or relation.plan is None:
            return (scan.relation,)
        return of_view(self.catalog, relation, "growing tables", self._growing_tables, ())

    def _clock(self, operator: Operator, node: Plan) -> StateFact:
        bounded = bool(operator.expiries)
        size = Growth.BOUNDED if bounded else growth(node, self.catalog)
        because = "rows are dropped once the clock has passed them" if bounded else _BECAUSE[size]
        fix = "keep only rows that the clock has not left behind: at >= now() - INTERVAL …"
        return self._made(operator, size, because, fix if size is Growth.UNBOUNDED else None)

    def _join(self, operator: Operator, node: Join | AsofJoin) -> StateFact:
        sides = [[item for item in operator.expiries if item.trace == number] for number in (0, 1)]
        open_sides = [
            number
            for number, side in enumerate(sides)
            if not any(self._leaves_few(item, node.inputs[number]) for item in side)
        ]
        sizes = [growth(item, self.catalog) for item in node.inputs]
        size = max((sizes[number] for number in open_sides), default=Growth.BOUNDED)
        dropped = _dropped([_going(item) for item in operator.expiries])
        if size is Growth.BOUNDED and operator.expiries:
            return self._made(operator, size, dropped)
        growing = [item for number in open_sides if sizes[number] is size for item in sides[number] if item.keep]
        if size is Growth.UNBOUNDED and growing:
            keys = ", ".join(_partition(growing[0]))
            if all(versions_below(node.inputs[item.trace]) for item in growing):
                return self._made(operator, Growth.CONTENT, self._history(node.inputs[growing[0].trace], dropped, keys))
            because = f"{dropped}; it grows with the number of different {keys}"
            fix = f"declare DOMAIN CONSTANT at {keys}, if there are only so many values"
            return self._made(operator, size, because, fix)
        partly = operator.expiries and size is Growth.UNBOUNDED
        because = f"one side grows as long as rows come; of the other, {dropped}" if partly else _BECAUSE[size]
        return self._made(operator, size, because, self._lock(node) if size is Growth.UNBOUNDED else None)

    def _lock(self, node: Join | AsofJoin) -> str:
        if isinstance(node, AsofJoin):
            ahead = (
                "nothing says when the next right row comes: match by >= or >, or put an equality of two times into ON"
            )
            if history := versions_below(node.right):
                readers = ", ".join(dict.fromkeys(item.relation for item in node.left.walk() if isinstance(item, Scan)))
                late = f"declare LATENESS on the time as of which versions are read, in {readers}"
                return f"{late}: else a row may ask for any version of {history}"
            return self._declare(node, "MATCH_CONDITION") if node.match.backwards else ahead
        if not all(reads_tables(side) for side in kept_sides(node)):
            return "have the outer join keep the rows that come, or use JOIN: those that never change wait for ever"
        left, right = self.reader.of(node.left), self.reader.of(node.right)
        if left and right:
            one, other = next(iter(left)), next(iter(right))
            return f"say how far apart the times may be: {one} BETWEEN {other} - INTERVAL … AND {other} + INTERVAL …"
        sizes = [growth(item, self.catalog) for item in node.inputs]
        if Growth.CONTENT in sizes:
            if system := self._system_alone(node):
                return system
            changing = node.inputs[sizes.index(Growth.CONTENT)]
            names = ", ".join(dict.fromkeys(item.relation for item in changing.walk() if isinstance(item, Scan)))
            return f"any row may be met again, since {names} may change at any time; a time in the key would bound that"
        return self._declare(node, "the condition, on both sides")


def _said_of_endless(node: MatchRecognize) -> str:
    """The words for the variables of a pattern that may go on for ever; "" if none does."""
    names = list(dict.fromkeys(endless(node.pattern)))
    return f"rows for {' and '.join(names)} may follow for ever: " if names else ""


def _said_in(node: Plan, clause: str, times: list[Column]) -> str:
    """The words of a clause over these columns by which a waterline passes what is kept; "" for other clauses."""
    if clause in _LISTS and len(times) == 1:
        return f"in {clause}: FLOOR({times[0].name} TO HOUR)"
    if not isinstance(node, Join) or not node.keys or len(times) != 2:  # noqa: PLR2004 - one of each side
        return ""
    sides = [next(iter(scalar.columns), "").rpartition(".")[0] for scalar in (node.keys[0].left, node.keys[0].right)]
    if not all(sides):
        return ""
    one, other = (f"{side}.{time.name}" for side, time in zip(sides, times, strict=True))
    return f"in the condition: AND {one} BETWEEN {other} - INTERVAL 1 HOUR AND {other} + INTERVAL 1 HOUR"


def versions_below(plan: Plan) -> str | None:
    """The table whose versions a plan has, but for columns and rows left out; None for other rows."""
    while isinstance(plan, Project | Filter):
        plan = plan.input
    if not isinstance(plan, Scan) or not plan.relation.startswith(VERSIONS):
        return None
    return plan.relation.removeprefix(VERSIONS)


def _dropped(going: list[str]) -> str:
    return f"rows are dropped once {', '.join(dict.fromkeys(going))}"


def _going(item: Expiry, keys: tuple[str, ...] = ()) -> str:
    """The rows that leave, in words, but for those still needed; `keys` are what determines the column they go by."""
    if not item.shown and not item.keep:
        return "they have met the other side, which never changes"
    given = f", which {', '.join(keys)} determine{'s' if len(keys) == 1 else ''}," if keys else ""
    text = f"{_unquoted(item.shown)}{given} is below the waterline {item.waterline.shown}"
    if item.keep:
        keys = _partition(item)
        each = f" of each {', '.join(keys)}" if keys else ""
        if isinstance(item.keep[0], Unsettled):
            return f"{text} (but for those of matches that are not over{each})"
        count = "one" if item.keep[0].count == 1 else str(item.keep[0].count)
        return f"{text} (but for {count}{each})" if item.shown else f"they are behind the best {count}{each}"
    return text


def _is_nothing(keep: Best | Unsettled) -> bool:
    """True if in the end nothing is spared."""
    return isinstance(keep, Unsettled) and keep.ends


def _is_few(keep: Best | Unsettled) -> bool:
    """True if only so many rows of a partition are spared."""
    return isinstance(keep, Best) or keep.short


def _in_buckets(item: Expiry) -> Expiry:
    """The same, its partition in the words of people."""
    return replace(item, keep=tuple(replace(keep, partition=(BUCKET_TITLE,)) for keep in item.keep))


def _partition(item: Expiry) -> tuple[str, ...]:
    return next((tuple(map(_unquoted, keep.partition)) for keep in item.keep), ())


def _unquoted(text: str) -> str:
    return text[1:-1] if text.startswith("`") and "`" not in text[1:-1] else text


_LISTS = ("GROUP BY", "PARTITION BY", "SELECT")
_TIMES = ("timestamp", "timestamp_ntz")
_FEW_BUCKETS = f"there are at most {BUCKETS} buckets"
_BECAUSE = {
    Growth.BOUNDED: "what it reads does not grow",
    Growth.CONTENT: "rows leave it when they are deleted there",
    Growth.UNBOUNDED: "it grows as long as rows come, no waterline passes them",
}
