"""The kind of a join, from the words before JOIN."""

from __future__ import annotations

from sqlglot import exp

from penstock.plan.nodes import JoinKind
from penstock.sql.complaints import unsupported


def kind_of(join: exp.Join) -> JoinKind:
    """The plan's kind of a parsed join."""
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    contradicting = (
        (side not in ("", "LEFT")) if kind in ("SEMI", "ANTI") else (bool(side) != (kind == "OUTER")) and kind
    )
    if contradicting:
        hint = "a join is [INNER], CROSS, LEFT, RIGHT or FULL [OUTER], or [LEFT] SEMI or ANTI"
        raise unsupported(code="JOIN_KIND", message=f"{f'{side} {kind}'.strip()} JOIN", place=join, hint=hint)
    method = str(join.args.get("method") or "")
    if method == "NATURAL" and (kind == "CROSS" or join.args.get("on") or join.args.get("using")):
        message = "NATURAL JOIN with CROSS, ON or USING"
        raise unsupported(code="JOIN_KIND", message=message, place=join, hint="NATURAL goes by the equal names alone")
    if kind in ("SEMI", "ANTI"):
        return JoinKind.SEMI if kind == "SEMI" else JoinKind.ANTI
    found = {"LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL, "": JoinKind.INNER}.get(side)
    if found is None or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise unsupported(code="JOIN_KIND", message=f"a {side} {kind} JOIN", place=join)
    return found
