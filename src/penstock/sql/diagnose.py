"""The fault where parsing stopped, in words: made from the tokens around, never from sqlglot's message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Diagnostic, Span, UnsupportedError, did_you_mean
from penstock.sql.cursor import Cursor, is_name, shown
from penstock.sql.failure import ParseFailure
from penstock.sql.keywords import CLAUSES, EMIT_WORDS, STRUCTURE, UNBUILT
from penstock.sql.marks import word

_DEEPEST = 150
_DEEPEST_TYPE = 60  # Arrow, in which rows come and go, has room for 64
_PAIRS = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}
_MARKS = {TokenType.L_PAREN: "(", TokenType.R_PAREN: ")", TokenType.L_BRACKET: "[", TokenType.R_BRACKET: "]"}
_LOOK_BACK = 3


def diagnose(tokens: Sequence[Token], failure: ParseFailure) -> Diagnostic:
    """The diagnostic of a failure: its own, or the most specific that fits the place."""
    if failure.diagnostic is not None:
        return failure.diagnostic
    index = next((place for place, token in enumerate(tokens) if token is failure.token), len(tokens))
    before = tokens[index - 1] if index else None
    token = tokens[index] if index < len(tokens) else None
    return (
        _unbalanced(tokens)
        or _incomplete_phrase(tokens, index)
        or _step(tokens, index)
        or _behind_alias(tokens, index)
        or _misspelt(tokens, index)
        or _trailing_comma(before, token)
        or _reserved(before, token)
        or _missing_comma(before, token)
        or _generic(before, token)
    )


def too_deep(tokens: Sequence[Token]) -> Diagnostic | None:
    """Parentheses, or types of elements and fields, nested beyond reason."""
    depth = types = 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        types = _types_around(types, before, token)
        if types > _DEEPEST_TYPE:
            message = f"types are nested more than {_DEEPEST_TYPE} deep"
            return Diagnostic("NESTED_TOO_DEEPLY", message, place(token), hint="VARIANT holds what is nested freely")
        if token.token_type in {TokenType.L_PAREN, TokenType.L_BRACKET}:
            depth += 1
            if depth > _DEEPEST:
                message = f"parentheses are nested more than {_DEEPEST} deep"
                return Diagnostic("NESTED_TOO_DEEPLY", message, place(token), hint="name the parts with WITH … AS (…)")
        elif token.token_type in _PAIRS:
            depth -= 1
    return None


def _types_around(depth: int, before: Token | None, token: Token) -> int:
    """The types that the token stands in: `ARRAY<` opens one, `>` closes one, and nothing else is counted."""
    if token.token_type is TokenType.LT and before is not None and word(before) in _NESTING_TYPES:
        return depth + 1
    return max(0, depth - str(token.text).count(">")) if depth and set(str(token.text)) == {">"} else depth


_NESTING_TYPES = frozenset({"ARRAY", "MAP", "STRUCT", "LIST", "ROW", "MULTISET"})


def empty_list(tokens: Sequence[Token]) -> Diagnostic | None:
    """GROUP BY and its like without an expression, IN and USING with empty parentheses: sqlglot reads over them."""
    for token, after, second in zip_longest(tokens, tokens[1:], tokens[2:]):
        if word(token) in _LISTS and (
            after is None or after.token_type is TokenType.R_PAREN or word(after) in _BEHIND_LISTS
        ):
            return Diagnostic("SYNTAX_ERROR", f"nothing follows {word(token)}", place(token), hint="name a column")
        closed = second is not None and second.token_type is TokenType.R_PAREN
        if word(token) in {"IN", "USING"} and closed and after.token_type is TokenType.L_PAREN:
            message = f"nothing stands between the parentheses of {word(token)}"
            return Diagnostic("SYNTAX_ERROR", message, Span(token.start, second.end + 1))
    return None


_LISTS = frozenset({"GROUP BY", "ORDER BY", "PARTITION BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY"})
_BEHIND_LISTS = frozenset({"GROUP BY", "ORDER BY", "HAVING", "WHERE", "QUALIFY", "UNION", "INTERSECT", "FROM"})


def unknown_statement(cursor: Cursor, known: Sequence[str]) -> ParseFailure | UnsupportedError:
    """The statement starts with a word that starts none."""
    first, token = cursor.peek(), cursor.token
    if first in UNBUILT:
        message = f"{first} statements are not supported"
        return UnsupportedError(Diagnostic("UNSUPPORTED", message, cursor.here(), hint=UNBUILT[first]))
    words = [name for name in known if name.isalpha()]
    what = shown(token) if token is not None else "this"
    return ParseFailure(
        token,
        Diagnostic(
            "UNKNOWN_STATEMENT",
            f"no statement starts with {what}",
            cursor.here(),
            candidates=did_you_mean(first, words) if first else (),
            hint="statements start with CREATE, INSERT, UPDATE, DELETE, SELECT, SET, EXPLAIN, …",
        ),
    )


def place(token: Token) -> Span:
    """A token's span."""
    return Span(token.start, token.end + 1)


def _unbalanced(tokens: Sequence[Token]) -> Diagnostic | None:
    """A bracket that is never closed, or closes nothing."""
    opened: list[Token] = []
    for token in tokens:
        if token.token_type in _PAIRS.values():
            opened.append(token)
        elif token.token_type in _PAIRS:
            mark = _MARKS[token.token_type]
            if not opened:
                return Diagnostic("UNBALANCED", f"this {mark} closes nothing", place(token), hint=f"remove {mark}")
            if opened.pop().token_type is not _PAIRS[token.token_type]:
                return Diagnostic("UNBALANCED", f"this {mark} does not close the bracket before it", place(token))
    if not opened:
        return None
    mark = _MARKS[opened[-1].token_type]
    closing = ")" if mark == "(" else "]"
    message = f"this {mark} is never closed"
    return Diagnostic("UNBALANCED", message, place(opened[-1]), hint=f"add {closing} where it ends")


def _incomplete_phrase(tokens: Sequence[Token], index: int) -> Diagnostic | None:
    """GROUP and ORDER without BY, JOIN without ON, CASE without END."""
    before = tokens[index - 1] if index else None
    if before is not None and word(before) in {"GROUP", "ORDER", "PARTITION"} and index < len(tokens):
        phrase = f"{word(before)} BY"
        return Diagnostic("SYNTAX_ERROR", f"{phrase} is written with BY", place(before), candidates=(phrase,))
    words = [word(token) for token in tokens[:index]]
    if words.count("CASE") > words.count("END") and (index == len(tokens) or word(tokens[index]) in STRUCTURE):
        case = next(token for token in reversed(tokens[:index]) if word(token) == "CASE")
        message = "this CASE is never closed"
        return Diagnostic("SYNTAX_ERROR", message, place(case), hint="CASE WHEN … THEN … [ELSE …] END")
    if "JOIN" in words[-_AFTER_JOIN:] and index < len(tokens) and not {"ON", "USING"} & set(words[-_AFTER_JOIN:]):
        message = f"{shown(tokens[index])} is not understood here"
        return Diagnostic("SYNTAX_ERROR", message, place(tokens[index]), hint="is ON missing behind JOIN?")
    return None


_AFTER_JOIN = 5


def _step(tokens: Sequence[Token], index: int) -> Diagnostic | None:
    """AS OF STEP and START AT STEP with anything but the number of a step."""
    for at in (index, index - 1):
        named = (
            1 < at <= len(tokens) and word(tokens[at - 1]) == "STEP" and word(tokens[at - 2]) in ("AS OF", "START AT")
        )
        if named:
            clause = word(tokens[at - 2])
            found = shown(tokens[at]) if at < len(tokens) else "the end"
            message = f"{clause} STEP is followed by the number of a step, found {found}"
            time = ", and AS OF TIMESTAMP '…' goes by the clock" if clause == "AS OF" else ""
            hint = f"a whole number from 0, as in {clause} STEP 3{time}"
            where = place(tokens[min(at, len(tokens) - 1)])
            return Diagnostic("SYNTAX_ERROR", message, where, hint=hint)
    return None


def _behind_alias(tokens: Sequence[Token], index: int) -> Diagnostic | None:
    """An expression that goes on behind its name: `c AS d + 1`."""
    if not 1 < index < len(tokens) or word(tokens[index - 2]) != "AS" or tokens[index].token_type not in _OPERATORS:
        return None
    sign, name = shown(tokens[index]), str(tokens[index - 1].text)
    message = f"{sign} cannot stand behind the name {name}"
    hint = f"the whole expression stands before AS: … {sign} … AS {name}"
    return Diagnostic("SYNTAX_ERROR", message, place(tokens[index]), hint=hint)


_OPERATORS = frozenset({
    TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.DPIPE, TokenType.EQ,
    TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.DCOLON,
})  # fmt: skip


def _misspelt(tokens: Sequence[Token], index: int) -> Diagnostic | None:
    """A word at the place or shortly before it that is nearly a keyword, and stands where no name is expected."""
    for at in range(min(index, len(tokens) - 1), max(0, index - _LOOK_BACK) - 1, -1):
        token = tokens[at]
        text = word(token)
        before = word(tokens[at - 1]) if at else ""
        if before in _RELATION_FOLLOWS:
            continue
        if token.token_type is not TokenType.VAR or text in STRUCTURE or text in CLAUSES or len(text) < _SHORTEST:
            continue
        close = did_you_mean(text, EMIT_WORDS if before == "EMIT" else CLAUSES, limit=1)
        if close and _near(text, close[0]):
            message = f"{shown(token)} is not understood here"
            return Diagnostic("SYNTAX_ERROR", message, place(token), candidates=close)
    return None


_SHORTEST = 4
_RELATION_FOLLOWS = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "AS"})


def _near(text: str, keyword: str) -> bool:
    """At most two letters differ in number, and most of them agree."""
    return abs(len(text) - len(keyword)) <= 1 and sorted(text) != [] and _edits(text, keyword) <= _EDITS


_EDITS = 2


def _edits(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for number, letter in enumerate(left, 1):
        previous, row[0] = row[0], number
        for column, other in enumerate(right, 1):
            previous, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, previous + (letter != other))
    return row[-1]


def _trailing_comma(before: Token | None, token: Token | None) -> Diagnostic | None:
    if before is None or before.token_type is not TokenType.COMMA:
        return None
    if token is None or word(token) in STRUCTURE or token.token_type in {TokenType.R_PAREN, TokenType.COMMA}:
        what = f"before {shown(token)}" if token is not None else "at the end"
        return Diagnostic("SYNTAX_ERROR", f"nothing follows the comma {what}", place(before), hint="remove the comma")
    return None


def _reserved(before: Token | None, token: Token | None) -> Diagnostic | None:
    if token is None or word(token).split(" ")[0] not in STRUCTURE or before is None:
        return None
    if before.token_type in {TokenType.L_PAREN, TokenType.DOT} or word(before) in _NAME_FOLLOWS:
        text = str(token.text)
        return Diagnostic(
            "RESERVED_WORD",
            f"{text} is a keyword and cannot stand here as a name",
            place(token),
            hint=f"write `{text.lower()}` in back quotes if it is a name",
        )
    return None


_NAME_FOLLOWS = frozenset({"SELECT", "AS", "FROM", "JOIN", "BY", "ORDER BY", "GROUP BY", "TABLE", "INTO", "SET", "."})


def _missing_comma(before: Token | None, token: Token | None) -> Diagnostic | None:
    if before is None or token is None or not (_ends_operand(before) and _starts_operand(token)):
        return None
    return Diagnostic(
        "SYNTAX_ERROR",
        f"{shown(token)} cannot follow {shown(before)}",
        place(token),
        hint=f"is a comma or an operator missing before {shown(token)}?",
    )


def _ends_operand(token: Token) -> bool:
    if token.token_type in {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.STRING, TokenType.NUMBER}:
        return True
    return is_name(token) and word(token) not in STRUCTURE


def _starts_operand(token: Token) -> bool:
    if token.token_type in {TokenType.L_PAREN, TokenType.STRING, TokenType.NUMBER}:
        return True
    return is_name(token) and word(token) not in STRUCTURE


def _generic(before: Token | None, token: Token | None) -> Diagnostic:
    if token is None:
        after = f" after {shown(before)}" if before is not None else ""
        where = place(before) if before is not None else None
        return Diagnostic("UNEXPECTED_END", f"the statement is not complete: something must follow{after}", where)
    after = f" after {shown(before)}" if before is not None else ""
    return Diagnostic("SYNTAX_ERROR", f"{shown(token)} is not understood here{after}", place(token))
