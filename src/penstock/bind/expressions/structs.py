"""Structs and ARRAYS_ZIP, whose fields are named after what stands in them."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.select.stars import expand, is_star
from penstock.sql.trees import bare, call


def bind_struct(node: exp.Anonymous | exp.Tuple, level: Level) -> exp.Expression:
    """STRUCT and `(a, b)` name their fields after their arguments, which have other names when they are bound.

    Those of a tuple of Timeplus have places alone.
    """
    places = isinstance(node, exp.Tuple) and level.context.exact
    parts: list[exp.Expression] = []
    for index, item in enumerate(node.expressions):
        name = ("" if places else _own_name(item) or _key(item)) or f"col{index + 1}"
        found = list(expand(item, level)) if is_star(item) else [(name, level.bind(item.unalias()))]
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
    """The name that STRUCT gives to `x['key']`."""
    item = bare(item)
    place = item.expressions[0] if isinstance(item, exp.Bracket) else None
    return str(place.name) if isinstance(place, exp.Literal) and place.is_string else None


def zipped(node: exp.Anonymous, bound: exp.Anonymous, level: Level) -> exp.Anonymous:
    """ARRAYS_ZIP names its fields after its arguments, which have other names when they are bound."""
    names: list[str | None] = []
    for item in node.expressions:
        names += [name for name, _ in expand(item, level)] if is_star(item) else [_own_name(item)]
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
