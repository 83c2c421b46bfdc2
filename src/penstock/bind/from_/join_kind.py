"""The kind of a join, from the words before JOIN."""

from __future__ import annotations

from sqlglot import exp

from penstock.plan.nodes import JoinKind
from penstock.sql.complaints import unsupported


def kind_of(join: exp.Join) -> JoinKind:
    """The plan's kind of a parsed join."""
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if kind in ("SEMI", "ANTI"):
        return JoinKind.SEMI if kind == "SEMI" else JoinKind.ANTI
    found = {"LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL, "": JoinKind.INNER}.get(side)
    if found is None or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise unsupported(code="JOIN_KIND", message=f"a {side} {kind} JOIN", place=join)
    return found
