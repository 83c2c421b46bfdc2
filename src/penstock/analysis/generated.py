"""The least value that a generator gives for a row.

explode(sequence(a, b, 5))                                     a
explode(filter(sequence(a, b, 5), x -> x > c))                 a
explode(transform(sequence(a, b, 5), x -> timestamp_micros(x)))   timestamp_micros(a)
"""

from __future__ import annotations

from sqlglot import exp

from penstock.analysis.direction import Direction, direction, sign_of
from penstock.plan.expressions import bare

_EXPLODES = frozenset({"explode", "explode_outer", "posexplode", "posexplode_outer"})


def first_generated(generator: exp.Expression) -> exp.Expression | None:
    """An expression of the input row that no generated value is below; None if it is not plain to see."""
    node = bare(generator)
    if not isinstance(node, exp.Anonymous) or str(node.this).lower() not in _EXPLODES:
        return None
    return _least_element(bare(node.expressions[0]))


def _least_element(array: exp.Expression) -> exp.Expression | None:
    if not isinstance(array, exp.Anonymous):
        return None
    arguments = array.expressions
    match str(array.this).lower(), len(arguments):
        case "sequence", 3:
            step = bare(arguments[2])
            forward = isinstance(step, exp.Interval) and not str(step.this.name).startswith("-")
            rising = forward or sign_of(step) == 1
            return bare(arguments[0]) if rising else None
        case "filter", 2:
            return _least_element(bare(arguments[0]))
        case "transform", 2:
            return _mapped(_least_element(bare(arguments[0])), arguments[1])
        case _:
            return None


def _mapped(least: exp.Expression | None, function: exp.Expression) -> exp.Expression | None:
    """The function at the least element, if it goes up with its element and reads nothing else."""
    if least is None or not isinstance(function, exp.Lambda) or len(function.expressions) != 1:
        return None
    name = function.expressions[0].name
    body = function.this.copy()
    if any(body.find_all(exp.Column)):
        return None
    over_column = body.transform(lambda node: _as_column(node, name))
    if not direction(over_column, {name: Direction.INCREASING}).up:
        return None
    value = exp.Paren(this=least.copy()) if isinstance(least, exp.Binary) else least.copy()
    found: exp.Expression = over_column.transform(lambda node: value if isinstance(node, exp.Column) else node)
    return found


def _as_column(node: exp.Expression, name: str) -> exp.Expression:
    """The parameter where it is used: sqlglot keeps it as a bare name."""
    if isinstance(node, exp.Identifier) and node.name == name and not isinstance(node.parent, exp.Column):
        return exp.Column(this=exp.Identifier(this=name, quoted=True))
    return node
