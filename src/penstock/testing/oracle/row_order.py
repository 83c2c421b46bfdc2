"""The oracle's own rewriting of functions that depend on the order of rows (SEMANTICS 0).

They take rows in ascending order of the whole row, NULLs first. `__whole_row()` stands for all columns of the FROM
clause (`whole_rows`), so `first(x)` is `min_by(x, __whole_row())`, `collect_list(x)` sorts pairs of the row and `x`,
and a window's ORDER BY is completed by the row.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql
from penstock.testing.oracle.value_frames import comparison, settle_frame
from penstock.testing.oracle.whole_rows import WHOLE_ROW

_FIRST = ("first", "first_value", "any_value")
_LAST = ("last", "last_value")
_LISTS = ("collect_list", "array_agg")
_TEXTS = ("listagg", "string_agg")
_NUMBERING = ("row_number", "ntile", "lag", "lead")


def name_of(node: exp.Expression) -> str:
    """The lower-case name of a function call, '' for anything else."""
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else ""


def call(name: str, *arguments: exp.Expression) -> exp.Expression:
    """A function call as the parser makes it."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def whole_row() -> exp.Expression:
    """All columns of the FROM clause as one comparable value."""
    return call("__whole_row")


def order_rows(tree: exp.Expression) -> exp.Expression:
    """The query with every order-sensitive call made deterministic; inner calls first."""
    for select in tree.find_all(exp.Select):
        inline_windows(select)
    for node in reversed(list(tree.find_all(exp.Anonymous, exp.Window))):
        if isinstance(node, exp.Window):
            _complete_window(node)
            settled = settle_frame(node)
            if settled is not None and node is tree:
                tree = settled
            elif settled is not None:
                node.replace(settled)
        elif isinstance(node, exp.Anonymous) and (name_of(node) in _TEXTS or not _in_window(node)):
            _order_aggregate(node)
    return tree


def inline_windows(select: exp.Select) -> None:
    """Write `OVER w` and `OVER (w …)` with the definition of w written out, so that each function has its own order."""
    named = {window.name.lower(): window for window in select.args.get("windows") or []}
    for window in list(select.find_all(exp.Window)):
        definition = named.get(window.args["alias"].name.lower()) if window.args.get("alias") else None
        if definition is None or window in named.values() or window.find_ancestor(exp.Select) is not select:
            continue
        for part in ("partition_by", "order", "spec"):
            if definition.args.get(part) and not window.args.get(part):
                value = definition.args[part]
                window.set(part, [item.copy() for item in value] if isinstance(value, list) else value.copy())
        window.set("alias", None)
    select.set("windows", None)


def _in_window(node: exp.Expression) -> bool:
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        parent = parent.parent
    return isinstance(parent, exp.Window)


def _order_aggregate(node: exp.Anonymous) -> None:
    name, arguments = name_of(node), list(node.expressions)
    if not arguments:
        return
    if name in _TEXTS:
        _replace_text(node, arguments)
    elif isinstance(arguments[0], exp.Distinct):
        return
    elif name in _FIRST + _LAST:
        _replace_edge(node, "min_by" if name in _FIRST else "max_by", arguments)
    elif name in _LISTS:
        _wrap(node, arguments[0], lambda pairs: call("transform", pairs, _lambda("e", _field("e", "v"))))
    elif name in ("max_by", "min_by") and name_of(arguments[1]) != "struct":
        _replace_best(node, arguments)
    elif name == "mode" and len(arguments) == 1:
        node.set("expressions", [arguments[0], exp.true()])


def _replace_edge(node: exp.Anonymous, by: str, arguments: list[exp.Expression]) -> None:
    """`first(x)` and its kin; with IGNORE NULLS, or a true second argument, only rows where x is not NULL count."""
    nulls = node.parent if isinstance(node.parent, exp.IgnoreNulls | exp.RespectNulls) else None
    ignore = isinstance(nulls, exp.IgnoreNulls) or (len(arguments) > 1 and arguments[1] == exp.true())
    target = nulls or node
    value = call(by, arguments[0].copy(), whole_row())
    if not ignore:
        target.replace(value)
        return
    present = exp.Not(this=exp.Is(this=arguments[0].copy(), expression=exp.Null()))
    if isinstance(target.parent, exp.Filter):
        condition = target.parent.expression.this
        condition.replace(exp.And(this=exp.Paren(this=condition.copy()), expression=present))
        target.replace(value)
    else:
        target.replace(exp.Filter(this=value, expression=exp.Where(this=present)))


def _wrap(node: exp.Anonymous, value: exp.Expression, finish: Callable[[exp.Expression], exp.Expression]) -> None:
    """Replace an aggregate by a function of the sorted pairs (whole row, value) of its rows, NULL values left out."""
    pair = call("named_struct", exp.Literal.string("r"), whole_row(), exp.Literal.string("v"), value.copy())
    collected: exp.Expression = call("collect_list", pair)
    target: exp.Expression = node
    if isinstance(node.parent, exp.Filter):
        target = node.parent
        collected = exp.Filter(this=collected, expression=target.expression.copy())
    present = _lambda("e", exp.Not(this=exp.Is(this=_field("e", "v"), expression=exp.Null())))
    by_row = parse_expression(f"array_sort(x, (l, r) -> {comparison([])})").expressions[1]
    target.replace(finish(call("filter", call("array_sort", collected, by_row), present)))


def _replace_text(node: exp.Anonymous, arguments: list[exp.Expression]) -> None:
    """`listagg(x, s)`, with WITHIN GROUP (and OVER) or without; over no rows it is NULL, not ''."""
    group = node.parent if isinstance(node.parent, exp.WithinGroup) else None
    keys = [] if group is None else list(group.expression.expressions)
    target: exp.Expression = group or node
    condition = target.parent.expression if isinstance(target.parent, exp.Filter) else None
    target = target.parent if condition is not None else target  # type: ignore[assignment]
    behind = "" if condition is None else f" FILTER ({spark_sql(condition)})"
    if isinstance(target.parent, exp.Window):
        target = target.parent
        behind += _over(target)
    values = _sorted_values(arguments[0], keys, behind)
    separator = f"coalesce({spark_sql(arguments[1])}, '')" if len(arguments) > 1 else "''"
    target.replace(parse_expression(f"if(size({values}) = 0, NULL, array_join({values}, {separator}))"))


def _over(window: exp.Window) -> str:
    """` OVER (…)`, for another function."""
    whole = window.copy()
    whole.set("this", exp.column("f"))
    return spark_sql(whole).removeprefix(spark_sql(whole.this))


def _sorted_values(value: exp.Expression, keys: list[exp.Expression], behind: str) -> str:
    """The values in the order of the keys and then of the whole row; DISTINCT ones in their own.

    `behind` is what stands behind the aggregate: FILTER, OVER.
    """
    if isinstance(value, exp.Distinct):
        ascending = "false" if keys and keys[0].args.get("desc") else "true"
        return f"sort_array(collect_set({spark_sql(value.expressions[0])}){behind}, {ascending})"
    parts = "".join(f"'k{number}', {spark_sql(key.this)}, " for number, key in enumerate(keys))
    collected = f"collect_list(named_struct({parts}'r', {WHOLE_ROW}, 'v', {spark_sql(value)})){behind}"
    ordered = f"array_sort({collected}, (l, r) -> {comparison(keys)})"
    return f"transform(filter({ordered}, e -> e.v IS NOT NULL), e -> e.v)"


def _replace_best(node: exp.Anonymous, arguments: list[exp.Expression]) -> None:
    """`max_by(x, y)`: the last of the rows with the greatest y; `min_by` the last of those with the least."""
    best = "array_max" if name_of(node) == "max_by" else "array_min"
    ordering, value = exp.Literal.string("o"), exp.Literal.string("x")
    pair = call("named_struct", ordering, arguments[1].copy(), value, arguments[0].copy())

    def first(pairs: exp.Expression) -> exp.Expression:
        present = exp.Not(this=exp.Is(this=_inner("e", "o"), expression=exp.Null()))
        ranked = call("filter", pairs, _lambda("e", present))
        top = call(best, call("transform", ranked.copy(), _lambda("f", _inner("f", "o"))))
        winners = call("filter", ranked, _lambda("e", exp.EQ(this=_inner("e", "o"), expression=top)))
        found = call("try_element_at", winners, exp.Literal.number(-1))
        winner = exp.Dot(this=found, expression=exp.to_identifier("v"))
        return exp.Dot(this=winner, expression=exp.to_identifier("x"))

    _wrap(node, pair, first)


def _lambda(parameter: str, body: exp.Expression) -> exp.Expression:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(parameter)])


def _field(variable: str, name: str) -> exp.Expression:
    return exp.column(name, table=variable)


def _inner(variable: str, name: str) -> exp.Expression:
    return exp.Dot(this=_field(variable, "v"), expression=exp.to_identifier(name))


def _complete_window(window: exp.Window) -> None:
    """Rows that the ORDER BY leaves tied go by the whole row, where the answer depends on it."""
    function = window.this
    while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        function = function.this
    name, frame = name_of(function), window.args.get("spec")
    by_rows = frame is not None and str(frame.args.get("kind", "")).upper() == "ROWS"
    if name not in _NUMBERING and not by_rows:
        return
    order = window.args.get("order")
    if order is None:
        if not by_rows and name not in _NUMBERING:
            return
        order = exp.Order(expressions=[])
        window.set("order", order)
    order.append("expressions", exp.Ordered(this=whole_row(), nulls_first=True))
