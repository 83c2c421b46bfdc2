"""The forms of standard SQL that Spark lacks, read where a dialect has them.

| written | read as |
| --- | --- |
| `(a - b) DAY`, `(a - b) MONTH` | `CAST(a - b AS INTERVAL DAY)`, `timestampdiff(MONTH, b, a)` as an interval |
| `INTERVAL '2' SECOND(3)`, `DAY(3) TO SECOND(6)` | the same interval, which has room for that many digits |
| `x > ALL (1, 2)`, `x = SOME (VALUES 1, 2)` | a comparison with each of a list; with a query |
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql import marks
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rules
from penstock.sql.trees import call

DIFFERENCE = "difference"  # in the meta of a cast: it is a difference of times with a unit behind it

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_DAYS = ("DAY", "HOUR", "MINUTE", "SECOND")
_MONTHS = ("YEAR", "MONTH")
_OTHER_UNITS = frozenset({"QUARTER", "WEEK", "MILLISECOND", "MICROSECOND"})
_COMPARISONS = frozenset({TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE})
_QUANTIFIERS = {TokenType.ANY: exp.Any, TokenType.SOME: exp.Any, TokenType.ALL: exp.All}
_QUERIES = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.TABLE})


class StandardFormsParser(DatabricksParser):
    """Reads units behind differences, digits of intervals and quantified comparisons."""

    rules: Rules

    def _parse_paren(self) -> Any:
        """Parentheses; in some dialects a unit may follow a difference of times: `(a - b) HOUR`."""
        found = super()._parse_paren()
        inner = found.this if isinstance(found, exp.Paren) else None
        if not self.rules.interval_differences or not isinstance(inner, exp.Sub):
            return found
        start = self._curr
        unit = _singular(marks.word(start)) if start else ""
        if unit in _OTHER_UNITS:
            message, hint = f"a difference of times has no unit {unit}", "(a - b) DAY, or timestampdiff(WEEK, b, a)"
            place = Span(start.start, start.end + 1)
            raise ParseFailure(start, Diagnostic("INTERVAL_UNIT", message, place, hint=hint))
        if unit not in (*_DAYS, *_MONTHS):
            return found
        self._advance()
        self._read_digits(None)
        end = ""
        if self._match_text_seq("TO"):
            end = self._read_last_unit(unit)
        difference = _difference(found, inner, unit, end)
        difference.meta.update(start=start.start, end=self._prev.end)
        return difference

    def _read_last_unit(self, first: str) -> str:
        """The unit behind TO, which is a smaller one of the same kind."""
        token = self._curr
        unit = _singular(marks.word(token)) if token else ""
        units = _MONTHS if first in _MONTHS else _DAYS
        if unit not in units or units.index(unit) <= units.index(first):
            self.raise_error("", token)
        self._advance()
        self._read_digits(None)
        return unit

    def _read_digits(self, text: str | None) -> None:
        """`(3)` behind a unit, or `(2, 3)`; a literal with more digits in front of the point is refused."""
        if not self._curr or self._curr.token_type is not TokenType.L_PAREN:
            return
        opening = self._curr
        self._advance()
        digits = self._parse_csv(self._parse_number)
        if not digits or len(digits) > len(("leading", "fraction")) or not all(item.name.isdigit() for item in digits):
            self.raise_error("", opening)
        self._match_r_paren()
        leading = (text or "").strip().lstrip("+-")
        written = leading[: len(leading) - len(leading.lstrip("0123456789"))].lstrip("0")
        if len(written) > int(digits[0].name) and self._prev_unit(opening) != "SECOND":
            message = f"an interval with {digits[0].name} digits cannot hold {text}"
            hint = "leave the number of digits out"
            raise ParseFailure(
                opening, Diagnostic("INTERVAL_DIGITS", message, Span(opening.start, self._prev.end + 1), hint=hint)
            )

    def _prev_unit(self, opening: Any) -> str:
        place = next(index for index, token in enumerate(self._tokens) if token is opening)
        return _singular(marks.word(self._tokens[place - 1]))

    def _parse_interval_span(self, this: Any, *args: Any, **kwargs: Any) -> Any:
        """The unit of an interval, without the numbers of digits that may stand behind each."""
        text = this.name if isinstance(this, exp.Literal) else None
        if text is None or not self._has_digits():
            return super()._parse_interval_span(this, *args, **kwargs)
        first = _singular(marks.word(self._curr))
        self._advance()
        self._read_digits(text)
        if not self._match_text_seq("TO"):
            return exp.Interval(this=exp.Literal.string(text), unit=exp.Var(this=first))
        span = exp.IntervalSpan(this=exp.Var(this=first), expression=exp.Var(this=self._read_last_unit(first)))
        return exp.Interval(this=exp.Literal.string(text), unit=span)

    def _has_digits(self) -> bool:
        """True before `DAY(3)`, `DAY TO SECOND(3)` and their like."""
        words = [marks.word(token) for token in self._tokens[self._index : self._index + 4]]
        units = (*_DAYS, *_MONTHS)
        if not words or _singular(words[0]) not in units:
            return False
        return words[1:2] == ["("] or (words[1:2] == ["TO"] and _singular(words[2]) in units and words[3:] == ["("])

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> Any:
        kind = self._curr.token_type if self._curr else None
        compared = self._index > 0 and self._prev.token_type in _COMPARISONS
        if kind in _QUANTIFIERS and compared and self._next and self._next.token_type is TokenType.L_PAREN:
            return self._read_quantified(_QUANTIFIERS[kind])
        return super()._parse_function_call(*args, **kwargs)

    def _read_quantified(self, kind: type[exp.Expr]) -> exp.Expr:
        """ANY, SOME or ALL of a query, of a list, or of an array."""
        start = self._curr
        self._advance(2)
        depth = 0
        while self._curr and self._curr.token_type is TokenType.L_PAREN:
            depth += 1
            self._advance()
        is_query = bool(self._curr) and self._curr.token_type in _QUERIES
        self._retreat(self._index - depth)
        items: list[Any] = []
        if is_query:
            query: Any = self._parse_select(nested=True, parse_subquery_alias=False)
            operand = self._parse_query_modifiers(self._parse_set_operations(query))
        else:
            items = self._parse_csv(self._parse_disjunction)
            operand = exp.Tuple(expressions=items)
        if operand is None or (not is_query and not items):
            self.raise_error("")
        self._match_r_paren()
        found = kind(this=operand)
        found.meta.update(start=start.start, end=self._prev.end)
        return found


def _singular(word: str) -> str:
    return word.removesuffix("S")


def _difference(paren: Any, sub: exp.Sub, unit: str, end: str) -> exp.Expression:
    """A difference of times as an interval of a unit, or from one to another."""
    kind = f"interval {unit}{f' to {end}' if end else ''}".lower()
    if unit in _DAYS:
        found = exp.Cast(this=paren, to=exp.DataType(this=exp.DType.USERDEFINED, kind=kind))
        found.meta[DIFFERENCE] = True
        return found
    smallest = end or unit
    months: exp.Expression = call("timestampdiff", exp.Var(this=smallest), sub.expression, sub.this)
    for step in dict.fromkeys((f"interval {smallest}".lower(), kind)):
        months = exp.Cast(this=months, to=exp.DataType(this=exp.DType.USERDEFINED, kind=step))
    return months


def compared_with_each(node: exp.Binary) -> exp.Expression | None:
    """`x > ALL (1, 2)` as `x > 1 AND x > 2`, with ANY as OR; None for a query and for one value, perhaps an array."""
    operand = node.expression
    values = operand.this if isinstance(operand, exp.Any | exp.All) else None
    if not isinstance(values, exp.Tuple) or len(values.expressions) == 1:
        return None
    together = exp.Or if isinstance(operand, exp.Any) else exp.And
    found: Any = None
    for value in values.expressions:
        one = type(node)(this=node.this.copy(), expression=value)
        found = one if found is None else together(this=found, expression=one)
    return None if found is None else exp.Paren(this=found)
