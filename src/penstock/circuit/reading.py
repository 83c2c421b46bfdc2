"""Views as a circuit reads them: by their plans, or behind the filter that LATENESS of a view puts there."""

from __future__ import annotations

from collections.abc import Collection

from penstock.catalog.model import Catalog, View
from penstock.plan.nodes import Plan, Project, Scan


def of_view(plan: Plan, catalog: Catalog, given: Collection[str] = ()) -> Plan:
    """A view's plan where the view is read, with the reader's own field names; any other plan as it is.

    Of views that are `given`, by their names in lower case, a scan is left: their changes are known.
    """
    while isinstance(plan, Scan):
        view = catalog.views.get(plan.relation.lower())
        if view is None or view.plan is None:
            return plan
        is_known = bool(view.lateness) or view.name.lower() in given
        inner: Plan = scan_of(view) if is_known else view.plan
        renamed = tuple(
            (wanted.name, have)
            for wanted in plan.outputs
            for have in inner.columns()
            if have.column is not None and have.column.lower() == wanted.name.lower()
        )
        if plan.names != inner.names:
            return Project(inner, tuple((name, scalar) for name, scalar in renamed))
        if is_known:
            return inner
        plan = inner
    return plan


def scan_of(view: View) -> Scan:
    """The scan of what is behind a view's LATENESS; the same for all readers."""
    return Scan(view.name.lower(), view.plan.fields)
