"""Plans as DuckDB's SQL, each node with the meaning that `spark.render` gives it.

The three readings are the same: what is carried is empty, the weight of a change, or the version of a row, which is one
more key of every grouping, partition and join. Whatever is not proven raises `NotProvenError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never, cast

from penstock.backends.native.aggregates import Calls, Reader, Types, aggregated
from penstock.backends.native.comparing import key, sorted_by
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.generators import generate_query
from penstock.backends.native.joins import asof_query, join_query
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.backends.native.scalars import proven
from penstock.backends.native.windows import windowed
from penstock.catalog.types import Type
from penstock.plan.forms import Call, Cast, Constant, FieldOf, Form, Opaque, Reference, called, swapped
from penstock.plan.nodes import (
    Aggregate,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    SortKey,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar

_ROW_NUMBER = "__row"


@dataclass(frozen=True)
class Renderer:
    """Renders plans whose leaves are known relations.

    `relations` maps a leaf's lower-case name to a relation as it stands in FROM; `scalar` proves an expression over
    fields of these types.
    """

    relations: Mapping[str, str]
    carry: tuple[str, ...] = ()
    scalar: Reader = proven

    def sql(self, plan: Plan) -> str:
        """The query for a plan: its fields in order, then what is carried."""
        node = cast("Node", plan)
        match node:
            case Scan():
                return f"SELECT {self._names(node.fields)} FROM {self._relation(node)}"
            case Values():
                return self._values(node)
            case Project():
                items = [f"{self._item(node.input, name, scalar)}" for name, scalar in node.items]
                return f"SELECT {self._listed(items)} FROM ({self.sql(node.input)})"
            case Filter():
                rows = f"SELECT {self._names(node.fields)} FROM ({self.sql(node.input)})"
                return f"{rows} WHERE {self._proven(node.input, node.condition).text}"
            case UnionAll():
                branches = [self._side(branch, node.fields) for branch in node.branches]
                return " UNION ALL ".join(f"({branch})" for branch in branches)
            case Generate():
                return generate_query(node, self.sql(node.input), self.scalar, self.carry)
            case Join():
                return join_query(node, self.sql(node.left), self.sql(node.right), self.scalar, self.carry)
            case AsofJoin():
                return asof_query(node, self.sql(node.left), self.sql(node.right), self.scalar, self.carry)
            case Aggregate():
                return self._aggregate(node)
            case Distinct():
                return f"SELECT DISTINCT {self._listed(self._keys(node.fields))} FROM ({self.sql(node.input)})"
            case SetOperation():
                words = node.kind.value.upper() + (" ALL" if node.all else "")
                left, right = (self._side(side, node.fields, distinct=True) for side in (node.left, node.right))
                return f"({left}) {words} ({right})"
            case TopK():
                return self._top(node)
            case Window():
                return self._window(node)
            case Session():
                return self._session(node)
            case Recompute():
                raise NotProvenError(what="a query that is recomputed")
            case Fixpoint():
                raise NotProvenError(what="a recursion")
            case _:
                assert_never(node)

    def _relation(self, scan: Scan) -> str:
        for item in scan.fields:
            _column(item)
        return self.relations[scan.relation.lower()]

    def _proven(self, below: Plan, scalar: Scalar) -> Proven:
        """An expression over the fields of a node, whose type is the one that the plan has for it."""
        found = self.scalar(without_structs(scalar.form), types_of(below))
        _agree(scalar.text, scalar.type, found.type)
        return found

    def _item(self, below: Plan, name: str, scalar: Scalar) -> str:
        return f"{self._proven(below, scalar).text} AS {quoted(name)}"

    def _listed(self, items: list[str]) -> str:
        return ", ".join([*items, *map(quoted, self.carry)]) or '1 AS "__none"'

    def _names(self, fields: tuple[Field, ...]) -> str:
        return self._listed([quoted(item.name) for item in fields])

    def _keys(self, fields: tuple[Field, ...]) -> list[str]:
        """The fields as keys: equal rows look alike."""
        return [f"{key(column)} AS {column.text}" for column in map(_column, fields)]

    def _values(self, plan: Values) -> str:
        if not plan.outputs:
            carried = ", ".join(f"1 AS {quoted(name)}" for name in self.carry) or '1 AS "__none"'
            return " UNION ALL ".join(f"SELECT {carried}" for _ in plan.rows)
        if self.carry:
            raise NotProvenError(what="constant rows that carry something")
        rows = ", ".join(f"({', '.join(self._cells(plan, row))})" for row in plan.rows)
        names = ", ".join(quoted(item.name) for item in plan.outputs)
        return f"SELECT * FROM (VALUES {rows}) AS __values({names})"

    def _cells(self, plan: Values, row: tuple[Scalar, ...]) -> list[str]:
        """The values of a row, of the types that they have beside those of the other rows."""
        cells = []
        for scalar, item in zip(row, plan.outputs, strict=True):
            cell = self.scalar(scalar.form, {})
            if item.type is not None and cell.type != item.type:
                cell = self.scalar(Cast(scalar.form, item.type), {})
            cells.append(cell.text)
        return cells

    def _side(self, plan: Plan, fields: tuple[Field, ...], *, distinct: bool = False) -> str:
        """The rows of a node under other names."""
        items = []
        for have, wanted in zip(plan.fields, fields, strict=True):
            _agree(have.name, wanted.type, have.type)
            column = _column(have)
            items.append(f"{key(column) if distinct else column.text} AS {quoted(wanted.name)}")
        return f"SELECT {self._listed(items)} FROM ({self.sql(plan)})"

    def _aggregate(self, plan: Aggregate) -> str:
        calls = Calls()
        groups = [self._proven(plan.input, scalar) for _, scalar in plan.groups]
        answers = []
        for name, call in plan.aggregates:
            answer = aggregated(call.call.form, types_of(plan.input), self.scalar, calls)
            _agree(call.call.text, call.call.type, answer.type)
            answers.append(f"{answer.text} AS {quoted(name)}")
        if not plan.groups and self.carry:
            return self._whole(plan, calls, answers)
        # Grouping happens on a projection, so that a group's name may be that of another field.
        keys = [f'"__g{position}"' for position in range(len(groups))]
        inner = ", ".join(["*", *(f"{key(group)} AS {name}" for name, group in zip(keys, groups, strict=True))])
        by = [*keys, *map(quoted, self.carry)]
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        found = ", ".join([*by, *calls.items])
        source = f"SELECT {found} FROM (SELECT {inner} FROM ({self.sql(plan.input)})){grouped}"
        named = [f"{text} AS {quoted(name)}" for text, (name, _) in zip(keys, plan.groups, strict=True)]
        return f"SELECT {self._listed(named + answers)} FROM ({source})"

    def _whole(self, plan: Aggregate, calls: Calls, answers: list[str]) -> str:
        """An answer for each version, also over no rows."""
        (version,) = map(quoted, self.carry)
        parts = (
            f"SELECT {', '.join([*calls.items, f'{value} AS {version}'])} FROM __source WHERE {version} = {value}"
            for value in (0, 1)
        )
        source = f"WITH __source AS MATERIALIZED ({self.sql(plan.input)}) {' UNION ALL '.join(parts)}"
        return f"SELECT {self._listed(answers)} FROM ({source})"

    def _window(self, plan: Window) -> str:
        calls, answers = Calls(), []
        for name, call in plan.calls:
            answer = windowed(call.form, types_of(plan.input), self.scalar, self.carry, calls)
            _agree(call.text, call.type, answer.type)
            answers.append(f"{answer.text} AS {quoted(name)}")
        fields = [quoted(item.name) for item in plan.input.fields]
        source = f"SELECT {', '.join(['*', *calls.items])} FROM ({self.sql(plan.input)})"
        return f"SELECT {self._listed(fields + answers)} FROM ({source})"

    def _top(self, plan: TopK) -> str:
        order = [self._sort(plan, item) for item in plan.order if not item.value.is_constant]
        if plan.ties is None:
            order += [sorted_by(_column(item)) for item in plan.input.fields]
        ordered = f" ORDER BY {', '.join(order)}" if order else ""
        source, fields = self.sql(plan.input), [quoted(item.name) for item in plan.input.fields]
        if plan.limit is None and not plan.offset and plan.number is None:
            return f"SELECT {self._listed(fields)} FROM ({source}){ordered}"
        if plan.partition or self.carry or plan.ties is not None:
            return self._ranked(plan, source, ordered)
        limit = "" if plan.limit is None else f" LIMIT {plan.limit}"
        offset = f" OFFSET {plan.offset}" if plan.offset else ""
        first = f"SELECT * FROM ({source}){ordered}{limit}{offset}"
        if plan.number is None:
            return first if fields else f"SELECT {self._listed(fields)} FROM ({first})"
        number = f"CAST({plan.offset} + row_number() OVER ({ordered.strip()}) AS INTEGER) AS {quoted(plan.number)}"
        return f"SELECT {self._listed([*fields, number])} FROM ({first})"

    def _ranked(self, plan: TopK, source: str, ordered: str) -> str:
        partition = [key(self._proven(plan.input, item)) for item in plan.partition] + [*map(quoted, self.carry)]
        by = f"PARTITION BY {', '.join(partition)}" if partition else ""
        number = quoted(_ROW_NUMBER)
        fields = [quoted(item.name) for item in plan.input.fields]
        if plan.number is not None:
            fields.append(f"CAST({number} AS INTEGER) AS {quoted(plan.number)}")
        conditions = [f"{number} > {plan.offset}"] if plan.offset else []
        conditions += [] if plan.limit is None else [f"{number} <= {plan.offset + plan.limit}"]
        numbered = f"SELECT *, {plan.ties or 'row_number'}() OVER ({by}{ordered}) AS {number} FROM ({source})"
        return f"SELECT {self._listed(fields)} FROM ({numbered}) WHERE {' AND '.join(conditions) or 'true'}"

    def _sort(self, plan: TopK, item: SortKey) -> str:
        value = self._proven(plan.input, item.value)
        return sorted_by(value, descending=item.descending, nulls_first=item.nulls_first)

    def _session(self, plan: Session) -> str:
        """A row begins a session if no row is less than a gap before it; the beginnings are counted."""
        partition = [key(self._proven(plan.input, item)) for item in plan.keys] + [*map(quoted, self.carry)]
        by = f"PARTITION BY {', '.join(partition)}" if partition else ""
        time = self._proven(plan.input, plan.time)
        fields = [quoted(item.name) for item in plan.input.fields]
        timed = f"SELECT *, {time.text} AS __time FROM ({self.sql(plan.input)})"
        before = (
            f"SELECT *, lag(__time) OVER ({by} ORDER BY __time) AS __before FROM ({timed}) WHERE __time IS NOT NULL"
        )
        goes_on = f"__time {'<=' if plan.touching else '<'} {self._later(plan, '__before', time.type)}"
        begins = f"SELECT *, CASE WHEN {goes_on} THEN 0 ELSE 1 END AS __begins FROM ({before})"
        numbered = f"SELECT *, sum(__begins) OVER ({by} ORDER BY __time) AS __number FROM ({begins})"
        session = f"PARTITION BY {', '.join([*partition, '__number'])}"
        ends = f"SELECT *, min(__time) OVER ({session}) AS __first, max(__time) OVER ({session}) AS __last"
        fields += [
            f"__first AS {quoted(plan.start)}",
            f"{self._later(plan, '__last', time.type)} AS {quoted(plan.end)}",
        ]
        return f"SELECT {self._listed(fields)} FROM ({ends} FROM ({numbered}))"

    def _later(self, plan: Session, name: str, kind: Type) -> str:
        """The end of the gap behind a time."""
        if kind != "timestamp":
            raise NotProvenError(what=f"a session by a {kind}")
        types = {**types_of(plan.input), name: kind}
        found = self.scalar(Call("+", (Reference(name), plan.gap.form)), types)
        _agree(plan.end, kind, found.type)
        return found.text


def types_of(plan: Plan) -> Types:
    """The types of a node's fields by their names."""
    return {item.name: item.type for item in plan.fields}


def without_structs(form: Form) -> Form:
    """The form with the field itself where it is taken out of a STRUCT that is made beside it, as of a session."""

    def field_of(item: Form) -> Form | None:
        parts = called(item.argument, "named_struct") if isinstance(item, FieldOf) else None
        if parts is None or not isinstance(item, FieldOf):
            return None
        named = zip(parts[::2], parts[1::2], strict=True)
        return next((value for name, value in named if isinstance(name, Constant) and name.value == item.name), None)

    return form if any(isinstance(item, Opaque) for item in form.walk()) else swapped(form, field_of)


def _column(item: Field) -> Proven:
    if item.type is None:
        raise NotProvenError(what=f"the column {item.name}, whose type is not known")
    storage(item.type)
    return Proven(quoted(item.name), item.type)


def _agree(what: str, planned: Type | None, found: Type | None) -> None:
    """Refuse an expression whose type is another one in the plan."""
    if planned not in (found, None):
        raise NotProvenError(what=f"{what}, which is {found} here and {planned} in the plan")
