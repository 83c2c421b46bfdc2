"""Calls: of functions of Spark and of the program, and of the group functions of time."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.expressions.by_type import bound_by_type
from penstock.bind.expressions.functions import begins_with_unit, check_call, check_words
from penstock.bind.expressions.inner_order import with_order_outside
from penstock.bind.expressions.structs import bind_struct, zipped
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, SUBQUERY
from penstock.bind.select.stars import expand, is_star
from penstock.bind.time_windows.group_functions import bind_group_function
from penstock.catalog.functions import SCALAR, built_in, is_aggregate
from penstock.catalog.model import Function
from penstock.catalog.types import is_numeric
from penstock.catalog.word_list import word_list
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.nodes import SessionCall
from penstock.sql.trees import call, call_name, grouped, placed_at
from penstock.sql.unsigned import in_type

_GROUP_FUNCTIONS = frozenset(
    word_list(
        "tumble tumble_start tumble_end tumble_rowtime tumble_proctime hop hop_start hop_end hop_rowtime hop_proctime "
        "session session_start session_end session_rowtime session_proctime window session_window window_time"
    )
)
_INTERNAL = (OUTER, SUBQUERY)


def bind_call(node: exp.Anonymous, level: Level) -> exp.Expression:
    """A call with its arguments bound; a function of the program is its body, a window's end its expression."""
    name = call_name(node) or ""
    if node.this in _INTERNAL:
        return node.copy()
    function = level.context.catalog.functions.get(name)
    if function is not None:
        check_words(name, node, SCALAR)
        return _inlined(function, node, level)
    if name in level.context.catalog.registered:
        return _of_session(name, node, level)
    known = built_in(name)
    check_words(name, node, SCALAR if known is None else known.kind)
    if name in _GROUP_FUNCTIONS:
        return bind_group_function(node, level)
    typed = bound_by_type(node, level)
    if typed is not None:
        return typed
    ordered = with_order_outside(node)
    if ordered is not None:
        return level.bind(ordered)
    check_call(name, node)
    if name == "positive":
        value = level.bind(node.expressions[0])
        if is_numeric(level.shape(value) or ""):  # a number is what it is; of a text it would be made one
            return placed_at(grouped(value), node)
    if name == "struct":
        return bind_struct(node, level)
    output_first = level.output_first
    level.output_first = output_first and not is_aggregate(name)
    copy = call(name, *_arguments(name, node, level))
    if name == "count_if" and isinstance(copy.expressions[0], exp.Distinct):
        # Of the distinct values of a condition at most one is TRUE.
        (condition,) = copy.expressions[0].expressions
        copy = call("count", exp.Distinct(expressions=[call("if", condition, exp.Boolean(this=True), exp.Null())]))
    if name == "arrays_zip":
        copy = zipped(node, copy, level)
    level.output_first = output_first
    copy.meta.update(node.meta)
    return copy


def _arguments(name: str, node: exp.Anonymous, level: Level) -> list[exp.Expression]:
    arguments = list(node.expressions)
    if begins_with_unit(name, arguments):
        return [exp.Var(this=arguments[0].name), *(level.bind(item) for item in arguments[1:])]
    result: list[exp.Expression] = []
    for item in arguments:
        every_row = name == "count" and isinstance(item, exp.Star)
        result += _star_columns(item, level) if is_star(item) and not every_row else [_argument(item, level)]
    return result


def _star_columns(item: exp.Expression, level: Level) -> list[exp.Expression]:
    return [tree for _, tree in expand(item, level)]


def _argument(item: exp.Expression, level: Level) -> exp.Expression:
    if isinstance(item, exp.Star):
        return exp.Literal.number(1)
    if isinstance(item, exp.Distinct):
        parts = [_star_columns(part, level) if is_star(part) else [level.bind(part)] for part in item.expressions]
        return exp.Distinct(expressions=[tree for part in parts for tree in part])
    return level.bind(item)


def _of_session(name: str, node: exp.Anonymous, level: Level) -> exp.Expression:
    """A call of a function of the session, which is one of a row, whatever else Spark has of that name."""
    known = built_in(name)
    if known is not None and known.kind != SCALAR:
        message = f"the session has a function {name}() of its own, in place of Spark's {known.kind} function"
        raise unsupported(code="UNSUPPORTED", message=message, place=node, hint="register it under another name")
    found = SessionCall(this=node.this, expressions=[level.bind(item) for item in node.expressions])
    found.meta.update(node.meta)
    return found


def _inlined(function: Function, node: exp.Anonymous, level: Level) -> exp.Expression:
    """A SQL function's body with the arguments in place of its parameters."""
    if len(node.expressions) != len(function.parameters):
        message = f"{function.name} takes {len(function.parameters)} arguments, not {len(node.expressions)}"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node, sqlstate="42605")
    values = {
        parameter.name.lower(): in_type(level.bind(argument), parameter.type)
        for parameter, argument in zip(function.parameters, node.expressions, strict=True)
    }
    inner = Level(level.context, aliases={**values}, subqueries=level.subqueries, fields=level.fields)
    body = inner.bind(placed_at(function.body, node))
    return grouped(body) if function.returns is None else in_type(body, function.returns)
