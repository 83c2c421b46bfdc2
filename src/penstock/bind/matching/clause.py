"""MATCH_RECOGNIZE over a relation of FROM (SQL:2016, R010).

    relation → rows with a time → Window (numbers, PREV, NEXT) → what the matcher reads → MatchRecognize → MEASURES

Rows follow one another by ORDER BY, and where that leaves them tied by the whole row. A row whose first value of ORDER
BY is NULL is in no match, as a row without a time is in no window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.judging import rows_not_before
from penstock.bind.level import Level
from penstock.bind.matching.conditions import condition_of
from penstock.bind.matching.looking import Computed, Leaf, Looking
from penstock.bind.matching.rows import NUMBER, Rows
from penstock.bind.matching.variables import Variables, definitions, skip_of, variables_of
from penstock.bind.relation import aliased
from penstock.bind.row_order.whole_row import Row, whole_row
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.scope import Relation
from penstock.bind.taking_in import Windows
from penstock.bind.time_windows.times import with_time
from penstock.bind.windows.over import windowed
from penstock.catalog.types import Type, is_decimal
from penstock.plan.matching import OWN, REACH, Code, MatchRecognize, Taken, Told
from penstock.plan.nodes import Plan, Project
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.complaints import wrong
from penstock.sql.nodes import RowMatches
from penstock.sql.text import span_of, spark_sql
from penstock.sql.trees import call_name, directions, replace_nodes
from penstock.types.durations import Duration, duration_of

REACHED, MATCHED = "__reach", "__matched"


def bind_match_recognize(tree: RowMatches, level: Level) -> Relation:
    """The matches in a relation's rows, under the names of their columns."""
    known = variables_of(tree)
    inner = Level(level.context)
    plan, inner.scope = inner.bind_relation(tree.this)
    inner.remember_fields(plan)
    bound = _Clause(tree, inner, known)
    found = bound.over(bound.with_time(plan))
    return aliased(found, tree, level, str(tree.this.alias_or_name) or "match")


@dataclass
class _Shown:
    """A column that the query sees: its name, and its value over the node's columns."""

    name: str
    value: exp.Expression


class _Clause:
    def __init__(self, tree: RowMatches, inner: Level, known: Variables) -> None:
        self.tree, self.inner, self.known = tree, inner, known
        self.shows = tree.args["rows"].name
        self.partition = [self._partitioned(item) for item in tree.args.get("partition_by") or []]
        self.order = self._ordered()
        self.rows = Rows(inner, self.partition, self.order)
        self.outputs: dict[str, Taken | Told] = {}

    def _partitioned(self, item: exp.Expression) -> exp.Expression:
        if not isinstance(item, exp.Column):
            hint = "give the value a name in a query in FROM"
            raise wrong(
                code="MATCH_CLAUSE", message="PARTITION BY in MATCH_RECOGNIZE names columns", place=item, hint=hint
            )
        return self.inner.bind(item)

    def _ordered(self) -> list[exp.Expression]:
        order = self.tree.args.get("order")
        if order is None:
            hint = "MATCH_RECOGNIZE (ORDER BY a_time_column …): rows follow one another by their time"
            raise wrong(code="MATCH_ORDER", message="MATCH_RECOGNIZE needs ORDER BY", place=self.tree, hint=hint)
        found = []
        for item in order.expressions:
            copy = item.copy()
            copy.set("this", self.inner.bind(item.this))
            found.append(copy)
        return found

    @property
    def first(self) -> exp.Expression:
        """The first value of ORDER BY."""
        found: exp.Expression = self.order[0].this
        return found

    @property
    def ascends(self) -> bool:
        """True if rows follow one another by a time that goes up."""
        return self.inner.scalar(self.first).type == "timestamp" and not directions(self.order[0])[0]

    def with_time(self, plan: Plan) -> Plan:
        """The rows that have a first value of ORDER BY and are not late."""
        taking_in = self.inner.context.taking_in
        if self.ascends:
            plan = rows_not_before(plan, self.first, self.inner)
        if taking_in is not None and self.ascends:
            plan = taking_in.gated(plan, self.first, Windows(None))
        return with_time(plan, self.first)

    def over(self, plan: Plan) -> BoundQuery:
        """The node over the rows, and what the query sees."""
        define = {name: (item, self._defined(name, item)) for name, item in definitions(self.tree, self.known).items()}
        measures = self._measures()
        shown = self._shown(measures)
        time = self._time() if self.ascends else None
        within = self._within(time)
        below, names = self._below(plan)
        node = MatchRecognize(
            below,
            tuple(scalar_of(column_tree(names[spark_sql(item)]), fields_of(below)) for item in self.partition),
            NUMBER,
            time,
            tuple(self.rows.reads),
            self.known.pattern,
            tuple((name, code) for name, (_, code) in define.items()),
            self.known.subsets,
            tuple(self.outputs.values()),
            self.shows,
            skip_of(self.tree, self.known),
            within,
            self._written({name: item for name, (item, _) in define.items()}),
            span_of(self.tree),
        )
        fields = fields_of(node)
        items = [(item.name, scalar_of(item.value, fields)) for item in shown]
        told_apart = zip(unique_names([name for name, _ in items]), (scalar for _, scalar in items), strict=True)
        return BoundQuery(Project(node, tuple(told_apart)), tuple(name for name, _ in items))

    def _defined(self, name: str, item: exp.Expression) -> Code:
        looking = Looking(self.rows, self.known, name, flink=self._flink)
        return condition_of(looking.read(item), looking)

    @property
    def _flink(self) -> bool:
        return self.inner.context.catalog.settings.get("dialect") == "flink"

    def _written(self, define: dict[str, exp.Expression]) -> tuple[tuple[str, Scalar], ...]:
        skip = self.tree.args.get("skip")
        found = [(name, Scalar(spark_sql(item), item, "boolean", span=span_of(item))) for name, item in define.items()]
        if skip is not None and skip.meta.get("variable") is not None:
            variable = skip.meta["variable"]
            text = f"SKIP TO {'FIRST ' if skip.name == 'first' else ''}{variable.name}"
            found.append(("", Scalar(text, skip, span=span_of(variable))))
        return tuple(found)

    def _time(self) -> str:
        """The column of the time in microseconds."""
        read = self.rows.read(self.first, "timestamp", self.tree)
        self.outputs[REACHED] = Told(REACHED, REACH, "longs", "bigint")
        return self.rows.reads[read]

    def _within(self, time: str | None) -> int | None:
        written = self.tree.args.get("within")
        if written is None:
            return None
        if time is None:
            message = "WITHIN needs rows that are ordered by a TIMESTAMP, ascending"
            raise wrong(code="MATCH_CLAUSE", message=message, place=written, hint="ORDER BY a_time_column")
        found: Duration = duration_of(written)
        if found.months:
            message = "WITHIN takes a fixed length, without months"
            raise wrong(code="MATCH_CLAUSE", message=message, place=written, hint="write it in days")
        return found.micros

    def _measures(self) -> list[_Shown]:
        looking = Looking(self.rows, self.known, flink=self._flink)
        listed = self.tree.args.get("measures") or []
        found = [_Shown(item.alias, looking.read(self._with_rowtime(item.this))) for item in listed]
        for name, leaf in looking.leaves.items():
            self.outputs[name] = self._output(name, leaf)
        return [_Shown(item.name, self._if_matched(item.value)) for item in found]

    def _with_rowtime(self, tree: exp.Expression) -> exp.Expression:
        """The measure with LAST(time) for MATCH_ROWTIME(), the time of a match's last row."""
        time = self.tree.args["order"].expressions[0].this
        last = exp.Anonymous(this="LAST", expressions=[time])
        return tree.transform(lambda node: last.copy() if call_name(node) == "match_rowtime" else node)

    def _if_matched(self, value: exp.Expression) -> exp.Expression:
        """A measure, which a row without a match does not have."""
        if self.shows != "unmatched":
            return value
        self.outputs[MATCHED] = Told(MATCHED, ("matched",), "longs", "bigint")
        there = exp.Not(this=exp.Is(this=column_tree(MATCHED), expression=exp.Null()))
        return exp.Case(ifs=[exp.If(this=there, true=value)])

    def _output(self, name: str, leaf: Leaf) -> Taken | Told:
        if isinstance(leaf, Computed):
            return Told(name, leaf.code, _shape(leaf.type), leaf.type)
        return Taken(name, leaf.row, self.rows.column(leaf.tree))

    def _shown(self, measures: list[_Shown]) -> list[_Shown]:
        """PARTITION BY and the measures; where each row is shown ORDER BY before them, and the other columns behind."""
        listed = {spark_sql(item.tree): item.name for item in self.inner.scope.star() or ()}
        front = list(self.partition)
        if self.shows != "one":
            front += [item.this for item in self.order if spark_sql(item.this) in listed]
        before = self._columns(front, listed)
        if self.shows == "one":
            return before + measures
        chosen = {spark_sql(item) for item in front}
        rest = [item.tree for item in self.inner.scope.star() or () if spark_sql(item.tree) not in chosen]
        return before + measures + self._columns(rest, listed)

    def _columns(self, trees: Sequence[exp.Expression], names: dict[str, str]) -> list[_Shown]:
        found = []
        for text, tree in {spark_sql(tree): tree for tree in trees}.items():
            output = f"__own{len(self.outputs)}"
            self.outputs[output] = Taken(output, OWN, self.rows.column(tree))
            found.append(_Shown(names.get(text, tree.name), column_tree(output)))
        return found

    def _below(self, plan: Plan) -> tuple[Plan, dict[str, str]]:
        """The rows with the columns that the node reads, and the names of these by their texts."""
        for item in self.partition:
            self.rows.column(item)
        row = whole_row(plan, self.inner.scope)
        named = [*self.rows.columns.values()]
        plan, trees = self._looked_around(plan, [tree for _, tree in named], row)
        numbered, (number,) = windowed(plan, [self.rows.number], row, self.inner)
        fields = fields_of(numbered)
        items = [(name, scalar_of(tree, fields)) for (name, _), tree in zip(named, trees, strict=True)]
        below = Project(numbered, (*items, (NUMBER, scalar_of(number, fields))))
        return below, {text: name for text, (name, _) in self.rows.columns.items()}

    def _looked_around(self, plan: Plan, trees: list[exp.Expression], row: Row) -> tuple[Plan, list[exp.Expression]]:
        """The rows with PREV and NEXT beside them, as columns that rows are kept with, and the trees over these."""
        found, trees = windowed(plan, trees, row, self.inner)
        added = {name: f"__around{place}" for place, name in enumerate(found.names[len(plan.names) :])}
        if not added:
            return plan, trees
        items = (
            (added.get(item.name, item.name), column(item.name, item.type, item.nullable)) for item in found.fields
        )
        self.inner.remember_fields(around := Project(found, tuple(items)))
        return around, [replace_nodes(tree, lambda node: _renamed(node, added)) for tree in trees]


def _renamed(node: exp.Expression, names: Mapping[str, str]) -> exp.Expression | None:
    return column_tree(names[node.name]) if isinstance(node, exp.Column) and node.name in names else None


def _shape(kind: Type) -> str:
    """The shape in which the matcher hands over a value of a type."""
    if kind == "double":
        return "doubles"
    return "texts" if kind == "string" or is_decimal(kind) else "longs"
