"""The most that a statement may have: operations within operations."""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.settings import DEFAULT_MAX_NESTING, MAX_NESTING
from penstock.errors import Diagnostic, SqlError
from penstock.sql.text import span_of

# What is no operation of its own: a name, a value, and what only holds other parts together.
_NO_LEVEL = (exp.Identifier, exp.Literal, exp.Column, exp.Paren, exp.Alias, exp.From, exp.Where, exp.Tuple, exp.If)
_CHAINS = (exp.And, exp.Or, exp.SetOperation)  # the parts of which are read one behind the other, however many
_HINT = f"name the parts with WITH … AS (…), or as columns of a view; SET {MAX_NESTING} allows more"
NESTING = int(DEFAULT_MAX_NESTING)


def check_nesting(tree: exp.Expression, limit: int) -> None:
    """Raise SqlError if operations stand in operations more than `limit` deep; a chain of AND, OR or UNION is one."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > limit:
            message = f"operations are nested more than {limit} deep, which {MAX_NESTING} allows"
            raise SqlError(Diagnostic("NESTED_TOO_DEEPLY", message, span_of(node), hint=_HINT))
        for part in node.iter_expressions():
            chained = isinstance(part, _CHAINS) and type(part) is type(node)
            waiting.append((part, depth if chained or isinstance(part, _NO_LEVEL) else depth + 1))
