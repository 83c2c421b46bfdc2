"""Columns that are never NULL: by its declaration, or by a filter that the rows have gone through."""

from __future__ import annotations

from penstock.plan.expressions import conjuncts
from penstock.plan.forms import Call, Form, Reference
from penstock.plan.nodes import Distinct, Filter, Plan, Project, TopK, Window


def never_null(plan: Plan, name: str) -> bool:
    """True if no row has NULL there: by its type, or by a filter that the rows have gone through."""
    if not plan.field(name).nullable:
        return True
    match plan:
        case Filter():
            parts = conjuncts(plan.condition)
            return any(_excludes_null(part.form, name) for part in parts) or never_null(plan.input, name)
        case Project():
            column = dict(plan.items)[name].column
            return column is not None and never_null(plan.input, column)
        case Window() | TopK() | Distinct():
            return name in plan.inputs[0].names and never_null(plan.inputs[0], name)
        case _:
            return False


def _excludes_null(part: Form, name: str) -> bool:
    match part:
        case Call("not", (Call("is null", (Reference(found),)),)) | Call("isnotnull", (Reference(found),)):
            return found == name
        case _:
            return False
