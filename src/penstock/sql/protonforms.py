"""The forms that Timeplus has of ClickHouse, read as those that the other dialects have.

| written | read as |
| --- | --- |
| `c ? a : b` | `CASE WHEN c THEN a ELSE b END` |
| `quantile(0.9)(x)`, `top_k(2)(x)` | `quantile(x, 0.9)`, `top_k(x, 2)` |
| `WITH 5 AS n SELECT a + n …` | `SELECT a + 5 …` |
| `FROM s [LEFT] ARRAY JOIN xs AS x` | `FROM s, UNNEST(xs) AS t (x)`; without a name `xs` is the element behind it |
| `LIMIT 1 BY b LIMIT 5 OFFSET 2` | `SELECT * FROM (… LIMIT 1 BY b) LIMIT 5 OFFSET 2` |
| `LIMIT 1 OFFSET 2 BY b`, `LIMIT 2, 1 BY b` | LIMIT with `offset` and what it goes by |
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql import marks
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rules

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
# In the meta of LIMIT … BY: the LIMIT behind it, and how many rows of each value are left out first.
_THEN, _SKIPPED = "then", "skipped"
_JOINED = "array_join"  # in the meta of a join: the columns whose elements stand for them
_ELEMENT = "__element_of_"


class ProtonFormsParser(DatabricksParser):
    """Reads the forms of ClickHouse where the dialect has them."""

    rules: Rules
    _values: dict[str, exp.Expression] | None = None  # what WITH gives names to, in the query that is read

    def _parse_disjunction(self) -> Any:
        condition = super()._parse_disjunction()
        if condition is None or not self._match(marks.CHOICE):
            return condition
        self._mark_otherwise()
        one = self._parse_disjunction()
        if one is None or not self._match(marks.OTHERWISE):
            self.raise_error("")
        other = self._parse_disjunction()
        if other is None:
            self.raise_error("")
        return exp.Case(ifs=[exp.If(this=condition, true=one)], default=other)

    def _mark_otherwise(self) -> None:
        """Mark the `:` that belongs to the `?` that has just been read: it is none of `x:a`."""
        depth = choices = 0
        for place in range(self._index, len(self._tokens)):
            kind = self._tokens[place].token_type
            depth += (kind in _OPENING) - (kind in _CLOSING)
            choices += kind is marks.CHOICE and not depth
            if depth < 0 or (kind in (TokenType.COLON, marks.OTHERWISE) and not depth and not choices):
                break
            choices -= kind in (TokenType.COLON, marks.OTHERWISE) and not depth
        else:
            return
        if depth >= 0:
            self._tokens[place] = marks.retagged(self._tokens[place], marks.OTHERWISE)
            self._advance(0)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> Any:
        found = super()._parse_function_call(*args, **kwargs)
        again = self.rules.event_times and self._curr and self._curr.token_type is TokenType.L_PAREN
        if not again or not isinstance(found, exp.Anonymous) or self._prev.token_type is not TokenType.R_PAREN:
            return found
        self._advance()
        parameters = found.expressions
        read = [] if self._curr.token_type is TokenType.R_PAREN else self._parse_csv(self._read_value)
        self._match_r_paren()
        conditional = found.name.lower().endswith("_if") and read
        condition = [read.pop()] if conditional else []
        found.set("expressions", [*read, *parameters, *condition])
        return self._parse_window(found)

    def _read_value(self) -> Any:
        return self._parse_lambda(alias=True)

    def _parse_select(self, *args: Any, **kwargs: Any) -> Any:
        outer, self._values = self._values, {}
        found = super()._parse_select(*args, **kwargs)
        values, self._values = self._values, outer
        if found is None or not self.rules.event_times:
            return found
        for select in found.find_all(exp.Select):
            _name_elements(select)
        return _with_values(found, values) if values else found

    def _parse_cte(self) -> Any:
        """A query with a name, or a value with one, which is kept apart."""
        if not self.rules.event_times or self._is_named_query():
            return super()._parse_cte()
        value: Any = self._parse_disjunction()
        if value is None or not self._match(TokenType.ALIAS):
            self.raise_error("")
        name: Any = self._parse_id_var(any_token=False)
        if name is None:
            self.raise_error("")
        known = self._values
        assert known is not None  # noqa: S101 - WITH begins a query
        known[name.name] = _with_values(value, known)
        return None

    def _is_named_query(self) -> bool:
        """True before `name AS (` and `name (a, b) AS (`; `(SELECT …) AS n` and `f(x) AS n` are values."""
        if self._curr.token_type is TokenType.L_PAREN or not self._next:
            return False
        place = self._index + 1
        if self._next.token_type is TokenType.L_PAREN:
            while place < len(self._tokens) and self._tokens[place].token_type is not TokenType.R_PAREN:
                place += 1
            place += 1
        words = [token.token_type for token in self._tokens[place : place + 2]]
        return words == [TokenType.ALIAS, TokenType.L_PAREN] or marks.word(self._next) == "MAX"

    def _parse_with(self, skip_with_token: bool = False) -> Any:  # noqa: FBT001, FBT002
        found = super()._parse_with(skip_with_token)
        return None if found is not None and not found.expressions and self._values else found

    def _parse_join(self, *args: Any, **kwargs: Any) -> Any:
        left = self.rules.event_times and marks.word(self._curr) == "LEFT" if self._curr else False
        first, second = (self._next, self._at(2)) if left else (self._curr, self._next)
        if not self.rules.event_times or [marks.word(token) for token in (first, second) if token] != ["ARRAY", "JOIN"]:
            return super()._parse_join(*args, **kwargs)
        place = self._curr
        self._advance(3 if left else 2)
        items = self._parse_csv(lambda: self._parse_alias(self._parse_disjunction()))
        return _joined(items, place, left=bool(left))

    def _at(self, ahead: int) -> Token | None:
        place = self._index + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _parse_limit(self, *args: Any, **kwargs: Any) -> Any:
        """LIMIT; what stands behind LIMIT … BY, and its own OFFSET, are kept with it."""
        found: Any = super()._parse_limit(*args, **kwargs)
        if isinstance(found, exp.Limit) and found.expressions:
            found.meta[_SKIPPED] = found.args.get("offset")  # the parser would give it to all rows, and BY with it
            found.set("offset", None)
            self._keep_then(found)
        return found

    def _parse_offset(self, *args: Any, **kwargs: Any) -> Any:
        found: Any = super()._parse_offset(*args, **kwargs)
        if isinstance(found, exp.Offset) and found.expressions:
            self._keep_then(found)
        return found

    def _keep_then(self, limited: exp.Expression) -> None:
        if self.rules.event_times and self._curr and self._curr.token_type is TokenType.LIMIT:
            limited.meta[_THEN] = super()._parse_limit()

    def _parse_query_modifiers(self, this: Any) -> Any:
        found = super()._parse_query_modifiers(this)
        limit = found.args.get("limit") if isinstance(found, exp.Query) else None
        if limit is None:
            return found
        offset = found.args.get("offset")
        if offset is not None and offset.expressions:  # LIMIT 1 OFFSET 2 BY b
            limit.set("expressions", offset.expressions)
            limit.meta.update({_SKIPPED: offset.expression, _THEN: offset.meta.get(_THEN)})
            offset = None
        if not limit.expressions:
            return found
        if _SKIPPED in limit.meta:
            limit.set("offset", limit.meta.pop(_SKIPPED))
        then = limit.meta.pop(_THEN, None)
        found.set("offset", None)
        return _around(found, then, offset) if then is not None or offset is not None else found


def _around(limited: Any, limit: exp.Expression | None, offset: exp.Expression | None) -> exp.Select:
    """A query over another one, whose rows come in its order."""
    inner = exp.Subquery(this=limited, alias=exp.TableAlias(this=exp.to_identifier("__limited")))
    order = limited.args.get("order")
    outer = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), limit=limit, offset=offset)
    first = None if limit is None else limit.args.get("offset")
    if limit is not None and first is not None:  # LIMIT 1, 5
        limit.set("offset", None)
        outer.set("offset", exp.Offset(expression=first))
    if order is not None:
        outer.set("order", order.copy())
    return outer


def _joined(items: list[Any], place: Token, *, left: bool) -> exp.Join:
    """The join with a row for each place of arrays."""
    names = [item.alias if isinstance(item, exp.Alias) else "" for item in items]
    values: list[Any] = [item.unalias() for item in items]
    nameless = [value for name, value in zip(names, values, strict=True) if not name]
    if not items or not all(isinstance(value, exp.Column) for value in nameless):
        message, hint = "ARRAY JOIN gives the elements of an array a name", "ARRAY JOIN [1, 2] AS x"
        raise ParseFailure(place, Diagnostic("SYNTAX_ERROR", message, Span(place.start, place.end + 1), hint=hint))
    standing = {value.name: f"{_ELEMENT}{value.name}" for value in nameless}
    columns = [exp.to_identifier(name or f"{_ELEMENT}{value.name}") for name, value in zip(names, values, strict=True)]
    alias = exp.TableAlias(this=exp.to_identifier(f"__array_join_{place.start}"), columns=columns)
    rows = exp.Unnest(expressions=values, alias=alias)
    join = exp.Join(this=rows, side="LEFT", on=exp.true()) if left else exp.Join(this=rows, kind="CROSS")
    join.meta[_JOINED] = standing
    return join


def _name_elements(select: exp.Select) -> None:
    """Put the elements in the place of the arrays that ARRAY JOIN names alone."""
    standing: dict[str, str] = {}
    for join in select.find_all(exp.Join):
        if join.parent_select is select:
            standing |= join.meta.pop(_JOINED, {})
    for column in list(select.find_all(exp.Column)) if standing else ():
        name = standing.get(column.name)
        if name is None or column.table or column.find_ancestor(exp.Unnest, exp.Query) is not select:
            continue
        made = exp.column(name)
        made.meta.update(column.meta)
        listed = column.parent is select and column.arg_key == "expressions"
        column.replace(exp.alias_(made, column.name) if listed else made)


def _with_values(tree: Any, values: dict[str, exp.Expression]) -> Any:
    """The tree with values in the place of their names."""

    def replaced(node: Any) -> Any:
        value = values.get(node.name) if isinstance(node, exp.Column) and not node.table else None
        if value is None:
            return node
        listed = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
        found = value.copy() if isinstance(value, exp.Literal | exp.Subquery) else exp.Paren(this=value.copy())
        return exp.alias_(found, node.name) if listed else found

    found: Any = tree.transform(replaced, copy=False)
    return found
