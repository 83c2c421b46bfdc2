"""The WINDOW clause, and the OVERs that refer to it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.sql.complaints import wrong

_CLAUSES = {"partition_by": "a PARTITION BY", "order": "an ORDER BY", "spec": "a frame"}


def named_windows(select: exp.Select) -> dict[str, exp.Expression]:
    """The WINDOW clause: lower-case name → definition."""
    found: dict[str, exp.Expression] = {}
    for item in select.args.get("windows") or []:
        if item.name.lower() in found:
            raise wrong(code="DUPLICATE_CLAUSE", message=f"WINDOW names {item.name!r} twice", place=item)
        found[item.name.lower()] = item
    return found


def with_definition(node: exp.Window, windows: Mapping[str, exp.Expression]) -> exp.Window:
    """An OVER with the named window that it refers to put in; what OVER says itself refines it."""
    name = node.args.get("alias")
    if name is None:
        return node
    definition = windows.get(name.name.lower())
    if definition is None:
        close = did_you_mean(name.name, tuple(windows))
        raise wrong(code="UNKNOWN_WINDOW", message=f"there is no window {name.name!r}", place=name, candidates=close)
    if isinstance(definition, exp.Window):
        definition = with_definition(definition, {key: item for key, item in windows.items() if item is not definition})
    copy = node.copy()
    copy.set("alias", None)
    for key in ("partition_by", "order", "spec"):
        value = definition.args.get(key)
        if copy.args.get(key) and value:
            message = f"OVER and the window {name.name!r} both have {_CLAUSES[key]}"
            raise wrong(code="DUPLICATE_CLAUSE", message=message, place=node, hint="leave one of them out")
        if not copy.args.get(key) and value:
            copy.set(key, [item.copy() for item in value] if isinstance(value, list) else value.copy())
    return copy
