"""BEGIN, COMMIT and ROLLBACK in the order in which a program has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.errors import Diagnostic, SqlError
from penstock.sql.statements import Begin, Commit, Rollback, Statement


def misplaced(statements: Iterable[Statement]) -> Iterator[SqlError]:
    """An error for each COMMIT or ROLLBACK without its BEGIN, and each BEGIN within a transaction."""
    is_open = False
    for statement in statements:
        match statement:
            case Begin():
                if is_open:
                    hint = "COMMIT or ROLLBACK it first"
                    yield SqlError(
                        Diagnostic("IN_TRANSACTION", "a transaction is open already", statement.span, hint=hint)
                    )
                is_open = True
            case Commit() | Rollback():
                if not is_open:
                    yield SqlError(no_transaction(statement))
                is_open = False


def already_open(statement: Begin | None = None) -> Diagnostic:
    """The mistake of a BEGIN within a transaction."""
    span = None if statement is None else statement.span
    return Diagnostic("IN_TRANSACTION", "a transaction is open already", span, hint="COMMIT or ROLLBACK it first")


def no_transaction(statement: Commit | Rollback | None = None) -> Diagnostic:
    """The mistake of a COMMIT or ROLLBACK without a transaction."""
    span = None if statement is None else statement.span
    return Diagnostic("NO_TRANSACTION", "no transaction is open", span, hint="BEGIN starts one")
