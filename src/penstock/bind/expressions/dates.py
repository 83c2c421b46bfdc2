"""FLOOR, CEIL and TIMESTAMPADD in the dialects of standard SQL: of a DATE a DATE, where Spark's are instants.

And units that Spark's date_trunc does not have: weeks from Sunday on, decades, centuries, millennia.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.level import Level
from penstock.sql.complaints import wrong
from penstock.sql.trees import at, call, call_name, cast_to, grouped

_STANDARD = ("feldera", "calcite", "flink")
_OF_DAYS = frozenset({"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"})
_YEARS = {"DECADE": (10, 0), "CENTURY": (100, 1), "MILLENNIUM": (1000, 1)}
_UNITS = _OF_DAYS | {"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
_DAY = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="DAY"))
_PAIR = len(("n", "d"))


def bound_date(node: exp.Expression, level: Level) -> exp.Expression | None:
    """The value of such a call, bound; None for anything else."""
    if isinstance(node, exp.Floor | exp.Ceil):
        return _rounded(node, level)
    if level.context.rules.name in _STANDARD and call_name(node) == "timestampadd":
        return _added(node, level)
    return None


def _added(node: exp.Expression, level: Level) -> exp.Expression | None:
    unit, *values = node.expressions
    if len(values) != _PAIR or _name(unit) not in _OF_DAYS or level.shape(level.bind(values[1])) != "date":
        return None
    bound = node.copy()
    bound.set("expressions", [unit.copy(), *(level.bind(item) for item in values)])
    return at(cast_to(bound, "date"), node)


def _rounded(node: exp.Floor | exp.Ceil, level: Level) -> exp.Expression | None:
    unit = node.args.get("to")
    if unit is None:
        return None
    name, standard = _name(unit), level.context.rules.name in _STANDARD
    if name not in _UNITS and not (standard and name in _YEARS):
        known = [*sorted(_UNITS), *(_YEARS if standard else ())]
        message = f"{node.key.upper()} does not round to {unit.name.upper()}"
        raise wrong(code="TIME_UNIT", message=message, place=node, hint=f"units are {', '.join(known)}")
    if not standard:
        return None
    value = level.bind(node.this)
    of_date = level.shape(value) == "date" and (name in _OF_DAYS or name in _YEARS)
    if name in _YEARS:
        rounded = _to_years(value, node, *_YEARS[name])
    elif name == "WEEK" and "weeks_from_sunday" in level.context.rules.meanings:
        level.context.meanings.add("weeks_from_sunday")
        rounded = _moved(exp.Sub, _with_value(node, _moved(exp.Add, value)))
    elif of_date:
        rounded = _with_value(node, value)
    else:
        return None
    return at(cast_to(rounded, "date") if of_date else rounded, node)


def _name(unit: exp.Expression) -> str:
    return str(unit.name).upper().removesuffix("S")


def _with_value(node: exp.Expression, value: exp.Expression) -> exp.Expression:
    bound = node.copy()
    bound.set("this", value)
    return bound


def _moved(kind: type[exp.Binary], value: exp.Expression) -> exp.Expression:
    """A day later or earlier: the week of Spark begins with Monday."""
    return exp.Paren(this=kind(this=grouped(value.copy()), expression=_DAY.copy()))


def _to_years(value: exp.Expression, node: exp.Expression, count: int, first: int) -> exp.Expression:
    """The first day of so many years, of which the first one is 10, or 1, or 1001 and so on."""
    year = exp.Paren(this=exp.Sub(this=call("year", value.copy()), expression=exp.Literal.number(first)))
    begun = exp.Sub(this=year, expression=call("pmod", year.copy(), exp.Literal.number(count)))
    start = _first_day(exp.Paren(this=exp.Add(this=begun, expression=exp.Literal.number(first))))
    if isinstance(node, exp.Floor):
        return start
    later = exp.Paren(this=exp.Add(this=begun.copy(), expression=exp.Literal.number(first + count)))
    there = exp.EQ(this=start, expression=grouped(value.copy()))
    return exp.Case(ifs=[exp.If(this=there, true=start.copy())], default=_first_day(later))


def _first_day(year: exp.Expression) -> exp.Expression:
    digits = call("lpad", exp.cast(year, "string"), exp.Literal.number(4), exp.Literal.string("0"))
    return exp.cast(exp.cast(call("concat", digits, exp.Literal.string("-01-01")), "date"), "timestamp")
