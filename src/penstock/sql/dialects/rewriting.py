"""Calls that a dialect writes in another way than Spark."""

from __future__ import annotations

from sqlglot import exp


def call(name: str, *arguments: exp.Expression) -> exp.Anonymous:
    """A call of a Spark function."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def truncate(tree: exp.Anonymous) -> exp.Expression:
    """TIMESTAMP_TRUNC(t, UNIT) is date_trunc('UNIT', t); what is already in Spark's order stays."""
    if len(tree.expressions) != 2 or not isinstance(tree.expressions[1], exp.Column):  # noqa: PLR2004
        return tree
    time, unit = tree.expressions
    return call("date_trunc", exp.Literal.string(unit.name.upper()), time)


def copied(tree: exp.Expression) -> exp.Expression:
    """A tree that stands in a second place."""
    copy: exp.Expression = tree.copy()
    return copy
