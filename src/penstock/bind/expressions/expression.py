"""Expressions bound to fields: columns resolved, functions checked, subqueries put aside.

The result is a tree over the input's fields, in which a subquery is a mark (`trees.py`).
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import unknown_function, unsupported, wrong
from penstock.bind.level import Level
from penstock.bind.trees import OUTER, SUBQUERY, bare, call, call_name, cast_to, grouped, replace_nodes
from penstock.catalog.functions import built_in, built_in_functions, is_aggregate, words
from penstock.catalog.model import Function

# Functions whose first of three arguments is a unit of time, not a column.
_UNIT_FIRST = frozenset(words("dateadd date_add timestampadd datediff date_diff timestampdiff"))
_UNITS = frozenset(
    f"{unit}{ending}"
    for unit in words("YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND")
    for ending in ("", "S")
)
_THREE = 3
GROUP_FUNCTIONS = frozenset(
    words(
        "tumble tumble_start tumble_end tumble_rowtime tumble_proctime hop hop_start hop_end hop_rowtime hop_proctime "
        "session session_start session_end session_rowtime session_proctime window session_window window_time"
    )
)
_NAME_IT = "give the value a name in a query in FROM: SELECT x.* FROM (SELECT … AS x FROM t)"
_INTERNAL = (OUTER, SUBQUERY)
_OWN_SYNTAX = frozenset(words("timestampadd timestampdiff trim position overlay date_add dateadd"))


def bind(tree: exp.Expression, level: Level) -> exp.Expression:
    """A copy of a parsed expression in which every name has its meaning; raises SqlError."""
    return replace_nodes(tree, lambda node: _bound(node, level))


def bind_output(tree: exp.Expression, level: Level) -> exp.Expression:
    """QUALIFY and ORDER BY: an alias of the SELECT list comes before a column of FROM."""
    return _reading(tree, level, output_first=True)


def _reading(tree: exp.Expression, level: Level, *, output_first: bool) -> exp.Expression:
    before, level.output_first = level.output_first, output_first
    try:
        return bind(tree, level)
    finally:
        level.output_first = before


def bind_having(tree: exp.Expression, level: Level, keys: frozenset[str]) -> exp.Expression:
    """HAVING: a column that is grouped by (`keys`, bound, as text) comes before an alias, and that before others.

    Unlike WHERE it takes any value that can be cast to BOOLEAN.
    """
    level.grouped_first = keys
    try:
        bound = bind_output(tree, level)
    finally:
        level.grouped_first = frozenset()
    return bound if level.shape(bound) in (None, "boolean") else cast_to(bound, "boolean")


def _bound(node: exp.Expression, level: Level) -> exp.Expression | None:
    match node:
        case exp.Column():
            return _column(node, level)
        case exp.Subquery() | exp.Exists() if _is_query(node):
            return _subquery(node, level)
        case exp.In() if node.args.get("query") is not None:
            return _subquery(node, level)
        case exp.Predicate() if _is_quantified(node):
            return _subquery(node, level)
        case exp.Anonymous() | exp.Window() | exp.Filter():
            return _average(node, level) or _calling(node, level)
        case exp.WithinGroup() if level.output_first:
            return _inside_aggregate(node, level)
        case exp.Dot() if isinstance(node.expression, exp.Star):
            raise wrong(code="STAR_HERE", message="`.*` stands behind a name", place=node, hint=_NAME_IT)
        case exp.Tuple() if not isinstance(node.parent, exp.Predicate):
            return _struct(node, level)
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
        case exp.Anonymous():
            return _call(node, level)
        case exp.Window():
            return _window(node, level)
        case exp.Filter() if level.output_first:
            return _inside_aggregate(node, level)
        case _:
            return None


def _inside_aggregate(node: exp.Expression, level: Level) -> exp.Expression:
    """An aggregate reads rows, not the SELECT list, in all its clauses."""
    return _reading(node, level, output_first=False)


def _average(node: exp.Expression, level: Level) -> exp.Expression | None:
    """What AVG is in a dialect where it is not Spark's."""
    from penstock.bind.expressions.averages import bound_average, is_average

    return bound_average(node, level) if is_average(node, level) else None


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


def _subquery(node: exp.Expression, level: Level) -> exp.Expression:
    from penstock.bind.subqueries.subquery import put_aside

    return put_aside(node, level)


def _window(node: exp.Window, level: Level) -> exp.Expression:
    from penstock.bind.windows.named_windows import with_definition

    complete = with_definition(node, level.context.windows)
    copy = complete.copy()
    for key in ("this", "order", "spec"):
        value = complete.args.get(key)
        if value is not None:
            copy.set(key, bind(value, level))
    copy.set("partition_by", [bind(item, level) for item in complete.args.get("partition_by") or []])
    return copy


def _call(node: exp.Anonymous, level: Level) -> exp.Expression | None:
    name = call_name(node) or ""
    if node.this in _INTERNAL:
        return node.copy()
    function = level.context.catalog.functions.get(name)
    if function is not None:
        return _inlined(function, node, level)
    if name in GROUP_FUNCTIONS:
        from penstock.bind.time_windows.group_functions import bind_group_function

        return bind_group_function(node, level)
    check_call(name, node)
    if name == "struct":
        return _struct(node, level)
    output_first = level.output_first
    level.output_first = output_first and not is_aggregate(name)
    copy = call(name, *_arguments(name, node, level))
    if name == "count_if" and isinstance(copy.expressions[0], exp.Distinct):
        # Of the distinct values of a condition at most one is TRUE.
        (condition,) = copy.expressions[0].expressions
        copy = call("count", exp.Distinct(expressions=[call("if", condition, exp.Boolean(this=True), exp.Null())]))
    if name == "arrays_zip":
        copy = _zipped(node, copy, level)
    level.output_first = output_first
    copy.meta.update(node.meta)
    return copy


def check_call(name: str, node: exp.Anonymous) -> None:
    """Refuse an unknown function and a number of arguments that Spark refuses."""
    found = built_in(name)
    if found is None:
        if name in _OWN_SYNTAX:
            return
        raise unknown_function(name, tuple(built_in_functions()), node)
    given = sum(len(item.expressions) if isinstance(item, exp.Distinct) else 1 for item in node.expressions)
    star = any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in node.expressions)
    if star or (name in _UNIT_FIRST and given == _THREE):
        return
    if not found.accepts(given):
        wanted = str(found.least) if found.least == found.most else f"{found.least} to {found.most or 'any number'}"
        message = f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {given}"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node, sqlstate="42605")


def _arguments(name: str, node: exp.Anonymous, level: Level) -> list[exp.Expression]:
    arguments = list(node.expressions)
    if name in _UNIT_FIRST and len(arguments) == _THREE and arguments[0].name.upper() in _UNITS:
        return [exp.Var(this=arguments[0].name), *(bind(item, level) for item in arguments[1:])]
    result: list[exp.Expression] = []
    for item in arguments:
        every_row = name == "count" and isinstance(item, exp.Star)
        result += _star(item, level) if _starred(item) and not every_row else [_argument(item, level)]
    return result


def _struct(node: exp.Anonymous | exp.Tuple, level: Level) -> exp.Expression:
    """STRUCT and `(a, b)` name their fields after their arguments, which have other names when they are bound."""
    from penstock.bind.select.stars import expand

    parts: list[exp.Expression] = []
    for index, item in enumerate(node.expressions):
        name = _own_name(item) or _key(item) or f"col{index + 1}"
        found = list(expand(item, level)) if _starred(item) else [(name, bind(item.unalias(), level))]
        parts += [part for key, tree in found for part in (exp.Literal.string(key), tree)]
    made = call("named_struct", *parts)
    made.meta.update(node.meta)
    return made


def _own_name(item: exp.Expression) -> str | None:
    """The name that an argument has: its alias, or the last one of a column, a field or a lambda's parameter."""
    item = bare(item)
    match item:
        case exp.Alias():
            return str(item.alias)
        case exp.Column() | exp.Identifier():
            return str(item.name)
        case exp.Dot():
            return str(item.expression.name)
    return None


def _key(item: exp.Expression) -> str | None:
    """What STRUCT calls `x['key']`."""
    item = bare(item)
    place = item.expressions[0] if isinstance(item, exp.Bracket) else None
    return str(place.name) if isinstance(place, exp.Literal) and place.is_string else None


def _zipped(node: exp.Anonymous, bound: exp.Anonymous, level: Level) -> exp.Anonymous:
    """ARRAYS_ZIP names its fields after its arguments, which have other names when they are bound."""
    from penstock.bind.select.stars import expand

    names: list[str | None] = []
    for item in node.expressions:
        names += [name for name, _ in expand(item, level)] if _starred(item) else [_own_name(item)]
    parts: list[exp.Expression] = []
    for place, name in enumerate(names):
        field = exp.Identifier(this=str(place), quoted=True)
        element = exp.Dot(this=exp.Identifier(this="e", quoted=False), expression=field)
        parts += [exp.Literal.string(name or str(place)), element]
    # What is no column has its place as its name, also where a plan computes it into one.
    unnamed = call("arrays_zip", *(call("coalesce", item.unalias()) for item in bound.expressions))
    if not any(names):
        return unnamed
    named = exp.Lambda(this=call("named_struct", *parts), expressions=[exp.Identifier(this="e", quoted=False)])
    return call("transform", unnamed, named)


def _starred(item: exp.Expression) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def _star(item: exp.Expression, level: Level) -> list[exp.Expression]:
    from penstock.bind.select.stars import expand

    return [tree for _, tree in expand(item, level)]


def _argument(item: exp.Expression, level: Level) -> exp.Expression:
    if isinstance(item, exp.Star):
        return exp.Literal.number(1)
    if isinstance(item, exp.Distinct):
        parts = [_star(part, level) if _starred(part) else [bind(part, level)] for part in item.expressions]
        return exp.Distinct(expressions=[tree for part in parts for tree in part])
    return bind(item, level)


def _inlined(function: Function, node: exp.Anonymous, level: Level) -> exp.Expression:
    """A SQL function's body with the arguments in place of its parameters."""
    if len(node.expressions) != len(function.parameters):
        message = f"{function.name} takes {len(function.parameters)} arguments, not {len(node.expressions)}"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node, sqlstate="42605")
    values = {
        parameter.name.lower(): cast_to(bind(argument, level), parameter.type)
        for parameter, argument in zip(function.parameters, node.expressions, strict=True)
    }
    inner = Level(level.context, aliases={**values}, subqueries=level.subqueries, fields=level.fields)
    body = bind(function.body, inner)
    return grouped(body) if function.returns is None else cast_to(body, function.returns)
