"""Penstock's grammar: Databricks' as sqlglot reads it, with every function left as it was written.

sqlglot knows hundreds of functions and rewrites them when it prints them; Penstock's text must keep Spark's
meaning, so a call is `exp.Anonymous` with its own name. Only what has a syntax of its own (CAST, CASE, EXTRACT,
TRIM … FROM, FLOOR … TO, INTERVAL, lambdas, OVER, FILTER) has its own node.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import ErrorLevel
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql import marks
from penstock.sql.failure import ParseFailure
from penstock.sql.jsonvalues import JsonValueParser
from penstock.sql.matchclause import MatchParser
from penstock.sql.nodes import SHUFFLED, TABLE_FUNCTIONS, TableFunction, UnsignedRightShift
from penstock.sql.pipes import PipeParser
from penstock.sql.points import AS_OF, POINT, Point, PointKind
from penstock.sql.protonforms import ProtonFormsParser
from penstock.sql.rules import Rules
from penstock.sql.standardforms import StandardFormsParser
from penstock.sql.strict import StrictParser, closed
from penstock.sql.tablefunctions import TableFunctionParser
from penstock.sql.types import read_type

__all__ = ["SparkParser", "TableFunction", "spark_parser"]

_CALLED_WITHOUT_PARENTHESES = (
    TokenType.CURRENT_DATE,
    TokenType.CURRENT_TIMESTAMP,
    TokenType.CURRENT_USER,
    TokenType.CURRENT_TIME,
    TokenType.SESSION_USER,
    TokenType.LOCALTIMESTAMP,
)


def _call(name: str) -> Callable[[], exp.Anonymous]:
    return lambda: exp.Anonymous(this=name, expressions=[])


def _typed_literal(_parser: Any, value: exp.Expression, kind: exp.DataType) -> exp.Cast:
    literal = exp.Cast(this=value, to=kind)
    literal.meta["typed_literal"] = True
    return literal


def _decimal_literal(_parser: Any, value: exp.Expression, kind: exp.DataType) -> exp.Cast:
    """DECIMAL '1.25' has the digits that are written, as 1.25 has; a bare DECIMAL has none behind the point."""
    digits = _DIGITS.fullmatch(str(value.name))
    if digits is None or kind.expressions:
        return exp.Cast(this=value, to=kind)
    whole, fraction = (len(part or "") for part in digits.groups())
    sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (max(whole + fraction, 1), fraction)]
    return exp.Cast(this=value, to=exp.DataType(this=exp.DType.DECIMAL, expressions=sizes))


_DIGITS = re.compile(r"\s*[+-]?0*(\d*)(?:\.(\d*))?\s*", re.ASCII)
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


class SparkParser(
    PipeParser,
    TableFunctionParser,
    JsonValueParser,
    MatchParser,
    ProtonFormsParser,
    StandardFormsParser,
    StrictParser,
):
    """Reads Spark's queries and expressions, and the streaming constructs in them; raises ParseFailure."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {
        kind: _call(kind.name) for kind in _CALLED_WITHOUT_PARENTHESES
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: closed(read)
        for name, read in {
            "CAST": lambda self: self._parse_cast(self.STRICT_CAST),
            "TRY_CAST": lambda self: self._parse_cast(False, safe=True),  # noqa: FBT003
            "SAFE_CAST": lambda self: self._parse_cast(False, safe=True),  # noqa: FBT003 - as Calcite and Feldera say
            "EXTRACT": lambda self: self._read_extract(),
            "TRIM": lambda self: self._read_trim(),
            "SUBSTRING": lambda self: self._read_words("FROM", "FOR"),
            "SUBSTR": lambda self: self._read_words("FROM", "FOR"),
            "OVERLAY": lambda self: self._read_words("PLACING", "FROM", "FOR"),
            "POSITION": lambda self: self._read_position(),
            **JsonValueParser.JSON_PARSERS,
            "CEIL": lambda self: self._read_rounding(exp.Ceil),
            "CEILING": lambda self: self._read_rounding(exp.Ceil),
            "FLOOR": lambda self: self._read_rounding(exp.Floor),
        }.items()
    }
    TYPE_LITERAL_PARSERS: ClassVar[dict[Any, Any]] = dict.fromkeys(
        (
            exp.DType.DATE,
            exp.DType.TIMESTAMP,
            exp.DType.TIMESTAMPNTZ,
            exp.DType.TIMESTAMPLTZ,
            exp.DType.TIMESTAMPTZ,
            exp.DType.TIME,
        ),
        _typed_literal,
    ) | {exp.DType.DECIMAL: _decimal_literal}
    OPERATION_MODIFIERS: ClassVar[set[str]] = {marks.STREAM_TEXT}
    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        kind: parser
        for kind, parser in DatabricksParser.QUERY_MODIFIER_PARSERS.items()
        if kind not in {TokenType.USING, TokenType.LOCK, TokenType.FOR, TokenType.MATCH_RECOGNIZE}
    } | {
        marks.EMIT: lambda self: ("emit", self._read_emit()),
        marks.SETTINGS: lambda self: ("settings", self._read_settings()),
        marks.POINT: lambda self: ("point", self._read_point()),
        TokenType.PARTITION_BY: lambda self: ("partition_by", self._read_keys()),
        marks.SHUFFLE: lambda self: (SHUFFLED, self._read_keys()),
    }

    # `x FOR y IN …` is a comprehension elsewhere; here FOR stands behind an aggregate of PIVOT.
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        kind: parser for kind, parser in DatabricksParser.RANGE_PARSERS.items() if kind is not TokenType.FOR
    }
    SUPPORTS_TABLE_QUERY = True
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    FUNC_TOKENS: ClassVar[set[TokenType]] = DatabricksParser.FUNC_TOKENS | {TokenType.SESSION}

    rules: Rules
    _rounding: int | None = None  # where the argument of the FLOOR or CEIL begins that is being read

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Stop at the token; sqlglot's message is dropped on purpose."""
        del message
        # Where sqlglot names the token that it has just read, what is missing is behind it.
        place = self._curr if token is None or token is self._prev else token
        raise ParseFailure(place or None)

    def _parse_ordered(self, parse_method: Callable[[], Any] | None = None) -> Any:
        """An item of ORDER BY; where nothing is said of NULL, the dialect says where it comes."""
        found = super()._parse_ordered(parse_method)
        said = [marks.word(token) for token in self._tokens[max(self._index - 2, 0) : self._index]]
        if found is not None and said not in (["NULLS", "FIRST"], ["NULLS", "LAST"]):
            match self.rules.nulls:
                case "greatest":
                    found.set("nulls_first", bool(found.args.get("desc")))
                case "last":
                    found.args["nulls_first"] = False
        return found

    def parse_set_operation(self, *args: Any, **kwargs: Any) -> Any:
        """UNION, EXCEPT and INTERSECT; in some dialects those without ALL or DISTINCT keep duplicates."""
        start = self._index
        found = super().parse_set_operation(*args, **kwargs)
        if found is None or not self.rules.keeps_duplicates:
            return found
        place = next(at for at in range(start, self._index) if self._tokens[at].token_type in self.SET_OPERATIONS)
        if self._tokens[place + 1].token_type in (TokenType.ALL, TokenType.DISTINCT):
            return found
        if isinstance(found, exp.Union):
            found.args["distinct"] = False
            return found
        word = marks.word(self._tokens[place])
        message = f"{word} without ALL or DISTINCT, which there keeps the duplicates of the left side"
        hint = f"{word} DISTINCT, {word} ALL, or WHERE {'NOT ' if word == 'EXCEPT' else ''}EXISTS (…)"
        span = Span(self._tokens[place].start, self._tokens[place].end + 1)
        raise ParseFailure(None, Diagnostic("SET_OPERATION", message, span, hint=hint))

    def _parse_stream(self) -> None:
        """Nothing: in FROM, `stream` is the name of a relation, before an alias too."""

    def _parse_pivot_aggregation(self) -> Any:
        found = self._parse_disjunction()
        if found is None:
            self.raise_error("")
        return self._parse_alias(found)

    def _parse_table_alias(self, alias_tokens: Any = None) -> Any:
        """An alias; that of a CTE may say how many rounds its recursion has at most."""
        alias = super()._parse_table_alias(alias_tokens)
        if alias is not None and self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            rounds: Any = self._parse_number()
            if rounds is None or not rounds.name.isdigit() or self._curr.token_type is not TokenType.ALIAS:
                self.raise_error("")
            alias.set("rounds", rounds)
        return alias

    def read_query(self) -> Any:
        """A whole query: SELECT, VALUES, WITH, parentheses, and set operations between them."""
        tree = self._parse_select(nested=True, parse_subquery_alias=False)
        return self._parse_query_modifiers(self._parse_set_operations(tree))

    def _parse_statement(self) -> Any:
        # What the grammar calls a statement behind WITH can only be a query here.
        return self.read_query()

    def _read_settings(self) -> Any:
        self._advance()
        return self._parse_csv(self._parse_equality)

    def _read_keys(self) -> Any:
        self._advance()
        keys = self._parse_csv(self._parse_disjunction)
        if not keys:
            self.raise_error("")
        return keys

    def _read_emit(self) -> exp.Var:
        """The whole EMIT clause, unread: to the closing parenthesis, SETTINGS, AS OF, START AT or the end."""
        start = self._curr.start
        depth = 0
        while self._curr and self._curr.token_type not in {marks.SETTINGS, marks.POINT}:
            depth += (self._curr.token_type is TokenType.L_PAREN) - (self._curr.token_type is TokenType.R_PAREN)
            if depth < 0:
                break
            self._advance()
        end = self._prev.end + 1
        clause = exp.Var(this=self.sql[start:end])
        clause.meta["span"] = Span(start, end)
        return clause

    def _read_point(self) -> exp.Var:
        """AS OF STEP n | TIMESTAMP e | POSITION p; START AT p | STEP n."""
        clause, start = self._curr, self._curr.start
        self._advance()
        words = [PointKind.STEP, PointKind.TIMESTAMP, PointKind.POSITION]
        kind = next((item for item in words if self._match_text_seq(item)), PointKind.POSITION)
        if kind is PointKind.TIMESTAMP and clause.text != AS_OF:
            self.raise_error("", self._prev)
        inside = self._curr.start
        readers = {PointKind.STEP: self._parse_number, PointKind.TIMESTAMP: self._parse_disjunction}
        found: Any = readers.get(kind, self._parse_id_var)()
        if found is None or (kind is PointKind.STEP and not found.name.isdigit()):
            self.raise_error("")
        end = self._prev.end + 1
        value = self.sql[inside:end] if kind is PointKind.TIMESTAMP else found.name
        node = exp.Var(this=clause.text)
        node.meta[POINT] = Point(clause.text, kind, value, Span(start, end))
        return node

    def _parse_bracket(self, this: Any = None) -> Any:
        """`x[i]`; in some dialects ARRAY[1, 2] and MAP['a', 1] are calls."""
        named = isinstance(this, exp.Column) and not this.table and not this.this.args.get("quoted")
        opening = self._curr.token_type is TokenType.L_BRACKET
        if self.rules.bracket_constructors and named and opening and this.name.upper() in {"ARRAY", "MAP"}:
            self._advance()
            call = exp.Anonymous(this=this.name.lower(), expressions=self._parse_csv(self._parse_disjunction))
            if not self._match(TokenType.R_BRACKET):
                self.raise_error("")
            return super()._parse_bracket(call)
        return super()._parse_bracket(this)

    def _replace_lambda(self, node: Any, expressions: list[Any]) -> Any:
        """A lambda's parameters are found whatever the case of their letters."""
        named = {item.name.lower(): item.name for item in expressions}
        for column in [] if node is None else node.find_all(exp.Column):
            first = column.parts[0]
            if first.name.lower() in named:
                first.set("this", named[first.name.lower()])
        return super()._replace_lambda(node, expressions)

    def _parse_term(self, *args: Any, **kwargs: Any) -> Any:
        """A sum, and `>>>` behind it: it is printed as it stands, so it may bind closer in the tree than in Spark."""
        this = super()._parse_term(*args, **kwargs)
        while marks.adjacent(self._tokens[self._index : self._index + 3], TokenType.GT, 3):
            self._advance(3)
            this = UnsignedRightShift(this=this, expression=super()._parse_term(*args, **kwargs))
            if this.expression is None:
                self.raise_error("")
        return this

    def _parse_value(self, values: bool = True) -> Any:  # noqa: FBT001, FBT002
        """A row of VALUES; one without parentheses has one column, and no alias of its own."""
        if self._curr.token_type is TokenType.L_PAREN:
            return super()._parse_value(values)
        value = self._parse_disjunction()
        return None if value is None else exp.Tuple(expressions=[value])

    def _parse_projections(self) -> Any:
        before = self._prev
        if before.token_type is TokenType.ALIAS:
            self.raise_error("", self._previous())
        projections, exclude = super()._parse_projections()
        if not projections:
            self.raise_error("")
        if before.text == marks.STREAM_TEXT and projections:
            projections[0].meta["stream"] = Span(before.start, before.end + 1)
        return projections, exclude

    def _parse_function_call(
        self,
        functions: dict[str, Any] | None = None,
        anonymous: bool = False,  # noqa: FBT001, FBT002
        optional_parens: bool = True,  # noqa: FBT001, FBT002
        any_token: bool = False,  # noqa: FBT001, FBT002
    ) -> Any:
        token, index = self._curr, self._index
        node = super()._parse_function_call(functions, anonymous, optional_parens, any_token)
        if node is not None and self._index > index:
            node.meta.update(start=token.start, end=self._prev.end, line=token.line, col=token.col)
        return node

    def _parse_interval(self, require_interval: bool = True, parse_function_unit: bool = True) -> Any:  # noqa: FBT001, FBT002
        start = self._curr
        node = super()._parse_interval(require_interval, parse_function_unit)
        if node is None:
            return None
        unit = node.args.get("unit")
        if isinstance(unit, exp.Anonymous) and not all(isinstance(item, exp.Literal) for item in unit.expressions):
            self.raise_error("", self._previous())
        node.meta.update(start=start.start, end=self._prev.end)
        # Several units in one literal are a sum, which must stay together behind a minus.
        return exp.Paren(this=node) if isinstance(node, exp.Add) and require_interval else node

    def _parse_interval_span(self, this: Any, *args: Any, **kwargs: Any) -> Any:
        """The unit of an interval; in `FLOOR(t + INTERVAL '5' MINUTE TO HOUR)` TO HOUR is FLOOR's."""
        node = super()._parse_interval_span(this, *args, **kwargs)
        span = node.args.get("unit")
        if isinstance(span, exp.IntervalSpan) and self._is_of_rounding(span):
            self._retreat(self._index - 2)
            node.set("unit", span.this)
        return node

    def _is_of_rounding(self, span: exp.IntervalSpan) -> bool:
        """True if TO is not the interval's: its units would go up, or FLOOR would be left without one."""
        units = [unit.name.upper().removesuffix("S") for unit in (span.this, span.expression)]
        if self._rounding is None or not set(units) <= set(_UNITS):
            return False
        if _UNITS.index(units[0]) >= _UNITS.index(units[1]):
            return True
        read = [token.token_type for token in self._tokens[self._rounding : self._index]]
        alone = read.count(TokenType.L_PAREN) == read.count(TokenType.R_PAREN)
        return alone and self._curr is not None and self._curr.token_type is TokenType.R_PAREN

    def _parse_types(
        self,
        check_func: bool = False,  # noqa: FBT001, FBT002
        schema: bool = False,  # noqa: FBT001, FBT002
        allow_identifiers: bool = True,  # noqa: FBT001, FBT002
        with_collation: bool = False,  # noqa: FBT001, FBT002
    ) -> Any:
        suffix = self._prev.token_type is TokenType.DCOLON and self._prev.start == self._curr.start
        required = with_collation or self._prev.token_type is TokenType.DCOLON
        if (
            check_func
            and self._curr.token_type in self.NESTED_TYPE_TOKENS
            and self._next.token_type is TokenType.L_PAREN
        ):
            return None  # array(NULL) is a call
        if check_func or schema or not allow_identifiers or suffix or not required:
            return super()._parse_types(check_func, schema, allow_identifiers, with_collation)
        text = read_type(self, self.rules)
        return exp.DataType(this=exp.DType.USERDEFINED, kind=text)

    def build_cast(self, strict: bool, **kwargs: Any) -> Any:  # noqa: FBT001
        """A cast; a number with a suffix (1L, 2.5BD) remembers how it was written."""
        suffix = self._prev.text if self._prev.start == self._prev2_start() else None
        literal = kwargs["this"]
        written = literal.name if isinstance(literal, exp.Literal) and not literal.is_string else None
        node = super().build_cast(strict, **kwargs)
        if suffix and written:
            node.meta["number"] = f"{written}{suffix}"
        return node

    def _prev2_start(self) -> int:
        return int(self._tokens[self._index - 2].start) if self._index > 1 else -1

    def _name_before_parenthesis(self) -> str:
        return str(self._tokens[self._index - 2].text)

    def _read_arguments(self) -> Any:
        return self._parse_csv(lambda: self._parse_lambda(alias=True))

    def _read_words(self, *words: str) -> exp.Anonymous:
        """A call whose arguments words may separate: SUBSTRING(a FROM 1 FOR 2) is SUBSTRING(a, 1, 2)."""
        name = self._name_before_parenthesis()
        arguments = self._read_arguments()
        for separator in words:
            if self._match_text_seq(separator):
                if separator == "FOR" and len(arguments) == 1:
                    arguments.append(exp.Literal.number(1))
                arguments.append(self.required(self._parse_bitwise()))
        return exp.Anonymous(this=name, expressions=arguments)

    def _read_position(self) -> exp.Anonymous:
        name = self._name_before_parenthesis()
        first = self.required(self._parse_bitwise())
        if self._match(TokenType.IN):
            found = exp.Anonymous(this=name, expressions=[first, self.required(self._parse_bitwise())])
            found.meta["in"] = True
            return found
        rest = self._parse_csv(self._parse_bitwise) if self._match(TokenType.COMMA) else []
        return exp.Anonymous(this=name, expressions=[first, *rest])

    def _read_extract(self) -> Any:
        """EXTRACT(unit FROM t); where a dialect has a function of that name, the same with commas is a call of it."""
        if "EXTRACT" not in self.rules.rewrites:
            return self._parse_extract()
        name, index = self._name_before_parenthesis(), self._index
        arguments = self._read_arguments()
        if self._curr.token_type is not TokenType.FROM and len(arguments) > 1:
            return exp.Anonymous(this=name, expressions=arguments)
        self._retreat(index)
        return self._parse_extract()

    def _read_trim(self) -> Any:
        name, index = self._name_before_parenthesis(), self._index
        if not self._match_texts(self.TRIM_TYPES, advance=False) or self._next.token_type is TokenType.COMMA:
            arguments = self._read_arguments()
            if self._curr.token_type is not TokenType.FROM:
                return exp.Anonymous(this=name, expressions=arguments)
        self._retreat(index)
        return self._parse_trim()

    def _read_rounding(self, kind: type[exp.Expression]) -> Any:
        name = self._name_before_parenthesis()
        outer, self._rounding = self._rounding, self._index
        arguments = self._read_arguments()
        self._rounding = outer
        if self._match_text_seq("TO"):
            return kind(this=arguments[0], to=self._parse_var(any_token=True, upper=True))
        return exp.Anonymous(this=name, expressions=arguments)

    def _parse_unnest(self, with_alias: bool = True) -> Any:  # noqa: FBT001, FBT002
        index = self._index
        node = super()._parse_unnest(with_alias)
        if node is not None and node.args.get("offset"):
            read = self._tokens[index : self._index]
            pairs = itertools.pairwise(read)
            node.meta["from_zero"] = any(marks.word(a) == "WITH" and marks.word(b) == "OFFSET" for a, b in pairs)
        return node

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        table = self._read_table(*args, **kwargs)
        while table is not None and self._curr and self._curr.token_type is TokenType.MATCH_RECOGNIZE:
            table = self._aliased(self._read_match(table), kwargs)
        return table

    def _aliased(self, table: Any, given: dict[str, Any]) -> Any:
        """An item of FROM that is not the grammar's own, with its alias and joins."""
        alias = self._parse_table_alias(alias_tokens=given.get("alias_tokens") or self.TABLE_ALIAS_TOKENS)
        if alias:
            table.set("alias", alias)
        if given.get("joins"):
            for join in self._parse_joins():
                table.append("joins", join)
        return table

    def _read_table(self, *args: Any, **kwargs: Any) -> Any:
        # A function over a relation is no call of a function: its arguments are relations.
        if self._next.token_type is TokenType.L_PAREN and marks.word(self._curr) in TABLE_FUNCTIONS:
            return self._aliased(self._read_table_function(), kwargs)
        if self._curr.token_type is TokenType.VALUES:
            values: Any = self._parse_derived_table_values()
            values.set("pivots", self._parse_pivots())
            return values
        return super()._parse_table(*args, **kwargs)


_DIALECT = Databricks()


def spark_parser(tokens: list[Token], source: str, rules: Rules) -> SparkParser:
    """A parser that stands before the first of the tokens of one statement."""
    parser = SparkParser(error_level=ErrorLevel.IMMEDIATE, dialect=_DIALECT)
    parser.reset()
    parser.rules = rules
    parser.sql = source
    parser._tokens = tokens  # noqa: SLF001
    parser._tokens_size = len(tokens)  # noqa: SLF001
    parser._index = -1  # noqa: SLF001
    parser._advance()  # noqa: SLF001
    return parser
