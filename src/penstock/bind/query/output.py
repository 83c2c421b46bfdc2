"""The rows of one SELECT as its list names them: DISTINCT, ORDER BY, LIMIT."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.domain import NeedDomain
from penstock.bind.level import Level
from penstock.bind.query.clauses import Clauses
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.select.ordering import Limit, Ordering, limit_of, ordered
from penstock.plan.nodes import Distinct, Plan, Project
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import replace_nodes


def output_of(select: exp.Select, plan: Plan, clauses: Clauses, level: Level, *, keep_order: bool) -> Plan:
    """The rows that a SELECT gives, its columns first and what it carries for a query around it behind them."""
    fields = fields_of(plan)
    outputs = list(zip(unique_names(clauses.names), clauses.items, strict=True)) + level.carried
    items = [(name, scalar_of(tree, fields)) for name, tree in outputs]
    limit = limit_of(select)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        raise unsupported(
            code="DISTINCT_ON", message="DISTINCT ON", place=select, hint="use QUALIFY ROW_NUMBER() OVER (…) = 1"
        )
    if distinct is not None:
        plan = Distinct(Project(plan, tuple(items)))
        if limit is None and (not keep_order or not clauses.order.keys):
            return plan
        shown = [(name, column(name, item.type, item.nullable)) for name, item in items]
        return _sorted(plan, shown, replace(clauses, order=_over_outputs(clauses.order, outputs)), limit, level)
    if level.residual and (limit is not None or select.args.get("qualify")):
        raise NeedDomain
    if limit is None and (not keep_order or not clauses.order.keys):
        return Project(plan, tuple(items))
    return _sorted(plan, items, clauses, limit, level)


def _sorted(plan: Plan, items: list[tuple[str, Scalar]], clauses: Clauses, limit: Limit | None, level: Level) -> Plan:
    """The SELECT list with what ORDER BY needs beside it, sorted, and the rest dropped again."""
    fields = fields_of(plan)
    names = {scalar.text: name for name, scalar in items}
    hidden: list[tuple[str, Scalar]] = []
    for index, tree in enumerate(clauses.order.trees()):
        scalar = scalar_of(tree, fields)
        if scalar.text not in names:
            names[scalar.text] = f"__o{index}"
            hidden.append((f"__o{index}", scalar))
    wide = Project(plan, tuple(items + hidden))
    sorted_plan = ordered(wide, clauses.order.over(names), limit, tuple(name for name, _ in level.carried))
    if not hidden:
        return sorted_plan
    return Project(sorted_plan, tuple((name, column(name, item.type, item.nullable)) for name, item in items))


def _over_outputs(order: Ordering, outputs: list[tuple[str, exp.Expression]]) -> Ordering:
    """ORDER BY of a SELECT DISTINCT, over the columns of the SELECT list."""
    names = {spark_sql(tree): name for name, tree in outputs}

    def shown(node: exp.Expression) -> exp.Expression | None:
        if isinstance(node, exp.Identifier | exp.DataType | exp.Var | exp.Literal):
            return None
        name = names.get(spark_sql(node))
        return None if name is None else column_tree(name)

    trees = [replace_nodes(tree, shown) for tree in order.trees()]
    for tree, written in zip(trees, order.trees(), strict=True):
        if any(found.name not in names.values() for found in tree.find_all(exp.Column)):
            message = "ORDER BY of a SELECT DISTINCT can only read what the SELECT list has"
            raise wrong(code="ORDER_BY_NOT_SELECTED", message=message, place=written)
    return order.with_trees(trees)
