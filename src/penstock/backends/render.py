"""Plans as SQL, each node's meaning once for all engines; `dialect.Dialect` has what differs between them.

One renderer serves three readings of a plan by what each row carries beside the node's own fields:

    carry ()             batch: the node's meaning over whole contents
    carry (__weight,)    a change: linear nodes pass each row's weight through
    carry (__version,)   touched keys: old rows (0) and new rows (1) in one pass; every grouping, partition and
                         join has the version as one more key, so the two never meet
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never, cast

from penstock.backends.asof import asof_query
from penstock.backends.dialect import Beneath, Carry, Dialect
from penstock.backends.joins import join_query
from penstock.errors import Diagnostic, InternalError
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
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
from penstock.plan.opaque import filled

VERSION = "__version"
_ROW_NUMBER = "__row"


@dataclass(frozen=True)
class Renderer:
    """Renders plans whose leaves are known relations.

    `relations` maps a leaf's lower-case name to a relation as it stands in FROM.
    """

    dialect: Dialect
    relations: Mapping[str, str]
    carry: Carry = ()

    def sql(self, plan: Plan) -> str:
        """The query for a plan: its fields in order, then what is carried."""
        node, dialect = cast("Node", plan), self.dialect
        match node:
            case Scan():
                return f"SELECT {self._listed(map(dialect.column, node.fields))} FROM {self._relation(node)}"
            case Values():
                return self._values(node)
            case Project():
                items = [self._as(dialect.value(scalar, node.input), name) for name, scalar in node.items]
                return f"SELECT {self._listed(items)} FROM {self._rows(node.input)}"
            case Filter():
                return f"SELECT {self._names(node.fields)} FROM {self._chosen(node)}"
            case UnionAll():
                return " UNION ALL ".join(f"({self._side(branch, node.fields)})" for branch in node.branches)
            case Generate():
                return dialect.generated(node, self.sql(node.input), self.carry)
            case Join():
                return join_query(dialect, node, self.sql(node.left), self.sql(node.right), self.carry)
            case AsofJoin():
                return asof_query(dialect, node, self.sql(node.left), self.sql(node.right), self.carry)
            case Aggregate():
                return self._aggregate(node)
            case Distinct():
                return f"SELECT DISTINCT {self._listed(map(self._keyed, node.fields))} FROM ({self.sql(node.input)})"
            case SetOperation():
                left, right = (self._side(side, node.fields, keyed=True) for side in (node.left, node.right))
                return f"({left}) {node.kind.value.upper()}{' ALL' if node.all else ''} ({right})"
            case TopK():
                return self._top(node)
            case Window():
                return self._window(node)
            case Session():
                return self._session(node)
            case MatchRecognize():
                return dialect.matched(node, self.sql(node.input), self.carry)
            case Recompute():
                return self._recompute(node)
            case Fixpoint():
                return f"SELECT {self._names(node.fields)} FROM {dialect.fixpoint(node)}"
            # As if all rows came in one step: their types are the same.
            case Arriving() | Arrived():
                return f"SELECT {self._names(node.fields)} FROM ({self.sql(node.input)})"
            case _:
                assert_never(node)

    def _rows(self, plan: Plan) -> str:
        """The rows as FROM takes them: a leaf, with a filter or without, needs no query of its own."""
        if isinstance(plan, Filter):
            return self._chosen(plan)
        # A dialect refuses the columns that it cannot read, whether they are wanted or not.
        if isinstance(plan, Scan) and self._quoted(plan.fields) == [*map(self.dialect.column, plan.fields)]:
            return self._relation(plan)
        return f"({self.sql(plan)})"

    def _chosen(self, plan: Filter) -> str:
        """The rows of a filter as FROM takes them, with their WHERE."""
        rows = f"({self.sql(plan.input)})" if isinstance(plan.input, Filter) else self._rows(plan.input)
        return f"{rows} WHERE {self.dialect.value(plan.condition, plan.input)}"

    def _as(self, value: str, name: str) -> str:
        """An item of a SELECT."""
        found = self.dialect.quoted(name)
        return found if value == found else f"{value} AS {found}"

    def _relation(self, scan: Scan) -> str:
        return self.relations[scan.relation.lower()]

    def _listed(self, items: Iterable[str]) -> str:
        return ", ".join([*items, *self._carried]) or self._none

    @property
    def _carried(self) -> list[str]:
        return [*map(self.dialect.quoted, self.carry)]

    @property
    def _none(self) -> str:
        """The item of a SELECT of no columns."""
        return f"1 AS {self.dialect.quoted('__none')}"

    def _quoted(self, fields: tuple[Field, ...]) -> list[str]:
        return [self.dialect.quoted(field.name) for field in fields]

    def _names(self, fields: tuple[Field, ...]) -> str:
        return self._listed(self._quoted(fields))

    def _keyed(self, field: Field) -> str:
        """A field by which rows are told apart."""
        return self._as(self.dialect.key_column(field), field.name)

    def _values(self, plan: Values) -> str:
        if not plan.outputs:
            carried = ", ".join(f"1 AS {name}" for name in self._carried) or self._none
            return " UNION ALL ".join(f"SELECT {carried}" for _ in plan.rows)
        if self.carry:
            raise InternalError(Diagnostic("VALUES_INSIDE", "constant rows stand where rows carry something"))
        rows = ", ".join(f"({', '.join(self.dialect.cells(plan, row))})" for row in plan.rows)
        return f"SELECT * FROM VALUES {rows} AS __values({', '.join(self._quoted(plan.outputs))})"

    def _side(self, plan: Plan, fields: tuple[Field, ...], *, keyed: bool = False) -> str:
        """The rows of a node under other names."""
        items = []
        for have, wanted in zip(plan.fields, fields, strict=True):
            self.dialect.check_alike(have, wanted)
            value = self.dialect.key_column(have) if keyed else self.dialect.column(have)
            items.append(self._as(value, wanted.name))
        if items and items == self._quoted(plan.fields):
            return self.sql(plan)
        return f"SELECT {self._listed(items)} FROM {self._rows(plan)}"

    def _aggregate(self, plan: Aggregate) -> str:
        if not plan.groups and self.carry:
            return self._whole(plan)
        # Grouping happens on a projection, so that a group's name may be that of another field.
        groups = {f"__g{position}": group for position, group in enumerate(plan.groups)}
        keys = [f"{self.dialect.key(value, plan.input)} AS {name}" for name, (_, value) in groups.items()]
        computed, by = self.dialect.aggregates(plan), [*groups, *self._carried]
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        rows = f"(SELECT {', '.join(['*', *keys])} FROM ({self.sql(plan.input)})){grouped}"
        if not by and not plan.aggregates:
            rows = f"(SELECT count(*) AS __rows FROM {rows})"  # one row, however many there are
        if computed.calls:
            rows = f"(SELECT {', '.join([*by, *computed.calls])} FROM {rows})"
        named = [f"{key} AS {self.dialect.quoted(name)}" for key, (name, _) in groups.items()]
        return f"SELECT {self._listed(named + computed.answers)} FROM {rows}"

    def _whole(self, plan: Aggregate) -> str:
        """An answer for each version, also over no rows."""
        computed, (version,) = self.dialect.aggregates(plan), self._carried
        begin, source = self.dialect.read_twice(self.sql(plan.input))
        counted = "SELECT {value} AS {version} FROM (SELECT count(*) AS __rows FROM {source} WHERE {version} = {value})"
        parts = (
            f"SELECT {', '.join([*(computed.calls or computed.answers), f'{value} AS {version}'])} "
            f"FROM {source} WHERE {version} = {value}"
            if plan.aggregates
            else counted.format(value=value, version=version, source=source)
            for value in (0, 1)
        )
        found = f"{begin}{' UNION ALL '.join(parts)}"
        return f"SELECT {self._listed(computed.answers)} FROM ({found})" if computed.calls else found

    def _window(self, plan: Window) -> str:
        computed = self.dialect.windows(plan, self.carry)
        source = self._over(plan.input, computed.beneath)
        if computed.calls:
            source = f"SELECT {', '.join(['*', *computed.calls])} FROM ({source})"
        return f"SELECT {self._listed(self._quoted(plan.input.fields) + computed.answers)} FROM ({source})"

    def _over(self, plan: Plan, beneath: Beneath) -> str:
        """The query for a plan, with values that windows go by behind its columns."""
        if not beneath:
            return self.sql(plan)
        items = [f"{text} AS {name}" for text, name in beneath.items()]
        return f"SELECT {', '.join(['*', *items])} FROM ({self.sql(plan)})"

    def _top(self, plan: TopK) -> str:
        if plan.limit is None and not plan.offset and plan.number is None:
            # Nothing is left out: only an answer that is shown has an order at all.
            names, order = self._names(plan.input.fields), self.dialect.sorted_by(plan.order, plan.input)
            return f"SELECT {names} FROM ({self.sql(plan.input)}) ORDER BY {', '.join(order) or '1'}"
        beneath: Beneath = {}
        order = self.dialect.sorted_by(plan.order, plan.input, beneath)
        if plan.ties is None:
            order += self.dialect.sorted_row(plan.input.fields)
        ordered = f"ORDER BY {', '.join(order) or '1'}"
        if self.dialect.takes_first and not plan.partition and not self.carry and plan.ties is None:
            return self._first(plan, ordered, beneath)
        return self._ranked(plan, ordered, beneath)

    def _first(self, plan: TopK, ordered: str, beneath: Beneath) -> str:
        """The first rows of all, in an order that leaves nothing open."""
        limit = "" if plan.limit is None else f" LIMIT {plan.limit}"
        offset = f" OFFSET {plan.offset}" if plan.offset else ""
        rows, fields = f"({self._over(plan.input, beneath)}) {ordered}{limit}{offset}", self._quoted(plan.input.fields)
        if plan.number is None:
            return f"SELECT {self._listed(fields)} FROM {rows}"
        number = self.dialect.rank(f"{plan.offset} + row_number() OVER ({ordered})")
        fields.append(f"{number} AS {self.dialect.quoted(plan.number)}")
        return f"SELECT {self._listed(fields)} FROM (SELECT * FROM {rows})"

    def _ranked(self, plan: TopK, ordered: str, beneath: Beneath) -> str:
        """The first rows of each partition, by their numbers."""
        partition = [self.dialect.partition_key(item, plan.input, beneath) for item in plan.partition] + self._carried
        by = f"PARTITION BY {', '.join(partition)} " if partition else ""
        number, fields = self.dialect.quoted(_ROW_NUMBER), self._quoted(plan.input.fields)
        if plan.number is not None:
            fields.append(f"{self.dialect.rank(number)} AS {self.dialect.quoted(plan.number)}")
        call = f"{plan.ties or 'row_number'}() OVER ({by}{ordered})"
        conditions = [f"{number} > {plan.offset}"] if plan.offset else []
        if plan.limit is not None:
            conditions.append(f"{number} <= {plan.offset + plan.limit}")
        shown = "" if self.carry or plan.partition else f" ORDER BY {number}"
        numbered = f"SELECT *, {call} AS {number} FROM ({self._over(plan.input, beneath)})"
        return f"SELECT {self._listed(fields)} FROM ({numbered}) WHERE {' AND '.join(conditions) or 'true'}{shown}"

    def _session(self, plan: Session) -> str:
        """A row begins a session if no row is less than a gap before it; the beginnings are counted."""
        beneath: Beneath = {}
        partition = [self.dialect.partition_key(item, plan.input, beneath) for item in plan.keys] + self._carried
        over = f"OVER (PARTITION BY {', '.join(partition or ['1'])}"
        ordered = f"{over} ORDER BY __time)"
        timed = (
            f"SELECT *, {self.dialect.value(plan.time, plan.input)} AS __time FROM ({self._over(plan.input, beneath)})"
        )
        rows = f"({timed}) WHERE __time IS NOT NULL"
        (before,), rows = self._named({"__before": f"lag(__time) {ordered}"}, rows)
        goes_on = f"__time {'<=' if plan.touching else '<'} {self.dialect.later(plan, before)}"
        begins = f"SELECT *, if({goes_on}, 0, 1) AS __begins FROM {rows}"
        numbered = f"(SELECT *, sum(__begins) {ordered} AS __number FROM ({begins}))"
        ends = {name: f"{call}(__time) {over}, __number)" for name, call in (("__first", "min"), ("__last", "max"))}
        (first, last), rows = self._named(ends, numbered)
        fields = [
            *self._quoted(plan.input.fields),
            f"{first} AS {self.dialect.quoted(plan.start)}",
            f"{self.dialect.later(plan, last)} AS {self.dialect.quoted(plan.end)}",
        ]
        return f"SELECT {self._listed(fields)} FROM {rows}"

    def _named(self, calls: Mapping[str, str], rows: str) -> tuple[list[str], str]:
        """Window calls over rows, and the rows; calls that may not stand within an expression become their columns."""
        if self.dialect.nests_calls:
            return [*calls.values()], rows
        items = ", ".join(f"{call} AS {name}" for name, call in calls.items())
        return [*calls], f"(SELECT *, {items} FROM {rows})"

    def _recompute(self, plan: Recompute) -> str:
        text = self.dialect.recomputed(plan)
        if self.carry:
            raise InternalError(Diagnostic("RECOMPUTE_INSIDE", "a recomputed query has no rows to carry"))
        inner = [f"({self.sql(relation)})" for relation in plan.relations]
        return f"SELECT * FROM ({filled(text, inner)}) AS __recomputed({', '.join(self._quoted(plan.outputs))})"
