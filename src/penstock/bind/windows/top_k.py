"""`ROW_NUMBER() OVER (…) <= k` above a Window is a Top-K: only the first rows of each partition need keeping."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.bind.scalars import fields_of, scalar_of
from penstock.plan.nodes import Filter, Plan, Project, SortKey, TopK, Window
from penstock.sql.trees import bare, call_name, conjunction, directions

_FLIPPED: dict[type, type] = {exp.LTE: exp.GTE, exp.LT: exp.GT, exp.EQ: exp.EQ, exp.GTE: exp.LTE, exp.GT: exp.LT}
_TIES = {"row_number": None, "rank": "rank", "dense_rank": "dense_rank"}


def filter_ranks(plan: Plan, parts: list[exp.Expression]) -> Plan:
    """The rows that fulfil all parts; a bound on a rank directly below becomes a TopK."""
    rest = list(parts)
    for part in parts:
        bound = _bound(part)
        found = None if bound is None else _top(plan, *bound)
        if found is not None:
            plan, exact = found
            rest = [item for item in rest if item is not part or not exact]
            break
    whole = conjunction(rest)
    return plan if whole is None else Filter(plan, scalar_of(whole, fields_of(plan)))


def _bound(part: exp.Expression) -> tuple[str, int, bool] | None:
    """Column, largest number, and whether `column <= number` says all that the part says."""
    if not isinstance(part, exp.Binary):
        return None
    left, right = bare(part.left), bare(part.right)
    kind: type | None = type(part)
    if isinstance(left, exp.Literal):
        left, right, kind = right, left, _FLIPPED.get(type(part))
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Literal) or not str(right.this).isdigit():
        return None
    number = int(right.this)
    if kind is exp.EQ:
        return left.name, number, number == 1
    if kind is exp.LTE:
        return left.name, number, True
    return (left.name, number - 1, True) if kind is exp.LT else None


def _top(plan: Plan, name: str, limit: int, exact: bool) -> tuple[Plan, bool] | None:  # noqa: FBT001
    """The plan with the Window that computes the column replaced by a TopK, if there is such a one."""
    if limit < 1:
        return None
    if isinstance(plan, Project):
        source = next((scalar.column for item, scalar in plan.items if item == name), None)
        found = None if source is None else _top(plan.input, source, limit, exact)
        return None if found is None else (Project(found[0], plan.items), found[1])
    if not isinstance(plan, Window) or len(plan.calls) != 1 or plan.calls[0][0] != name:
        return None
    tree = plan.calls[0][1].tree
    function = call_name(tree.this) if isinstance(tree, exp.Window) else None
    order = tree.args.get("order")
    if function not in _TIES or order is None:
        return None
    keys = tuple(_keys(order, plan.input))
    return TopK(plan.input, plan.partition, keys, limit, ties=_TIES[function], number=name), exact


def _keys(order: exp.Expression, plan: Plan) -> Iterator[SortKey]:
    for item in order.expressions:
        descending, nulls_first = directions(item)
        yield SortKey(scalar_of(item.this, fields_of(plan)), descending, nulls_first)
