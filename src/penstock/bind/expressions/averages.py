"""AVG of whole numbers in the dialect of Flink: a whole number, rounded towards zero."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.level import Level
from penstock.catalog.types import INTEGRAL
from penstock.sql.trees import call, call_name, core_of, data_type


def is_average(node: exp.Expression, level: Level) -> bool:
    """True for a whole call of AVG, with its FILTER and OVER, in the dialect of Flink."""
    if level.context.catalog.settings.get("dialect") != "flink" or not isinstance(
        node, exp.Anonymous | exp.Filter | exp.Window
    ):
        return False
    return call_name(_core(node)) == "avg"


def bound_average(node: exp.Expression, level: Level) -> exp.Expression | None:
    """SUM divided by COUNT without a rest; None if the argument is no whole number."""
    core = _core(node)
    argument = core.expressions[0] if core.expressions else None
    value = argument.expressions[0] if isinstance(argument, exp.Distinct) else argument
    kind = None if value is None else level.scalar(level.bind(value.copy())).type
    if kind not in INTEGRAL:
        return None
    total, count = (_renamed(node, name) for name in ("sum", "count"))
    whole = exp.IntDiv(this=total, expression=call("nullif", count, exp.Literal.number(0)))
    return level.bind(exp.Cast(this=whole, to=data_type(kind or "")))


def _core(node: exp.Expression) -> exp.Expression:
    return core_of(node.this) if isinstance(node, exp.Window) else core_of(node)


def _renamed(node: exp.Expression, name: str) -> exp.Expression:
    copy = node.copy()
    _core(copy).set("this", name)
    return copy
