"""Aggregates over no rows: their values, and the rows that a correlated subquery has for them."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.domain import Domain
from penstock.bind.scalars import fields_of, scalar_of
from penstock.plan.nodes import Join, JoinKey, JoinKind, Plan, Project
from penstock.plan.scalar import column, column_tree
from penstock.sql.trees import call, call_name, cast_to, core_of

_ZERO = frozenset(["count", "count_if", "approx_count_distinct", "regr_count"])
_EMPTY_ARRAY = frozenset(["collect_list", "collect_set", "array_agg"])
_EMPTY_SKETCH = frozenset(
    [
        "bitmap_and_agg",
        "bitmap_construct_agg",
        "bitmap_or_agg",
        "count_min_sketch",
        "theta_sketch_agg",
        "theta_union_agg",
    ]
)


def for_each_outer_value(node: Plan, domain: Domain, functions: dict[str, str]) -> Plan:
    """A global aggregate has a row for each of the enclosing query's values, also where it has nothing to aggregate."""
    there = Project(node, tuple((f"{item.name}'", column(item.name, item.type)) for item in node.fields))
    keys = tuple(
        JoinKey(column(item.name, item.type), column(f"{item.name}'", item.type), null_safe=True)
        for item in domain.types
    )
    joined = Join(domain.leaf, there, JoinKind.LEFT, keys)
    fields = fields_of(joined)
    items = [(item.name, column(item.name, item.type, item.nullable)) for item in domain.types]
    for name, function in functions.items():
        empty = empty_of(function)
        value = column_tree(f"{name}'")
        items.append(
            (name, scalar_of(value if isinstance(empty, exp.Null) else call("coalesce", value, empty), fields))
        )
    return Project(joined, tuple(items))


def refuse_sketches(calls: list[exp.Expression]) -> None:
    """Raise NotIncremental for a sketch in a correlated subquery: over no rows it is one that only Spark can write."""
    found = next((tree for tree in calls if call_name(core_of(tree)) in _EMPTY_SKETCH), None)
    if found is not None:
        reason = f"{call_name(core_of(found))} in a correlated subquery"
        raise NotIncremental(reason, found)


def is_null_when_empty(function: str | None) -> bool:
    """True unless it is the name of an aggregate with a value over no rows."""
    return function not in _ZERO | _EMPTY_ARRAY


def empty_of(function: str) -> exp.Expression:
    """The value of an aggregate over no rows."""
    if function in _ZERO:
        return cast_to(exp.Literal.number(0), "bigint")
    return exp.Anonymous(this="array", expressions=[]) if function in _EMPTY_ARRAY else exp.Null()
