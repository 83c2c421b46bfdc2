"""The functions of a program of which only Spark knows what arguments they take.

Their signatures are not in the catalog: what they take depends on values, such as the schema of `from_json`, or Spark
was not asked. `check` names them, and `check --spark` asks.
"""

from __future__ import annotations

from penstock.catalog.functions import built_in
from penstock.catalog.model import Catalog, View
from penstock.catalog.signatures import signatures
from penstock.plan.forms import Call

# What the binder judges by rules of its own.
_JUDGED = frozenset({
    "any", "array", "cast", "grouping", "grouping_id", "map", "named_struct", "range", "session_window", "struct",
    "when", "window", "window_time",
})  # fmt: skip


def unjudged(catalog: Catalog) -> dict[str, list[str]]:
    """By each view that somebody has named: the functions in it whose arguments are not judged, if there are some."""
    found = {view.name: sorted(_functions(view)) for view in catalog.named_views()}
    return {name: functions for name, functions in found.items() if functions}


def _functions(view: View) -> set[str]:
    if view.plan is None:
        return set()
    parts = (part for node in view.plan.walk() for part in node.parts)
    calls = (item.function for part in parts for item in part.scalar.form.walk() if isinstance(item, Call))
    return {name for name in calls if _is_unjudged(name)}


def _is_unjudged(name: str) -> bool:
    return name not in _JUDGED and name not in signatures().functions and built_in(name) is not None
