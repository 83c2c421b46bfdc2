"""The row's waterline: how far time had got before the step in which the last part of a row came (SEMANTICS D).

Rows of tables of dialect flink keep the waterlines of all tables in hidden columns (`bind.program.watermarks`). A
reader that judges rows asks for those of some tables, and gets the same relation with a column more for each:

    e JOIN f ON …        greatest(that of the row of e, that of the row of f): waterlines never go back
    e UNION ALL f        that of the row, whichever it is of
    a view               its query, since the view itself does not keep them

Whatever later rows have in such a column is not below the waterline of the table as it is now: it has a waterline, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import assert_never, cast

from penstock.analysis.derived import Derived, SourceColumn
from penstock.analysis.views import column_read, views_read
from penstock.catalog.model import Catalog, Column, Table, View
from penstock.catalog.reserved import ROW_WATERLINE, WATERLINE, WATERLINES
from penstock.catalog.types import Type, plain_type
from penstock.plan.expressions import reads_tables
from penstock.plan.forms import Call, Cast, Constant, Form, Reference, references
from penstock.plan.node import Field
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
    JoinKind,
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
from penstock.plan.scalar import Scalar, column, parsed, quoted, scalar_of

Names = Mapping[SourceColumn, str]
_NONE: Names = {}


@dataclass(frozen=True)
class WithWaterlines:
    """A relation with hidden columns behind its own: for each source the one that has its waterline."""

    plan: Plan
    names: Names


def with_waterlines(plan: Plan, sources: frozenset[SourceColumn], catalog: Catalog) -> WithWaterlines | None:
    """The relation with the waterlines that its rows keep of these sources; None if an operator does not hand them on.

    A row without any part that keeps the waterline of a source has none of it: NULL.
    """
    return _Widener(catalog, sources, count(_free_number(plan, catalog))).of(plan)


def _free_number(plan: Plan, catalog: Catalog) -> int:
    """The number from which on no column of the plan, or of a view that it reads, is named."""
    plans = [plan, *(view.plan for view in views_read(plan, catalog) if view.plan is not None)]
    names = (name for item in plans for node in item.walk() for name in node.names if name.startswith(ROW_WATERLINE))
    return max((int(name.removeprefix(ROW_WATERLINE)) + 1 for name in names), default=0)


def is_judged(derived: Derived, catalog: Catalog) -> bool:
    """True for the waterline of rows that their tables do not judge themselves."""
    return not derived.reads_clock and any(not _column(source, catalog).drops for source in derived.sources)


@dataclass(frozen=True)
class _Source:
    drops: bool
    type: Type


def _column(source: SourceColumn, catalog: Catalog) -> _Source:
    relation = catalog.relation(source.relation)
    found = relation.column(source.column) if isinstance(relation, Table) else None
    lateness = None if found is None else found.lateness
    return _Source(lateness is None or lateness.drops, "timestamp" if found is None else plain_type(found.type))


@dataclass
class _Widener:
    catalog: Catalog
    sources: frozenset[SourceColumn]
    numbers: Iterator[int]

    def of(self, plan: Plan) -> WithWaterlines | None:
        node = cast("Node", plan)
        match node:
            case Scan():
                return self._scan(node)
            case Values():
                return WithWaterlines(node, _NONE)
            case Project():
                return self._project(node)
            case Filter() | Generate() | Arriving() | Arrived():
                return self._through(node)
            case UnionAll():
                return self._union(node)
            case Join():
                return self._join(node)
            # What these give is of several rows, or may be taken back: then nobody judges it.
            case AsofJoin() | Aggregate() | Distinct() | SetOperation() | TopK() | Window() | Session():
                return None
            case MatchRecognize() | Recompute() | Fixpoint():
                return None
            case _:
                assert_never(node)

    def _through(self, node: Filter | Generate | Arriving | Arrived) -> WithWaterlines | None:
        below = self.of(node.input)
        return None if below is None else WithWaterlines(node.with_inputs(below.plan), below.names)

    def _project(self, node: Project) -> WithWaterlines | None:
        below = self.of(node.input)
        if below is None:
            return None
        hidden = tuple((name, self._of(below.plan, name)) for name in below.names.values())
        return WithWaterlines(Project(below.plan, (*node.items, *hidden)), below.names)

    def _scan(self, scan: Scan) -> WithWaterlines | None:
        relation = self.catalog.relation(scan.relation)
        if isinstance(relation, Table):
            return self._table(scan, relation)
        return None if relation is None else self._view(scan, relation)

    def _table(self, scan: Scan, table: Table) -> WithWaterlines:
        names = [item.name for item in table.columns]
        read = {column_read(scan, name, tuple(names)): name for name in scan.names}
        found = {source: kept for source in sorted(self.sources) if (kept := self._kept(source, table, read))}
        hidden = {source: f"{ROW_WATERLINE}{next(self.numbers)}" for source in found}
        items = [(item.name, column(item.name, item.type, item.nullable)) for item in scan.fields]
        items += [(hidden[source], kept) for source, kept in found.items()]
        return WithWaterlines(Project(scan, tuple(items)) if found else scan, hidden)

    def _kept(self, source: SourceColumn, table: Table, read: Mapping[str | None, str]) -> Scalar | None:
        """The waterline of a source that a row of a table keeps; None if it keeps none."""
        kind = _column(source, self.catalog).type
        own = WATERLINE + source.column
        if source.relation.lower() == table.name.lower():
            return column(read[own], kind) if own in read else None
        return _of_text(source, read[WATERLINES], kind) if WATERLINES in read else None

    def _view(self, scan: Scan, view: View) -> WithWaterlines | None:
        """The plan of the view; rows of one that has kept what they found when they came are not made again."""
        if view.plan is None or view.recursive or view.lateness:
            return None
        if any(isinstance(node, Arrived | Arriving) for node in view.plan.walk()):
            return None
        below = self.of(view.plan)
        if below is None:
            return None
        places = {item.name.lower(): place for place, item in enumerate(view.columns)}
        names = tuple(item.name for item in view.columns)
        read = [(item, column_read(scan, item.name, names)) for item in scan.fields]
        inner = [(item, view.plan.fields[places[name.lower()]]) for item, name in read if name is not None]
        if len(inner) < len(read):
            return None
        items = [(item.name, column(of.name, of.type, of.nullable)) for item, of in inner]
        items += [(name, self._of(below.plan, name)) for name in below.names.values()]
        return WithWaterlines(Project(below.plan, tuple(items)), below.names)

    def _union(self, node: UnionAll) -> WithWaterlines | None:
        branches = [self.of(item) for item in node.branches]
        known = [item for item in branches if item is not None]
        if len(known) < len(branches):
            return None
        sources = sorted({source for item in known for source in item.names})
        names = {source: f"{ROW_WATERLINE}{next(self.numbers)}" for source in sources}
        widened = [self._branch(item, old, names) for item, old in zip(known, node.branches, strict=True)]
        hidden = tuple(Field(name, _column(source, self.catalog).type) for source, name in names.items())
        return WithWaterlines(UnionAll(tuple(widened), (*node.outputs, *hidden)), names)

    def _branch(self, found: WithWaterlines, branch: Plan, names: Names) -> Plan:
        items = [(item.name, column(item.name, item.type, item.nullable)) for item in branch.fields]
        for source, name in names.items():
            own = found.names.get(source)
            missing = _null(_column(source, self.catalog).type)
            items.append((name, missing if own is None else self._of(found.plan, own)))
        return Project(found.plan, tuple(items))

    def _join(self, node: Join) -> WithWaterlines | None:
        """A pair comes with the later one of both sides; beside rows that never change, with its own row."""
        left, right = self.of(node.left), self.of(node.right)
        if left is None or right is None:
            return None
        if node.kind is not JoinKind.INNER and not (node.kind is JoinKind.LEFT and not reads_tables(node.right)):
            return None
        sources = {**left.names, **right.names}
        for side, found in ((node.left, left), (node.right, right)):
            if len(found.names) < len(sources) and reads_tables(side):
                return None  # nothing tells how far time had got when a row of this side came
        joined = node.with_inputs(left.plan, right.plan)
        together = {source: (left.names.get(source), right.names.get(source)) for source in sources}
        names = {source: f"{ROW_WATERLINE}{next(self.numbers)}" for source in together}
        items = [(item.name, column(item.name, item.type, item.nullable)) for item in node.fields]
        for source, both in together.items():
            items.append((names[source], reduce(_later, [self._of(joined, name) for name in both if name is not None])))
        return WithWaterlines(Project(joined, tuple(items)), names)

    @staticmethod
    def _of(plan: Plan, name: str) -> Scalar:
        kind = next(item.type for item in plan.fields if item.name == name)
        return column(name, kind)


def _later(one: Scalar, other: Scalar) -> Scalar:
    """The later one of two waterlines, of which either may not be there yet."""
    return scalar_of(Call("greatest", (one.form, other.form)), one.type)


def _null(kind: Type) -> Scalar:
    return scalar_of(parsed(f"CAST(NULL AS {kind})"), kind)


def _of_text(source: SourceColumn, text: str, kind: Type) -> Scalar:
    """The waterline of another table in the text that a row keeps."""
    there = f"get_json_object({quoted(text)}, '$.{source.key}')"
    if kind == "timestamp":
        return scalar_of(parsed(f"timestamp_micros(CAST({there} AS BIGINT))"), kind)
    if kind == "date":
        return scalar_of(parsed(f"date_from_unix_date(CAST({there} AS INT))"), kind)
    return scalar_of(parsed(f"CAST({there} AS {kind})"), kind)


def keeps_waterlines(form: Form) -> bool:
    """True for what reads nothing but waterlines that rows keep: once it is not NULL, it is so for no later row."""
    names = references(form)
    return bool(names) and all(is_row_waterline(name) for name in names)


def is_row_waterline(name: str) -> bool:
    """True for the name of a column that keeps a waterline, or the text of several."""
    last = name.rpartition(".")[2]
    return last.startswith((ROW_WATERLINE, WATERLINE)) or last == WATERLINES


def source_in_text(form: Form, catalog: Catalog) -> SourceColumn | None:
    """The source whose waterline an expression takes from the text that a row keeps (`_of_text`)."""
    match form:
        case Call("timestamp_micros" | "date_from_unix_date", (Cast(inner),)) | Cast(inner):
            key = _key_in(inner)
        case _:
            return None
    known = (SourceColumn(table.name, item.name) for table in catalog.tables.values() for item in _bounded(table))
    return next((source for source in known if source.key == key), None)


def _key_in(form: Form) -> str | None:
    match form:
        case Call("get_json_object", (Reference(name), Constant(path))) if is_row_waterline(name):
            return path.removeprefix("$.")
        case _:
            return None


def _bounded(table: Table) -> list[Column]:
    return [item for item in table.columns if item.lateness is not None]
