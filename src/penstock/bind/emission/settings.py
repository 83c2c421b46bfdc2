"""SETTINGS of a standing query that its policy reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from penstock.errors import Diagnostic, SqlError

MERGES, INCLUDED = "merge_open_sessions", "include_session_end"
_TRUE, _FALSE = frozenset({"true", "1"}), frozenset({"false", "0"})


def settings_of(query: Any) -> dict[str, str]:
    """The SETTINGS of a query; names in lower case."""
    listed = query.args.get("settings") or []
    return {item.this.name.lower(): _value(item.expression) for item in listed if isinstance(item, exp.EQ)}


def _value(tree: exp.Expression) -> str:
    return str(tree.this).lower() if isinstance(tree, exp.Boolean) else str(tree.name)


def switch(settings: Mapping[str, str], name: str) -> bool | None:
    """A setting that is on or off; None where it is not said."""
    value = settings.get(name)
    if value is None:
        return None
    if value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    message = f"SETTINGS {name} is true or false, found {value[:60]}"
    raise SqlError(Diagnostic("BAD_SETTING", message, hint=f"{name} = true"))
