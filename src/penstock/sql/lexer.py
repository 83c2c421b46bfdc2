"""Text to tokens, statement by statement; what cannot be a token is reported here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import ClassVar

from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Diagnostic, Span, SqlError
from penstock.sql.hints import read_hint
from penstock.sql.rules import Rules

# What makes sqlglot take the rest of a statement for one text.
_SWALLOWING = frozenset({TokenType.COMMAND, TokenType.SHOW, TokenType.EXECUTE, TokenType.RENAME})
# The only phrases that are one token; every other is read word by word.
_PHRASES = frozenset(
    {"GROUP BY", "ORDER BY", "PARTITION BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "GROUPING SETS", "SIMILAR TO"}
)

_PART = re.compile(r"`(?:[^`]|``)+`|\w+")
_NAME = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")


class SparkTokenizer(Databricks.Tokenizer):
    """Spark 4's tokens: a doubled quote inside a string is a quote."""

    STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        word: kind
        for word, kind in Databricks.Tokenizer.KEYWORDS.items()
        if kind not in _SWALLOWING and (" " not in word or word in _PHRASES)
    }


class QuotedNameTokenizer(SparkTokenizer):
    """Tokens of the dialects in which double quotes enclose names."""

    QUOTES = ["'"]  # noqa: RUF012
    IDENTIFIERS = ["`", '"']  # noqa: RUF012
    STRING_ESCAPES = ["\\", "'"]  # noqa: RUF012


class StandardTokenizer(QuotedNameTokenizer):
    """Tokens of standard SQL, in whose texts a backslash is a character."""

    STRING_ESCAPES = ["'"]  # noqa: RUF012


class FlinkTokenizer(SparkTokenizer):
    """Tokens of Flink: names in backticks, and a backslash is a character."""

    STRING_ESCAPES = ["'", '"']  # noqa: RUF012


class SparkLexis(Databricks):
    """Databricks' dialect with Spark 4's tokens."""

    Tokenizer = SparkTokenizer


class QuotedNameLexis(Databricks):
    """Databricks' dialect with double-quoted names."""

    Tokenizer = QuotedNameTokenizer


class StandardLexis(Databricks):
    """Databricks' dialect with double-quoted names, and texts without escapes."""

    Tokenizer = StandardTokenizer


class FlinkLexis(Databricks):
    """Databricks' dialect with texts without escapes."""

    Tokenizer = FlinkTokenizer


@cache
def _lexis(*, double_quoted_names: bool, escapes: bool) -> Databricks:
    if escapes:
        return QuotedNameLexis() if double_quoted_names else SparkLexis()
    return StandardLexis() if double_quoted_names else FlinkLexis()


def tokenize(text: str, rules: Rules) -> list[Token]:
    """All tokens of a program; raises SqlError for what is not closed or not allowed in SQL text."""
    _check_characters(text)
    _check_closed(text, rules)
    try:
        lexis = _lexis(double_quoted_names=rules.double_quoted_names, escapes=rules.backslash != "character")
        return _with_names([token for token in lexis.tokenize(text) if token.token_type is not TokenType.HINT])
    except SqlglotError as error:
        raise SqlError(Diagnostic("SYNTAX_ERROR", "this text cannot be read as SQL", Span(0, len(text)))) from error


def _with_names(tokens: list[Token]) -> list[Token]:
    """The tokens with the name that is meant in place of `IDENTIFIER('a' || 'b')`, which may have parts: 'a.b'."""
    found: list[Token] = []
    index = 0
    while index < len(tokens):
        end, name = _identifier_clause(tokens, index)
        if name is None:
            found.append(tokens[index])
        else:
            first, last = tokens[index], tokens[end - 1]
            called = end < len(tokens) and tokens[end].token_type is TokenType.L_PAREN
            for number, part in enumerate(_PART.findall(name)):
                parts = [(TokenType.DOT, ".")] if number else []
                parts.append((TokenType.VAR if called else TokenType.IDENTIFIER, part.strip("`").replace("``", "`")))
                found += [Token(kind, text, first.line, first.col, first.start, last.end) for kind, text in parts]
        index = end
    return found


def _identifier_clause(tokens: list[Token], start: int) -> tuple[int, str | None]:
    """Where the token or clause at `start` ends, and the name in it; None where it is not said by texts alone."""
    kinds = [token.token_type for token in tokens[start : start + 3]]
    if kinds[1:] != [TokenType.L_PAREN, TokenType.STRING] or tokens[start].text.upper() != "IDENTIFIER":
        return start + 1, None
    name, place = tokens[start + 2].text, start + 3
    while [token.token_type for token in tokens[place : place + 2]] == [TokenType.DPIPE, TokenType.STRING]:
        name += tokens[place + 1].text
        place += 2
    if place == len(tokens) or tokens[place].token_type is not TokenType.R_PAREN or not _NAME.fullmatch(name):
        return start + 1, None
    return place + 1, name


def statements(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement, without semicolons; empty statements are left out."""
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


def _check_characters(text: str) -> None:
    lone = _SURROGATE.search(text)
    if lone is not None:
        message = f"a lone surrogate (U+{ord(lone[0]):04X}) is no character, and cannot stand in SQL text"
        raise SqlError(Diagnostic("INVALID_CHARACTER", message, Span(lone.start(), lone.end())))
    place = text.find("\0")
    if place >= 0:
        raise SqlError(
            Diagnostic("INVALID_CHARACTER", "a NUL character cannot stand in SQL text", Span(place, place + 1))
        )


_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTES = {"'": "string", '"': "string", "`": "quoted name"}
_OPENING = re.compile(r"--[^\n]*|/\*|[rR]?'|[rR]?\"|`")
_INSIDE = {
    "'": re.compile(r"(?:[^'\\]|\\.|'')*'", re.DOTALL),
    '"': re.compile(r'(?:[^"\\]|\\.|"")*"', re.DOTALL),
    "`": re.compile(r"(?:[^`]|``)*`", re.DOTALL),
}
_RAW_INSIDE = {"'": re.compile(r"[^']*'"), '"': re.compile(r'[^"]*"')}
_INSIDE_WITHOUT_ESCAPES = _INSIDE | {
    quote: re.compile(rf"(?:[^{quote}]|{quote}{quote})*{quote}") for quote in ("'", '"')
}


def hints(text: str, rules: Rules) -> list[Diagnostic]:
    """The warnings for the hints of a program; raises SqlError or UnsupportedError for one that is not read."""
    comments = _comments(text, rules) if "/*+" in text else ()
    spans = [span for span in comments if text.startswith("/*+", span.start)]
    return [warning for span in spans for warning in read_hint(text, span.start, span.end)]


def _check_closed(text: str, rules: Rules) -> None:
    """Every string, quoted name and comment ends; raises SqlError at the one that does not."""
    for _ in _comments(text, rules):
        pass


def _comments(text: str, rules: Rules) -> Iterator[Span]:
    """The places of the comments that are closed by `*/`."""
    place = 0
    while (opening := _OPENING.search(text, place)) is not None:
        mark = opening.group()
        if mark.startswith("--"):
            place = opening.end()
        elif mark == "/*":
            place = _end_of_comment(text, opening.start())
            yield Span(opening.start(), place)
        else:
            place = _end_of_quoted(text, opening, rules)


def _end_of_comment(text: str, start: int) -> int:
    depth, place = 1, start + 2
    for mark in re.finditer(r"/\*|\*/", text[place:]):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return place + mark.end()
    raise SqlError(
        Diagnostic(
            "UNCLOSED_COMMENT",
            "the comment that starts here is never closed",
            Span(start, start + 2),
            hint="close it with */",
        )
    )


def _end_of_quoted(text: str, opening: re.Match[str], rules: Rules) -> int:
    mark = opening.group()
    raw = len(mark) > 1 and not _part_of_word(text, opening.start())
    start = opening.start() if raw or len(mark) == 1 else opening.start() + 1
    quote = mark[-1]
    inside = _INSIDE_WITHOUT_ESCAPES if rules.backslash == "character" else _INSIDE
    end = (_RAW_INSIDE if raw else inside)[quote].match(text, opening.end())
    if end is not None:
        return end.end()
    what = "quoted name" if quote == '"' and rules.double_quoted_names else _QUOTES[quote]
    raise SqlError(
        Diagnostic(
            "UNCLOSED_QUOTE",
            f"the {what} that starts here is never closed",
            Span(start, start + 1),
            hint=f"close it with {quote}; inside it, write {quote}{quote} for the character itself",
        )
    )


def _part_of_word(text: str, place: int) -> bool:
    return place > 0 and (text[place - 1].isalnum() or text[place - 1] == "_")
