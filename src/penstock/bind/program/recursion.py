"""DECLARE RECURSIVE VIEW: all views of one cycle in one Fixpoint, where each is read by a Scan of its own name."""

from __future__ import annotations

from dataclasses import replace

from penstock.bind.program.views import reached
from penstock.bind.query.ctes import recursion_limit
from penstock.bind.query.recursive_windows import refuse_windows
from penstock.catalog.model import Catalog, View
from penstock.plan.nodes import Field, Fixpoint, Plan
from penstock.sql.complaints import wrong


def close_components(catalog: Catalog, created: View) -> Catalog:
    """The catalogue with every cycle of views that is now complete bound to one Fixpoint.

    A view on a cycle must have been declared before (DECLARE RECURSIVE VIEW) or read one that was.
    """
    cycle = [name for name in sorted(reached(catalog, created.name)) if created.name.lower() in reached(catalog, name)]
    members = [name for name in catalog.views if name in cycle]
    if not members:
        return catalog
    bodies = {name: _own_body(catalog.views[name], name) for name in members}
    return _with_fixpoints(catalog, bodies)


def _own_body(view: View, name: str) -> Plan:
    plan: Plan = view.plan
    if isinstance(plan, Fixpoint):
        return plan.bodies[[item.lower() for item in plan.views].index(name)]
    return plan


def _with_fixpoints(catalog: Catalog, bodies: dict[str, Plan]) -> Catalog:
    names = tuple(catalog.views[name].name for name in bodies)
    limit = recursion_limit(catalog)
    for body in bodies.values():
        refuse_windows(body, bodies.keys())
    for index, name in enumerate(bodies):
        view = catalog.views[name]
        outputs = tuple(Field(item.name, item.type, item.nullable) for item in view.columns)
        node = Fixpoint(tuple(bodies.values()), names, index, outputs, limit, span=view.span)
        catalog = catalog.with_view(replace(view, plan=node, recursive=True))
    return catalog


def refuse_incomplete(catalog: Catalog) -> None:
    """A view that was declared and never created has no meaning."""
    for view in catalog.views.values():
        if view.recursive and view.plan is None:
            hint = f"add CREATE VIEW {view.name} AS …"
            raise wrong(
                code="RECURSIVE_VIEW_WITHOUT_QUERY",
                message=f"{view.name!r} was declared but never created",
                place=view.span,
                hint=hint,
            )
