"""The columns of a plan that tell windows apart: those that hand on the bounds of a window, under whatever name."""

from __future__ import annotations

from penstock.bind.scalars import unique_names
from penstock.bind.taking_in import HasWaterline
from penstock.catalog.model import Catalog, View
from penstock.plan.nodes import Aggregate, Filter, Join, JoinKind, Plan, Project, Scan
from penstock.plan.scalar import column

START, END = "window_start", "window_end"
_CLOSES = "__closes"


def window_bounds(plan: Plan, catalog: Catalog) -> dict[int, str]:
    """The places of the fields that are the bounds of a window, each with START or END."""
    found = {place: _bound(plan, name, catalog) for place, name in enumerate(plan.names)}
    return {place: bound for place, bound in found.items() if bound is not None}


def carrying_windows(plan: Plan, catalog: Catalog, has_waterline: HasWaterline) -> Plan:
    """The plan with the ends of windows behind its columns, where these do not say in which window each row is.

    SELECT n FROM (SELECT window_end, count(*) AS n … GROUP BY window_end)            →  n, window_end
    SELECT a.window_end, n FROM a FULL JOIN b ON a.window_end = b.window_end  →  a.window_end, n, b.window_end
    """
    tells = any(bound == END for bound in window_bounds(plan, catalog).values()) and not _pads(plan)
    return plan if tells else _with_ends(plan, catalog, has_waterline)


def _pads(plan: Plan) -> bool:
    """True for rows of an outer join, in which NULL may stand for the columns of one side."""
    match plan:
        case Project() | Filter():
            return _pads(plan.input)
        case Join():
            outer = plan.kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
            return outer or any(map(_pads, plan.inputs))
        case _:
            return False


def _with_ends(plan: Plan, catalog: Catalog, has_waterline: HasWaterline) -> Plan:
    match plan:
        case Filter():
            return plan.with_inputs(_with_ends(plan.input, catalog, has_waterline))
        case Project():
            below = _with_ends(plan.input, catalog, has_waterline)
            ends = [below.fields[place] for place, bound in window_bounds(below, catalog).items() if bound == END]
            handed_on = {scalar.column for _, scalar in plan.items}
            more = [item for item in ends if item.name not in handed_on and has_waterline(catalog, below, item.name)]
            names = unique_names([*plan.names, *(_CLOSES for _ in more)])[len(plan.names) :]
            items = (column(item.name, item.type, item.nullable) for item in more)
            return Project(below, (*plan.items, *zip(names, items, strict=True)))
        case _:
            return plan


def _remembers(view: View) -> bool:
    """True for the gate of dedup, which may be over windows; other gates are below them."""
    return any(late.remembering is not None for late in view.lateness.values())


def _bound(plan: Plan, name: str, catalog: Catalog) -> str | None:
    """The bound that a field is on its way up from a window function; joins and filters hand fields on by name."""
    found: str | None = None
    while True:
        last = name.rpartition(".")[2].lower()
        found = last if last in (START, END) else found
        if isinstance(plan, Project | Aggregate):
            items = dict(plan.items if isinstance(plan, Project) else plan.groups)
            read = items[name].column if name in items else None
            if read is None:
                return found if name in items else None
            plan, name = plan.input, read
        elif isinstance(plan, Scan):
            view = catalog.views.get(plan.relation.lower())
            if view is None or view.plan is None or (view.kind == "gate" and not _remembers(view)):
                return None  # a column of a table, whatever it is called
            plan, name = view.plan, next(item for item in view.plan.names if item.lower() == last)
        else:
            below = next((item for item in plan.inputs if name in item.names), None)
            if below is None:
                return found  # made by this node: the bounds of a session
            plan = below
