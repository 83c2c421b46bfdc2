"""Expressions with other words in them: the clock's value in place of its reading, further partition keys.

They go by the parsed trees, so that nothing is overlooked that has no form of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from penstock.plan.clock_calls import is_clock
from penstock.plan.scalar import Scalar, column_tree, render_scalar
from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql


def clock_read(scalar: Scalar, value: Callable[[str, str], str]) -> str:
    """The expression as Spark SQL, with the text that `value` gives for a clock function's name and its digits."""
    if not scalar.reads_clock:
        return scalar.text

    def put(node: exp.Expr) -> exp.Expr:
        return parse_expression(value(_name(node), _digits(node))) if is_clock(node) else node

    return spark_sql(cast("exp.Expression", scalar.tree.copy().transform(put)))


def _name(node: exp.Expr) -> str:
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else type(node).__name__.lower()


def _digits(node: exp.Expr) -> str:
    """The digits that `current_time(p)` asks for, a constant."""
    digits = node.args.get("expressions")
    return str(simplify(digits[0].copy()).this) if digits else "6"


def partitioned_further(call: Scalar, names: tuple[str, ...]) -> Scalar:
    """The call with the named columns added to the PARTITION BY of every window in it."""
    tree = call.tree.copy()
    for window in tree.find_all(exp.Window):
        window.set("partition_by", [*window.args.get("partition_by", []), *(column_tree(name) for name in names)])
    return Scalar(render_scalar(tree), tree, call.type, call.nullable, call.span)
