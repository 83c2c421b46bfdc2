"""Properties in the text: `WITH ('k' = 'v', …)`, `SETTINGS k = v, …`, and Spark's OPTIONS and TBLPROPERTIES."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot.tokenizer_core import TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql.cursor import Cursor
from penstock.sql.failure import ParseFailure


@dataclass
class Properties:
    """Properties while they are read: the value of each lower-case name, and where it stands."""

    values: dict[str, str] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)

    def add(self, name: str, value: str, span: Span) -> None:
        """Add one; ParseFailure if it is there already."""
        key = name.lower()
        if key in self.values:
            raise ParseFailure(None, Diagnostic("DUPLICATE_PROPERTY", f"the property {name} is set twice", span))
        self.values[key] = value
        self.spans[key] = span


def read_properties(cursor: Cursor, found: Properties) -> None:
    """`WITH ('k' = 'v', …)` and `SETTINGS k = v, …`, as many as stand here."""
    while True:
        if cursor.peek() == "WITH" and cursor.peek(1) == "(":
            cursor.move()
            cursor.listed(lambda: _property(cursor, found), "the properties")
        elif cursor.accept("SETTINGS"):
            _property(cursor, found)
            while cursor.accept(","):
                _property(cursor, found)
        else:
            return


def read_options(cursor: Cursor, found: Properties) -> None:
    """`('k' = 'v', k 'v', k.l = 1, …)`, as Spark writes them: the equals sign may be left out."""
    cursor.listed(lambda: _property(cursor, found, needs_equals=False), "the options")


def _property(cursor: Cursor, found: Properties, *, needs_equals: bool = True) -> None:
    token, start = cursor.token, cursor.index
    key = str(token.text) if token is not None else ""
    if not key or not (key[0].isalnum() or key[0] in "_'"):
        cursor.fail("expected a property")
    cursor.move()
    while cursor.accept("."):
        key += "." + cursor.name("a property")[0]
    span = cursor.since(start)
    if not (cursor.accept("=") or cursor.accept("==")) and needs_equals:
        cursor.fail(f"expected = after the property {key}")
    found.add(key, _value(cursor), span)


def _value(cursor: Cursor) -> str:
    start = cursor.index
    cursor.accept("-")
    token = cursor.token
    if token is None or (cursor.peek() in {",", ")", "("} and token.token_type is not TokenType.STRING):
        cursor.fail("expected a value")
    cursor.move()
    assert token is not None  # noqa: S101 - fail() raises
    sign = "-" if cursor.index - start > 1 else ""
    return sign + str(token.text)
