"""The grammar without sqlglot's leniency: a token that it would read over stops the parser there.

sqlglot reads many dialects at once and is forgiving: a comma with nothing behind it, CASE without THEN, AS without a
name, a frame without BETWEEN, a call that is not closed. Whatever it reads over is missing from the tree, and so from
the answer; here each of these is an error at its place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import TokenType

from penstock.sql.marks import word

# Pairs of words of which the second would replace the first.
_CONTRADICTING = frozenset({("ASC", "DESC"), ("DESC", "ASC")})
_PATH_SIGNS = frozenset({TokenType.COLON, TokenType.DOT})
_NO_ALIAS = frozenset({TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.RAW_STRING})


def closed(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The reader of a call's arguments; they end with the parenthesis."""

    def read_closed(parser: Any) -> Any:
        found = read(parser)
        parser.require(TokenType.R_PAREN, advance=False)
        return found

    return read_closed


class StrictParser(DatabricksParser):
    """Overrides each place at which sqlglot reads over a token."""

    _frame_is_between = False
    _with_starts_at = -1

    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": lambda self: self._read_case()}

    def require(self, kind: TokenType, *, advance: bool = True) -> None:
        """Stop the parser if the next token is of another kind."""
        if not self._match(kind, advance=advance):
            self.raise_error("")

    def required(self, found: Any) -> Any:
        """The tree that was read here; stop the parser if there is none."""
        if found is None:
            self.raise_error("")
        return found

    UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **DatabricksParser.UNARY_PARSERS,
        TokenType.PLUS: lambda self: self._read_plus(),
    }

    def _read_plus(self) -> Any:
        """`+x`: of a text it is a number, so it is a call; a number that is written out is the same without."""
        found = self.required(self._parse_unary())
        plain = isinstance(found, exp.Literal) and not found.is_string
        return found if plain else exp.Anonymous(this="positive", expressions=[found])

    def _parse_csv(self, parse_method: Callable[[], Any], sep: TokenType = TokenType.COMMA) -> list[Any]:
        """A list whose separators stand between items, and nowhere else."""

        def item() -> Any:
            after_separator = self._prev.token_type is sep
            found = parse_method()
            if found is None and (after_separator or self._curr.token_type is sep):
                self.raise_error("")
            return found

        return super()._parse_csv(item, sep)

    def _parse_alias(self, this: Any, explicit: bool = False) -> Any:  # noqa: FBT001, FBT002
        start = self._index
        found = super()._parse_alias(this, explicit)
        if found is this and self._index > start:
            self.raise_error("")  # AS without a name
        if found is not this and isinstance(found, exp.Alias) and self._prev.token_type in _NO_ALIAS:
            self.raise_error("", self._previous())
        return found

    def _previous(self) -> Any:
        """The token before the present one, as the place of an error."""
        self._retreat(self._index - 1)
        return self._curr

    def _parse_table_alias(self, alias_tokens: Any = None) -> Any:
        start = self._index
        found = super()._parse_table_alias(alias_tokens)
        if found is None and self._index > start:
            self.raise_error("")
        if found is not None and found.this is None:  # `(1, 2)(3, 4)`: names of columns, and no name before them
            self._retreat(start)
            self.raise_error("")
        return found

    def _parse_function_parameter(self) -> Any:
        """One of the names of columns behind the alias of a relation, which have no types."""
        return self._parse_id_var()

    def _parse_join(self, *args: Any, **kwargs: Any) -> Any:
        is_comma = bool(self._curr) and self._curr.token_type is TokenType.COMMA
        join = super()._parse_join(*args, **kwargs)
        nothing = is_comma if join is None else join.args.get("this") is None
        if nothing or self._prev.token_type in {TokenType.ON, TokenType.USING}:
            self.raise_error("")
        return join

    def _parse_table_parts(self, *args: Any, **kwargs: Any) -> Any:
        start = self._index
        found = super()._parse_table_parts(*args, **kwargs)
        kinds = [token.token_type for token in self._tokens[start : self._index]]
        doubled = next((at for at, pair in enumerate(itertools.pairwise(kinds)) if set(pair) == {TokenType.DOT}), None)
        if kinds[:1] == [TokenType.DOT] or doubled is not None:
            self._retreat(start + (0 if doubled is None else doubled + 1))
            self.raise_error("")
        if self._curr.token_type is TokenType.STAR:
            self.raise_error("")
        return found

    def _parse_between(self, this: Any) -> Any:
        operand = exp.Paren(this=this) if isinstance(this, exp.Is | exp.NullSafeEQ | exp.NullSafeNEQ) else this
        symmetric = self._match_text_seq("SYMMETRIC")
        if not symmetric:
            self._match_text_seq("ASYMMETRIC")
        low = self.required(self._parse_bitwise())
        self.require(TokenType.AND)
        high = self.required(self._parse_bitwise())
        return exp.Between(this=operand, low=low, high=high, symmetric=symmetric or None)

    def _read_case(self) -> Any:
        """CASE [e] WHEN a THEN b … [ELSE c] END; `case.x` is a column."""
        if self._match(TokenType.DOT, advance=False):
            self._retreat(self._index - 1)
            return None
        operand = None if self._match(TokenType.WHEN, advance=False) else self.required(self._parse_disjunction())
        branches = []
        while self._match(TokenType.WHEN):
            condition = self.required(self._parse_disjunction())
            self.require(TokenType.THEN)
            branches.append(exp.If(this=condition, true=self.required(self._parse_disjunction())))
        otherwise = self.required(self._parse_disjunction()) if branches and self._match(TokenType.ELSE) else None
        if not branches:
            self.raise_error("")
        self.require(TokenType.END)
        return exp.Case(this=operand, ifs=branches, default=otherwise)

    def _parse_type(self, *args: Any, **kwargs: Any) -> Any:
        """A value; a type stands before a text (DATE '2024-01-01'), and before no number."""
        start = self._index
        found = super()._parse_type(*args, **kwargs)
        read = self._tokens[start : self._index]
        of_number = [token.token_type for token in read[1:]] == [TokenType.NUMBER] and read[0].start < read[1].start
        if of_number and isinstance(found, exp.Cast):
            self.raise_error("", self._previous())
        return found

    def _parse_cast(self, *args: Any, **kwargs: Any) -> Any:
        found = super()._parse_cast(*args, **kwargs)
        if self._prev.token_type in {TokenType.COMMA, TokenType.FORMAT, TokenType.DEFAULT}:
            self.raise_error("")
        return found

    def _parse_where(self, skip_where_token: bool = False) -> Any:  # noqa: FBT001, FBT002
        if skip_where_token and self._prev.token_type is not TokenType.WHERE:
            self.raise_error("")  # FILTER (condition)
        return super()._parse_where(skip_where_token)

    def _parse_window(self, this: Any, alias: bool = False) -> Any:  # noqa: FBT001, FBT002
        if alias and self._curr.token_type is not TokenType.ALIAS:
            self.raise_error("")
        found = super()._parse_window(this, alias)
        if self._prev.token_type is TokenType.OVER and isinstance(found, exp.Window):
            self.raise_error("")
        return found

    def _parse_window_spec(self) -> Any:
        """One bound of a frame; BETWEEN stands before the first of two, and AND between them."""
        first = self._prev.token_type is not TokenType.AND
        if first:
            self._frame_is_between = self._prev.token_type is TokenType.BETWEEN
        if self._curr.token_type is TokenType.BETWEEN:
            self.raise_error("")
        found = super()._parse_window_spec()
        if first and (self._curr.token_type is TokenType.AND) is not self._frame_is_between:
            self.raise_error("")
        return found

    def _parse_lambda(self, alias: bool = False) -> Any:  # noqa: FBT001, FBT002
        """An argument of a call; ALL stands before the first one, where DISTINCT could stand."""
        if self._curr.token_type is TokenType.ALL and self._next.token_type is not TokenType.L_PAREN:
            first = self._prev.token_type is TokenType.L_PAREN
            if not first or self._next.token_type in {TokenType.R_PAREN, TokenType.COMMA}:
                self.raise_error("")
        return super()._parse_lambda(alias)

    def _parse_ordered(self, parse_method: Any = None) -> Any:
        found = super()._parse_ordered(parse_method)
        if found is not None and (self._prev2(), word(self._prev)) in _CONTRADICTING:
            self.raise_error("", self._previous())
        ends = [word(token) for token in self._tokens[max(0, self._index - 4) : self._index]]
        if ends[0::2] == ["NULLS", "NULLS"]:
            self._retreat(self._index - 2)
            self.raise_error("")
        return found

    def _prev2(self) -> str:
        return word(self._tokens[self._index - 2]) if self._index > 1 else ""

    def _parse_limit(self, *args: Any, **kwargs: Any) -> Any:
        start = self._index
        found = super()._parse_limit(*args, **kwargs)
        if self._index == start:
            return found
        read = self._tokens[start : self._index]
        nothing = isinstance(found, exp.Limit) and found.args.get("expression") is None
        if nothing or read[-1] is read[0] or read[1].token_type is TokenType.COMMA or word(self._prev) == "BY":
            self.raise_error("")
        if isinstance(found, exp.Limit) and word(self._prev) in {"ROW", "ROWS", "ONLY"}:
            self.raise_error("", self._previous())
        if isinstance(found, exp.Fetch) and word(self._prev) not in {"ONLY", "TIES"}:
            self.raise_error("")
        return found

    def _parse_offset(self, this: Any = None) -> Any:
        found = super()._parse_offset(this)
        if isinstance(found, exp.Offset) and found is not this and found.args.get("expression") is None:
            self.raise_error("")
        return found

    def _parse_colon_as_variant_extract(self, this: Any) -> Any:
        start = self._index
        found = super()._parse_colon_as_variant_extract(this)
        kinds = [token.token_type for token in self._tokens[start : self._index]]
        doubled = next((at for at, pair in enumerate(itertools.pairwise(kinds)) if set(pair) <= _PATH_SIGNS), None)
        if doubled is not None:
            self._retreat(start + doubled + 1)
        if doubled is not None or set(kinds[-1:]) & _PATH_SIGNS or TokenType.L_BRACE in kinds:
            self.raise_error("")
        return found

    def _parse_with(self, skip_with_token: bool = False) -> Any:  # noqa: FBT001, FBT002
        outer, self._with_starts_at = self._with_starts_at, self._index - skip_with_token
        found = super()._parse_with(skip_with_token)
        self._with_starts_at = outer
        return found

    def _parse_cte(self) -> Any:
        before = self._index - 1 - (self._prev.token_type is TokenType.RECURSIVE)
        if self._tokens[before].token_type is TokenType.WITH and before != self._with_starts_at:
            self._retreat(before)
            self.raise_error("")  # a second WITH: names are separated by commas
        if self._prev.token_type is TokenType.RECURSIVE and before != self._with_starts_at:
            self.raise_error("", self._previous())
        return super()._parse_cte()

    def _parse_group(self, skip_group_by_token: bool = False) -> Any:  # noqa: FBT001, FBT002
        quantified = not skip_group_by_token and self._curr.token_type is TokenType.GROUP_BY
        distinct = quantified and self._next.token_type is TokenType.DISTINCT
        found = super()._parse_group(skip_group_by_token)
        if found is not None and found.args.get("all") and found.expressions:
            self.raise_error("", self._previous())
        if distinct and found is not None:
            found.set("distinct", True)  # noqa: FBT003
        return found
