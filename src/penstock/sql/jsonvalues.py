"""JSON_VALUE(text, path [RETURNING type] [NULL ON EMPTY] [NULL ON ERROR]), as standard SQL has it."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser

from penstock.errors import Diagnostic, Span
from penstock.sql.failure import ParseFailure

_WHERE_IT_FAILS = ("EMPTY", "ERROR")


class JsonValueParser(DatabricksParser):
    """Reads a call whose arguments are followed by words; a type makes it a cast that gives NULL where it fails."""

    def _read_json_value(self) -> Any:
        name = str(self._tokens[self._index - 2].text)
        arguments = self._parse_csv(self._parse_disjunction)
        kind = self._parse_types() if self._match_text_seq("RETURNING") else None
        for word in _WHERE_IT_FAILS:
            self._read_failure(word)
        found = exp.Anonymous(this=name, expressions=arguments)
        return found if kind is None else exp.TryCast(this=found, to=kind)

    def _read_failure(self, word: str) -> None:
        """`NULL ON EMPTY`, which holds where nothing is said; a refusal of what else may stand there."""
        token = self._curr
        if self._match_text_seq("NULL", "ON", word) or not self._match_texts(("DEFAULT", "ERROR")):
            return
        message = f"JSON_VALUE … {token.text.upper()} … ON {word} is not supported: what fails is NULL"
        hint = "coalesce(JSON_VALUE(…), value) puts another value in its place"
        raise ParseFailure(token, Diagnostic("FLINK_FUNCTION", message, Span(token.start, token.end + 1), hint=hint))
