"""The oracle's rewriting of comparisons with ANY or ALL of a query, and of set operations BY NAME.

The least and the greatest value of the query decide, or whether there is an equal one, and counts tell whether NULLs
leave the answer open. Written apart from the engine's.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import Diagnostic, UnsupportedError

_VALUE = "__each"


def rewrite_quantified(tree: exp.Expression) -> exp.Expression:
    """The query in which no comparison is quantified."""
    for node in reversed(list(tree.find_all(exp.Any, exp.All))):
        compared = node.parent
        query = node.this.this if isinstance(node.this, exp.Subquery) else node.this
        if isinstance(query, exp.Select | exp.SetOperation) and compared is not None and compared.expression is node:
            compared.replace(_asked(compared, query, any_of=isinstance(node, exp.Any)))
    return tree


def _asked(compared: exp.Expr, query: exp.Expression, *, any_of: bool) -> exp.Expression:
    """The comparison with the least and the greatest value, which decide for all: `x > ANY` is true if x > least is."""
    rows, values = _one(query, "count", exp.Literal.number(1)), _one(query, "count", exp.column(_VALUE))
    known: exp.Expression
    if isinstance(compared, exp.EQ if any_of else exp.NEQ):
        known = exp.In(this=compared.this.copy(), query=exp.Subquery(this=query.copy()))
    else:
        known = _by_ends(compared, query, any_of=any_of)
    unknown = exp.Or(
        this=exp.LT(this=values, expression=rows.copy()),
        expression=exp.Is(this=exp.Paren(this=compared.this.copy()), expression=exp.Null()),
    )
    ifs = [
        exp.If(this=exp.EQ(this=rows, expression=exp.Literal.number(0)), true=exp.Boolean(this=not any_of)),
        exp.If(this=known, true=exp.Boolean(this=any_of)),
        exp.If(this=unknown, true=exp.Null()),
    ]
    return exp.Case(ifs=ifs, default=exp.Boolean(this=not any_of))


def _by_ends(compared: exp.Expr, query: exp.Expression, *, any_of: bool) -> exp.Expression:
    """The comparison with the least and the greatest value, one of which decides."""
    ends = [
        exp.Paren(this=type(compared)(this=compared.this.copy(), expression=_one(query, name, exp.column(_VALUE))))
        for name in ("min", "max")
    ]
    decides = exp.Or(this=ends[0], expression=ends[1]) if any_of else exp.And(this=ends[0], expression=ends[1])
    return decides if any_of else exp.Not(this=exp.Paren(this=decides))


def _one(query: exp.Expression, function: str, argument: exp.Expression) -> exp.Subquery:
    """(SELECT function(argument) FROM (query) AS q(value))."""
    alias = exp.TableAlias(this=exp.to_identifier("__q"), columns=[exp.to_identifier(_VALUE)])
    rows = exp.Subquery(this=query.copy(), alias=alias)
    call = exp.Anonymous(this=function, expressions=[argument])
    return exp.Subquery(this=exp.Select(expressions=[call], from_=exp.From(this=rows)))


def rewrite_by_name(tree: exp.Expression) -> exp.Expression:
    """Set operations by position; the columns of the left side have to be written out."""
    for node in list(tree.find_all(exp.SetOperation)):
        if node.args.get("by_name"):
            names = [str(item.alias_or_name) for item in node.selects]
            if "*" in names or "" in names:
                raise UnsupportedError(Diagnostic("ORACLE_UNSUPPORTED", "the oracle has no names for BY NAME"))
            right = exp.Subquery(this=node.expression.copy(), alias=exp.TableAlias(this=exp.to_identifier("__by_name")))
            chosen = exp.Select(expressions=[exp.column(name) for name in names], from_=exp.From(this=right))
            node.set("expression", chosen)
            node.set("by_name", None)
    return tree
