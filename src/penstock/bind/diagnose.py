"""Errors of the binder: what was found where, and what would work."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.catalog.model import SYSTEM_TABLES, Table, View
from penstock.errors import Span, SqlError, did_you_mean
from penstock.sql.complaints import wrong
from penstock.sql.rules import Rules
from penstock.sql.text import span_of

# Names of other systems, and what says the same.
_HINTS = {
    "localtime": "CURRENT_TIME is the time of day, date_format(now(), 'HH:mm:ss') its text",
    "_tp_delta": "INSERT … VALUES can say it, and a query that stands shows it",
    "json_encode": "to_json(named_struct('k', k)) is the text of an object, to_json(array(k)) of an array",
}


class NotIncremental(Exception):  # noqa: N818 - a signal between parts of the binder, no error of the user's
    """A construct that no plan node expresses; the smallest query around it is recomputed (A5)."""

    def __init__(self, reason: str, tree: exp.Expression | None = None, rewriting: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = None if tree is None else span_of(tree)
        self.rewriting = rewriting


class ReadsAround(NotIncremental):
    """A derived table or CTE of a subquery that reads what encloses the subquery."""

    def __init__(self, tree: exp.Expression) -> None:
        reason = "a derived table or CTE in a subquery that reads the query around the subquery"
        super().__init__(reason, tree, "the condition on the enclosing query's columns in the subquery itself")
        self.tree = tree


def is_another_case(found: Table | View, name: str, rules: Rules) -> bool:
    """True where a dialect finds a relation by its name as it was written alone, and this is another one."""
    system = found.name.lower() in SYSTEM_TABLES or found.name.startswith("__")
    return rules.case_sensitive and found.name != name and not system


def unknown_relation(
    name: str, known: Sequence[str], place: exp.Expression | Span | None, *, hint: str | None = None
) -> SqlError:
    """No table or view of that name."""
    hint = hint if hint or known else "nothing has been declared yet; CREATE TABLE comes first"
    message = f"there is no table or view {name[:80]!r}"
    close = did_you_mean(name, known)
    return wrong(code="UNKNOWN_RELATION", message=message, place=place, candidates=close, hint=hint, sqlstate="42P01")


def unknown_column(name: str, known: Sequence[str], place: exp.Expression | Span | None) -> SqlError:
    """No column of that name."""
    close = did_you_mean(name, known) or did_you_mean(name.rpartition(".")[2], known)
    close = tuple(item for item in close if item.rpartition(".")[2] not in close or "." not in item)
    listed = ", ".join(dict.fromkeys(known))
    hint = None if close or not listed else f"the columns here are: {listed[:300]}"
    hint = _HINTS.get(name.lower(), hint)
    message = f"there is no column {name[:80]!r}"
    return wrong(code="UNKNOWN_COLUMN", message=message, place=place, candidates=close, hint=hint, sqlstate="42703")


def ambiguous_column(name: str, candidates: Sequence[str], place: exp.Expression) -> SqlError:
    """A name that several relations have."""
    message = f"the name {name!r} is ambiguous: {' and '.join(candidates)} have it"
    return wrong(code="AMBIGUOUS_COLUMN", message=message, place=place, candidates=candidates, sqlstate="42704")


def unknown_function(name: str, known: Sequence[str], place: exp.Expression) -> SqlError:
    """No function of that name."""
    if name.lower() == "emit_version":
        message = "emit_version() stands by itself in the SELECT list of a query that stands: SELECT emit_version(), …"
        hint = "it numbers what is shown, so nothing can be computed from it; leave it out elsewhere"
        return wrong(code="EMIT_FORM", message=message, place=place, hint=hint)
    message = f"there is no function {name[:80]!r}"
    close, instead = did_you_mean(name, known), _HINTS.get(name.lower())
    return wrong(
        code="UNKNOWN_FUNCTION", message=message, place=place, candidates=close, hint=instead, sqlstate="42883"
    )
