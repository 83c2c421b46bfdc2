"""Casts to whole numbers without a sign, which Spark lacks: a cast to the next wider type, and a check of the range.

| written | read as |
| --- | --- |
| `CAST(x AS INT UNSIGNED)` | `CAST(x AS BIGINT)`, an error outside of 0 … 4294967295 |
| `TRY_CAST(x AS INT UNSIGNED)` | `TRY_CAST(x AS BIGINT)`, NULL outside of it |
"""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.types import UNSIGNED, is_unsigned, plain_type
from penstock.errors import Diagnostic
from penstock.sql.failure import ParseFailure
from penstock.sql.text import span_of, type_of
from penstock.sql.trees import call, cast_to, data_type


def with_checked_range(node: exp.Cast) -> exp.Expression | None:
    """The cast in Spark's words; None for one to any other type."""
    kind = type_of(node.to).lower()
    if not is_unsigned(kind):
        return None
    if kind not in UNSIGNED:
        message = f"a cast to {kind.upper()}, which holds whole numbers without a sign"
        hint = f"cast to {plain_type(kind).upper()}, or each value by transform(x, e -> CAST(e AS INT UNSIGNED))"
        raise ParseFailure(None, Diagnostic("UNSIGNED", message, span_of(node), hint=hint))
    greatest, carried = UNSIGNED[kind]
    if isinstance(node.this, exp.Literal) and node.this.is_int and int(node.this.name) <= greatest:
        return exp.Cast(this=node.this, to=data_type(carried))
    value = type(node)(this=node.this, to=data_type(carried))
    inside = exp.Between(this=value, low=exp.Literal.number(0), high=exp.Literal.number(greatest))
    if isinstance(node, exp.TryCast):
        return exp.Case(ifs=[exp.If(this=inside, true=value.copy())])
    text = f"{kind.upper()} holds whole numbers from 0 to {greatest}, found "
    shown = exp.cast(value.copy(), data_type("string"))
    error = call("raise_error", call("concat", exp.Literal.string(text), shown))
    outside = exp.Not(this=exp.Paren(this=inside))
    return exp.Case(ifs=[exp.If(this=outside, true=error)], default=value.copy())


def in_type(tree: exp.Expression, kind: str) -> exp.Expression:
    """A value cast to a type, whose range is checked where it has one."""
    made = cast_to(tree, kind)
    return (with_checked_range(made) if isinstance(made, exp.Cast) else None) or made
