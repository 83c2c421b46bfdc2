"""The functions of Timeplus in Spark's words: differences of times, casts, and some of its arrays and texts."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects import standard_functions as standard
from penstock.sql.dialects.rewriting import call, copied, moved, with_nulls
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rewrite
from penstock.sql.text import span_of
from penstock.sql.trees import data_type

_UNITS = {
    **dict.fromkeys(("us", "microsecond", "microseconds"), "MICROSECOND"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "MILLISECOND"),
    **dict.fromkeys(("s", "ss", "second", "seconds"), "SECOND"),
    **dict.fromkeys(("m", "mi", "minute", "minutes"), "MINUTE"),
    **dict.fromkeys(("h", "hh", "hour", "hours"), "HOUR"),
    **dict.fromkeys(("d", "dd", "day", "days"), "DAY"),
    **dict.fromkeys(("w", "wk", "ww", "week", "weeks"), "WEEK"),
    **dict.fromkeys(("mm", "month", "months"), "MONTH"),
    **dict.fromkeys(("q", "qq", "quarter", "quarters"), "QUARTER"),
    **dict.fromkeys(("y", "yy", "yyyy", "year", "years"), "YEAR"),
}
_FIXED = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_EXACT = ("MICROSECOND", "MILLISECOND")
_EVENT_TIME = "_tp_time"
_WITH_UNIT = 3


def _unit(tree: exp.Expression) -> str | None:
    """The unit of time that a text or a bare word names."""
    named = isinstance(tree, exp.Var | exp.Column) or (isinstance(tree, exp.Literal) and tree.is_string)
    return _UNITS.get(tree.name.lower()) if named else None


def _date_diff(tree: exp.Anonymous) -> exp.Expression:
    """date_diff('second', a, b): how many seconds begin between a and b; negative if b is before a."""
    arguments = list(tree.expressions)
    unit = _unit(arguments[0]) if len(arguments) >= _WITH_UNIT else None
    if unit is None:
        return tree
    ends = arguments[1:_WITH_UNIT]
    if unit not in _EXACT:
        ends = [call("date_trunc", exp.Literal.string(unit), end) for end in ends]
    return call("timestampdiff", exp.Var(this=unit), *ends)


def _date_diff_within(tree: exp.Anonymous) -> exp.Expression:
    """date_diff_within(2m, a, b): a and b are no further apart; without them, the times of both sides of a join."""
    length, *ends = tree.expressions or [exp.Null()]
    one, other = ends if len(ends) == len(("a", "b")) else _times_of_sides(tree)
    low = exp.Sub(this=exp.Paren(this=copied(other)), expression=copied(length))
    high = exp.Add(this=exp.Paren(this=other), expression=length)
    return exp.Paren(this=exp.Between(this=exp.Paren(this=one), low=low, high=high))


def _times_of_sides(tree: exp.Expression) -> tuple[exp.Expression, exp.Expression]:
    join = tree.find_ancestor(exp.Join)
    select = tree.find_ancestor(exp.Select)
    first = None if select is None or select.args.get("from_") is None else select.args["from_"].this
    if join is None or first is None:
        message = "date_diff_within compares the times of both sides of a join, and stands in none"
        hint = "date_diff_within(2m, a, b) compares two values"
        raise ParseFailure(None, Diagnostic("SYNTAX_ERROR", message, span_of(tree), hint=hint))
    one, other = (exp.column(_EVENT_TIME, table=side.alias_or_name) for side in (first, join.this))
    return one, other


def _lag_behind(_tree: exp.Anonymous) -> exp.Expression:
    """lag_behind(10ms): how long one side waits for the other, which changes no answer here."""
    return exp.true()


def _cast(kind: str, *, lenient: bool = False, zero: bool = False) -> Rewrite:
    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        if not tree.expressions:
            return tree
        made = exp.TryCast if lenient else exp.Cast
        found = made(this=tree.expressions[0], to=data_type(kind))
        return call("coalesce", found, exp.cast(exp.Literal.number(0), data_type(kind))) if zero else found

    return rewrite


def _decimal(precision: int) -> Rewrite:
    """to_decimal64(x, scale)."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        value, *scale = tree.expressions or [exp.Null()]
        return exp.Cast(this=value, to=data_type(f"decimal({precision},{scale[0].name if scale else 0})"))

    return rewrite


_WHOLE = ((8, "tinyint"), (16, "smallint"), (32, "int"), (64, "bigint"))
_NUMBERS = {
    **{f"int{bits}": kind for bits, kind in _WHOLE},
    **{f"uint{bits}": f"{kind} unsigned" for bits, kind in _WHOLE},
    "int": "int", "float": "double", "float32": "float", "float64": "double",
}  # fmt: skip
_KINDS = {
    **_NUMBERS,
    "string": "string",
    "bool": "boolean",
    "datetime": "timestamp",
    "datetime64": "timestamp",
    "time": "timestamp",
}
_CASTS: Mapping[str, Rewrite] = {
    **{f"TO_{name.upper()}": _cast(kind) for name, kind in _KINDS.items()},
    **{f"TO_{name.upper()}_OR_NULL": _cast(kind, lenient=True) for name, kind in _KINDS.items()},
    **{f"TO_{name.upper()}_OR_ZERO": _cast(kind, lenient=True, zero=True) for name, kind in _NUMBERS.items()},
    **{f"TO_DECIMAL{bits}": _decimal(precision) for bits, precision in ((32, 9), (64, 18), (128, 38), ("", 38))},
}


def _truncated(unit: str) -> Rewrite:
    return lambda tree: call("date_trunc", exp.Literal.string(unit), *tree.expressions[:1])


def _date_sub(tree: exp.Anonymous) -> exp.Expression:
    """date_sub(day, 1, t) and date_sub(t, 1d)."""
    if len(tree.expressions) != _WITH_UNIT or (unit := _unit(tree.expressions[0])) is None:
        return moved(exp.Sub, "date_sub")(tree)
    return _later(unit, tree.expressions[2], exp.Neg(this=exp.Paren(this=tree.expressions[1])))


def _later(unit: str, time: exp.Expression, number: exp.Expression) -> exp.Expression:
    return call("timestampadd", exp.Var(this=unit), number, time)


def _added(unit: str, *, back: bool = False) -> Rewrite:
    """add_days(t, n), subtract_days(t, n)."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        if len(tree.expressions) != len(("t", "n")):
            return tree
        time, number = tree.expressions
        return _later(unit, time, exp.Neg(this=exp.Paren(this=number)) if back else number)

    return rewrite


def _day_of_week(tree: exp.Anonymous) -> exp.Expression:
    """Monday is 1, where Spark's weekday has 0."""
    return exp.Paren(this=exp.Add(this=call("weekday", *tree.expressions), expression=exp.Literal.number(1)))


def _written_in_digits(pattern: str) -> Rewrite:
    """to_YYYYMM(t) is a number."""
    return lambda tree: exp.cast(call("date_format", *tree.expressions, exp.Literal.string(pattern)), "bigint")


def _earliest(_tree: exp.Anonymous) -> exp.Expression:
    return exp.cast(exp.Literal.string("1970-01-01 00:00:00"), "timestamp")


def _yesterday(_tree: exp.Anonymous) -> exp.Expression:
    return call("date_sub", call("current_date"), exp.Literal.number(1))


def _same(tree: exp.Anonymous) -> exp.Expression:
    """The argument itself: every type has NULL, and none says how it is stored."""
    return exp.Paren(this=tree.expressions[0]) if len(tree.expressions) == 1 else tree


def _filtered(tree: exp.Anonymous) -> exp.Expression:
    return call("filter", *reversed(tree.expressions))


def _second_first(name: str) -> Rewrite:
    """array_map(x -> x + 1, a) is transform(a, x -> x + 1)."""
    return lambda tree: call(name, *reversed(tree.expressions))


def _multi_if(tree: exp.Anonymous) -> exp.Expression:
    """multi_if(c1, a1, c2, a2, …, otherwise)."""
    *pairs, otherwise = tree.expressions or [exp.Null()]
    cases = [exp.If(this=one, true=two) for one, two in zip(pairs[::2], pairs[1::2], strict=False)]
    return exp.Case(ifs=cases, default=otherwise)


def _integer_division(tree: exp.Anonymous) -> exp.Expression:
    if len(tree.expressions) != len(("a", "b")):
        return tree
    one, other = (exp.Paren(this=item) for item in tree.expressions)
    return exp.Paren(this=exp.IntDiv(this=one, expression=other))


def _array_join(tree: exp.Anonymous) -> exp.Expression:
    """array_join(a) gives a row for each element; with a text it is Spark's, which puts the elements together."""
    return call("explode", *tree.expressions) if len(tree.expressions) == 1 else tree


def _micros(length: exp.Expression) -> int | None:
    """The microseconds of a written interval of one unit; None for what has no fixed length."""
    number, unit = length.this, length.args.get("unit")
    micros = None if unit is None else _FIXED.get(_UNITS.get(unit.name.lower(), ""))
    written = isinstance(length, exp.Interval) and isinstance(number, exp.Literal) and number.name.isdigit()
    return int(number.name) * micros if written and micros is not None else None


def _start_of_interval(tree: exp.Anonymous) -> exp.Expression:
    """to_start_of_interval(t, 5m): the last of the times that are 5 minutes apart, counted from 1970."""
    time, *lengths = tree.expressions or [exp.Null()]
    micros = _micros(lengths[0].unnest()) if len(lengths) == 1 else None
    if micros is None:
        message, hint = "to_start_of_interval takes a time and a length without months", "to_start_of_interval(t, 5m)"
        raise ParseFailure(None, Diagnostic("FUNCTION_ARGUMENTS", message, span_of(tree), hint=hint))
    since = call("unix_micros", time)
    return call(
        "timestamp_micros", exp.Sub(this=since, expression=call("pmod", copied(since), exp.Literal.number(micros)))
    )


def _start_of_minutes(minutes: int) -> Rewrite:
    """to_start_of_five_minutes(t) is to_start_of_interval(t, 5m)."""
    length = exp.Interval(this=exp.Literal.number(minutes), unit=exp.Var(this="MINUTE"))
    return lambda tree: _start_of_interval(call("to_start_of_interval", *tree.expressions, length.copy()))


def _tuple_element(tree: exp.Anonymous) -> exp.Expression:
    """tuple_element(t, 2) and tuple_element(t, 'name') are the fields of a tuple."""
    if len(tree.expressions) != len(("tuple", "field")) or not isinstance(tree.expressions[1], exp.Literal):
        message, hint = "tuple_element takes a tuple and the place or the name of a field", "tuple_element(t, 1)"
        raise ParseFailure(None, Diagnostic("FUNCTION_ARGUMENTS", message, span_of(tree), hint=hint))
    whole, field = tree.expressions
    name = field.name if field.is_string else f"col{field.name}"
    return exp.Dot(this=whole, expression=exp.to_identifier(name, quoted=True))


def _now(_tree: exp.Anonymous) -> exp.Expression:
    return call("now")


_STARTS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
FUNCTIONS: Mapping[str, Rewrite] = {
    **_CASTS,
    **{f"TO_START_OF_{unit}": _truncated(unit) for unit in _STARTS},
    "NOW": _now,
    **{name: standard.logarithm(name) for name in ("LN", "LOG10", "LOG2")},
    "LOG": standard.logarithm("LN"),
    "GREATEST": with_nulls("greatest"),
    "LEAST": with_nulls("least"),
    "NOW64": _now,
    "DATE_DIFF": _date_diff,
    "DATE_DIFF_WITHIN": _date_diff_within,
    "LAG_BEHIND": _lag_behind,
    "MULTI_IF": _multi_if,
    "INT_DIV": _integer_division,
    "ARRAY_JOIN": _array_join,
    "DATE_ADD": moved(exp.Add, "date_add"),
    "DATE_SUB": _date_sub,
    **{f"ADD_{unit}S": _added(unit) for unit in _STARTS},
    **{f"SUBTRACT_{unit}S": _added(unit, back=True) for unit in _STARTS},
    **dict.fromkeys(("TO_DAY_OF_WEEK", "TO_WEEKDAY", "WEEKDAY"), _day_of_week),
    "TO_YYYYMM": _written_in_digits("yyyyMM"),
    "TO_YYYYMMDD": _written_in_digits("yyyyMMdd"),
    "TO_YYYYMMDDHHMMSS": _written_in_digits("yyyyMMddHHmmss"),
    **dict.fromkeys(("EARLIEST_TIMESTAMP", "EARLIEST_TS"), _earliest),
    "YESTERDAY": _yesterday,
    **dict.fromkeys(("ASSUME_NOT_NULL", "TO_NULLABLE", "TO_LOW_CARDINALITY"), _same),
    "ARRAY_FIRST": lambda tree: call("get", _filtered(tree), exp.Literal.number(0)),
    "ARRAY_COUNT": lambda tree: call("size", _filtered(tree)),
    "ARRAY_UNIQ": lambda tree: call("size", call("array_distinct", *tree.expressions)),
    "ARRAY_WITH_CONSTANT": _second_first("array_repeat"),
    "TO_START_OF_INTERVAL": _start_of_interval,
    **{
        f"TO_START_OF_{name}_MINUTE{plural}": _start_of_minutes(minutes)
        for name, minutes in (("FIVE", 5), ("TEN", 10), ("FIFTEEN", 15))
        for plural in ("", "S")
    },
    "TUPLE_ELEMENT": _tuple_element,
    "TUPLE": lambda tree: exp.Tuple(expressions=list(tree.expressions)),
    "BASE64_DECODE": lambda tree: exp.cast(call("unbase64", *tree.expressions), "string"),
    **{
        name: _second_first(spark)
        for name, spark in (
            ("ARRAY_MAP", "transform"),
            ("ARRAY_FILTER", "filter"),
            ("ARRAY_EXISTS", "exists"),
            ("ARRAY_ALL", "forall"),
        )
    },
}
NAMES: Mapping[str, str] = {
    "HAS": "array_contains",
    "INDEX_OF": "array_position",
    "ARRAY_STRING_CONCAT": "array_join",
    "ARRAY_CONCAT": "concat",
    "ARRAY_REVERSE": "reverse",
    "ARRAY_FLATTEN": "flatten",
    "BASE64_ENCODE": "base64",
    "IS_NAN": "isnan",
    "JSON_EXTRACT_KEYS": "json_object_keys",
    "ARRAY_SLICE": "slice",
    "ARRAY_PUSH_BACK": "array_append",
    "ARRAY_PUSH_FRONT": "array_prepend",
    "ARRAY_CAST": "array",
    "STARTS_WITH": "startswith",
    "ENDS_WITH": "endswith",
    "REPLACE_ALL": "replace",
    "REPLACE_REGEX": "regexp_replace",
    "MATCH": "rlike",
    "IS_NULL": "isnull",
    "IS_NOT_NULL": "isnotnull",
    "IF_NULL": "coalesce",
    "NULL_IF": "nullif",
    "TO_YEAR": "year",
    "TO_QUARTER": "quarter",
    "TO_MONTH": "month",
    "TO_DAY_OF_MONTH": "day",
    "TO_DAY_OF_YEAR": "dayofyear",
    "TO_HOUR": "hour",
    "TO_MINUTE": "minute",
    "TO_SECOND": "second",
    "TO_DAY": "day",
    "TODAY": "current_date",
    "TO_UNIX_TIMESTAMP64_MILLI": "unix_millis",
    "TO_UNIX_TIMESTAMP64_MICRO": "unix_micros",
    "FROM_UNIX_TIMESTAMP64_MILLI": "timestamp_millis",
    "FROM_UNIX_TIMESTAMP64_MICRO": "timestamp_micros",
    "TRIM_LEFT": "ltrim",
    "TRIM_RIGHT": "rtrim",
    "LEFT_PAD": "lpad",
    "RIGHT_PAD": "rpad",
    "MODULO": "mod",
    "BIT_SHIFT_LEFT": "shiftleft",
    "BIT_SHIFT_RIGHT": "shiftright",
    "ARRAY_ELEMENT": "try_element_at",
    "ARRAY_ZIP": "arrays_zip",
    "MAP_CAST": "map",
    "MAP_CONTAINS": "map_contains_key",
}
