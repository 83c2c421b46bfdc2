"""PIVOT: an aggregate with a FILTER for each value, grouped by all other columns."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.bind.aggregates import aggregated
from penstock.bind.diagnose import NotIncremental, unsupported
from penstock.bind.expressions import bind
from penstock.bind.grouping import Grouping
from penstock.bind.level import Bound, Level, fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.bind.stars import name_of
from penstock.bind.trees import call
from penstock.plan.nodes import Plan, Project


def bind_pivots(plan: Plan, scope: Scope, tree: exp.Expression, level: Level) -> tuple[Plan, Scope]:
    """The relation with its PIVOT clause applied."""
    from penstock.bind.relations import aliased

    for pivot in tree.args["pivots"]:
        if pivot.args.get("unpivot"):
            reason = "UNPIVOT"
            raise NotIncremental(reason, tree, rewriting="LATERAL VIEW stack(…)")
        inner = Level(level.context.alone(), scope)
        inner.see(plan)
        plan, names = _pivoted(plan, pivot, inner)
        given = pivot.args.get("alias")
        holder = exp.Table(this=exp.Identifier(this=""), alias=given) if given is not None else exp.Table()
        default = str(tree.alias_or_name) or "__pivot"
        plan, scope = aliased(Bound(plan, tuple(names)), holder, level, default)
    return plan, scope


def _pivoted(plan: Plan, pivot: exp.Pivot, level: Level) -> tuple[Plan, list[str]]:
    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or isinstance(fields[0].this, exp.Tuple):
        raise unsupported(
            code="PIVOT",
            message="PIVOT over several columns",
            place=pivot,
            hint="write aggregates with FILTER (WHERE …)",
        )
    aggregates = [(item.alias if isinstance(item, exp.Alias) else "", item.unalias()) for item in pivot.expressions]
    column = fields[0].this
    used = {part.name.lower() for _, aggregate in aggregates for part in aggregate.find_all(exp.Column)} | {
        column.name.lower()
    }
    groups = [item for item in level.scope.star() or () if item.name.lower() not in used]
    names = [item.name for item in groups]
    trees = [item.tree.copy() for item in groups]
    for value_name, condition in _values(fields[0], column):
        for alias, aggregate in aggregates:
            names.append(value_name if len(aggregates) == 1 else f"{value_name}_{alias or name_of(aggregate)}")
            trees.append(bind(_pivoted_value(aggregate, condition), level))
    made = aggregated(plan, Grouping(tuple(item.tree for item in groups)), trees, level)
    over = fields_of(made.plan)
    items = tuple(
        (f"{index}.{name}", scalar_of(tree, over))
        for index, (name, tree) in enumerate(zip(names, made.trees, strict=True))
    )
    return Project(made.plan, items), names


def _pivoted_value(aggregate: exp.Expression, condition: exp.Expression) -> exp.Expression:
    """The aggregate over the rows of one value, NULL where there are none (a count as well, as in Spark)."""
    where = exp.Where(this=condition)
    value = exp.Filter(this=aggregate.copy(), expression=where.copy())
    rows = exp.Filter(this=call("count", exp.Literal.number(1)), expression=where.copy())
    some = exp.If(this=exp.GT(this=rows, expression=exp.Literal.number(0)), true=value)
    return exp.Case(ifs=[some])


def _values(field: exp.In, column: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    """Name and condition of each pivoted value."""
    for item in field.expressions:
        named = isinstance(item, exp.PivotAlias | exp.Alias)
        value = item.this if named else item
        yield (
            (str(item.alias) if named else name_of(value)),
            exp.NullSafeEQ(this=column.copy(), expression=value.copy()),
        )
