"""Columns that are never NULL: by its declaration, or by a filter that the rows have gone through."""

from __future__ import annotations

from typing import assert_never, cast

from penstock.plan.expressions import conjuncts
from penstock.plan.forms import Call, Form, Reference
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Filter,
    Fixpoint,
    Generate,
    Join,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)


def never_null(plan: Plan, name: str) -> bool:
    """True if no row has NULL there: by its type, or by a filter that the rows have gone through."""
    if not plan.field(name).nullable:
        return True
    node = cast("Node", plan)
    match node:
        case Filter():
            parts = conjuncts(node.condition)
            return any(_excludes_null(part.form, name) for part in parts) or never_null(node.input, name)
        case Project():
            column = dict(node.items)[name].column
            return column is not None and never_null(node.input, column)
        case Window() | TopK() | Distinct():
            return name in node.inputs[0].names and never_null(node.inputs[0], name)
        case Scan() | Values() | UnionAll() | Generate() | Join() | AsofJoin() | Aggregate() | SetOperation():
            return False
        case Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return False
        case _:
            assert_never(node)


def _excludes_null(part: Form, name: str) -> bool:
    match part:
        case Call("not", (Call("is null", (Reference(found),)),)) | Call("isnotnull", (Reference(found),)):
            return found == name
        case _:
            return False
