"""The forms of standard SQL that Flink has and Spark lacks, which are no calls: predicates and parts of times.

| written | read as |
| --- | --- |
| `x IS [NOT] JSON [OBJECT | ARRAY | SCALAR | VALUE]` | whether a text of JSON begins so |
| `(a, b) OVERLAPS (c, d)` | `a <= d AND c <= b`, with the ends of each in their order |
| `EXTRACT(EPOCH FROM t)` | `unix_seconds(t)` |
| `UNKNOWN`, `PI`, … | as in `standard_forms` |
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects.rewriting import call, copied, sparks
from penstock.sql.dialects.standard_forms import in_standard_forms
from penstock.sql.failure import ParseFailure
from penstock.sql.text import span_of

_ENDS = 2


def in_other_forms(node: exp.Expression) -> exp.Expression | None:
    """The words of Spark for such a form; None for anything else."""
    match node:
        case exp.Is() if isinstance(node.expression, exp.JSON):
            return _is_json(node)
        case exp.Overlaps():
            return _overlap(node)
        case exp.Extract() if node.name.upper() == "EPOCH":
            return call("unix_seconds", exp.cast(node.expression, "timestamp"))
        case _:
            return in_standard_forms(node)


def _refused(tree: exp.Expression, message: str, hint: str) -> ParseFailure:
    return ParseFailure(None, Diagnostic("FLINK_FUNCTION", message, span_of(tree), hint=hint))


def _is_json(node: exp.Is) -> exp.Expression:
    """A text that is JSON, of a kind; NULL is none."""
    whole = call("get_json_object", node.this, exp.Literal.string("$"))
    there: exp.Expression = exp.Not(this=exp.Is(this=exp.Paren(this=whole), expression=exp.Null()))
    kind = str(node.expression.this or "VALUE").upper()
    begins = [call("startswith", call("ltrim", copied(node.this)), exp.Literal.string(sign)) for sign in "{["]
    if kind in ("OBJECT", "ARRAY"):
        there = exp.And(this=there, expression=begins[kind == "ARRAY"])
    elif kind == "SCALAR":
        either = exp.Paren(this=exp.Or(this=begins[0], expression=begins[1]))
        there = exp.And(this=there, expression=exp.Not(this=either))
    return call("coalesce", exp.Paren(this=there), exp.false())


def _overlap(node: exp.Overlaps) -> exp.Expression:
    """Two stretches of time that have a moment in common, each of its ends or of its start and its length."""
    sides = [_stretch(side, node) for side in (node.this, node.expression)]
    (begin, end), (other_begin, other_end) = sides
    return exp.Paren(
        this=exp.And(
            this=exp.LTE(this=begin, expression=other_end), expression=exp.LTE(this=other_begin, expression=end)
        )
    )


def _stretch(side: exp.Expression, node: exp.Overlaps) -> tuple[exp.Expression, exp.Expression]:
    if not isinstance(side, exp.Tuple) or len(side.expressions) != _ENDS:
        raise _refused(node, "OVERLAPS compares two pairs of times", "(a, b) OVERLAPS (c, INTERVAL '1' HOUR)")
    start, end = side.expressions
    if isinstance(end.unnest(), exp.Interval):
        end = exp.Add(this=copied(start), expression=end.unnest())
    return sparks("least", copied(start), copied(end)), sparks("greatest", start, end)
