"""The functions of Feldera in Spark's words: texts cut by texts, formats of times, numbers that are cut off."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects import standard_functions as standard
from penstock.sql.dialects.rewriting import (
    bare_unit,
    call,
    copied,
    cut_off,
    moved,
    pattern_of,
    truncate,
    with_nulls,
)
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rewrite
from penstock.sql.text import span_of
from penstock.sql.trees import data_type

_PAIR = len(("x", "y"))
_COMMA = exp.Literal.string(",")
_ELEMENT = exp.Identifier(this="item", quoted=False)
# What stands behind % in a format, and what Spark writes for it.
_SIGNS: Mapping[str, str] = {
    "Y": "yyyy", "y": "yy", "m": "MM", "b": "MMM", "h": "MMM", "B": "MMMM", "d": "dd", "a": "EEE", "A": "EEEE",
    "j": "DDD", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "p": "a", "F": "yyyy-MM-dd", "T": "HH:mm:ss",
    "R": "HH:mm", "D": "MM/dd/yy", "%": "%",
}  # fmt: skip
_PARTS = re.compile(r"%.?|[A-Za-z]+|.", re.DOTALL)
_PLAIN = frozenset(" -/:.,_")


def _refused(tree: exp.Expression, message: str, hint: str) -> ParseFailure:
    return ParseFailure(None, Diagnostic("FUNCTION_ARGUMENTS", message, span_of(tree), hint=hint))


def _format(tree: exp.Anonymous) -> tuple[exp.Expression, exp.Expression]:
    """The format that a call begins with, in Spark's signs, and the value behind it."""
    name = tree.name.upper()
    if len(tree.expressions) != _PAIR or not (
        isinstance(tree.expressions[0], exp.Literal) and tree.expressions[0].is_string
    ):
        message = f"{name} takes a format that is written out, and a value"
        raise _refused(tree, message, f"{name}('%Y-%m-%d', x)")
    written, value = tree.expressions
    return exp.Literal.string(_translated(tree, written.name)), value


def _translated(tree: exp.Anonymous, written: str) -> str:
    found: list[str] = []
    for part in _PARTS.findall(written):
        if part[:1] == "%" and part[1:] in _SIGNS:
            found.append(_SIGNS[part[1:]])
        elif part.isalpha():
            found.append(f"'{part}'")  # letters that stand for themselves
        elif part[:1] != "%" and (part in _PLAIN or part.isdigit()):
            found.append(part)
        else:
            message = f"{tree.name.upper()} knows no {part} in a format"
            hint = f"the signs are {', '.join('%' + known for known in _SIGNS)}; date_format(x, 'yyyy-MM') has Spark's"
            raise _refused(tree, message, hint)
    return "".join(found)


def _formatted(tree: exp.Anonymous) -> exp.Expression:
    """FORMAT_DATE('%Y-%m', d) is date_format(d, 'yyyy-MM')."""
    form, value = _format(tree)
    return call("date_format", value, form)


def _parsed(name: str) -> Rewrite:
    """PARSE_DATE('%Y-%m-%d', s): NULL for a text that is not written so."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        form, value = _format(tree)
        return call(name, value, form)

    return rewrite


def _split(tree: exp.Anonymous) -> exp.Expression:
    """SPLIT(s, '|'): the parts between a text, a comma unless given, which is no pattern; none of an empty text."""
    text, *given = tree.expressions or [exp.Null()]
    separator = given[0] if len(given) == 1 else _COMMA.copy() if not given else exp.Null()
    if isinstance(separator, exp.Literal) and separator.is_string and not separator.name:
        return call("array", text)
    pattern = pattern_of(separator)
    if pattern is None:
        message = "SPLIT takes a text, and a separator that is written out, without [ ] ^ and \\"
        raise _refused(tree, message, "split_part(text, separator, n) takes any")
    nothing = exp.cast(call("array"), "array<string>")
    parts = call("split", copied(text), exp.Literal.string(pattern))
    empty = exp.EQ(this=exp.Paren(this=text), expression=exp.Literal.string(""))
    return exp.Case(ifs=[exp.If(this=empty, true=nothing)], default=parts)


def _regexp_replace(tree: exp.Anonymous) -> exp.Expression:
    """REGEXP_REPLACE(s, pattern) takes out what matches."""
    nothing = [exp.Literal.string("")] if len(tree.expressions) == _PAIR else []
    return call("regexp_replace", *tree.expressions, *nothing)


def _log(tree: exp.Anonymous) -> exp.Expression:
    """LOG(x, base): Spark has the base first."""
    if len(tree.expressions) == 1:
        return standard.logarithm("LN", raises=True)(tree)
    return call("log", *reversed(tree.expressions))


def _div_null(tree: exp.Anonymous) -> exp.Expression:
    """DIV_NULL(a, b): NULL where b is zero."""
    if len(tree.expressions) != _PAIR:
        raise _refused(tree, "DIV_NULL takes two arguments", "DIV_NULL(a, b)")
    one, other = tree.expressions
    divisor = call("nullif", other, exp.Literal.number(0))
    return exp.Paren(this=exp.Div(this=exp.Paren(this=one), expression=divisor))


def _is_inf(tree: exp.Anonymous) -> exp.Expression:
    infinity = exp.cast(exp.Literal.string("Infinity"), "double")
    return exp.Paren(this=exp.EQ(this=call("abs", *tree.expressions), expression=infinity))


def _position(tree: exp.Anonymous) -> exp.Expression:
    """ARRAY_POSITION(a, x), of the first NULL for NULL, 0 where there is none."""
    if len(tree.expressions) != _PAIR or isinstance(tree.expressions[0], exp.Null):
        return tree
    array, value = tree.expressions
    same = exp.NullSafeEQ(this=_ELEMENT.copy(), expression=exp.Paren(this=value))
    return call("array_position", call("transform", array, _each(same)), exp.Boolean(this=True))


def _removed(tree: exp.Anonymous) -> exp.Expression:
    """ARRAY_REMOVE(a, x) takes out the elements that are x, for NULL those that are NULL."""
    if len(tree.expressions) != _PAIR or isinstance(tree.expressions[0], exp.Null):
        return tree
    array, value = tree.expressions
    same = exp.NullSafeEQ(this=_ELEMENT.copy(), expression=exp.Paren(this=value))
    return call("filter", array, _each(exp.Not(this=exp.Paren(this=same))))


def _overlapping(tree: exp.Anonymous) -> exp.Expression:
    """ARRAYS_OVERLAP(a, b): NULL is an element as others are."""
    if len(tree.expressions) != _PAIR or isinstance(tree.expressions[0], exp.Null):
        return tree
    common = call("size", call("array_intersect", *(copied(item) for item in tree.expressions)))
    some = exp.GT(this=common, expression=exp.Literal.number(0))
    there = [exp.Not(this=exp.Is(this=exp.Paren(this=item), expression=exp.Null())) for item in tree.expressions]
    return exp.Case(ifs=[exp.If(this=exp.And(this=there[0], expression=there[1]), true=some)])


def _each(body: exp.Expression) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[_ELEMENT.copy()])


def _time_trunc(tree: exp.Anonymous) -> exp.Expression:
    """TIME_TRUNC(t, HOUR)."""
    unit = bare_unit(tree.expressions[1]) if len(tree.expressions) == _PAIR else None
    return tree if unit is None else call("time_trunc", exp.Literal.string(unit), tree.expressions[0])


FUNCTIONS: Mapping[str, Rewrite] = {
    "SUBSTRING": standard.substring,
    "INITCAP": standard.initcap,
    "OVERLAY": standard.overlay,
    "LN": standard.logarithm("LN", raises=True),
    "LOG10": standard.logarithm("LOG10", raises=True),
    "SEQUENCE": standard.rising_sequence,
    "MAP_KEYS": standard.in_order("map_keys"),
    "MAP_VALUES": standard.map_values,
    **{f"ARRAY_{name}": standard.in_order(f"array_{name.lower()}") for name in ("UNION", "EXCEPT", "INTERSECT")},
    "LISTAGG": standard.listagg,
    "ARRAY_CONTAINS": standard.contains,
    "ARRAY_POSITION": _position,
    "ARRAY_REMOVE": _removed,
    "ARRAYS_OVERLAP": _overlapping,
    "TIMESTAMP_TRUNC": truncate,
    "DATE_TRUNC": truncate,
    "DATETIME_TRUNC": truncate,
    "TIME_TRUNC": _time_trunc,
    "DATE_ADD": moved(exp.Add, "date_add"),
    "DATE_SUB": moved(exp.Sub, "date_sub"),
    "FORMAT_DATE": _formatted,
    "FORMAT_TIMESTAMP": _formatted,
    "PARSE_DATE": _parsed("try_to_date"),
    "PARSE_TIMESTAMP": _parsed("try_to_timestamp"),
    "PARSE_TIME": _parsed("try_to_time"),
    "SPLIT": _split,
    "REGEXP_REPLACE": _regexp_replace,
    "LOG": _log,
    "TRUNC": cut_off,
    "TRUNCATE": cut_off,
    "DIV_NULL": _div_null,
    "IS_INF": _is_inf,
    "GREATEST": with_nulls("greatest"),
    "LEAST": with_nulls("least"),
    "TO_HEX": lambda tree: call("lower", call("hex", *tree.expressions)),
    "BIN2UTF8": lambda tree: exp.Cast(this=call("concat", *tree.expressions), to=data_type("string")),
    "ISNULL": lambda tree: call("isnull", *tree.expressions),
    "VARIANTNULL": lambda _tree: call("parse_json", exp.Literal.string("null")),
}
NAMES: Mapping[str, str] = {
    "ARG_MAX": "max_by",
    "ARG_MIN": "min_by",
    "COUNTIF": "count_if",
    "NOW": "now",
    "WEEK": "weekofyear",
    "ARRAY_LENGTH": "size",
    "ARRAY_REVERSE": "reverse",
    "ARRAY_CONCAT": "concat",
    "ARRAY_TO_STRING": "array_join",
    "ARRAY_EXISTS": "exists",
    "CARDINALITY": "size",
    "GREATEST_IGNORE_NULLS": "greatest",
    "LEAST_IGNORE_NULLS": "least",
    "INITCAP_SPACES": "initcap",
    "LOGICAL_AND": "bool_and",
    "LOGICAL_OR": "bool_or",
    "CHAR_LENGTH": "char_length",
    "PARSE_JSON": "try_parse_json",
    "IS_NAN": "isnan",
    "ROW": "struct",
}
