"""The columns of a plan that tell windows apart: those that hand on the bounds of a window, under whatever name."""

from __future__ import annotations

from penstock.catalog.model import Catalog, View
from penstock.plan.nodes import Aggregate, Plan, Project, Scan

START, END = "window_start", "window_end"


def window_bounds(plan: Plan, catalog: Catalog) -> dict[int, str]:
    """The places of the fields that are the bounds of a window, each with START or END."""
    found = {place: _bound(plan, name, catalog) for place, name in enumerate(plan.names)}
    return {place: bound for place, bound in found.items() if bound is not None}


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
