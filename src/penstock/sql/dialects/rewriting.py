"""Calls that a dialect writes in another way than Spark."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.rules import Rewrite

_SPARKS = "sparks"  # in the meta of a call: its name is Spark's
_PAIR = len(("x", "y"))
_WORDED = frozenset(".$|()*+?{}")  # of regular expressions, and themselves within [ ]
_NOT_SAID = frozenset("[]^\\")


def call(name: str, *arguments: exp.Expression) -> exp.Anonymous:
    """A call of a Spark function."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def sparks(name: str, *arguments: exp.Expression) -> exp.Anonymous:
    """A call of a Spark function whose name means something else in the dialect."""
    made = call(name, *arguments)
    made.meta[_SPARKS] = True
    return made


def truncate(tree: exp.Anonymous) -> exp.Expression:
    """TIMESTAMP_TRUNC(t, UNIT) is FLOOR(t TO UNIT); what is already in Spark's order stays."""
    if len(tree.expressions) != 2 or not isinstance(tree.expressions[1], exp.Column):  # noqa: PLR2004
        return tree
    time, unit = tree.expressions
    return exp.Floor(this=time, to=exp.Var(this=unit.name.upper()))


def bare_unit(tree: exp.Expression | None) -> str | None:
    """A unit of time that is written as a word, in capitals."""
    return tree.name.upper() if isinstance(tree, exp.Column | exp.Var) else None


def pattern_of(separator: exp.Expression) -> str | None:
    """The regular expression that finds a text that is written out; None for any other value, and for some signs."""
    if not isinstance(separator, exp.Literal) or not separator.is_string or _NOT_SAID & set(separator.name):
        return None
    return "".join(f"[{sign}]" if sign in _WORDED else sign for sign in separator.name)


def moved(kind: type[exp.Binary], name: str) -> Rewrite:
    """date_add(t, INTERVAL 1 DAY) is t + INTERVAL 1 DAY; of a number of days it is Spark's."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        time, *lengths = tree.expressions or [exp.Null()]
        length = lengths[0].unnest() if len(lengths) == 1 else None
        if not isinstance(length, exp.Interval):
            return tree if tree.name == name else call(name, *tree.expressions)
        return exp.Paren(this=kind(this=exp.Paren(this=time), expression=length))

    return rewrite


def with_nulls(name: str) -> Rewrite:
    """GREATEST(a, b) that is NULL where any of them is: Spark's leaves them out. Of one value it is that value."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        values = tree.expressions
        if _SPARKS in tree.meta:
            return tree
        if len(values) < _PAIR:
            return exp.Paren(this=values[0]) if values else tree
        there: exp.Expression | None = None
        for value in values:
            if isinstance(value, exp.Literal):
                continue
            known = exp.Not(this=exp.Is(this=exp.Paren(this=copied(value)), expression=exp.Null()))
            there = known if there is None else exp.And(this=there, expression=known)
        chosen = call(name, *values)
        return chosen if there is None else exp.Case(ifs=[exp.If(this=there, true=chosen)])

    return rewrite


def copied(tree: exp.Expression) -> exp.Expression:
    """A tree that stands in a second place."""
    copy: exp.Expression = tree.copy()
    return copy


def cut_off(tree: exp.Anonymous) -> exp.Expression:
    """TRUNC(x), TRUNC(x, 2): digits are cut off, towards zero; TRUNC(d, 'MONTH') is Spark's."""
    if len(tree.expressions) not in (1, _PAIR) or any(
        isinstance(item, exp.Literal) and item.is_string for item in tree.expressions[1:]
    ):
        return call("trunc", *tree.expressions)
    value, *digits = tree.expressions
    negative = exp.LT(this=exp.Paren(this=value), expression=exp.Literal.number(0))
    up, down = (call(name, copied(value), *map(copied, digits)) for name in ("ceil", "floor"))
    return exp.Case(ifs=[exp.If(this=negative, true=up)], default=down)
