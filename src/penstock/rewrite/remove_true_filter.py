"""A condition that is always TRUE is left out."""

from __future__ import annotations

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.forms import Constant
from penstock.plan.nodes import Filter, Plan
from penstock.plan.scalar import Scalar


def remove_true_filter(plan: Plan) -> Plan | None:
    """The filter without its parts that are the literal TRUE, or its input."""
    match plan:
        case Filter(input=below):
            parts = conjuncts(plan.condition)
            kept = [part for part in parts if not _is_true(part)]
            if len(kept) == len(parts):
                return None
            condition = conjunction(kept)
            return below if condition is None else Filter(below, condition)
        case _:
            return None


def _is_true(part: Scalar) -> bool:
    return part.form == Constant("true", "boolean")
