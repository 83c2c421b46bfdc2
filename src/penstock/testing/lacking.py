"""The oracle's rewriting of what Spark lacks: QUALIFY, TUMBLE and HOP. Written apart from the engine's, on purpose."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from penstock.errors import Diagnostic, UnsupportedError
from penstock.sql.nodes import TableFunction
from penstock.testing.order import call, name_of

_CONDITION = "__qualified"
_WINDOWS = ("tumble", "hop")


def rewrite_lacking(tree: exp.Expression) -> exp.Expression:
    """The query in words that Spark has; raises UnsupportedError for what the oracle cannot say."""
    for select in reversed(list(tree.find_all(exp.Select))):
        _group_windows(select)
        if select.args.get("qualify") is not None:
            replacement = _without_qualify(select)
            tree = replacement if select is tree else (select.replace(replacement), tree)[1]
    for function in list(tree.find_all(TableFunction)):
        function.replace(_table_window(function))
    if any(str(join.args.get("method") or "").upper() == "ASOF" for join in tree.find_all(exp.Join)):
        cannot_say("ASOF JOIN")
    return tree


def cannot_say(what: str) -> NoReturn:
    """Raise the UnsupportedError of a construct that the oracle cannot put into Spark's words."""
    hint = "Give the case `invariant: <reason>`, and expectations by hand."
    raise UnsupportedError(Diagnostic("ORACLE_UNSUPPORTED", f"the oracle has no words for {what}", hint=hint))


def _without_qualify(select: exp.Select) -> exp.Select:
    """The condition becomes a column of the inner query, the outer one filters by it and leaves it out."""
    inner = select.copy()
    condition = inner.args["qualify"].this
    inner.set("qualify", None)
    outer = exp.Select(expressions=[exp.Star(except_=[exp.to_identifier(_CONDITION)])])
    for late in ("distinct", "order", "limit", "offset", "with_"):
        if inner.args.get(late) is not None:
            outer.set(late, inner.args[late].copy())
            inner.set(late, None)
    inner.append("expressions", exp.alias_(_resolved(condition, inner), _CONDITION))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("__q")))))
    outer.set("where", exp.Where(this=exp.column(_CONDITION)))
    return outer


def _resolved(condition: exp.Expression, select: exp.Select) -> exp.Expression:
    """The condition with names of window columns of the select list replaced by what they stand for."""
    named = {
        item.alias.lower(): item.this
        for item in select.expressions
        if isinstance(item, exp.Alias) and item.find(exp.Window) is not None
    }

    def replaced(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in named:
            return exp.Paren(this=named[node.name.lower()].copy())
        return node

    return condition.copy().transform(replaced)


def _group_windows(select: exp.Select) -> None:
    """GROUP BY TUMBLE(t, e) is Spark's window(t, e); the auxiliary functions are its ends."""
    group = select.args.get("group")
    found = [item for item in (group.expressions if group else []) if name_of(item) in (*_WINDOWS, "session")]
    for item in found:
        if name_of(item) == "session":
            cannot_say("SESSION windows")
        item.replace(_spark_window(item, name_of(item)))
    if not found:
        return
    for node in list(select.find_all(exp.Anonymous)):
        base, _, end = name_of(node).rpartition("_")
        if base in _WINDOWS and end in ("start", "end"):
            node.replace(exp.Dot(this=_spark_window(node, base), expression=exp.to_identifier(end)))


def _spark_window(node: exp.Expression, kind: str) -> exp.Expression:
    """`window(t, size[, slide])`; HOP's arguments are slide, then size."""
    time, *sizes = node.expressions
    if len(sizes) != (1 if kind == "tumble" else 2):
        cannot_say(f"{kind.upper()} with an alignment")
    ordered = sizes if kind == "tumble" else [sizes[1], sizes[0]]
    return call("window", time.copy(), *[_span_text(size) for size in ordered])


def _span_text(size: exp.Expression) -> exp.Expression:
    if not isinstance(size, exp.Interval) or isinstance(size.args.get("unit"), exp.IntervalSpan):
        cannot_say("a window whose size is not a simple interval")
    return exp.Literal.string(f"{size.this.name} {size.args['unit'].name}")


def _table_window(function: TableFunction) -> exp.Expression:
    """TUMBLE(TABLE t, DESCRIPTOR(c), e) as a subquery with Spark's window() beside the columns of t."""
    kind, arguments = function.name.lower(), list(function.expressions)
    simple = len(arguments) == (3 if kind == "tumble" else 4) and name_of(arguments[1]) == "descriptor"
    if kind not in _WINDOWS or not simple or not isinstance(arguments[0], exp.Table):
        cannot_say(f"the table function {kind.upper()} with these arguments")
    timed = call(kind, arguments[1].expressions[0].copy(), *[item.copy() for item in arguments[2:]])
    window = exp.alias_(_spark_window(timed, kind), "__w")
    inner = exp.Select(expressions=[exp.Star(), window]).from_(arguments[0].copy())
    ends = [exp.alias_(exp.column(end, table="__w"), f"window_{end}") for end in ("start", "end")]
    star = exp.Star(except_=[exp.to_identifier("__w")])
    outer = exp.Select(expressions=[star, *ends]).from_(inner.subquery("__t"))
    return exp.Subquery(this=outer, alias=function.args.get("alias"), joins=function.args.get("joins"))
