"""Aggregates as sorted lists of rows, where no aggregate of Spark keeps the order that is wanted.

A list holds one struct for each row: the sort keys `o0`, `o1`, …, the whole row `r`, the value `v`. Rows with equal
keys go by the whole row.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.parse import parse_expression
from penstock.sql.trees import call

Key = tuple[exp.Expression, bool, bool]  # expression, descending, NULLs first


def entry(keys: Sequence[Key], row: Sequence[exp.Expression], value: exp.Expression) -> exp.Expression:
    """The struct of one row."""
    parts: list[exp.Expression] = []
    for index, (tree, _, _) in enumerate(keys):
        parts += [exp.Literal.string(f"o{index}"), tree.copy()]
    whole = call("struct", *(item.copy() for item in row)) if row else exp.Literal.number(0)
    return call("named_struct", *parts, exp.Literal.string("r"), whole, exp.Literal.string("v"), value.copy())


def in_order(rows: exp.Expression, keys: Sequence[Key], *, last_first: bool = False) -> exp.Expression:
    """A list of such structs, sorted; with `last_first` the greatest of the rows with equal keys comes first."""
    less, more = (1, -1) if last_first else (-1, 1)
    text = f"CASE WHEN l.r < r.r THEN {less} WHEN l.r > r.r THEN {more} ELSE 0 END"
    for index, (_, descending, nulls_first) in reversed(list(enumerate(keys))):
        one, other = f"l.o{index}", f"r.o{index}"
        null, before = (-1 if nulls_first else 1), (1 if descending else -1)
        text = (
            f"CASE WHEN {one} <=> {other} THEN {text} WHEN {one} IS NULL THEN {null} WHEN {other} IS NULL THEN {-null} "
            f"WHEN {one} < {other} THEN {before} ELSE {-before} END"
        )
    sort = parse_expression(f"array_sort(x, (l, r) -> {text})")
    comparison = sort.expressions[1].transform(_variable)
    return call("array_sort", rows, comparison)


def _variable(node: exp.Expression) -> exp.Expression:
    """A field of a lambda's variable: no column of the input."""
    if not isinstance(node, exp.Column):
        return node
    return exp.Dot(this=exp.Identifier(this=node.table), expression=exp.Identifier(this=node.name))


def first_value(rows: exp.Expression, place: exp.Expression | None = None) -> exp.Expression:
    """The value of the first of the rows, or of the one at a place from 0; NULL if there is none."""
    return exp.Dot(this=call("get", rows, place or exp.Literal.number(0)), expression=exp.Identifier(this="v"))


def values(rows: exp.Expression) -> exp.Expression:
    """The values of the rows."""
    variable = exp.Identifier(this="e", quoted=False)
    value = exp.Dot(this=variable, expression=exp.Identifier(this="v"))
    return call("transform", rows, exp.Lambda(this=value, expressions=[variable.copy()]))
