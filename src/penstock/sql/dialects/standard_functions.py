"""Functions that standard SQL's systems and Spark have under one name, with other answers at the edges.

| function | there | in Spark |
| --- | --- | --- |
| `SUBSTRING('abc', 0, 2)` | 'a': before the first place there is nothing | 'ab': 0 is the first, -1 the last |
| `INITCAP(s)` | a word is of letters and digits: 'A-B' | a word ends at a blank: 'A-b' |
| `LN(0)`, LOG10, LOG2 | -Infinity; below zero NaN, or an error | NULL |
| `ARRAY_SORT(a)` in Flink | NULL comes first | last |
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects.rewriting import call, copied
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rewrite
from penstock.sql.text import span_of

_PAIR = len(("x", "y"))
_WORDS = r"[\p{L}\p{N}]+|[^\p{L}\p{N}]+"


def refused(tree: exp.Expression, message: str, hint: str) -> ParseFailure:
    """The error for a call that has no equivalent."""
    return ParseFailure(None, Diagnostic("FUNCTION_ARGUMENTS", message, span_of(tree), hint=hint))


def substring(tree: exp.Anonymous) -> exp.Expression:
    """SUBSTRING(s FROM n FOR m): the characters at the places n to n + m - 1, as far as there are some."""
    text, *places = tree.expressions or [exp.Null()]
    if not places or len(places) > _PAIR or _is_positive(places[0]):
        return tree
    start, *length = places
    before = exp.LT(this=exp.Paren(this=copied(start)), expression=exp.Literal.number(1))
    first = call("if", before, exp.Literal.number(1), copied(start))
    if not length:
        return call("substring", text, first)
    end = exp.Sub(
        this=exp.Add(this=exp.Paren(this=copied(start)), expression=exp.Paren(this=copied(length[0]))),
        expression=exp.Literal.number(1),
    )
    rest = call("if", before.copy(), end, length[0])
    return call("substring", text, first, rest)


def _is_positive(place: exp.Expression) -> bool:
    return isinstance(place, exp.Literal) and place.name.isdigit() and int(place.name) > 0


def initcap(tree: exp.Anonymous) -> exp.Expression:
    """INITCAP('a-b') is 'A-B': Spark's makes capitals of what it gets piece by piece."""
    if len(tree.expressions) != 1:
        return tree
    pieces = call("regexp_extract_all", *tree.expressions, exp.Literal.string(_WORDS), exp.Literal.number(0))
    piece = exp.Identifier(this="piece", quoted=False)
    capital = exp.Lambda(this=call("initcap", piece), expressions=[piece.copy()])
    return call("array_join", call("transform", pieces, capital), exp.Literal.string(""))


def logarithm(name: str, *, raises: bool = False) -> Rewrite:
    """LN(x): -Infinity of zero; NaN below zero, or an error where that `raises`."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        if len(tree.expressions) != 1:
            return tree
        value = exp.cast(tree.expressions[0], "double")
        zero = exp.Literal.number(0)
        wrong = call("raise_error", exp.Literal.string(f"{name} of a number below zero")) if raises else _double("NaN")
        ifs = [
            exp.If(this=exp.EQ(this=value, expression=zero), true=_double("-Infinity")),
            exp.If(this=exp.LT(this=value.copy(), expression=zero.copy()), true=wrong),
        ]
        return exp.Case(ifs=ifs, default=call(name.lower(), value.copy()))

    return rewrite


def _double(text: str) -> exp.Expression:
    return exp.cast(exp.Literal.string(text), "double")


def overlay(tree: exp.Anonymous) -> exp.Expression:
    """OVERLAY(s PLACING t FROM n): the text itself where n is below one."""
    if len(tree.expressions) <= _PAIR:
        return tree
    text, _, start = tree.expressions[:3]
    before = exp.LT(this=exp.Paren(this=copied(start)), expression=exp.Literal.number(1))
    return tree if _is_positive(start) else call("if", before, copied(text), call("overlay", *tree.expressions))


def logarithm_of_one(tree: exp.Anonymous) -> exp.Expression:
    """LOG(x, y) is refused: which of them is the base is another in each of Calcite's libraries."""
    if len(tree.expressions) == _PAIR:
        raise refused(
            tree, "LOG of two arguments, of which Calcite's libraries take either as the base", "LN(x) / LN(b)"
        )
    return logarithm("LN")(tree)


def contains(tree: exp.Anonymous) -> exp.Expression:
    """ARRAY_CONTAINS(a, x), also for NULL."""
    if len(tree.expressions) != _PAIR:
        return tree
    array, value = tree.expressions
    item = exp.Identifier(this="item", quoted=False)
    same = exp.Lambda(this=exp.NullSafeEQ(this=item, expression=exp.Paren(this=value)), expressions=[item.copy()])
    return call("exists", array, same)


def listagg(tree: exp.Anonymous) -> exp.Expression:
    """LISTAGG(x): a comma between values."""
    between = [exp.Literal.string(",")] if len(tree.expressions) == 1 else []
    return call("listagg", *tree.expressions, *between)


def sorted_array(tree: exp.Anonymous) -> exp.Expression:
    """ARRAY_SORT(a[, ascending]): NULL is the smallest."""
    if len(tree.expressions) > _PAIR:
        raise refused(tree, "ARRAY_SORT that says where NULL comes", "ARRAY_SORT(a, TRUE) has NULL first")
    return call("sort_array", *tree.expressions)


def in_order(name: str) -> Rewrite:
    """ARRAY_UNION(a, b) and the like in ascending order."""
    return lambda tree: call("sort_array", call(name, *tree.expressions))


def map_values(tree: exp.Anonymous) -> exp.Expression:
    """MAP_VALUES(m) in the order of the keys."""
    if len(tree.expressions) != 1:
        return tree
    key = exp.Identifier(this="key", quoted=False)
    found = exp.Lambda(this=call("element_at", copied(tree.expressions[0]), key), expressions=[key.copy()])
    return call("transform", call("sort_array", call("map_keys", *tree.expressions)), found)


def rising_sequence(tree: exp.Anonymous) -> exp.Expression:
    """SEQUENCE(5, 1) has no elements: Spark counts down."""
    if len(tree.expressions) != _PAIR:
        return tree
    first, last = tree.expressions
    backwards = exp.GT(this=exp.Paren(this=copied(first)), expression=exp.Paren(this=copied(last)))
    item = exp.Identifier(this="item", quoted=False)
    none = exp.Lambda(this=exp.false(), expressions=[item])
    nothing = call("filter", call("sequence", copied(first), copied(first)), none)
    return call("if", backwards, nothing, call("sequence", first, last))
