"""Whether a column is never NULL: by its declaration, or by a filter that the rows have gone through."""

from __future__ import annotations

from sqlglot import exp

from penstock.plan.expressions import bare, conjuncts
from penstock.plan.nodes import Distinct, Filter, Plan, Project, TopK, Window


def never_null(plan: Plan, name: str) -> bool:
    """Whether no row has NULL there: by its type, or by a filter that the rows have gone through."""
    if not plan.field(name).nullable:
        return True
    match plan:
        case Filter():
            parts = (bare(part.tree) for part in conjuncts(plan.condition))
            return any(_excludes_null(part, name) for part in parts) or never_null(plan.input, name)
        case Project():
            column = dict(plan.items)[name].column
            return column is not None and never_null(plan.input, column)
        case Window() | TopK() | Distinct():
            return name in plan.inputs[0].names and never_null(plan.inputs[0], name)
        case _:
            return False


def _excludes_null(part: exp.Expression, name: str) -> bool:
    if isinstance(part, exp.Not):
        inner = bare(part.this)
        value = inner.this if isinstance(inner, exp.Is) and isinstance(bare(inner.expression), exp.Null) else None
    elif isinstance(part, exp.Anonymous):
        value = part.expressions[0] if str(part.this).lower() == "isnotnull" else None
    else:
        value = None
    column = None if value is None else bare(value)
    return isinstance(column, exp.Column) and column.name == name
