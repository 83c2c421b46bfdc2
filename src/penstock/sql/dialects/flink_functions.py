"""The functions of Flink in Spark's words: times of numbers, parts of texts, and what defaults they have."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects.rewriting import call, pattern_of
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rewrite
from penstock.sql.text import span_of

_MICROS = {"0": 1_000_000, "3": 1000}
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
    """REGEXP_EXTRACT(text, pattern): all that matches, where Spark takes the first group."""
    whole = [exp.Literal.number(0)] if len(tree.expressions) == len(("text", "pattern")) else []
    return call("regexp_extract", *tree.expressions, *whole)


def _str_to_map(tree: exp.Anonymous) -> exp.Expression:
    """STR_TO_MAP('a=1,b=2'): the sign between key and value is `=`, Spark's is `:`."""
    signs = [exp.Literal.string(sign) for sign in (",", "=")] if len(tree.expressions) == 1 else []
    return call("str_to_map", *tree.expressions, *signs)


def _digest(bits: int) -> Rewrite:
    return lambda tree: call("sha2", *tree.expressions, exp.Literal.number(bits))


def _from_base64(tree: exp.Anonymous) -> exp.Expression:
    return exp.cast(call("unbase64", *tree.expressions), "string")


def _json_value(tree: exp.Anonymous) -> exp.Expression:
    """JSON_VALUE(text, path): the mode in front of the path changes nothing where errors are NULL."""
    if len(tree.expressions) != len(("text", "path")) or not _is_text(tree.expressions[1]):
        raise _refused(tree, "JSON_VALUE takes a text and a path that is written out", "JSON_VALUE(j, '$.a')")
    text, path = tree.expressions
    plain = path.name.removeprefix("lax ").removeprefix("strict ").strip()
    return call("get_json_object", text, exp.Literal.string(plain))


FUNCTIONS: Mapping[str, Rewrite] = {
    "PROCTIME": _now,
    "CURRENT_ROW_TIMESTAMP": _now,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "SPLIT_INDEX": _split_index,
    "REGEXP_EXTRACT": _regexp_extract,
    "STR_TO_MAP": _str_to_map,
    "JSON_VALUE": _json_value,
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
}
