"""Errors of expressions: how DuckDB is made to raise one as Spark does, and how it is known again.

    CASE WHEN b = 0 THEN error('{"penstock": "DIVIDE_BY_ZERO", …}') ELSE a / b END

DuckDB hands the text of `error` on in the message of its exception; it is an object of JSON with the code, the
SQLSTATE, Spark's sentence, and the expression that Spark names with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

_MARK = '{"penstock": '


@dataclass(frozen=True, slots=True)
class Raised:
    """An error of an expression; `fragment` is the part that Spark names, and empty where it names none."""

    code: str
    sqlstate: str
    message: str
    fragment: str = ""


def diagnosed(error: BaseException) -> Raised | None:
    """The error of an expression that DuckDB's exception is about; None for any other exception."""
    text = str(error)
    begin = text.find(_MARK)
    if begin < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text[begin:])
        return Raised(found["penstock"], found["sqlstate"], found["message"], found["fragment"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that DuckDB can raise: `message` is SQL of Spark's sentence, which may have values in it."""

    code: str
    sqlstate: str
    message: str
    fragment: str = ""

    @property
    def raising(self) -> str:
        """SQL that raises it."""
        head = json.dumps({"penstock": self.code, "sqlstate": self.sqlstate, "fragment": self.fragment})
        begin = text_literal(f'{head[:-1]}, "message": ')
        return f"error({begin} || to_json({self.message}) || '}}')"


def said(sentence: str, **values: str) -> str:
    """SQL of a sentence with the SQL of values in the place of their `{names}`."""
    parts, rest = [], sentence
    while "{" in rest:
        before, _, behind = rest.partition("{")
        name, _, rest = behind.partition("}")
        parts += [text_literal(before), f"({values[name]})"]
    parts.append(text_literal(rest))
    return " || ".join(part for part in parts if part != "''") or "''"


def text_literal(text: str) -> str:
    """A text as DuckDB reads it."""
    return "'" + text.replace("'", "''") + "'"
