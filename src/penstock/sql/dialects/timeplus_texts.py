"""The functions of Timeplus that read and write texts, in Spark's words: parts of texts, times as texts, JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects.rewriting import call
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rewrite
from penstock.sql.text import span_of
from penstock.sql.trees import data_type

_SPECIAL = re.compile(r"([\\^$.|?*+()\[\]{}])")
_PARTS = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "i": "mm", "M": "mm", "S": "ss",
    "F": "yyyy-MM-dd", "D": "MM/dd/yy", "T": "HH:mm:ss", "R": "HH:mm", "j": "DDD", "%": "%",
}  # fmt: skip
_KEY = re.compile(r"[^'?*\\]+")  # others mean something in a path
_PAIR = 2  # arguments


def _wrong(tree: exp.Expression, message: str, hint: str) -> ParseFailure:
    return ParseFailure(None, Diagnostic("FUNCTION_ARGUMENTS", message, span_of(tree), hint=hint))


def _text_of(tree: exp.Expression) -> str | None:
    """The value of a text in quotes."""
    return str(tree.name) if isinstance(tree, exp.Literal) and tree.is_string else None


def _pattern(text: str) -> exp.Expression:
    """A pattern that finds a text as it is."""
    return exp.Literal.string(_SPECIAL.sub(r"\\\1", text))


def _split(*, one_character: bool) -> Rewrite:
    """split_by_string(', ', x) is split(x, ', '), where the separator is no pattern."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        separator = _text_of(tree.expressions[0]) if len(tree.expressions) == _PAIR else None
        if separator is None or (one_character and len(separator) != 1):
            name = tree.name.lower()
            wanted = "one character" if one_character else "a text"
            raise _wrong(tree, f"{name} takes a separator, {wanted} in quotes, and a text", f"{name}(',', x)")
        return call("split", tree.expressions[1], _pattern(separator))

    return rewrite


def _format_datetime(tree: exp.Anonymous) -> exp.Expression:
    """format_datetime(t, '%Y-%m-%d') is date_format(t, 'yyyy-MM-dd')."""
    time, *rest = tree.expressions or [exp.Null()]
    pattern = _text_of(rest[0]) if len(rest) == 1 else None
    found = None if pattern is None else _date_pattern(pattern)
    if found is None:
        known = " ".join(f"%{sign}" for sign in _PARTS)
        raise _wrong(
            tree,
            f"format_datetime takes a time and a format in quotes, of {known}",
            "date_format(t, 'E') has other parts",
        )
    return call("date_format", time, exp.Literal.string(found))


def _date_pattern(pattern: str) -> str | None:
    """A format in Spark's letters; None where it has a part that is not known."""
    found = ""
    for sign, plain in re.findall(r"%(.?)|([^%]+)", pattern, re.DOTALL):
        if not plain and sign not in _PARTS:
            return None
        found += _quoted(plain) if plain else _PARTS[sign]
    return found


def _quoted(plain: str) -> str:
    """Text between the parts of a format; letters and signs that mean something in it stand in quotes."""
    if re.fullmatch(r"[^A-Za-z'\[\]{}#]*", plain):
        return plain
    return "'" + plain.replace("'", "''") + "'"


def _json(kind: str | None) -> Rewrite:
    """json_extract_int(x, 'a', 'b'): what stands at a path of keys, and from 1 on of places; NULL if nothing does."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        document, *keys = tree.expressions or [exp.Null()]
        steps = [_step(key) for key in keys]
        if not steps or None in steps:
            name = tree.name.lower()
            raise _wrong(tree, f"{name} takes a text and keys in quotes, or places from 1 on", f"{name}(x, 'key')")
        found = call("get_json_object", document, exp.Literal.string("$" + "".join(map(str, steps))))
        return found if kind is None else exp.TryCast(this=found, to=data_type(kind))

    return rewrite


def _step(key: exp.Expression) -> str | None:
    """A step of a path, None for what is no key: an array counts from 0 in it."""
    text = _text_of(key)
    if text is not None:
        return f"['{text}']" if _KEY.fullmatch(text) else None
    counted = isinstance(key, exp.Literal) and key.name.isdigit() and int(key.name) > 0
    return f"[{int(key.name) - 1}]" if counted else None


def json_at(found: exp.JSONExtract) -> exp.Expression:
    """`x:a.b[1]` is what stands at a path of a JSON text, of a number its text; an array counts from 1."""
    path = "$"
    for part in found.expression.expressions[1:]:
        match part:
            case exp.JSONPathKey() if isinstance(part.this, str) and _KEY.fullmatch(part.this):
                path += f"['{part.this}']"
            case exp.JSONPathSubscript() if isinstance(part.this, int) and part.this > 0:
                path += f"[{part.this - 1}]"
            case _:
                raise _wrong(found, "a path of a JSON text is of keys and of places, from 1 on", "x:a.b[1]")
    return call("get_json_object", found.this, exp.Literal.string(path))


def _at_a_path(tree: exp.Anonymous) -> exp.Expression:
    """json_value(x, '$.a.b')."""
    if len(tree.expressions) != _PAIR or _text_of(tree.expressions[1]) is None:
        raise _wrong(tree, f"{tree.name.lower()} takes a text and a path in quotes", f"{tree.name.lower()}(x, '$.a')")
    return call("get_json_object", *tree.expressions)


def _is_there(tree: exp.Anonymous) -> exp.Expression:
    """json_has(x, 'a', 'b'): something other than null stands there."""
    return exp.Paren(this=exp.Not(this=exp.Is(this=_json(None)(tree), expression=exp.Null())))


def _is_json(tree: exp.Anonymous) -> exp.Expression:
    return exp.Paren(this=exp.Not(this=exp.Is(this=_whole(tree), expression=exp.Null())))


def _whole(tree: exp.Anonymous) -> exp.Expression:
    return call("get_json_object", *tree.expressions, exp.Literal.string("$"))


def _json_list(tree: exp.Anonymous) -> exp.Expression:
    """json_extract_array(x, 'a'): the elements as texts."""
    found = _json(None)(tree) if len(tree.expressions) > 1 else _whole(tree)
    return call("from_json", found, exp.Literal.string("array<string>"))


def _position(tree: exp.Anonymous) -> exp.Expression:
    """position(text, part), where Spark has the part first; position(part IN text) is the same in both."""
    return (
        tree if "in" in tree.meta else call("position", tree.expressions[1], tree.expressions[0], *tree.expressions[2:])
    )


def _extract(tree: exp.Anonymous) -> exp.Expression:
    """extract(text, pattern): the first group of the pattern, all that matches if it has none; '' where none does."""
    pattern = _text_of(tree.expressions[-1]) if len(tree.expressions) == _PAIR else None
    groups = None if pattern is None else len(re.findall(r"(?<!\\)\((?!\?)", pattern))
    if groups is None:
        name = tree.name.lower()
        raise _wrong(tree, f"{name} takes a text and a pattern in quotes", f"{name}(x, 'id=([0-9]+)')")
    return call("regexp_extract", *tree.expressions, exp.Literal.number(min(groups, 1)))


def _replace_one(tree: exp.Anonymous) -> exp.Expression:
    """replace_one(x, 'a', 'b') replaces the first place of a text alone."""
    if len(tree.expressions) != len(("x", "from", "to")):
        raise _wrong(tree, "replace_one takes a text, what is replaced and what by", "replace_one(x, 'a', 'b')")
    text, old, new = tree.expressions
    place = call("instr", text.copy(), old.copy())
    whole = call("overlay", text.copy(), new, place.copy(), call("length", old.copy()))
    none = exp.EQ(this=place, expression=exp.Literal.number(0))
    return call("if", none, text, whole)


def _extract_all(tree: exp.Anonymous) -> exp.Expression:
    """extract_all(text, pattern): the first groups of all matches, the whole matches if the pattern has no group."""
    found = _extract(tree)
    return call("regexp_extract_all", *found.expressions)


def _to_timezone(tree: exp.Anonymous) -> exp.Expression:
    """to_timezone(t, zone) is the same instant: a zone says how it is shown, and is not kept with a time here."""
    if len(tree.expressions) != _PAIR:
        raise _wrong(tree, "to_timezone takes a time and a time zone", "to_timezone(t, 'UTC')")
    return exp.Paren(this=tree.expressions[0])


TEXTS: Mapping[str, Rewrite] = {
    "POSITION": _position,
    "REPLACE_ONE": _replace_one,
    "EXTRACT_ALL": _extract_all,
    "TO_TIMEZONE": _to_timezone,
    "EXTRACT": _extract,
    "JSON_VALUE": _at_a_path,
    "JSON_QUERY": _at_a_path,
    "JSON_HAS": _is_there,
    "JSON_EXTRACT_ARRAY": _json_list,
    "IS_VALID_JSON": _is_json,
    "SPLIT_BY_CHAR": _split(one_character=True),
    "SPLIT_BY_STRING": _split(one_character=False),
    "FORMAT_DATETIME": _format_datetime,
    "JSON_EXTRACT_STRING": _json(None),
    "JSON_EXTRACT_INT": _json("bigint"),
    "JSON_EXTRACT_FLOAT": _json("double"),
    "JSON_EXTRACT_BOOL": _json("boolean"),
}
