"""The oracle's own rewriting of the current time: a call is replaced by the step's clock as a literal."""

from __future__ import annotations

from datetime import datetime

from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from penstock.testing.oracle.row_order import call, name_of

_MOMENTS = ("now", "current_timestamp", "localtimestamp")
_DATES = ("current_date", "curdate")
_NODES = (exp.CurrentTimestamp, exp.CurrentDate, exp.Localtimestamp)


def fix_clock(tree: exp.Expression, clock: datetime) -> exp.Expression:
    """The query with `now()` and its kin as constants; `clock` is naive UTC."""
    return tree.transform(lambda node: _constant(node, clock) or node)


def _constant(node: exp.Expression, clock: datetime) -> exp.Expression | None:
    moment = call("timestamp_micros", exp.Literal.number(_micros(clock)))
    name = name_of(node)
    if name in _DATES or isinstance(node, exp.CurrentDate):
        return call("to_date", moment)
    if name == "localtimestamp" or isinstance(node, exp.Localtimestamp):
        return call("to_timestamp_ntz", moment)
    if name == "current_time" or isinstance(node, exp.CurrentTime):
        time = call("to_time", call("date_format", moment, exp.Literal.string("HH:mm:ss.SSSSSS")))
        digits = node.args.get("expressions") or [exp.Literal.number(6)]
        return exp.cast(time, exp.DataType(this=exp.DType.USERDEFINED, kind=f"time({simplify(digits[0]).this})"))
    if name in _MOMENTS or isinstance(node, exp.CurrentTimestamp):
        return moment
    if name == "unix_timestamp" and not node.expressions:
        return call("unix_timestamp", moment)
    return None


def _micros(clock: datetime) -> int:
    passed = clock - datetime(1970, 1, 1, tzinfo=clock.tzinfo)
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
