"""Column types in any dialect's spelling, read into Spark's canonical names."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.catalog.types import struct_type
from penstock.errors import Diagnostic, Span, did_you_mean
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rules

_SPARK: dict[str, str] = {
    "boolean": "boolean", "bool": "boolean",
    "tinyint": "tinyint", "byte": "tinyint",
    "smallint": "smallint", "short": "smallint",
    "int": "int", "integer": "int",
    "bigint": "bigint", "long": "bigint",
    "float": "float", "real": "float",
    "double": "double",
    "date": "date", "timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz", "timestamp_ltz": "timestamp",
    "string": "string", "text": "string",
    "binary": "binary", "varbinary": "binary", "bytes": "binary",
    "variant": "variant", "void": "void",
    "decimal": "decimal", "dec": "decimal", "numeric": "decimal",
    "char": "char", "character": "char", "varchar": "varchar",
    "array": "array", "map": "map", "struct": "struct", "row": "struct", "interval": "interval", "time": "time",
    "nullable": "nullable",
}  # fmt: skip
_NAMED = re.compile(r"\w")
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_DEFAULT_DECIMAL = "decimal(10,0)"


def read_type(parser: Any, rules: Rules) -> str:
    """The type at the parser's place, as Spark's simpleString; raises ParseFailure if there is none."""
    token = parser._curr  # noqa: SLF001
    written = str(token.text).lower() if token else ""
    declared = rules.declared.get(written)
    name = rules.types.get(written) or _SPARK.get(written)
    if name is None and declared is None:
        raise _unknown(token, written, rules)
    parser._advance()  # noqa: SLF001
    kind = declared or _parametrised(parser, str(name), rules)
    while _is_collection(parser, rules):
        kind = f"array<{kind}>"
    return kind


def _is_collection(parser: Any, rules: Rules) -> bool:
    """Take ARRAY behind a type, or NOT NULL ARRAY, which says that no element is NULL; MULTISET where there is one."""
    words = [str(token.text).upper() for token in parser._tokens[parser._index : parser._index + 3]]  # noqa: SLF001
    collections = ("ARRAY", "MULTISET") if "multiset" in rules.types else ("ARRAY",)
    for before in ([], ["NOT", "NULL"], ["NULL"]):
        if words[: len(before)] == before and "".join(words[len(before) : len(before) + 1]) in collections:
            parser._advance(len(before) + 1)  # noqa: SLF001
            return True
    return False


def _unknown(token: Any, written: str, rules: Rules) -> ParseFailure:
    if not token or not (written[:1].isalpha() or written[:1] == "_"):
        return ParseFailure(token or None)
    known = [*_SPARK, *rules.types, *rules.declared]
    shown = str(token.text)[:60]
    finding = Diagnostic(
        "UNKNOWN_TYPE",
        f"there is no type {shown}",
        Span(token.start, token.end + 1),
        candidates=tuple(name.upper() for name in did_you_mean(written, known)),
    )
    return ParseFailure(token, finding)


def _parametrised(parser: Any, name: str, rules: Rules) -> str:
    match name:
        case "decimal":
            numbers = _numbers(parser)
            return f"decimal({numbers[0]},{(*numbers, 0)[1]})" if numbers else _DEFAULT_DECIMAL
        case "decimal32" | "decimal64" | "decimal128" | "decimal256":
            return _of_digits(parser, int(name.removeprefix("decimal")))
        case "char" | "varchar":
            varying = name == "char" and parser._match_text_seq("VARYING")  # noqa: SLF001
            numbers = _numbers(parser)
            kind = "varchar" if varying else name
            return f"{kind}({numbers[0]})" if numbers else "char(1)" if kind == "char" else "string"
        case "string":
            return _collated(parser)
        case "double":
            parser._match_text_seq("PRECISION")  # noqa: SLF001
            return name
        case "timestamp" | "time" | "timestamp_ntz":
            return _temporal(parser, name)
        case "array" | "map" | "nullable":
            return _container(parser, name, rules)
        case "struct":
            return _struct(parser, rules)
        case "interval":
            return _interval(parser)
        case "tinyint" | "smallint" | "int" | "bigint":
            return f"{name} unsigned" if parser._match_text_seq("UNSIGNED") else name  # noqa: SLF001
        case "enum":
            return _enumerated(parser)
        case "binary" | "float":
            _numbers(parser)  # a length, and a number of bits
            return name
        case _:
            return name


def _numbers(parser: Any) -> tuple[int, ...]:
    """Parameters in parentheses; a text among them (Timeplus' time zone) is no part of Spark's type."""
    if not parser._match(TokenType.L_PAREN):  # noqa: SLF001
        return ()
    found: list[int] = []
    while True:
        token = parser._curr  # noqa: SLF001
        if token and token.token_type is TokenType.NUMBER and token.text.isdigit():
            found.append(int(token.text))
        elif not token or token.token_type is not TokenType.STRING:
            raise ParseFailure(token or None)
        parser._advance()  # noqa: SLF001
        if not parser._match(TokenType.COMMA):  # noqa: SLF001
            break
    parser._match_r_paren()  # noqa: SLF001
    return tuple(found)


def _of_digits(parser: Any, bits: int) -> str:
    """`decimal64(4)`: the digits behind the point, of as many as the bits hold."""
    token = parser._curr  # noqa: SLF001
    numbers = _numbers(parser)
    most = {32: 9, 64: 18}.get(bits, 38)
    if len(numbers) != 1 or numbers[0] > most or bits not in (32, 64, 128):
        message = f"decimal{bits} takes the number of digits behind the point, at most {most}"
        wide = "a DECIMAL has 38 digits at most: decimal128(n), or decimal(38, n)"
        hint = wide if bits not in (32, 64, 128) else f"decimal{bits}(2)"
        span = Span(token.start, token.end + 1) if token else None
        raise ParseFailure(token or None, Diagnostic("DECIMAL_DIGITS", message, span, hint=hint))
    return f"decimal({most},{numbers[0]})"


def _collated(parser: Any) -> str:
    """A text, and by which rules it is compared where that is written."""
    _numbers(parser)
    if not parser._match_text_seq("COLLATE"):  # noqa: SLF001
        return "string"
    token = parser._curr  # noqa: SLF001
    if not token or token.token_type not in {TokenType.VAR, TokenType.IDENTIFIER}:
        raise ParseFailure(token or None)
    parser._advance()  # noqa: SLF001
    return f"string collate {token.text.upper()}"


def _temporal(parser: Any, name: str) -> str:
    precision = _numbers(parser)
    if parser._match_text_seq("WITHOUT", "TIME", "ZONE"):  # noqa: SLF001
        return name
    if parser._match_text_seq("WITH", "LOCAL", "TIME", "ZONE") or parser._match_text_seq("WITH", "TIME", "ZONE"):  # noqa: SLF001
        return name
    return f"time({precision[0] if precision else 6})" if name == "time" else name


def _container(parser: Any, name: str, rules: Rules) -> str:
    closing = _opening(parser)
    items = [read_type(parser, rules)]
    _not_null(parser)
    if name == "map":
        if not parser._match(TokenType.COMMA):  # noqa: SLF001
            raise ParseFailure(parser._curr or None)  # noqa: SLF001
        items.append(read_type(parser, rules))
        _not_null(parser)
    _close(parser, closing)
    return items[0] if name == "nullable" else f"{name}<{','.join(items)}>"


def _struct(parser: Any, rules: Rules) -> str:
    closing = _opening(parser)
    fields: list[tuple[str, str]] = []
    while True:
        if rules.event_times and _is_unnamed(parser):
            fields.append((f"col{len(fields) + 1}", read_type(parser, rules)))
            if not parser._match(TokenType.COMMA):  # noqa: SLF001
                break
            continue
        name = parser._parse_id_var(any_token=True)  # noqa: SLF001
        if not isinstance(name, exp.Identifier) or not (name.args.get("quoted") or _NAMED.match(name.name)):
            raise ParseFailure(parser._prev if name is not None else parser._curr or None)  # noqa: SLF001
        parser._match(TokenType.COLON)  # noqa: SLF001
        fields.append((name.name, read_type(parser, rules)))
        _not_null(parser)
        if not parser._match(TokenType.COMMA):  # noqa: SLF001
            break
    _close(parser, closing)
    return struct_type(fields)


def _is_unnamed(parser: Any) -> bool:
    """True before a type that stands alone, as in `tuple(int32, array(string))`."""
    following = parser._next  # noqa: SLF001
    return bool(following) and following.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.L_PAREN)


def _enumerated(parser: Any) -> str:
    """`enum8('a' = 1, 'b' = 2)`, whose values are texts."""
    _opening(parser)
    while parser._match(TokenType.STRING):  # noqa: SLF001
        if parser._match(TokenType.EQ):  # noqa: SLF001
            parser._match(TokenType.DASH)  # noqa: SLF001
            if not parser._match(TokenType.NUMBER):  # noqa: SLF001
                raise ParseFailure(parser._curr or None)  # noqa: SLF001
        if not parser._match(TokenType.COMMA):  # noqa: SLF001
            break
    _close(parser, TokenType.R_PAREN)
    return "string"


def _interval(parser: Any) -> str:
    start = _unit(parser)
    if start is None:
        return "interval"
    end = _unit(parser) if parser._match_text_seq("TO") else start  # noqa: SLF001
    if end is None:
        raise ParseFailure(parser._curr or None)  # noqa: SLF001
    return f"interval {start} to {end}".lower() if end != start else f"interval {start}".lower()


def _unit(parser: Any) -> str | None:
    found = parser._match_texts(_UNITS)  # noqa: SLF001
    return str(parser._prev.text) if found else None  # noqa: SLF001


def _opening(parser: Any) -> TokenType:
    if parser._match(TokenType.LT):  # noqa: SLF001
        return TokenType.GT
    if parser._match(TokenType.L_PAREN):  # noqa: SLF001
        return TokenType.R_PAREN
    raise ParseFailure(parser._curr or None)  # noqa: SLF001


def _close(parser: Any, closing: TokenType) -> None:
    if not parser._match(closing):  # noqa: SLF001
        raise ParseFailure(parser._curr or None)  # noqa: SLF001


def _not_null(parser: Any) -> None:
    parser._match_text_seq("NOT", "NULL")  # noqa: SLF001
    if parser._match_text_seq("COMMENT") and not parser._match(TokenType.STRING):  # noqa: SLF001
        raise ParseFailure(parser._curr or None)  # noqa: SLF001
