"""A text that has to be one query, and what works in Python for another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.errors import Diagnostic, SqlError
from penstock.sql import statements
from penstock.sql.parse import parse


def one_query(text: str, dialect: str, types: Mapping[str, str], nesting: int) -> statements.Query:
    """The one query in a text. SqlError if it is anything else."""
    found = parse(text, dialect, types, nesting)
    if len(found) == 1 and isinstance(found[0], statements.Query):
        return found[0]
    raise not_a_query(found)


def not_a_query(found: Sequence[statements.Statement]) -> SqlError:
    """The error for statements that are not one query."""
    if len(found) != 1:
        message, hint = f"expected one query, found {len(found)} statements", "use execute() for statements"
    else:
        message, hint = "expected a query", in_python(found[0]) or "use execute() for statements"
    return SqlError(Diagnostic("NOT_A_QUERY", message, found[0].span if found else None, hint=hint))


def in_python(statement: statements.Statement) -> str:
    """The words for doing in Python as a statement that changes nothing; empty for one that changes something."""
    match statement:
        case statements.KillQuery():
            return "close() the query; Pipeline.queries has those that stand"
        case statements.Show(what="queries"):
            return "Pipeline.queries has the queries that stand"
        case statements.Explain():
            return "use explain(view, options), or the shell"
        case statements.Show() | statements.Describe():
            return "Pipeline.catalog has what is declared; the shell shows it"
        case _:
            return ""
