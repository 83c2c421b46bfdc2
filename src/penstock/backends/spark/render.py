"""Plans as Spark SQL text.

One renderer serves three readings of a plan by what each row carries beside the node's own fields:

    carry ()             batch: the node's meaning over whole contents
    carry (__weight,)    a change: linear nodes pass each row's weight through
    carry (__version,)   touched keys: old rows (0) and new rows (1) in one pass; every grouping, partition and
                         join has the version as one more key, so the two never meet
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never, cast

from penstock.backends.spark.asof import asof_query
from penstock.catalog.functions import IN_FROM_ONLY
from penstock.catalog.sorting import sortable
from penstock.errors import Diagnostic, InternalError
from penstock.plan.forms import Call
from penstock.plan.nodes import (
    Aggregate,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKind,
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
from penstock.plan.opaque import filled
from penstock.plan.rewording import partitioned_further
from penstock.plan.scalar import Scalar, quoted

VERSION = "__version"
_ROW_NUMBER = "__row"


@dataclass(frozen=True)
class Renderer:
    """Renders plans whose leaves are known relations.

    `relations` maps a leaf's lower-case name to the name of a temporary view; `scalar` may replace what an
    expression says (the clock); `fixpoint` gives the relation that holds the rows of a Fixpoint.
    """

    relations: Mapping[str, str]
    carry: tuple[str, ...] = ()
    scalar: Callable[[Scalar], str] = lambda scalar: scalar.text
    fixpoint: Callable[[Fixpoint], str] | None = None
    text: Callable[[str], str] = lambda text: text

    def sql(self, plan: Plan) -> str:
        """The query for a plan: its fields in order, then what is carried."""
        node = cast("Node", plan)
        match node:
            case Scan():
                return f"SELECT {self._names(node.fields)} FROM {self._relation(node.relation)}"
            case Values():
                return self._values(node)
            case Project():
                items = [f"{self.scalar(scalar)} AS {quoted(name)}" for name, scalar in node.items]
                return f"SELECT {self._listed(items)} FROM ({self.sql(node.input)})"
            case Filter():
                rows = f"SELECT {self._names(node.fields)} FROM ({self.sql(node.input)})"
                return f"{rows} WHERE {self.scalar(node.condition)}"
            case UnionAll():
                return self._union(node)
            case Generate():
                return self._generate(node)
            case Join():
                return self._join(node)
            case AsofJoin():
                return self._asof(node)
            case Aggregate():
                return self._aggregate(node)
            case Distinct():
                return f"SELECT DISTINCT {self._names(node.fields)} FROM ({self.sql(node.input)})"
            case SetOperation():
                return self._set_operation(node)
            case TopK():
                return self._top(node)
            case Window():
                calls = [f"{self.windowed(call)} AS {quoted(name)}" for name, call in node.calls]
                fields = [quoted(field.name) for field in node.input.fields]
                return f"SELECT {self._listed(fields + calls)} FROM ({self.sql(node.input)})"
            case Session():
                return self._session(node)
            case Recompute():
                return self._recompute(node)
            case Fixpoint():
                if self.fixpoint is None:
                    raise InternalError(Diagnostic("FIXPOINT_INSIDE", "a fixpoint stands where none can be evaluated"))
                return f"SELECT {self._names(node.fields)} FROM {self.fixpoint(node)}"
            case _:
                assert_never(node)

    def _relation(self, name: str) -> str:
        return self.relations[name.lower()]

    def _listed(self, items: list[str]) -> str:
        return ", ".join([*items, *(quoted(name) for name in self.carry)]) or "1 AS `__none`"

    def _names(self, fields: tuple[Field, ...]) -> str:
        return self._listed([quoted(field.name) for field in fields])

    def _values(self, plan: Values) -> str:
        if not plan.outputs:
            carried = ", ".join(f"1 AS {quoted(name)}" for name in self.carry) or "1 AS `__none`"
            return " UNION ALL ".join(f"SELECT {carried}" for _ in plan.rows)
        rows = ", ".join(f"({', '.join(self.scalar(item) for item in row)})" for row in plan.rows)
        names = ", ".join(quoted(field.name) for field in plan.outputs)
        return f"SELECT * FROM VALUES {rows} AS __values({names})"

    def _union(self, plan: UnionAll) -> str:
        branches = []
        for branch in plan.branches:
            items = [
                f"{quoted(have)} AS {quoted(field.name)}" for have, field in zip(branch.names, plan.fields, strict=True)
            ]
            branches.append(f"(SELECT {self._listed(items)} FROM ({self.sql(branch)}))")
        return " UNION ALL ".join(branches)

    def _generate(self, plan: Generate) -> str:
        outer = "OUTER " if plan.outer else ""
        # Spark gives a column of LATERAL VIEW another name than the written one if that has a dot.
        columns = [f"__generated_{position}" for position in range(len(plan.outputs))]
        view = f"LATERAL VIEW {outer}{self.scalar(plan.generator)} __generated AS {', '.join(columns)}"
        if isinstance(plan.generator.form, Call) and plan.generator.form.function in IN_FROM_ONLY:
            joined = "LEFT JOIN" if plan.outer else "JOIN"
            view = f"{joined} LATERAL {self.scalar(plan.generator)} AS __generated({', '.join(columns)}) ON true"
        items = [quoted(field.name) for field in plan.input.fields]
        items += [f"{have} AS {quoted(field.name)}" for have, field in zip(columns, plan.outputs, strict=True)]
        return f"SELECT {self._listed(items)} FROM ({self.sql(plan.input)}) {view}"

    def _join(self, plan: Join) -> str:
        if plan.null_aware:
            return self._not_in(plan)
        words = {JoinKind.SEMI: "LEFT SEMI", JoinKind.ANTI: "LEFT ANTI"}.get(
            plan.kind, f"{plan.kind.value.upper()} OUTER"
        )
        if plan.kind == JoinKind.INNER:
            words = "INNER"
        conditions = [self._equality(key.left, key.right, null_safe=key.null_safe) for key in plan.keys]
        if plan.residual is not None:
            conditions.append(f"({self.scalar(plan.residual)})")
        conditions += [f"__left.{quoted(name)} = __right.{quoted(name)}" for name in self.carry]
        items = [quoted(field.name) for field in plan.fields]
        if plan.kind in (JoinKind.FULL, JoinKind.RIGHT):
            items += [
                f"coalesce(__left.{quoted(name)}, __right.{quoted(name)}) AS {quoted(name)}" for name in self.carry
            ]
        else:
            items += [f"__left.{quoted(name)}" for name in self.carry]
        on = f" ON {' AND '.join(conditions)}" if conditions else " ON true"
        left, right = self.sql(plan.left), self.sql(plan.right)
        return f"SELECT {', '.join(items) or '1 AS `__none`'} FROM ({left}) __left {words} JOIN ({right}) __right{on}"

    def _equality(self, left: Scalar, right: Scalar, *, null_safe: bool) -> str:
        return f"({self.scalar(left)}) {'<=>' if null_safe else '='} ({self.scalar(right)})"

    def _not_in(self, plan: Join) -> str:
        """NOT IN with SQL's NULLs: a match, or a comparison that is unknown, removes the row."""
        compared = plan.keys[0]
        unknown = f"coalesce(({self.scalar(compared.left)}) = ({self.scalar(compared.right)}), true)"
        conditions = [unknown]
        conditions += [self._equality(key.left, key.right, null_safe=key.null_safe) for key in plan.keys[1:]]
        if plan.residual is not None:
            conditions.append(f"({self.scalar(plan.residual)})")
        conditions += [f"__left.{quoted(name)} = __right.{quoted(name)}" for name in self.carry]
        left, right = self.sql(plan.left), self.sql(plan.right)
        names = ", ".join(
            [quoted(field.name) for field in plan.fields] + [f"__left.{quoted(name)}" for name in self.carry]
        )
        return f"SELECT {names} FROM ({left}) __left LEFT ANTI JOIN ({right}) __right ON {' AND '.join(conditions)}"

    def _asof(self, plan: AsofJoin) -> str:
        return asof_query(plan, self.sql(plan.left), self.sql(plan.right), self.scalar, self.carry)

    def _aggregate(self, plan: Aggregate) -> str:
        groups = [f"{self.scalar(scalar)} AS {quoted(name)}" for name, scalar in plan.groups]
        calls = [f"{self.scalar(call.call)} AS {quoted(name)}" for name, call in plan.aggregates]
        source = self.sql(plan.input)
        if not plan.groups and self.carry:
            (version,) = self.carry
            parts = (
                f"SELECT {', '.join([*calls, f'{value} AS {quoted(version)}'])} "
                f"FROM ({source}) WHERE {quoted(version)} = {value}"
                for value in (0, 1)
            )
            return " UNION ALL ".join(parts)
        # Grouping happens on a projection, so that a group's name may be that of another field.
        keys = [f"__g{position}" for position in range(len(plan.groups))]
        inner = ", ".join(
            ["*", *(f"{self.scalar(scalar)} AS {key}" for key, (_, scalar) in zip(keys, plan.groups, strict=True))]
        )
        groups = [f"{key} AS {quoted(name)}" for key, (name, _) in zip(keys, plan.groups, strict=True)]
        by = ", ".join([*keys, *(quoted(name) for name in self.carry)])
        grouped = f" GROUP BY {by}" if by else ""
        return f"SELECT {self._listed(groups + calls)} FROM (SELECT {inner} FROM ({source})){grouped}"

    def _set_operation(self, plan: SetOperation) -> str:
        words = plan.kind.value.upper() + (" ALL" if plan.all else "")
        sides = []
        for side in (plan.left, plan.right):
            items = [
                f"{quoted(have)} AS {quoted(field.name)}" for have, field in zip(side.names, plan.fields, strict=True)
            ]
            sides.append(f"(SELECT {self._listed(items)} FROM ({self.sql(side)}))")
        return f" {words} ".join(sides)

    def _top(self, plan: TopK) -> str:
        order = [self._sort(key) for key in plan.order]
        function = "row_number"
        if plan.ties is None:
            order += [f"{sortable(quoted(item.name), item.type)} ASC NULLS FIRST" for item in plan.input.fields]
        else:
            function = plan.ties
        partition = [self.scalar(item) for item in plan.partition] + [quoted(name) for name in self.carry]
        by = f"PARTITION BY {', '.join(partition)} " if partition else ""
        number = quoted(_ROW_NUMBER)
        fields = [quoted(field.name) for field in plan.input.fields]
        if plan.number is not None:
            fields.append(f"{number} AS {quoted(plan.number)}")
        over = f"{by}ORDER BY {', '.join(order) or '1'}"
        numbered = f"SELECT *, {function}() OVER ({over}) AS {number} FROM ({self.sql(plan.input)})"
        if plan.limit is None and not plan.offset and plan.number is None:
            # Nothing is left out: only an answer that is shown has an order at all.
            sorted_by = ", ".join(self._sort(key) for key in plan.order)
            return f"SELECT {self._listed(fields)} FROM ({self.sql(plan.input)}) ORDER BY {sorted_by or '1'}"
        conditions = [f"{number} > {plan.offset}"] if plan.offset else []
        if plan.limit is not None:
            conditions.append(f"{number} <= {plan.offset + plan.limit}")
        shown = "" if self.carry or plan.partition else f" ORDER BY {number}"
        return f"SELECT {self._listed(fields)} FROM ({numbered}) WHERE {' AND '.join(conditions) or 'true'}{shown}"

    def _session(self, plan: Session) -> str:
        """A row begins a session if no row is less than a gap before it; the beginnings are counted."""
        partition = [*map(self.scalar, plan.keys), *(quoted(name) for name in self.carry)]
        over = f"OVER (PARTITION BY {', '.join(partition or ['1'])}"
        ordered, gap = f"{over} ORDER BY __time", self.scalar(plan.gap)
        timed = f"SELECT *, {self.scalar(plan.time)} AS __time FROM ({self.sql(plan.input)})"
        goes_on = f"__time {'<=' if plan.touching else '<'} lag(__time) {ordered}) + {gap}"
        begins = f"SELECT *, if({goes_on}, 0, 1) AS __begins FROM ({timed}) WHERE __time IS NOT NULL"
        numbered = f"SELECT *, sum(__begins) {ordered}) AS __number FROM ({begins})"
        fields = [quoted(field.name) for field in plan.input.fields]
        fields += [
            f"min(__time) {over}, __number) AS {quoted(plan.start)}",
            f"max(__time) {over}, __number) + {gap} AS {quoted(plan.end)}",
        ]
        return f"SELECT {self._listed(fields)} FROM ({numbered})"

    def _sort(self, key: SortKey) -> str:
        direction = "DESC" if key.descending else "ASC"
        return f"{self.scalar(key.value)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"

    def windowed(self, call: Scalar) -> str:
        """A window call whose partition has what is carried as further keys."""
        if not self.carry:
            return self.scalar(call)
        return self.scalar(partitioned_further(call, self.carry))

    def _recompute(self, plan: Recompute) -> str:
        if self.carry:
            raise InternalError(Diagnostic("RECOMPUTE_INSIDE", "a recomputed query has no rows to carry"))
        inner = [f"({self.sql(relation)})" for relation in plan.relations]
        text = filled(self.text(plan.text), inner)
        names = ", ".join(quoted(field.name) for field in plan.outputs)
        return f"SELECT * FROM ({text}) AS __recomputed({names})"
