"""Properties in the text: `WITH ('k' = 'v', …)`, `SETTINGS k = v, …`, and Spark's OPTIONS and TBLPROPERTIES."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot.tokenizer_core import TokenType

from penstock.catalog.properties import PropertyPlace
from penstock.errors import Diagnostic, Span
from penstock.sql.cursor import Cursor
from penstock.sql.failure import ParseFailure


@dataclass
class Properties:
    """Properties while they are read: the value of each lower-case name, and where both stand."""

    values: dict[str, str] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    value_spans: dict[str, Span] = field(default_factory=dict)

    @property
    def places(self) -> dict[str, PropertyPlace]:
        """The places of each property that is written as one."""
        return {name: PropertyPlace(span, self.value_spans.get(name, span)) for name, span in self.spans.items()}

    def add(self, name: str, value: str, span: Span, value_span: Span | None = None) -> None:
        """Add one; ParseFailure if it is there already."""
        key = name.lower()
        if key in self.values:
            raise ParseFailure(None, Diagnostic("DUPLICATE_PROPERTY", f"the property {name} is set twice", span))
        self.values[key] = value
        self.spans[key], self.value_spans[key] = span, value_span or span

    def take(self, name: str, value: str, others: Properties, other: str) -> None:
        """Set one that stands where another list has its own, which means it."""
        self.values[name] = value
        self.spans[name], self.value_spans[name] = others.spans[other], others.value_spans[other]


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
    start = cursor.index
    value = _value(cursor)
    found.add(key, value, span, cursor.since(start))


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
