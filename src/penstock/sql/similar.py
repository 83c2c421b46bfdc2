"""SIMILAR TO, standard SQL's pattern of a whole text, as Spark's RLIKE."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.failure import ParseFailure
from penstock.sql.text import span_of

_HINT = "RLIKE takes a regular expression: x RLIKE '^(a|b).*'"
_SIGNS = {"%": ".*", "_": ".", ".": "[.]", "$": "[$]"}


def as_regular_expression(tree: exp.SimilarTo) -> exp.Expression:
    """`x SIMILAR TO 'a%|b_'`: % is any text and _ any sign; | * + ? { } ( ) [ ] are as in a regular expression."""
    pattern = tree.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or "\\" in pattern.name:
        message = "SIMILAR TO takes a pattern that is written out, without \\"
        raise ParseFailure(None, Diagnostic("SYNTAX_ERROR", message, span_of(tree), hint=_HINT))
    found, within = "", False
    for sign in pattern.name:
        within = sign != "]" if within else sign == "["
        if sign == "^" and not found.endswith("["):
            message = "^ stands behind [ in a pattern of SIMILAR TO, and nowhere else"
            raise ParseFailure(None, Diagnostic("SYNTAX_ERROR", message, span_of(tree), hint=_HINT))
        found += sign if within else _SIGNS.get(sign, sign)
    whole = exp.Literal.string(f"(?s)^(?:{found})(?!.)")  # $ would let a line end follow
    return exp.RegexpLike(this=tree.this, expression=whole)
