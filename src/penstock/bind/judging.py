"""Readers that judge rows by their waterline: windows and what else goes by time (SEMANTICS D).

A watermark of dialect flink drops nothing at its table. Who reads the rows takes those that came in time for it:

    rows                          with the waterlines that they keep, hidden
    → Filter(judges)              those that came in time; the others go to `error_view`
    → windows …                   as over any rows

Where rows can be taken back, or where nothing tells how far time had got when they came, all of them are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.analysis.changelog import append_only
from penstock.analysis.row_waterlines import is_judged, is_row_waterline, with_waterlines
from penstock.analysis.views import tables_read
from penstock.analysis.waterline import Reader
from penstock.bind.level import Level
from penstock.bind.scalars import fields_of, scalar_of
from penstock.catalog.model import Catalog
from penstock.plan.nodes import Filter, Plan, Project
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import column, column_tree
from penstock.sql.trees import call, replace_nodes


@dataclass(frozen=True)
class Judging:
    """The rows of a reader with what their waterline is computed from, and the waterline itself."""

    plan: Plan
    waterline: exp.Expression

    def timely(self, condition: exp.Expression, *, reports: bool = True) -> Judging:
        """The rows for which a condition on their waterline holds, or that have none yet.

        The others are reported, unless they are parts of rows that may be taken nevertheless.
        """
        taken = call("coalesce", condition, exp.Boolean(this=True))
        return replace(self, plan=Filter(self.plan, scalar_of(taken, fields_of(self.plan)), judges=reports))

    def not_before(self, time: exp.Expression) -> Judging:
        """The rows whose time is not before their waterline."""
        return self.timely(exp.GTE(this=time.copy(), expression=self.waterline.copy()))

    def rows(self) -> Plan:
        """The rows without what is hidden."""
        return shown_of(self.plan)


def judging(plan: Plan, time: exp.Expression, level: Level) -> Judging | None:
    """The rows of a reader that goes by a time, with the waterline of that; None if it takes all of them."""
    return judging_by(plan, time, level.context.catalog)


def judging_by(plan: Plan, time: exp.Expression, catalog: Catalog) -> Judging | None:
    """The same for a catalog."""
    if not _reads_judged(plan, catalog) or not append_only(plan, catalog):
        return None
    known = Reader(catalog, of_rows=True)
    types = {item.name: item.type for item in plan.fields}
    line = known.bound(scalar_of(time, fields_of(plan)).form, known.of(plan), types)
    if line is None or not is_judged(line, catalog):
        return None
    widened = with_waterlines(plan, line.sources, catalog)
    if widened is None or not widened.names:
        return None
    names = {source.name: widened.names.get(source) for source in line.sources}

    def kept(node: exp.Expression) -> exp.Expression | None:
        if not isinstance(node, exp.Column):
            return None
        name = names.get(node.name)
        return exp.Null() if name is None else column_tree(name)

    return Judging(widened.plan, replace_nodes(parse_scalar(line.text), kept))


def rows_not_before(plan: Plan, time: exp.Expression, level: Level) -> Plan:
    """The rows whose time is not before their waterline: those that a reader takes which goes by the time itself."""
    found = judging(plan, time, level)
    return plan if found is None else found.not_before(time).rows()


def shown_of(plan: Plan) -> Plan:
    """The rows without the columns that keep waterlines."""
    shown = [item for item in plan.fields if not is_row_waterline(item.name)]
    return Project(plan, tuple((item.name, column(item.name, item.type, item.nullable)) for item in shown))


def _reads_judged(plan: Plan, catalog: Catalog) -> bool:
    return any(
        item.lateness is not None and not item.lateness.drops
        for table in tables_read(plan, catalog)
        for item in table.columns
    )
