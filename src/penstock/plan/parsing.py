"""Spark SQL to an expression of a plan, where there are fields and no tables."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.parse import parse_expression
from penstock.sql.trees import replace_nodes


def parse_scalar(text: str) -> exp.Expression:
    """A parsed expression over fields: `s`.`a` is the field a of the struct s. Raises SqlError."""
    return replace_nodes(parse_expression(text), _field_of_struct)


def _field_of_struct(node: exp.Expression) -> exp.Expression | None:
    """The field of a struct that the parser has taken for the column of a table."""
    if not isinstance(node, exp.Column) or not node.table:
        return None
    first, *names = (part.copy() for part in node.parts)
    found: exp.Expression = exp.Column(this=first)
    for name in names:
        found = exp.Dot(this=found, expression=name)
    return found
