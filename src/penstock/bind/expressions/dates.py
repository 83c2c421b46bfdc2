"""FLOOR, CEIL and TIMESTAMPADD of a DATE in the dialects of standard SQL: a DATE, where Spark's are instants."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.level import Level
from penstock.sql.trees import at, call_name, cast_to

_OF_DAYS = frozenset({"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"})


def bound_date(node: exp.Expression, level: Level) -> exp.Expression | None:
    """The date that such a call gives; None for anything else."""
    if level.context.rules.name not in ("feldera", "calcite", "flink"):
        return None
    match node:
        case exp.Floor() | exp.Ceil():
            unit, value = node.args.get("to"), node.this
        case exp.Anonymous() if call_name(node) == "timestampadd" and len(node.expressions) == len(("u", "n", "d")):
            unit, _, value = node.expressions
        case _:
            return None
    if unit is None or unit.name.upper().removesuffix("S") not in _OF_DAYS or level.shape(level.bind(value)) != "date":
        return None
    bound = node.copy()
    if isinstance(node, exp.Anonymous):
        bound.set("expressions", [unit.copy(), *(level.bind(item) for item in node.expressions[1:])])
    else:
        bound.set("this", level.bind(value))
    return at(cast_to(bound, "date"), node)
