"""Errors of expressions: how DuckDB is made to raise one as Spark does (`circuit.raised` knows it again).

CASE WHEN b = 0 THEN error('{"penstock": "DIVIDE_BY_ZERO", …}') ELSE a / b END
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.circuit.raised import Raised


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
        head = Raised(self.code, self.sqlstate, "", self.fragment).head
        begin = text_literal(f'{head}, "message": ')
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
