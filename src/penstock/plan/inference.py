"""The type of a part of an expression, from those of the fields that it reads."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.catalog.types import Type
from penstock.errors import SqlError
from penstock.plan.forms import Form, Span
from penstock.plan.nodes import Field
from penstock.plan.writing import tree_of
from penstock.types.durations import duration_of
from penstock.types.infer import infer


def inferred(form: Form, types: Mapping[str, Type | None]) -> Type | None:
    """The type of a form over fields of these types; None where it is not certain."""
    tree = tree_of(form) if form.source is None else form.source
    return infer(tree, {name: Field(name, kind) for name, kind in types.items()})[0]


def micros_at_most(span: Span) -> int | None:
    """The microseconds of an interval of a fixed length; None for months and for what cannot be read here."""
    try:
        found = duration_of(tree_of(span))
    except (SqlError, ValueError):
        return None
    return None if found.months else found.micros
