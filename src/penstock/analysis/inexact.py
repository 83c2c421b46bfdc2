"""Answers that another engine, or the same one another time, may give with other last digits.

A sum in floating point depends on the order of adding. So does all that is computed of one: a rank, a filter, a text.
"""

from __future__ import annotations

from penstock.analysis.views import of_view
from penstock.catalog.model import Catalog, View
from penstock.catalog.types import FRACTIONAL
from penstock.plan.forms import Aggregated, Call, Over
from penstock.plan.nodes import Aggregate, Plan, Recompute, Scan, Window
from penstock.plan.scalar import Scalar

# What gives back a value that it was given, or counts.
_CHOOSING = frozenset(
    (
        *("min", "max", "min_by", "max_by", "first", "first_value", "last", "last_value", "any_value", "nth_value"),
        *("mode", "lag", "lead", "percent_rank", "cume_dist"),
    )
)


def is_inexact(view: View, catalog: Catalog) -> bool:
    """True if the last digits of a view's answer may depend on the order of adding."""
    return of_view(catalog, view, "inexact", lambda plan: _plan(plan, catalog), unknown=False)


def _plan(plan: Plan, catalog: Catalog) -> bool:
    return any(_node(node, catalog) for node in plan.walk())


def _node(node: Plan, catalog: Catalog) -> bool:
    match node:
        case Aggregate():
            return any(_call(call.call) for _, call in node.aggregates)
        case Window():
            return any(_call(call) for _, call in node.calls)
        case Recompute():
            return True
        case Scan() if (view := catalog.views.get(node.relation.lower())) is not None:
            return is_inexact(view, catalog)
        case _:
            return False


def _call(scalar: Scalar) -> bool:
    """True for a call that gives a number in floating point which is none of those that it was given."""
    if scalar.type is not None and scalar.type not in FRACTIONAL:
        return False
    form = scalar.form
    form = form.function if isinstance(form, Over) else form
    form = form.call if isinstance(form, Aggregated) else form
    return not (isinstance(form, Call) and form.function in _CHOOSING)
