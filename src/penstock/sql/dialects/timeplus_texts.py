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


TEXTS: Mapping[str, Rewrite] = {
    "SPLIT_BY_CHAR": _split(one_character=True),
    "SPLIT_BY_STRING": _split(one_character=False),
    "FORMAT_DATETIME": _format_datetime,
    "JSON_EXTRACT_STRING": _json(None),
    "JSON_EXTRACT_INT": _json("bigint"),
    "JSON_EXTRACT_FLOAT": _json("double"),
    "JSON_EXTRACT_BOOL": _json("boolean"),
}
