"""The functions of Flink in Spark's words: times of numbers, parts of texts, and what defaults they have."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects import standard_functions as standard
from penstock.sql.dialects.rewriting import call, copied, pattern_of, with_nulls
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rewrite
from penstock.sql.text import span_of

_MICROS = {"0": 1_000_000, "3": 1000}
_JSON = "json"  # in the meta of a tree whose text is JSON
_MILLISECONDS = exp.Literal.number(3)


def _is_text(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Literal) and bool(tree.is_string)


def _refused(tree: exp.Expression, message: str, hint: str) -> ParseFailure:
    return ParseFailure(None, Diagnostic("FLINK_FUNCTION", message, span_of(tree), hint=hint))


def _now(_tree: exp.Anonymous) -> exp.Expression:
    return call("now")


def _to_timestamp_ltz(tree: exp.Anonymous) -> exp.Expression:
    """TO_TIMESTAMP_LTZ(n, 0) of seconds, (n, 3) and (n) of milliseconds; of a text as to_timestamp."""
    arguments = list(tree.expressions)
    if not arguments or any(_is_text(item) for item in arguments):
        return call("to_timestamp", *arguments)
    number, precision = (*arguments, _MILLISECONDS)[:2]
    micros = _MICROS.get(precision.name)
    if micros is None:
        message = "TO_TIMESTAMP_LTZ takes seconds or milliseconds"
        raise _refused(tree, message, "TO_TIMESTAMP_LTZ(n, 0) is of seconds, TO_TIMESTAMP_LTZ(n, 3) of milliseconds")
    whole = exp.cast(number, "bigint")
    return call("timestamp_micros", exp.Mul(this=whole, expression=exp.Literal.number(micros)))


def _split_index(tree: exp.Anonymous) -> exp.Expression:
    """SPLIT_INDEX(text, separator, n): the part n, counted from 0; NULL where there is none."""
    if len(tree.expressions) != len(("text", "separator", "n")):
        raise _refused(tree, "SPLIT_INDEX takes three arguments", "SPLIT_INDEX('a,b', ',', 0) is 'a'")
    text, separator, place = tree.expressions
    pattern = pattern_of(separator)
    if not pattern:
        message = "the separator of SPLIT_INDEX is a text that is written out, without [ ] ^ and \\"
        raise _refused(tree, message, "split_part(text, separator, n + 1) takes any, and gives '' where there is none")
    return call("get", call("split", text, exp.Literal.string(pattern)), place)


def _regexp_extract(tree: exp.Anonymous) -> exp.Expression:
    """REGEXP_EXTRACT(text, pattern): all that matches, where Spark takes the first group; NULL if nothing does."""
    if len(tree.expressions) < len(("text", "pattern")):
        return tree
    whole = [exp.Literal.number(0)] if len(tree.expressions) == len(("text", "pattern")) else []
    matches = call("rlike", *(copied(item) for item in tree.expressions[:2]))
    return call("if", matches, call("regexp_extract", *tree.expressions, *whole), exp.Null())


def _str_to_map(tree: exp.Anonymous) -> exp.Expression:
    """STR_TO_MAP('a=1,b=2'): the sign between key and value is `=`, Spark's is `:`."""
    signs = [exp.Literal.string(sign) for sign in (",", "=")] if len(tree.expressions) == 1 else []
    return call("str_to_map", *tree.expressions, *signs)


def _digest(bits: int) -> Rewrite:
    return lambda tree: call("sha2", *tree.expressions, exp.Literal.number(bits))


def _from_base64(tree: exp.Anonymous) -> exp.Expression:
    return exp.cast(call("unbase64", *tree.expressions), "string")


def _json_at(tree: exp.Anonymous) -> exp.Expression:
    """The value at a path of a JSON text, as a text; the mode in front of the path changes nothing."""
    name = tree.name.upper()
    if len(tree.expressions) != len(("text", "path")) or not _is_text(tree.expressions[1]):
        raise _refused(tree, f"{name} takes a text and a path that is written out", f"{name}(j, '$.a')")
    text, path = tree.expressions
    plain = path.name.removeprefix("lax ").removeprefix("strict ").strip()
    return call("get_json_object", text, exp.Literal.string(plain))


def _json_query(tree: exp.Anonymous) -> exp.Expression:
    """JSON_QUERY(text, path): an object or an array, NULL where another value stands."""
    found = _json_at(tree)
    opens = [call("startswith", found.copy(), exp.Literal.string(sign)) for sign in "{["]
    return call("if", exp.Or(this=opens[0], expression=opens[1]), found, exp.Null())


def _json_exists(tree: exp.Anonymous) -> exp.Expression:
    found = _json_at(tree)
    there = exp.Not(this=exp.Is(this=found, expression=exp.Null()))
    return call(
        "if", exp.Is(this=exp.Paren(this=found.expressions[0].copy()), expression=exp.Null()), exp.Null(), there
    )


def _json_object(tree: exp.Anonymous) -> exp.Expression:
    """JSON_OBJECT('k' VALUE v, …): with NULLs unless it is ABSENT ON NULL; what is JSON within it stays so."""
    arguments = list(tree.expressions)
    absent = bool(arguments) and isinstance(arguments[-1], exp.Var)
    arguments = arguments[:-1] if absent else arguments
    pieces = [_member(key, value, absent=absent) for key, value in zip(arguments[::2], arguments[1::2], strict=True)]
    return _in_signs("{", pieces, "}")


def _member(key: exp.Expression, value: exp.Expression, *, absent: bool) -> exp.Expression:
    """`"k":v` as a text; NULL where a NULL is left out."""
    text = _json_text(value) if absent else call("coalesce", _json_text(value), exp.Literal.string("null"))
    return call("concat", _json_text(key), exp.Literal.string(":"), text)


def _json_array(tree: exp.Anonymous) -> exp.Expression:
    """JSON_ARRAY(v, …): without NULLs unless it is NULL ON NULL."""
    arguments = list(tree.expressions)
    nulls = bool(arguments) and isinstance(arguments[-1], exp.Var)
    pieces = [_json_text(item) for item in (arguments[:-1] if nulls else arguments)]
    return _in_signs(
        "[", [call("coalesce", item, exp.Literal.string("null")) for item in pieces] if nulls else pieces, "]"
    )


def _in_signs(opening: str, pieces: list[exp.Expression], closing: str) -> exp.Expression:
    found = call(
        "concat",
        exp.Literal.string(opening),
        call("concat_ws", exp.Literal.string(","), *pieces),
        exp.Literal.string(closing),
    )
    found.meta[_JSON] = True
    return found


def _json_text(value: exp.Expression) -> exp.Expression:
    """A value as JSON, NULL for NULL: `{"v":value}` without what stands around the value."""
    if _JSON in value.meta:
        return value
    if _is_text(value) and value.name.isascii() and value.name.replace(" ", "a").replace("_", "a").isalnum():
        return exp.Literal.string(f'"{value.name}"')
    keep = call("map", exp.Literal.string("ignoreNullFields"), exp.Literal.string("false"))
    text = call("to_json", call("named_struct", exp.Literal.string("v"), value.copy()), keep)
    bare = call(
        "substring",
        text,
        exp.Literal.number(6),
        exp.Sub(this=call("length", text.copy()), expression=exp.Literal.number(6)),
    )
    return call("if", exp.Is(this=exp.Paren(this=value), expression=exp.Null()), exp.Null(), bare)


def _json_string(tree: exp.Anonymous) -> exp.Expression:
    return _json_text(tree.expressions[0]) if len(tree.expressions) == 1 else tree


def _ignoring_nulls(tree: exp.Anonymous) -> exp.Expression:
    """FIRST_VALUE(x), LAST_VALUE(x): of the rows that have a value."""
    told = isinstance(tree.parent, exp.IgnoreNulls | exp.RespectNulls) or len(tree.expressions) != 1
    return tree if told else call(str(tree.this), *tree.expressions, exp.true())


def _json_arrayagg(tree: exp.Anonymous) -> exp.Expression:
    """JSON_ARRAYAGG(x): without NULLs unless it is NULL ON NULL; in the order of the whole rows."""
    value, *nulls = tree.expressions
    text = _json_text(value)
    return _aggregated("[", call("coalesce", text, exp.Literal.string("null")) if nulls else text, "]")


def _json_objectagg(tree: exp.Anonymous) -> exp.Expression:
    """JSON_OBJECTAGG(KEY k VALUE v): with NULLs unless it is ABSENT ON NULL."""
    key, value, *absent = tree.expressions
    return _aggregated("{", _member(key, value, absent=bool(absent)), "}")


def _aggregated(opening: str, text: exp.Expression, closing: str) -> exp.Expression:
    joined = call("array_join", call("collect_list", text), exp.Literal.string(","))
    found = call("concat", exp.Literal.string(opening), joined, exp.Literal.string(closing))
    found.meta[_JSON] = True
    return found


def _element(tree: exp.Anonymous) -> exp.Expression:
    """ELEMENT(a): the only element of an array; several are an error."""
    if len(tree.expressions) != 1:
        return tree
    several = exp.GT(this=call("size", copied(tree.expressions[0])), expression=exp.Literal.number(1))
    error = call("raise_error", exp.Literal.string("ELEMENT of an array with several elements"))
    return call("if", several, error, call("get", tree.expressions[0], exp.Literal.number(0)))


def _array_slice(tree: exp.Anonymous) -> exp.Expression:
    """ARRAY_SLICE(a, 2) and ARRAY_SLICE(a, 2, 3): from the second element on, up to the third."""
    if len(tree.expressions) == len(("array", "start")):
        return call("slice", *tree.expressions, call("size", copied(tree.expressions[0])))
    if len(tree.expressions) != len(("array", "start", "end")):
        raise _refused(tree, "ARRAY_SLICE takes an array, a start and an end", "ARRAY_SLICE(a, 2, 3)")
    array, start, end = tree.expressions
    if not all(isinstance(item, exp.Literal) and item.name.isdigit() and int(item.name) for item in (start, end)):
        hint = "slice(a, start, length) takes any"
        raise _refused(tree, "the start and the end of ARRAY_SLICE are numbers from 1 on, written out", hint)
    length = max(int(end.name) - int(start.name) + 1, 0)
    return call("slice", array, start, exp.Literal.number(length))


def _truncate(tree: exp.Anonymous) -> exp.Expression:
    """TRUNCATE(x) and TRUNCATE(x, n): towards zero."""
    if not tree.expressions:
        return tree
    below = exp.LT(this=exp.Paren(this=copied(tree.expressions[0])), expression=exp.Literal.number(0))
    arguments = list(tree.expressions)
    return call("if", below, call("ceil", *(copied(item) for item in arguments)), call("floor", *arguments))


def _convert_tz(tree: exp.Anonymous) -> exp.Expression:
    """CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'Asia/Tokyo'): a text of a time, and the text of it elsewhere."""
    if len(tree.expressions) != len(("text", "from", "to")):
        raise _refused(tree, "CONVERT_TZ takes a text and two time zones", "CONVERT_TZ(t, 'UTC', 'Asia/Tokyo')")
    text, *zones = tree.expressions
    moved = call("convert_timezone", *zones, exp.cast(text, "timestamp_ntz"))
    return call("date_format", moved, exp.Literal.string("yyyy-MM-dd HH:mm:ss"))


def _matches(pattern: str) -> Rewrite:
    """IS_DIGIT(x): all signs of a text that has some."""
    return lambda tree: call("rlike", *tree.expressions, exp.Literal.string(pattern))


FUNCTIONS: Mapping[str, Rewrite] = {
    "INITCAP": standard.initcap,
    "LN": standard.logarithm("LN"),
    "LOG10": standard.logarithm("LOG10"),
    "LOG2": standard.logarithm("LOG2"),
    "LOG": standard.logarithm("LN"),
    "ARRAY_CONTAINS": standard.contains,
    "ARRAY_SORT": standard.sorted_array,
    "PROCTIME": _now,
    "CURRENT_ROW_TIMESTAMP": _now,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "SPLIT_INDEX": _split_index,
    "REGEXP_EXTRACT": _regexp_extract,
    "STR_TO_MAP": _str_to_map,
    "JSON_VALUE": _json_at,
    "JSON_QUERY": _json_query,
    "JSON_EXISTS": _json_exists,
    "JSON_OBJECT": _json_object,
    "JSON_ARRAY": _json_array,
    "JSON_STRING": _json_string,
    "JSON_ARRAYAGG": _json_arrayagg,
    "JSON_OBJECTAGG": _json_objectagg,
    "ELEMENT": _element,
    "ARRAY_SLICE": _array_slice,
    "TRUNCATE": _truncate,
    "GREATEST": with_nulls("greatest"),
    "LEAST": with_nulls("least"),
    "LISTAGG": standard.listagg,
    "STRING_AGG": standard.listagg,
    "FIRST_VALUE": _ignoring_nulls,
    "LAST_VALUE": _ignoring_nulls,
    "CONVERT_TZ": _convert_tz,
    "IS_ALPHA": _matches("^[A-Za-z]+$"),
    "IS_DIGIT": _matches("^[0-9]+$"),
    "FROM_BASE64": _from_base64,
    **{f"SHA{bits}": _digest(bits) for bits in (224, 256, 384, 512)},
}
NAMES: Mapping[str, str] = {
    "CARDINALITY": "size",
    "COLLECT": "collect_list",
    "WEEK": "weekofyear",
    "ROW": "struct",
    "TO_BASE64": "base64",
    "ARRAY_REVERSE": "reverse",
    "ARRAY_CONCAT": "concat",
    "MAP_UNION": "map_concat",
}
