"""Expressions bound to fields: columns resolved, functions checked, subqueries left as marks.

The result is a tree over the input's fields, in which a subquery is a mark (`marks.py`).
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.expressions.calls import bind_call
from penstock.bind.expressions.dates import bound_date
from penstock.bind.expressions.statistics import bound_statistic
from penstock.bind.expressions.structs import bind_struct
from penstock.bind.level import Level
from penstock.bind.scope import with_fields
from penstock.bind.subqueries.subquery import bind_subquery
from penstock.bind.time_windows.in_group_by import OF_SPARK
from penstock.bind.windows.arrival import bind_end, bind_looking_back, is_end, looks_back
from penstock.bind.windows.named_windows import with_definition
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import call, call_name, replace_nodes

_NAME_IT = "give the value a name in a query in FROM: SELECT x.* FROM (SELECT … AS x FROM t)"


def bind_expression(tree: exp.Expression, level: Level) -> exp.Expression:
    """A copy of a parsed expression in which every name has its meaning; raises SqlError."""
    return replace_nodes(tree, lambda node: _bound(node, level))


def _bound(node: exp.Expression, level: Level) -> exp.Expression | None:
    match node:
        case exp.Column():
            return _column(node, level)
        case exp.Subquery() | exp.Exists() if _is_query(node):
            return bind_subquery(node, level)
        case exp.In() if node.args.get("query") is not None:
            return bind_subquery(node, level)
        case exp.Predicate() if _is_quantified(node):
            return bind_subquery(node, level)
        case exp.Floor() | exp.Ceil():
            return bound_date(node, level)
        case exp.Anonymous() | exp.Window() | exp.Filter() | exp.IgnoreNulls() | exp.RespectNulls():
            return bound_statistic(node, level) or bound_date(node, level) or _calling(node, level)
        case exp.WithinGroup() if level.output_first:
            return level.bind_inside_aggregate(node)
        case exp.Dot() if isinstance(node.expression, exp.Star):
            raise wrong(code="STAR_HERE", message="`.*` stands behind a name", place=node, hint=_NAME_IT)
        case exp.Dot() if call_name(node.this) in OF_SPARK:
            return with_fields(level.bind(node.this), [str(node.expression.name)])
        case exp.Tuple() if not isinstance(node.parent, exp.Predicate):
            return bind_struct(node, level)
        case exp.AtTimeZone():
            hint = "from_utc_timestamp(t, zone) and to_utc_timestamp(t, zone) say which way the clock is turned"
            raise unsupported(
                code="AT_TIME_ZONE", message="AT TIME ZONE, which Spark does not have", place=node, hint=hint
            )
        case exp.Placeholder() | exp.Parameter():
            raise wrong(code="PARAMETER", message="a parameter has no value here", place=node, hint="write the value")
        case _:
            return None


def _calling(node: exp.Expression, level: Level) -> exp.Expression | None:
    match node:
        case exp.Anonymous() | exp.Window() if looks_back(node, level):
            return bind_looking_back(node, level)
        case exp.Anonymous() if is_end(node, level):
            return bind_end(node, level) or bind_call(node, level)
        case exp.Anonymous():
            return bind_call(node, level)
        case exp.Window():
            return _window(node, level)
        case exp.Filter() if level.output_first:
            return level.bind_inside_aggregate(node)
        case _:
            return None


def _is_query(node: exp.Expression) -> bool:
    return isinstance(node.this, exp.Select | exp.SetOperation | exp.Subquery | exp.Values)


def _column(node: exp.Column, level: Level) -> exp.Expression:
    if isinstance(node.this, exp.Star):
        raise wrong(code="STAR_HERE", message="`*` cannot stand in this place", place=node, hint="name the columns")
    parts = [part.name for part in node.parts]
    if len(parts) == 1 and parts[0].lower() == "grouping__id" and level.find(parts, node) is None:
        return call("grouping_id")
    return level.column(parts, node)


def _is_quantified(node: exp.Expression) -> bool:
    return isinstance(node.args.get("expression"), exp.Any | exp.All) and _is_query(node.expression)


def _window(node: exp.Window, level: Level) -> exp.Expression:
    complete = with_definition(node, level.context.windows)
    copy = complete.copy()
    for key in ("this", "order", "spec"):
        value = complete.args.get(key)
        if value is not None:
            copy.set(key, level.bind(value))
    copy.set("partition_by", [level.bind(item) for item in complete.args.get("partition_by") or []])
    return copy
