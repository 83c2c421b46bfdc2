"""DATE_TRUNC, FLOOR and CEIL of a DATE, which are a DATE in the dialects of Calcite: Spark makes a TIMESTAMP of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from penstock.plan.nodes import Field
from penstock.sql.trees import call_name, cast_to, replaced
from penstock.types.infer import infer

_DATE = "date"
_PAIR = len(("unit", "date"))


def dates_kept(tree: exp.Expression, fields: Mapping[str, Field]) -> exp.Expression:
    """The bound tree with the rounded dates cast back to dates."""

    def kept(node: exp.Expression) -> exp.Expression | None:
        value = _rounded(node)
        if value is None or _is_cast(node.parent) or infer(value, fields)[0] != _DATE:
            return None
        return cast_to(node.copy(), _DATE)

    return replaced(tree, (exp.Anonymous, exp.Floor, exp.Ceil), kept)


def _rounded(node: exp.Expression) -> exp.Expression | None:
    """The time that is rounded to a unit; None for anything else, FLOOR of a number too."""
    if isinstance(node, exp.Floor | exp.Ceil):
        return node.this if node.args.get("to") is not None else None
    known = call_name(node) == "date_trunc" and len(node.expressions) == _PAIR
    return node.expressions[1] if known else None


def _is_cast(node: Any) -> bool:
    return isinstance(node, exp.Cast) and str(node.args["to"].args.get("kind", "")).lower() == _DATE
