"""Readers of `error_view`: views that stand behind all others in a step, since late rows of those appear in it."""

from __future__ import annotations

from penstock.catalog.model import ERROR_VIEW, Catalog
from penstock.plan.nodes import Plan


def reads_error_view(plan: Plan, catalog: Catalog) -> bool:
    """True if a plan reads `error_view`, itself or through views."""
    return _reads(plan, catalog, set())


def _reads(plan: Plan, catalog: Catalog, seen: set[str]) -> bool:
    for name in plan.scanned - seen:
        seen.add(name)
        view = catalog.views.get(name)
        if name == ERROR_VIEW.name or (view is not None and view.plan and _reads(view.plan, catalog, seen)):
            return True
    return False
