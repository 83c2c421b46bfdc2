"""Quotients and averages of whole numbers in the dialects in which they are whole.

Spark's `typeof` says at run time whether both sides are whole, so nothing of the binder is asked.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.testing.oracle.row_order import call, name_of

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod)


def with_whole_quotients(tree: exp.Expression) -> exp.Expression:
    """The query in which `/` and AVG of whole numbers are cut off towards zero."""
    whole: dict[int, exp.Expression] = {}
    for node in reversed(list(tree.find_all(exp.Div, exp.Anonymous))):
        if isinstance(node, exp.Div):
            known = _both(node, whole)
            _put(node, known, node, whole)
        elif name_of(node) == "avg":
            target = node.parent if isinstance(node.parent, exp.Filter | exp.Window) else node
            total = target.copy()
            next(item for item in total.find_all(exp.Anonymous) if name_of(item) == "avg").set("this", "sum")
            _put(target, exp.EQ(this=call("typeof", total), expression=exp.Literal.string("bigint")), target, whole)
    return tree


def _put(node: exp.Expression, known: exp.Expression, value: exp.Expression, whole: dict[int, exp.Expression]) -> None:
    cut = exp.cast(exp.Paren(this=value.copy()), "bigint")
    found = call("if", known.copy(), cut, value.copy())
    whole[id(found)] = known
    node.replace(found)


def _is_whole(tree: exp.Expression, whole: dict[int, exp.Expression]) -> exp.Expression:
    """The condition that an expression is a whole number; a quotient that was put in place has its own."""
    if id(tree) in whole:
        return exp.Paren(this=whole[id(tree)].copy())
    if isinstance(tree, exp.Paren | exp.Neg):
        return _is_whole(tree.this, whole)
    if isinstance(tree, _ARITHMETIC):
        return _both(tree, whole)
    return exp.In(this=call("typeof", tree.copy()), expressions=[exp.Literal.string(item) for item in _WHOLE])


def _both(tree: exp.Binary, whole: dict[int, exp.Expression]) -> exp.Expression:
    sides = [_is_whole(side, whole) for side in (tree.this, tree.expression)]
    return exp.Paren(this=exp.And(this=sides[0], expression=sides[1]))
