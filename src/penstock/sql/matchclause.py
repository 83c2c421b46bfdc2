"""MATCH_RECOGNIZE behind a relation of FROM, clause by clause in the order of the standard."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql import marks
from penstock.sql.failure import ParseFailure
from penstock.sql.nodes import RowMatches

_ROWS = {
    ("ONE", "ROW", "PER", "MATCH"): "one",
    ("ALL", "ROWS", "PER", "MATCH", "OMIT", "EMPTY", "MATCHES"): "omit empty",
    ("ALL", "ROWS", "PER", "MATCH", "SHOW", "EMPTY", "MATCHES"): "all",
    ("ALL", "ROWS", "PER", "MATCH", "WITH", "UNMATCHED", "ROWS"): "unmatched",
    ("ALL", "ROWS", "PER", "MATCH"): "all",
}
_ORDER = (
    "its clauses are, in this order: PARTITION BY, ORDER BY, MEASURES, ONE ROW PER MATCH or ALL ROWS PER MATCH, "
    "AFTER MATCH SKIP, PATTERN, WITHIN, SUBSET, DEFINE"
)


class MatchParser(DatabricksParser):
    """Reads MATCH_RECOGNIZE; within it, FINAL and RUNNING may stand before a call."""

    _matching = 0

    def _read_match(self, relation: Any) -> RowMatches:
        """The clause behind a relation; the present token is MATCH_RECOGNIZE."""
        token = self._curr
        self._advance()
        self._expect_token(TokenType.L_PAREN)
        self._matching += 1
        node = RowMatches(this=relation, **self._read_clauses())
        self._matching -= 1
        self._expect_token(TokenType.R_PAREN)
        node.meta.update(start=token.start, end=token.end)
        return node

    def _read_clauses(self) -> dict[str, Any]:
        found: dict[str, Any] = {"partition_by": self._parse_partition_by(), "order": self._parse_order()}
        if self._match_text_seq("MEASURES"):
            found["measures"] = self._parse_csv(self._read_measure)
        found["rows"] = exp.Var(
            this=next((kind for words, kind in _ROWS.items() if self._match_text_seq(*words)), "one")
        )
        if self._match_text_seq("AFTER", "MATCH"):
            self._expect_words("SKIP")
            found["skip"] = self._read_skip()
        self._expect_words("PATTERN")
        found["pattern"] = self._read_pattern()
        if self._match_text_seq("WITHIN"):
            found["within"] = self._parse_disjunction()
        if self._match_text_seq("SUBSET"):
            found["subsets"] = self._parse_csv(self._read_subset)
        if self._match_text_seq("DEFINE"):
            found["define"] = self._parse_csv(self._read_definition)
        return found

    def _read_measure(self) -> exp.Expression:
        value: Any = self._parse_disjunction()
        if value is None:
            self.raise_error("")
        self._expect_token(TokenType.ALIAS)
        return exp.Alias(this=value, alias=self._read_name("the name of a measure"))

    def _read_definition(self) -> exp.Expression:
        name = self._read_name("a pattern variable")
        self._expect_token(TokenType.ALIAS)
        condition: Any = self._parse_disjunction()
        if condition is None:
            self.raise_error("")
        return exp.Alias(this=condition, alias=name)

    def _read_subset(self) -> exp.Expression:
        name = self._read_name("the name of a subset")
        self._expect_token(TokenType.EQ)
        self._expect_token(TokenType.L_PAREN)
        parts = self._parse_csv(lambda: self._read_name("a pattern variable"))
        self._expect_token(TokenType.R_PAREN)
        return exp.Alias(this=exp.Tuple(expressions=parts), alias=name)

    def _read_skip(self) -> exp.Var:
        """`past`, `next`, `first` or `last`, the last two with the variable in `meta`."""
        if self._match_text_seq("PAST"):
            self._expect_words("LAST", "ROW")
            return exp.Var(this="past")
        self._expect_words("TO")
        if self._match_text_seq("NEXT", "ROW"):
            return exp.Var(this="next")
        named = self._next.token_type in {TokenType.VAR, TokenType.IDENTIFIER} and marks.word(self._next) != "PATTERN"
        kind = marks.word(self._curr).lower() if marks.word(self._curr) in {"FIRST", "LAST"} and named else "last"
        if named:
            self._advance()
        node = exp.Var(this=kind)
        node.meta["variable"] = self._read_name("a pattern variable")
        return node

    def _read_pattern(self) -> exp.Var:
        """The pattern, unread: to its closing parenthesis."""
        self._expect_token(TokenType.L_PAREN)
        start, depth = self._prev.end + 1, 0
        while self._curr and (depth or self._curr.token_type is not TokenType.R_PAREN):
            depth += (self._curr.token_type is TokenType.L_PAREN) - (self._curr.token_type is TokenType.R_PAREN)
            self._advance()
        self._expect_token(TokenType.R_PAREN)
        node = exp.Var(this=self.sql[start : self._prev.start])
        node.meta.update(start=start, end=max(start, self._prev.start - 1))
        return node

    def _read_name(self, what: str) -> exp.Identifier:
        token = self._curr
        if token.token_type is TokenType.IDENTIFIER or marks.word(token)[:1].isalpha() or token.text[:1] == "_":
            self._advance()
            name = exp.Identifier(this=token.text, quoted=token.token_type is TokenType.IDENTIFIER)
            name.meta.update(start=token.start, end=token.end)
            return name
        raise self._expected(what)

    def _expect_words(self, *words: str) -> None:
        for word in words:
            if not self._match_text_seq(word):
                raise self._expected(word)

    def _expect_token(self, kind: TokenType) -> None:
        if not self._match(kind):
            raise self._expected(
                {TokenType.ALIAS: "AS", TokenType.EQ: "="}.get(kind, "(" if kind is TokenType.L_PAREN else ")")
            )

    def _expected(self, what: str) -> ParseFailure:
        token: Token | None = self._curr or None
        found = f"found {token.text}" if token is not None else "the statement ends here"
        last = self._prev if token is None else token
        span = Span(last.start, last.end + 1)
        message = f"expected {what} in MATCH_RECOGNIZE, {found}"
        return ParseFailure(token, Diagnostic("SYNTAX_ERROR", message, span, hint=_ORDER))

    def _parse_unary(self) -> Any:
        """`FINAL f(…)` and `RUNNING f(…)` as a call of FINAL or RUNNING around f(…)."""
        word = marks.word(self._curr) if self._matching and self._curr else ""
        if (
            word in {"FINAL", "RUNNING"}
            and self._tokens[self._index + 2 : self._index + 3]
            and (self._tokens[self._index + 2].token_type is TokenType.L_PAREN)
        ):
            token = self._curr
            self._advance()
            call = exp.Anonymous(this=word, expressions=[self._parse_function()])
            call.meta.update(start=token.start, end=self._prev.end)
            return call
        return super()._parse_unary()
