"""GROUPING SETS, CUBE and ROLLUP: every row once for each set, with NULL for what the set does not group by.

The copies are made by a Generate over an array with one struct per grouping set: the grouping id, and the grouping
expressions or NULLs. The id's bits are those of Spark's `grouping_id()`: the first expression has the
highest bit, 1 where the set leaves it out. Equal sets are told apart by a position behind the id.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.scalars import fields_of, scalar_of
from penstock.errors import Span
from penstock.plan.nodes import Field, Generate, Plan
from penstock.plan.scalar import column_tree
from penstock.sql.complaints import wrong
from penstock.sql.text import span_of
from penstock.sql.trees import call, call_name, cast_to, same

GROUPING_ID = "__gid"
_SHIFT = 4294967296  # the position of a set stands above the 32 bits of the id


def expanded(
    plan: Plan,
    trees: list[exp.Expression],
    sets: tuple[tuple[int, ...], ...],
) -> tuple[Plan, list[exp.Expression]]:
    """The copied rows, and the grouping expressions over them."""
    fields = fields_of(plan)
    scalars = [scalar_of(tree, fields) for tree in trees]
    structs = [_struct(number, chosen, trees, sets) for number, chosen in enumerate(sets)]
    generator = scalar_of(call("inline", call("array", *structs)), fields, _place_of(trees))
    outputs = [Field(GROUPING_ID, "bigint", nullable=False)]
    outputs += [Field(f"__s{index}", scalar.type) for index, scalar in enumerate(scalars)]
    plan = Generate(plan, generator, tuple(outputs))
    return plan, [column_tree(f"__s{index}") for index in range(len(trees))]


def _place_of(trees: list[exp.Expression]) -> Span | None:
    """The place of the grouping expressions, from the first to the last."""
    spans = [span for tree in trees if (span := span_of(tree)) is not None]
    return Span(min(item.start for item in spans), max(item.end for item in spans)) if spans else None


def _struct(
    number: int, chosen: tuple[int, ...], trees: list[exp.Expression], sets: tuple[tuple[int, ...], ...]
) -> exp.Expression:
    bits = sum(1 << (len(trees) - 1 - index) for index in range(len(trees)) if index not in chosen)
    position = sum(1 for earlier in sets[:number] if sorted(earlier) == sorted(chosen))
    parts: list[exp.Expression] = [exp.Literal.string(GROUPING_ID), _long(bits + position * _SHIFT)]
    for index, tree in enumerate(trees):
        value = tree.copy() if index in chosen else call("nullif", tree.copy(), tree.copy())
        parts += [exp.Literal.string(f"__s{index}"), value]
    return call("named_struct", *parts)


def _long(value: int) -> exp.Expression:
    return cast_to(exp.Literal.number(value), "bigint")


def grouping_bits(node: exp.Expression, keys: dict[str, exp.Expression]) -> exp.Expression:
    """`grouping(x)` and `grouping_id(…)` over the id."""
    identifier = exp.Paren(
        this=exp.BitwiseAnd(this=column_tree(GROUPING_ID), expression=_long(_SHIFT - 1)),
    )
    positions = {text: index for index, text in enumerate(keys)}
    if not node.expressions:
        return identifier
    found = [positions.get(same(item)) for item in node.expressions]
    if None in found:
        message = f"{call_name(node)} takes expressions of GROUP BY"
        raise wrong(code="NOT_IN_GROUP_BY", message=message, place=node)
    bits = [_bit(identifier, len(keys) - 1 - (index or 0)) for index in found]
    if call_name(node) == "grouping":
        return cast_to(bits[0], "tinyint")
    total: exp.Expression = bits[0]
    for bit in bits[1:]:
        total = exp.Paren(this=exp.Add(this=exp.Mul(this=total, expression=_long(2)), expression=bit))
    return total


def _bit(identifier: exp.Expression, position: int) -> exp.Expression:
    shifted = call("shiftright", identifier.copy(), exp.Literal.number(position))
    return exp.Paren(this=exp.BitwiseAnd(this=shifted, expression=_long(1)))
