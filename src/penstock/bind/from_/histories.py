"""The history of a relation: every version of its rows, for who reads it FOR SYSTEM_TIME AS OF a time (C12).

    CREATE TABLE rates (currency STRING PRIMARY KEY, rate INT, at TIMESTAMP LATENESS INTERVAL 1 MINUTE);
    CREATE VIEW rates AS SELECT * FROM quotes
        QUALIFY ROW_NUMBER() OVER (PARTITION BY currency ORDER BY at DESC) = 1;

Both have one: of the table each operation is a version, of the view each row that it chooses from. A projection or a
filter over either has the same history, seen through it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.relation import computed_of, scan
from penstock.bind.scalars import fields_of, scalar_of
from penstock.catalog.model import EVENT_TIME, Catalog, Table, View
from penstock.catalog.reserved import ENDED
from penstock.plan.nodes import Filter, Plan, Project, Scan, TopK
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.trees import conjunction

Columns = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True)
class History:
    """All versions, one row each; of those of one key and time the least row is the version.

    `key` and `time` are fields of the `rows`, the relation's `columns` are made of them. A version that `holds` not is
    no row of the relation: it only ends the one before.
    """

    rows: Plan
    key: tuple[str, ...]
    time: str
    columns: Columns
    holds: Scalar | None = None

    def where(self, condition: Scalar) -> History:
        """The history of the rows that fulfil a condition over the columns."""
        here = condition.over(dict(self.columns))
        parts = [here.tree if self.holds is None else self.holds.tree, *([] if self.holds is None else [here.tree])]
        whole = conjunction([part.copy() for part in parts])
        assert whole is not None  # noqa: S101 - there is a condition
        return replace(self, holds=scalar_of(whole, fields_of(self.rows)))


def history_of(tree: exp.Table, level: Level) -> History | None:
    """The history of the relation that an item of FROM names; None if it has none, or is not there."""
    name = str(tree.name)
    catalog = level.context.catalog
    cte = level.context.ctes.get(name.lower())
    if cte is not None:
        found = _of_plan(cte.plan, catalog)
        names = None if found is None else tuple(zip(cte.names, (item for _, item in found.columns), strict=False))
        return None if found is None or names is None else replace(found, columns=names)
    relation = catalog.relation(name)
    if isinstance(relation, Table):
        return _of_table(relation, tree)
    return None if relation is None else _of_view(relation, catalog)


def _of_table(table: Table, place: exp.Expression | None = None) -> History | None:
    versions, time = table.versions, table.version_time
    if versions is None or time is None:
        return None
    rows = scan(versions, place)
    fields = fields_of(rows)
    listed = [(item.label, item.name) for item in table.shown]
    listed += [] if table.event_time is None else [(EVENT_TIME, table.event_time)]
    columns = [(label, column(name, fields[name].type, fields[name].nullable)) for label, name in listed]
    for item in reversed(table.computed):
        columns.insert(item.place, (item.name, computed_of(item, fields)))
    by_name = {item.name.lower(): item.name for item in versions.columns}
    key = tuple(by_name[name.lower()] for name in table.key)
    holds = scalar_of(exp.Not(this=column_tree(ENDED)), fields)
    return History(rows, key, time.name, tuple(columns), holds)


def _of_view(view: View, catalog: Catalog) -> History | None:
    """A view's own LATENESS, or its rows in a form of their own, leave it no history."""
    if view.plan is None or view.recursive or view.lateness:
        return None
    found = _of_plan(view.plan, catalog)
    if found is None:
        return None
    scalars = [scalar for _, scalar in found.columns]
    return replace(found, columns=tuple(zip((item.name for item in view.columns), scalars, strict=False)))


def _of_plan(plan: Plan, catalog: Catalog) -> History | None:
    match plan:
        case Project():
            below = _of_plan(plan.input, catalog)
            if below is None:
                return None
            given = dict(below.columns)
            return replace(below, columns=tuple((name, scalar.over(given)) for name, scalar in plan.items))
        case Filter():
            below = _of_plan(plan.input, catalog)
            return None if below is None else below.where(plan.condition)
        case Scan():
            return _of_scan(plan, catalog)
        case TopK():
            return _of_latest(plan)
        case _:
            return None


def _of_scan(plan: Scan, catalog: Catalog) -> History | None:
    relation = catalog.relation(plan.relation)
    if isinstance(relation, Table):
        found = _of_table(relation)
    else:
        found = None if relation is None else _of_view(relation, catalog)
    if found is None:
        return None
    by_name = {name.lower(): scalar for name, scalar in found.columns}
    if any(name.lower() not in by_name for name in plan.names):
        return None
    return replace(found, columns=tuple((name, by_name[name.lower()]) for name in plan.names))


def _of_latest(plan: TopK) -> History | None:
    """`ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) = 1`: of each key the last row."""
    keys = [scalar.column for scalar in plan.partition]
    first, ties = plan.order[0] if plan.order else None, plan.order[1:]
    if (plan.limit, plan.offset, plan.ties) != (1, 0, None) or not keys or None in keys:
        return None
    if first is None or not first.descending or any(item.descending or not item.nulls_first for item in ties):
        return None
    time = first.value
    if time.column is None or time.type not in (None, "timestamp", "timestamp_ntz"):
        return None
    columns: Columns = tuple((item.name, column(item.name, item.type, item.nullable)) for item in plan.input.fields)
    rows = _in_order_of(plan.input, tuple(item.value for item in ties), time.column)
    if plan.number is not None:
        columns += ((plan.number, scalar_of(exp.Literal.number(1), {})),)
    return History(rows, tuple(key for key in keys if key is not None), time.column, columns)


def _in_order_of(rows: Plan, ties: tuple[Scalar, ...], time: str) -> Plan:
    """The rows with what decides between those of one time in front, so that the least row is the first of them."""
    if [item.column for item in ties] == [name for name in rows.names if name != time]:
        return rows
    fields = ((item.name, column(item.name, item.type, item.nullable)) for item in rows.fields)
    return Project(rows, (*((f"__tie{place}", item) for place, item in enumerate(ties)), *fields))
