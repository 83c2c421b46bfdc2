"""PIVOT: an aggregate with a FILTER for each value, grouped by all other columns; UNPIVOT is in `unpivots`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.from_.unpivots import parts_of, unpivoted, unread
from penstock.bind.level import Level
from penstock.bind.relation import aliased
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.scope import RelationInScope, Scope, Visible
from penstock.bind.select.aggregates import aggregated
from penstock.bind.select.column_names import name_of
from penstock.bind.select.grouping import Grouping
from penstock.catalog.functions import is_aggregate
from penstock.plan.nodes import Plan, Project
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import call, call_name, conjunction, replace_nodes


def bind_pivots(plan: Plan, scope: Scope, tree: exp.Expression, level: Level) -> tuple[Plan, Scope]:
    """The relation with its PIVOT clause applied."""
    for pivot in tree.args["pivots"]:
        inner = Level(level.context.alone(), scope)
        inner.remember_fields(plan)
        made = unpivoted if pivot.args.get("unpivot") else _pivoted
        plan, kept, names = made(plan, pivot, inner)
        given = pivot.args.get("alias")
        holder = exp.Table(this=exp.Identifier(this=""), alias=given) if given is not None else exp.Table()
        default = "__pivot" if isinstance(tree, exp.Join) else str(tree.alias_or_name) or "__pivot"
        plan, after = aliased(BoundQuery(plan, (*(item.name for item in kept), *names)), holder, level, default)
        scope = after if given is not None else _qualified(after, kept, scope)
    return plan, scope


def _qualified(after: Scope, kept: Sequence[Visible], before: Scope) -> Scope:
    """The scope behind a clause without an alias: what it keeps is still of its relations, what it makes is of none."""
    (made,) = after.relations
    there = {item.tree: column for item, column in zip(kept, made.columns, strict=False)}
    owned = (
        RelationInScope(
            relation.alias,
            tuple(replace(there[item.tree], name=item.name) for item in relation.columns if item.tree in there),
        )
        for relation in before.relations
    )
    return Scope(tuple(owned), made.columns)


def _pivoted(plan: Plan, pivot: exp.Pivot, level: Level) -> tuple[Plan, list[Visible], list[str]]:
    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In):
        raise unsupported(
            code="PIVOT",
            message="PIVOT with several FOR clauses",
            place=pivot,
            hint="write aggregates with FILTER (WHERE …)",
        )
    aggregates = [(item.alias if isinstance(item, exp.Alias) else "", item.unalias()) for item in pivot.expressions]
    over = parts_of(fields[0].this)
    groups = unread(level, [aggregate for _, aggregate in aggregates] + over)
    names: list[str] = []
    trees = [item.tree.copy() for item in groups]
    empty = "pivot_counts" in level.context.rules.meanings
    for value_name, condition in _values(fields[0], over, exp.EQ if empty else exp.NullSafeEQ):
        for alias, aggregate in aggregates:
            names.append(value_name if len(aggregates) == 1 else f"{value_name}_{alias or name_of(aggregate)}")
            if empty:
                level.context.meanings.add("pivot_counts")
            trees.append(level.bind(_pivoted_value(aggregate, condition, empty=empty)))
    made = aggregated(plan, Grouping(tuple(item.tree for item in groups)), trees, level)
    after = fields_of(made.plan)
    items = tuple(
        (f"{index}.{name}", scalar_of(tree, after))
        for index, (name, tree) in enumerate(zip([*(item.name for item in groups), *names], made.trees, strict=True))
    )
    return Project(made.plan, items), groups, names


def _pivoted_value(aggregate: exp.Expression, condition: exp.Expression, *, empty: bool) -> exp.Expression:
    """The aggregate over the rows of one value, NULL where there are none: a count as well, as in Spark.

    Where it answers over `empty` groups too, as Calcite's does, a count is 0.
    """
    where = exp.Where(this=condition)
    value = replace_nodes(aggregate, lambda node: _filtered(node, where))
    if empty:
        return value
    rows = exp.Filter(this=call("count", exp.Literal.number(1)), expression=where.copy())
    some = exp.If(this=exp.GT(this=rows, expression=exp.Literal.number(0)), true=value)
    return exp.Case(ifs=[some])


def _filtered(node: exp.Expression, where: exp.Where) -> exp.Expression | None:
    found = is_aggregate(call_name(node) or "") or isinstance(node, exp.WithinGroup)
    return exp.Filter(this=node.copy(), expression=where.copy()) if found else None


def _values(
    field: exp.In, columns: list[exp.Expression], equal: Callable[..., exp.Expression]
) -> Iterator[tuple[str, exp.Expression]]:
    """Name and condition of each pivoted value, or of each combination of values, which `equal` compares."""
    for item in field.expressions:
        named = isinstance(item, exp.PivotAlias | exp.Alias)
        values = parts_of(item.this if named else item)
        if len(values) != len(columns):
            message = f"PIVOT is over {len(columns)} columns, and here are {len(values)} values"
            raise wrong(code="WRONG_NUMBER_OF_VALUES", message=message, place=item)
        conditions: list[exp.Expression] = [
            equal(this=column.copy(), expression=value.copy()) for column, value in zip(columns, values, strict=True)
        ]
        yield str(item.alias) if named else _named(values), conjunction(conditions) or exp.Boolean(this=True)


def _named(values: list[exp.Expression]) -> str:
    """The name that Spark gives: the value as text, several as a struct's text."""
    names = [
        str(value.this.name) if value.meta.get("typed_literal") and isinstance(value, exp.Cast) else name_of(value)
        for value in values
    ]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
