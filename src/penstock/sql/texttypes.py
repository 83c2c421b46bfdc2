"""A cast to a type that a text names, as ClickHouse writes it: cast(x, 'decimal(10, 2)')."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.errors import Diagnostic, PenstockError
from penstock.sql.dialect import spark_parser
from penstock.sql.failure import ParseFailure
from penstock.sql.lexer import tokenize
from penstock.sql.rules import Rules
from penstock.sql.text import span_of
from penstock.sql.trees import data_type
from penstock.sql.types import read_type


def with_casts(tree: exp.Expression, rules: Rules) -> exp.Expression:
    """The tree with the casts whose type is a text as all others."""
    for node in list(tree.find_all(exp.CastToStrType)) if rules.types_as_texts else []:
        cast = exp.Cast(this=node.this, to=data_type(_type(node, rules)))
        cast.meta.update(node.meta)
        node.replace(cast)
        tree = cast if node is tree else tree
    return tree


def _type(node: exp.CastToStrType, rules: Rules) -> str:
    """The type that is named."""
    named = node.args.get("to")
    if not isinstance(named, exp.Literal):
        message, hint = "cast wants a type, as a text", "cast(x, 'int'), or CAST(x AS int)"
        raise ParseFailure(None, Diagnostic("SYNTAX_ERROR", message, span_of(node), hint=hint))
    try:
        return _read(named.name, rules)
    except (ParseFailure, PenstockError) as error:
        known = error.diagnostic if isinstance(error, ParseFailure) else None
        candidates = known.candidates if known is not None else ()
        message = f"there is no type '{named.name[:60]}'"
        raise ParseFailure(None, Diagnostic("UNKNOWN_TYPE", message, span_of(named), candidates=candidates)) from None


def _read(text: str, rules: Rules) -> str:
    tokens = tokenize(text, rules)
    if not tokens:
        raise ParseFailure(None)
    parser: Any = spark_parser(tokens, text, rules)
    kind = read_type(parser, rules)
    if parser._index < len(tokens):  # noqa: SLF001 - something stands behind the type
        raise ParseFailure(tokens[parser._index])  # noqa: SLF001
    return kind
