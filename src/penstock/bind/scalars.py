"""Bound trees as scalars over the fields of a plan."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Span
from penstock.plan.nodes import Field, Plan
from penstock.plan.scalar import Scalar
from penstock.sql.text import span_of, spark_sql
from penstock.types.infer import infer
from penstock.types.nested import certain


def scalar_of(tree: exp.Expression, fields: Mapping[str, Field], span: Span | None = None) -> Scalar:
    """A bound tree as a scalar over fields."""
    kind, nullable = infer(tree, fields)
    return Scalar(spark_sql(tree), tree, certain(kind), nullable, span or span_of(tree))


def fields_of(plan: Plan) -> dict[str, Field]:
    """The fields of a plan by name."""
    return {item.name: item for item in plan.fields}


def unique_names(names: list[str]) -> list[str]:
    """The names with `_2`, `_3` … behind those that stood before, without regard to case."""
    seen: set[str] = set()
    result: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate.lower() in seen:
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate.lower())
        result.append(candidate)
    return result
