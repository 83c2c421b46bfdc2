"""Functions over a relation in FROM: TUMBLE(TABLE t, DESCRIPTOR(at), …), SESSION(t, at, 5m, [begin, end))."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import TokenType

from penstock.sql import marks
from penstock.sql.nodes import TABLE_FUNCTIONS, TableFunction


class TableFunctionParser(DatabricksParser):
    """Reads a function whose arguments are relations, columns, intervals and ranges, by place or by name."""

    def _read_table_function(self) -> TableFunction:
        token = self._curr
        name = marks.word(token)
        self._advance(2)
        if name == "TABLE" and self._next.token_type is TokenType.L_PAREN and marks.word(self._curr) in TABLE_FUNCTIONS:
            table = self._read_table_function()
        else:
            relation = self._read_relation()
            if relation is None:
                self.raise_error("")
            table = TableFunction(this=name, expressions=[relation])
            self._read_rest(table)
        self._match_r_paren()
        table.meta.update(start=token.start, end=self._prev.end)
        return table

    def _read_rest(self, table: TableFunction) -> None:
        if self._match(TokenType.PARTITION_BY):
            several = self._curr.token_type is TokenType.L_PAREN
            keys = self._parse_wrapped_csv(self._parse_disjunction) if several else [self._read_value_of_call()]
            if not keys:
                self.raise_error("")
            table.set("partition_by", keys)
        while self._match(TokenType.COMMA):
            table.append("expressions", self._read_table_argument(table.name))

    def _read_relation(self) -> Any:
        """The first argument: `TABLE t`, `t`, a query in parentheses, another table function; named or not."""
        if self._next.token_type is TokenType.FARROW:
            name = exp.Var(this=self._curr.text.upper())
            self._advance(2)
            return exp.Kwarg(this=name, expression=self._read_relation())
        if self._next.token_type is TokenType.L_PAREN and marks.word(self._curr) in TABLE_FUNCTIONS:
            return self._read_table_function()
        self._match(TokenType.TABLE)
        if self._curr.token_type is TokenType.L_PAREN:
            return self._parse_select(table=True)
        return self._parse_table_parts()

    def _read_table_argument(self, function: str) -> Any:
        if self._next.token_type is TokenType.FARROW:
            name = exp.Var(this=self._curr.text.upper())
            self._advance(2)
            if self._curr.token_type is TokenType.TABLE:
                return exp.Kwarg(this=name, expression=self._read_relation())
            return exp.Kwarg(this=name, expression=self._read_table_argument(function))
        if function == "SESSION" and self._curr.token_type in {TokenType.L_BRACKET, TokenType.L_PAREN}:
            return self._read_session_range()
        return self._read_value_of_call()

    def _read_value_of_call(self) -> Any:
        found = self._parse_disjunction()
        if found is None:
            self.raise_error("")
        return found

    def _read_session_range(self) -> Any:
        """`[start, end)` of a Timeplus session: brackets include the row that begins or ends it."""
        index = self._index
        opening = self._curr.token_type
        self._advance()
        start = self._parse_disjunction()
        if not self._match(TokenType.COMMA):
            self._retreat(index)
            return self._parse_disjunction()
        end = self._parse_disjunction()
        closing = self._curr.token_type
        if closing not in {TokenType.R_BRACKET, TokenType.R_PAREN}:
            self.raise_error("")
        self._advance()
        bounds = [exp.Boolean(this=opening is TokenType.L_BRACKET), exp.Boolean(this=closing is TokenType.R_BRACKET)]
        return exp.Anonymous(this="SESSION_RANGE", expressions=[start, end, *bounds])
