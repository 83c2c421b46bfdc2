"""Streaming words made visible to the parser, by what stands next to them.

`STREAM`, `EMIT`, `SETTINGS`, `MATCH_CONDITION` and `5s` are ordinary names elsewhere; here the tokens that are
meant as syntax get token types that the grammar uses for nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from penstock.catalog.word_list import word_list
from penstock.sql.keywords import EMIT_WORDS
from penstock.sql.nodes import WINDOW_FUNCTIONS
from penstock.sql.rules import Rules

EMIT = TokenType.PREWHERE
SETTINGS = TokenType.CONNECT_BY
POINT = TokenType.START_WITH  # START AT and AS OF
SHUFFLE = TokenType.ORDER_SIBLINGS_BY
CHOICE = TokenType.JOIN_MARKER  # `?` of `c ? a : b`
OTHERWISE = TokenType.BLOCK_END  # its `:`
STREAM_TEXT = "SELECT STREAM"

_TIMED = WINDOW_FUNCTIONS | {"DEDUP", "TABLE"}
_HEX = re.compile(r"[0-9A-Fa-f]*")
_DURATION = re.compile(r"(\d+)(ns|us|ms|s|m|h|d|w|M|q|y)")
_UNITS = {
    "ns": "NANOSECOND",
    "us": "MICROSECOND",
    "ms": "MILLISECOND",
    "s": "SECOND",
    "m": "MINUTE",
    "h": "HOUR",
    "d": "DAY",
    "w": "WEEK",
    "M": "MONTH",
    "q": "QUARTER",
    "y": "YEAR",
}
_AFTER_NAMED_STREAM = frozenset(
    {TokenType.COMMA, TokenType.FROM, TokenType.DOT, TokenType.R_PAREN, TokenType.ALIAS, TokenType.L_BRACKET}
)
_BOUNDED = frozenset(word_list("LATENESS WATERMARK AHEAD"))  # what follows is a constant
_OPERATORS = frozenset(word_list("+ - / % = == < > <= >= <> != || | & ^ <=> :: DIV AND OR IS IN LIKE RLIKE BETWEEN"))
_POINTS = frozenset(word_list("STEP TIMESTAMP POSITION"))
_VERSIONED = frozenset(word_list("SYSTEM_TIME SYSTEM_VERSION TIMESTAMP VERSION"))  # FOR SYSTEM_TIME AS OF is of a table
_SIDES = frozenset({"LEFT", "RIGHT", "FULL"})
_BEFORE_JOIN = _SIDES | {"INNER", "SEMI", "ANTI"}
_NO_WORDS = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.RAW_STRING})
_END = Token(TokenType.SEMICOLON, ";")


def word(token: Token) -> str:
    """The token's text in upper case; nothing for strings and quoted names."""
    return "" if token.token_type in _NO_WORDS else str(token.text).upper()


def mark(tokens: Sequence[Token], rules: Rules) -> list[Token]:
    """The tokens of one statement with its streaming words marked."""
    marked: list[Token] = []
    tokens = _with_commas(tokens) if rules.event_times and tokens and word(tokens[0]) == "INSERT" else tokens
    declared = bool(tokens) and word(tokens[0]) == "LATENESS"
    timed = _TimedParentheses(everywhere=rules.durations_everywhere or declared)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        after = tokens[index + 1] if index + 1 < len(tokens) else _END
        later = tokens[index + 2] if index + 2 < len(tokens) else _END
        if after.token_type is TokenType.DOT and str(token.text).lower() in rules.namespaces:
            index += 2
            continue
        timed.pass_over(token, marked[-1] if marked else _END)
        before = marked[-1] if marked else _END
        in_timed = timed.inside or word(before) in _BOUNDED
        streamed = _of_streams(token, after, later, before) if rules.event_times else None
        new, used = streamed or _marked(token, after, later, before, in_timed=in_timed)
        marked += new
        index += used
    return marked


def _with_commas(tokens: Sequence[Token]) -> list[Token]:
    """An INSERT with a comma between the rows of VALUES; ClickHouse lets it be left out: `VALUES (1, 'a') (2, 'b')`."""
    found: list[Token] = []
    depth, inside = 0, False
    for token in tokens:
        opens = token.token_type is TokenType.L_PAREN
        if opens and inside and not depth and found[-1].token_type is TokenType.R_PAREN:
            found.append(Token(TokenType.COMMA, ",", token.line, token.col, token.start, token.start))
        depth += opens - (token.token_type is TokenType.R_PAREN)
        inside = inside or (token.token_type is TokenType.VALUES and not depth)
        found.append(token)
    return found


def _of_streams(token: Token, after: Token, later: Token, before: Token) -> tuple[list[Token], int] | None:
    """The words of a LATEST JOIN, which like ASOF stands before its side; of ASOF JOIN, of SHUFFLE BY; else None.

    So are `?`, the ARRAY of ARRAY JOIN, which is no alias, and the place of a field behind a point: `t.1` is `t.col1`.
    """
    text, words = word(token), (word(after), word(later))
    if token.token_type is TokenType.PLACEHOLDER:
        return [retagged(token, CHOICE)], 1
    if text == "ARRAY" and words[0] == "JOIN":
        return [retagged(token, TokenType.CROSS)], 1
    if token.token_type is TokenType.NUMBER and before.token_type is TokenType.DOT and text.isdigit():
        return [retagged(token, TokenType.VAR, f"col{text}")], 1
    if text == "SHUFFLE" and words[0] == "BY" and before.token_type is not TokenType.DOT:
        return [_joined(token, after, "SHUFFLE BY", SHUFFLE)], 2
    if text == "LATEST" and (words[0] == "JOIN" or (words[0] in _BEFORE_JOIN and words[1] in {"JOIN", "OUTER"})):
        return [retagged(token, TokenType.ASOF)], 1
    if text in _BEFORE_JOIN and words in {("LATEST", "JOIN"), ("ASOF", "JOIN")}:
        return [retagged(after, TokenType.ASOF), token], 2
    return None


def _marked(token: Token, after: Token, later: Token, before: Token, *, in_timed: bool) -> tuple[list[Token], int]:
    """The tokens that stand for those from `token` on, and how many of them that covers."""
    if in_timed and (duration := _duration(token, after, later)):
        return duration
    text = word(token)
    if text == "EMIT" and word(after) in EMIT_WORDS and before.token_type is not TokenType.DOT:
        return [retagged(token, EMIT)], 1
    if text == "SETTINGS" and later.token_type is TokenType.EQ and before.token_type is not TokenType.COMMA:
        return [retagged(token, SETTINGS)], 1
    if text == "START" and word(after) == "AT" and word(later) != "TIME" and before.token_type is not TokenType.DOT:
        return [_joined(token, after, "START AT")], 2
    if text == "AS" and word(after) == "OF" and word(later) in _POINTS and word(before) not in _VERSIONED:
        return [_joined(token, after, "AS OF")], 2
    if text == "STREAM" and before.token_type is TokenType.SELECT and _is_mark(token, after, later):
        stream = retagged(token, TokenType.VAR, STREAM_TEXT)
        return ([after, stream], 2) if word(after) in {"ALL", "DISTINCT"} else ([stream], 1)
    if text in {"WINDOW", "UNIQUE"} and after.token_type is TokenType.L_PAREN:
        return [retagged(token, TokenType.VAR)], 1
    if text == "X" and after.token_type is TokenType.STRING and _HEX.fullmatch(after.text):
        return [Token(TokenType.HEX_STRING, after.text, token.line, token.col, token.start, after.end)], 2
    if text == "MATCH_CONDITION" and after.token_type is TokenType.L_PAREN:
        return [retagged(token, TokenType.MATCH_CONDITION)], 1
    if text in _BEFORE_JOIN and word(after) == "ASOF" and word(later) == "JOIN":
        return [retagged(after, TokenType.ASOF), token], 2
    return [token], 1


class _TimedParentheses:
    """A record of whether the present token stands directly inside a window function's parentheses."""

    def __init__(self, *, everywhere: bool) -> None:
        self.everywhere = everywhere
        self.stack: list[bool] = []

    @property
    def inside(self) -> bool:
        return self.everywhere or any(self.stack)

    def pass_over(self, token: Token, before: Token) -> None:
        if token.token_type is TokenType.L_PAREN:
            self.stack.append(word(before) in _TIMED)
        elif token.token_type is TokenType.R_PAREN and self.stack:
            self.stack.pop()


def _is_mark(token: Token, after: Token, later: Token) -> bool:
    """True if what follows `SELECT STREAM` makes STREAM a mark and not the name of a column.

    `STREAM -n` is the stream of negatives, `stream - n` and `stream-n` are differences.
    """
    if after.token_type in {TokenType.DASH, TokenType.PLUS} and token.end + 1 < after.start:
        return after.end + 1 == later.start
    if after is _END or after.token_type in _AFTER_NAMED_STREAM or word(after) in _OPERATORS:
        return False
    if after.token_type is not TokenType.STAR:
        return True
    return later.token_type in {TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN, TokenType.EXCEPT}


def _duration(token: Token, after: Token, later: Token) -> tuple[list[Token], int] | None:
    """`5s` as the tokens of INTERVAL '5' SECOND; the lexer splits some of them into `5 :: SMALLINT`."""
    text, used = str(token.text), 1
    if token.token_type is TokenType.NUMBER and after.start == token.start and later.start == token.start:
        text, used = text + str(later.text), 3
    elif token.token_type is not TokenType.VAR:
        return None
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    amount, unit = found.groups()
    return [
        retagged(token, TokenType.INTERVAL, "INTERVAL"),
        retagged(token, TokenType.STRING, amount),
        retagged(token, TokenType.VAR, _UNITS[unit]),
    ], used


def retagged(token: Token, kind: TokenType, text: str | None = None) -> Token:
    """The token with another type, at the same place."""
    return Token(kind, token.text if text is None else text, token.line, token.col, token.start, token.end)


def _joined(first: Token, last: Token, text: str, kind: TokenType = POINT) -> Token:
    return Token(kind, text, first.line, first.col, first.start, last.end)


def adjacent(tokens: Sequence[Token], kind: TokenType, count: int) -> bool:
    """True if these are so many tokens of one kind without anything between them, as in `>>>`."""
    joined = all(one.end + 1 == other.start for one, other in itertools.pairwise(tokens))
    return len(tokens) == count and joined and all(token.token_type is kind for token in tokens)
