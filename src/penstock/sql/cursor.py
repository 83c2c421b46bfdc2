"""The place in one statement, and what a statement's grammar asks of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql.dialect import spark_parser
from penstock.sql.failure import ParseFailure
from penstock.sql.finish import finish
from penstock.sql.limits import check_nesting
from penstock.sql.marks import word
from penstock.sql.rules import Rules
from penstock.sql.types import read_type
from penstock.sql.understood import refuse_unread

Item = TypeVar("Item")


class Cursor:
    """Walks over a statement's tokens; expressions and queries in it are read by the query grammar.

    Every method that cannot do what it is asked raises ParseFailure at the present token.
    """

    def __init__(self, tokens: list[Token], source: str, rules: Rules) -> None:
        self.tokens = tokens
        self.source = source
        self.rules = rules
        self.warnings: list[Diagnostic] = []
        self._parser: Any = spark_parser(tokens, source, rules)

    @property
    def index(self) -> int:
        """The number of tokens read."""
        return int(self._parser._index)  # noqa: SLF001

    @property
    def token(self) -> Token | None:
        """The present token; None at the end."""
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    def peek(self, ahead: int = 0) -> str:
        """The upper-case word some tokens ahead; empty for strings, quoted names and the end."""
        index = self.index + ahead
        return word(self.tokens[index]) if index < len(self.tokens) else ""

    def move(self, count: int = 1) -> None:
        """Step over tokens."""
        self._parser._advance(count)  # noqa: SLF001

    def accept(self, *words: str) -> bool:
        """True if the next tokens are these words; steps over them if so."""
        if all(self.peek(ahead) == expected for ahead, expected in enumerate(words)):
            self.move(len(words))
            return True
        return False

    def accept_any(self, *words: str) -> str | None:
        """The one of these words that is next, or None; steps over it."""
        found = self.peek()
        if found and found in words:
            self.move()
            return found
        return None

    def expect(self, *words: str) -> None:
        """Step over these words."""
        for expected in words:
            if self.peek() != expected:
                self.fail(f"expected {expected}")
            self.move()

    def fail(self, message: str | None = None, *, code: str = "SYNTAX_ERROR", hint: str | None = None) -> Any:
        """Stop here; without a message the diagnosis is made from what stands around."""
        token = self.token
        if message is None:
            raise ParseFailure(token)
        found = f"found {shown(token)}" if token is not None else "the statement ends here"
        raise ParseFailure(token, Diagnostic(code, f"{message}, {found}", self.here(), hint=hint))

    def here(self) -> Span:
        """The span of the present token, or the end of the statement."""
        token = self.token
        if token is not None:
            return Span(token.start, token.end + 1)
        end = self.tokens[-1].end + 1
        return Span(end - 1, end)

    def since(self, index: int) -> Span:
        """The span from the token of that index to the last one read."""
        return Span(self.tokens[index].start, self.tokens[max(index, self.index - 1)].end + 1)

    def text_since(self, index: int) -> str:
        """The source text from the token of that index to the last one read."""
        span = self.since(index)
        return self.source[span.start : span.end]

    def name(self, what: str = "a name") -> tuple[str, Span]:
        """A name, quoted or not, without qualifiers."""
        token = self.token
        if token is None or not is_name(token):
            self.fail(f"expected {what}")
        assert token is not None  # noqa: S101 - fail() raises
        span = self.here()
        self.move()
        return str(token.text), span

    def qualified_name(self, what: str) -> tuple[str, Span]:
        """A relation's name; a qualifier in front of it is refused."""
        index = self.index
        name, span = self.name(what)
        if self.peek() == ".":
            raise ParseFailure(
                self.token,
                Diagnostic(
                    "QUALIFIED_NAME",
                    f"{what} has no qualifier: a pipeline is one namespace",
                    self.since(index),
                    hint="leave out the part before the dot, or quote the whole name with `…`",
                ),
            )
        return name, span

    def string(self, what: str) -> str:
        """A string literal's value."""
        token = self.token
        if token is None or token.token_type not in {TokenType.STRING, TokenType.RAW_STRING}:
            self.fail(f"expected {what} in quotes")
        assert token is not None  # noqa: S101 - fail() raises
        self.move()
        return str(token.text)

    def listed(self, read: Callable[[], Item], what: str) -> list[Item]:
        """`( item, … )`."""
        if not self.accept("("):
            self.fail(f"expected ( before {what}")
        items = [read()]
        while self.accept(","):
            items.append(read())
        if not self.accept(")"):
            self.fail()
        return items

    def type(self) -> str:
        """A column type, as Spark's simpleString."""
        return read_type(self._parser, self.rules)

    def expression(self) -> exp.Expression:
        """A scalar expression."""
        return self._finished(self._parser._parse_disjunction())  # noqa: SLF001

    def value(self) -> exp.Expression:
        """An expression without comparisons, behind which NOT NULL can stand."""
        return self._finished(self._parser._parse_bitwise())  # noqa: SLF001

    def query(self) -> exp.Expression:
        """SELECT, VALUES, WITH, or one of them in parentheses."""
        return self._finished(self._parser.read_query())

    def at_query(self) -> bool:
        """True if a query starts here."""
        ahead = 0
        while self.peek(ahead) == "(":
            ahead += 1
        return self.peek(ahead) in {"SELECT", "WITH", "VALUES", "FROM", "TABLE"}

    def _finished(self, tree: exp.Expression | None) -> exp.Expression:
        if tree is None:
            self.fail()
        assert tree is not None  # noqa: S101 - fail() raises
        if self.rules.nesting is not None:
            check_nesting(tree, self.rules.nesting)
        self.warnings += refuse_unread(tree)
        return finish(tree, self.source, self.rules)

    def end(self) -> None:
        """The statement ends here."""
        if self.token is not None:
            self.fail()


def is_name(token: Token) -> bool:
    """True if a token can be a name where only a name can stand."""
    if token.token_type is TokenType.IDENTIFIER:
        return True
    if token.token_type in {TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER, TokenType.HEX_STRING}:
        return False
    text = str(token.text)
    return text[:1].isalpha() or text[:1] == "_" or (text[:1].isdigit() and not text.isdigit())


def shown(token: Token) -> str:
    """A token in a message."""
    text = str(token.text)
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return f"'{text}'" if token.token_type is TokenType.STRING else f"`{text}`" if " " in text else text


_SHOWN = 40
