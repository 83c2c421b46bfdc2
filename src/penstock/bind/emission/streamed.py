"""SELECT STREAM as a query whose policy knows in which order its rows come, and by what they become final."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.matching.clause import REACHED
from penstock.bind.scalars import unique_names
from penstock.bind.taking_in import HasWaterline
from penstock.catalog.model import Catalog
from penstock.plan.forms import Reference
from penstock.plan.looking_ahead import furthest_ahead, last_row_ahead, looks_ahead
from penstock.plan.nodes import Field, Filter, MatchRecognize, Plan, Project, Window
from penstock.plan.scalar import column

_ABOVE = "__streamed"
CLOSING = "__closes"  # the column that is carried so that rows become final by it


def as_select(tree: exp.Expression) -> exp.Expression:
    """The query as one SELECT, whose ORDER BY is the policy's: that of a set operation stands behind it."""
    while isinstance(tree, exp.Subquery) and not tree.args.get("order") and not tree.args.get("limit"):
        tree = tree.this
    if not isinstance(tree, exp.SetOperation | exp.Subquery) or not (tree.args.get("order") or tree.args.get("limit")):
        return tree
    order, limit = tree.args.get("order"), tree.args.get("limit")
    tree.set("order", None)
    tree.set("limit", None)
    inner = tree if isinstance(tree, exp.Subquery) else exp.Subquery(this=tree)
    inner.set("alias", exp.TableAlias(this=exp.to_identifier(_ABOVE)))
    above = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner))
    above.set("order", order)
    above.set("limit", limit)
    return above


def carrying_times(plan: Plan, catalog: Catalog, has_waterline: HasWaterline) -> Plan:
    """The plan with one column more where none of its own has a waterline, but a relation below it has one.

    So the rows of `SELECT STREAM k FROM (SELECT k, SUM(x) OVER (ORDER BY at) …)` are final as `at` passes them. Of
    MATCH_RECOGNIZE it is the time up to which a match has been looked for, also where a measure has a waterline, and
    of a window that looks ahead to rows the time of the last of these, also where one of its partition has.
    """
    found = _closing(plan, catalog, has_waterline)
    waits = looks_ahead(plan) or any(isinstance(node, MatchRecognize) for node in plan.walk())
    if found is not None and (_is_carried(found) or not waits):
        return plan
    match plan:
        case Project():
            below = carrying_times(plan.input, catalog, has_waterline)
            found = _closing(below, catalog, has_waterline)
            if found is None:
                return plan
            name = unique_names([*plan.names, CLOSING])[-1]
            return Project(below, (*plan.items, (name, column(found.name, found.type, found.nullable))))
        case Filter():
            return plan.with_inputs(carrying_times(plan.input, catalog, has_waterline))
        case Window():
            return _telling(plan, catalog, has_waterline)
        case _:
            return plan


def _telling(plan: Window, catalog: Catalog, has_waterline: HasWaterline) -> Window:
    """The window with the time of the last row that it looks ahead to, if a waterline passes that."""
    found = furthest_ahead(plan)
    time = found[1].order[0].value if found is not None and found[1].order else None
    if found is None or not isinstance(time, Reference) or time.name not in plan.input.names:
        return plan
    name = unique_names([*plan.names, CLOSING])[-1]
    told = replace(plan, calls=(*plan.calls, (name, last_row_ahead(*found, plan.input.field(time.name)))))
    return told if has_waterline(catalog, told, name) else plan


def _closing(plan: Plan, catalog: Catalog, has_waterline: HasWaterline) -> Field | None:
    """The field by which rows become final, before all others that of how far a match has been looked for."""
    fields = sorted(plan.fields, key=lambda item: not _is_carried(item))
    return next((item for item in fields if has_waterline(catalog, plan, item.name)), None)


def _is_carried(item: Field) -> bool:
    return item.name == REACHED or item.name.startswith(CLOSING)
