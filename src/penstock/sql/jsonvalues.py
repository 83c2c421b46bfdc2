"""The JSON functions of standard SQL, whose arguments are followed by words; they are made of two with plain arguments.

| written | made of |
| --- | --- |
| `JSON_VALUE(t, p [RETURNING type] [DEFAULT x ON EMPTY] [DEFAULT x ON ERROR])` | `JSON_VALUE(t, p)`, and more |
| `JSON_QUERY(t, p [WITHOUT WRAPPER] [NULL ON EMPTY] [NULL ON ERROR])`, `JSON_EXISTS(t, p)` | calls |
| `JSON_OBJECT([KEY] k VALUE v, … [NULL | ABSENT ON NULL])` | `JSON_OBJECT(k, v, …)`, with ABSENT behind them |
| `JSON_ARRAY(v, … [NULL | ABSENT ON NULL])` | `JSON_ARRAY(v, …)`, with NULLS behind them |

The last two are read so where a dialect has them: elsewhere a program may have a function of that name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rules

_WHERE_IT_FAILS = ("EMPTY", "ERROR")


class JsonValueParser(DatabricksParser):
    """Reads calls whose arguments are followed by words; a type makes one a cast that gives NULL where it fails."""

    rules: Rules
    JSON_PARSERS: ClassVar[dict[str, Any]] = {
        "JSON_VALUE": lambda self: self._read_json_value(),
        "JSON_QUERY": lambda self: self._read_json_query(),
        "JSON_EXISTS": lambda self: self._read_json_exists(),
        "JSON_OBJECT": lambda self: self._read_json_object(),
        "JSON_ARRAY": lambda self: self._read_json_array(),
        "JSON_ARRAYAGG": lambda self: self._read_json_array(),
        "JSON_OBJECTAGG": lambda self: self._read_json_object(),
    }

    def _name_of_call(self) -> str:
        return str(self._tokens[self._index - 2].text)

    def _read_json_value(self) -> Any:
        name = self._name_of_call()
        arguments = self._parse_csv(self._parse_disjunction)
        kind = self._parse_types() if self._match_text_seq("RETURNING") else None
        on_empty, on_error = (self._read_failure(word) for word in _WHERE_IT_FAILS)
        text = exp.Anonymous(this=name, expressions=arguments)
        found = text if kind is None else exp.TryCast(this=text, to=kind)
        if on_empty is None and on_error is None:
            return found
        return _instead(found, text, on_empty or exp.Null(), on_error or exp.Null())

    def _read_failure(self, word: str) -> Any:
        """The value of `DEFAULT x ON EMPTY`; None where `NULL ON EMPTY` or nothing is said, ERROR is refused."""
        token = self._curr
        if self._match_text_seq("NULL", "ON", word):
            return None
        index = self._index
        if self._match_texts(("DEFAULT",)):
            found = self._parse_disjunction()
            if self._match_text_seq("ON", word):
                return found
            self._retreat(index)
            return None
        if self._match_texts(("ERROR",), advance=False):
            message = f"JSON_VALUE … ERROR … ON {word} is not supported: what fails is NULL"
            hint = "coalesce(JSON_VALUE(…), raise_error('…')) fails where there is none"
            raise ParseFailure(
                token, Diagnostic("FLINK_FUNCTION", message, Span(token.start, token.end + 1), hint=hint)
            )
        return None

    def _read_json_query(self) -> exp.Anonymous:
        name = self._name_of_call()
        arguments = self._parse_csv(self._parse_disjunction)
        if not (self._match_text_seq("WITHOUT", "ARRAY", "WRAPPER") or self._match_text_seq("WITHOUT", "WRAPPER")):
            self._refuse_words(
                "WITH", "RETURNING", name=name, hint="concat('[', JSON_QUERY(…), ']') makes an array of it"
            )
        for word in _WHERE_IT_FAILS:
            if not self._match_text_seq("NULL", "ON", word):
                self._refuse_words("EMPTY", "ERROR", name=name, hint="coalesce(JSON_QUERY(…), '[]')")
        return exp.Anonymous(this=name, expressions=arguments)

    def _read_json_exists(self) -> exp.Anonymous:
        name = self._name_of_call()
        arguments = self._parse_csv(self._parse_disjunction)
        if not self._match_text_seq("FALSE", "ON", "ERROR"):
            self._refuse_words("TRUE", "UNKNOWN", "ERROR", name=name, hint="what fails is FALSE")
        return exp.Anonymous(this=name, expressions=arguments)

    def _read_json_object(self) -> exp.Anonymous:
        name = self._name_of_call()
        if name.upper() not in self.rules.rewrites:
            return exp.Anonymous(this=name, expressions=self._parse_csv(lambda: self._parse_lambda(alias=True)))
        pairs = [] if self._ends_here() else self._parse_csv(self._read_pair)
        arguments = [item for pair in pairs for item in pair]
        if self._match_text_seq("ABSENT", "ON", "NULL"):
            arguments.append(exp.Var(this="ABSENT"))
        else:
            self._match_text_seq("NULL", "ON", "NULL")
        return exp.Anonymous(this=name, expressions=arguments)

    def _ends_here(self) -> bool:
        token = self._curr
        return token.token_type is TokenType.R_PAREN or token.text.upper() in {"ABSENT", "NULL"}

    def _read_pair(self) -> tuple[Any, Any]:
        """`KEY 'k' VALUE v`, `'k' VALUE v` or `'k' : v`."""
        self._match_text_seq("KEY")
        key: Any = self._parse_string() or self._parse_column()
        if key is None or not (self._match_text_seq("VALUE") or self._match(TokenType.COLON)):
            self.raise_error("")
        value: Any = self._parse_disjunction()
        if value is None:
            self.raise_error("")
        return key, value

    def _read_json_array(self) -> exp.Anonymous:
        name = self._name_of_call()
        if name.upper() not in self.rules.rewrites:
            return exp.Anonymous(this=name, expressions=self._parse_csv(lambda: self._parse_lambda(alias=True)))
        words = {"ABSENT", "NULL"} if self._next and self._next.text.upper() == "ON" else set()
        token = self._curr
        empty = token.token_type is TokenType.R_PAREN or token.text.upper() in words
        arguments = [] if empty else self._parse_csv(self._parse_disjunction)
        if not arguments and (name.upper() == "JSON_ARRAYAGG" or not empty):
            self.raise_error("")
        if self._match_text_seq("NULL", "ON", "NULL"):
            arguments.append(exp.Var(this="NULLS"))
        else:
            self._match_text_seq("ABSENT", "ON", "NULL")
        return exp.Anonymous(this=name, expressions=arguments)

    def _refuse_words(self, *words: str, name: str, hint: str) -> None:
        token = self._curr
        if self._match_texts(words, advance=False):
            message = f"{name.upper()} … {token.text.upper()} is not supported"
            raise ParseFailure(
                token, Diagnostic("FLINK_FUNCTION", message, Span(token.start, token.end + 1), hint=hint)
            )


def _instead(found: exp.Expression, text: exp.Expression, empty: exp.Expression, error: exp.Expression) -> exp.Case:
    """The value, or what stands for none in a text of JSON, or for a text that is none and a wrong value."""
    document = text.expressions[0]
    whole = exp.Anonymous(this=text.this, expressions=[document.copy(), exp.Literal.string("$")])
    whole.meta.update(text.meta)
    value = found.copy()
    if isinstance(found, exp.TryCast):
        value = exp.Anonymous(this="coalesce", expressions=[value, error.copy()])
    return exp.Case(
        ifs=[
            exp.If(this=_present(text.copy()), true=value),
            exp.If(this=_present(whole), true=empty),
            exp.If(this=_present(document.copy()), true=error),
        ]
    )


def _present(tree: exp.Expression) -> exp.Expression:
    return exp.Not(this=exp.Is(this=exp.Paren(this=tree), expression=exp.Null()))
