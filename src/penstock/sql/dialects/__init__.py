"""The dialects by name; each is a file of data."""

from __future__ import annotations

from penstock.errors import Diagnostic, Span, SqlError, did_you_mean
from penstock.sql.dialects import calcite, feldera, flink, penstock, timeplus
from penstock.sql.rules import Rules

DIALECTS: dict[str, Rules] = {
    module.RULES.name: module.RULES for module in (penstock, feldera, calcite, flink, timeplus)
}


def rules_of(dialect: str, span: Span | None = None) -> Rules:
    """The dialect of that name; raises SqlError with the names that exist."""
    found = DIALECTS.get(dialect.lower())
    if found is None:
        raise SqlError(
            Diagnostic(
                "UNKNOWN_DIALECT",
                f"there is no dialect {dialect[:60]}",
                span,
                candidates=did_you_mean(dialect, list(DIALECTS)),
                hint=f"the dialects are {', '.join(DIALECTS)}",
            )
        )
    return found
