"""Subqueries become joins: the marks in a query's expressions are replaced by columns of what is joined.

EXISTS, IN as a whole condition        SEMI join on the keys
NOT EXISTS, NOT IN as a whole condition ANTI join on the keys; NOT IN over what can be NULL as a value
EXISTS anywhere else                   LEFT join with the distinct keys, `mark IS NOT NULL`
IN anywhere else                       LEFT joins with what it is compared with (`membership.py`)
a comparison with ANY or ALL           join with the least and the greatest value (`quantified.py`)
a scalar subquery                      join with one row for each key
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.level import EXISTS, IN, QUANTIFIED, Level, Subquery
from penstock.bind.marks import DENIED, OUTER, SUBQUERY, has_mark, is_mark
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.subqueries.lookups import (
    Answers,
    Key,
    can_be_null,
    count_rows,
    join,
    keyed,
    on_keys,
    told_apart_alike,
)
from penstock.bind.subqueries.membership import MAYBE, OPEN, SURE, denials_named, in_value
from penstock.bind.subqueries.over_domain import over_its_domain
from penstock.bind.subqueries.quantified import quantified_value
from penstock.bind.windows.top_k import filter_ranks
from penstock.plan.nodes import Aggregate, AggregateCall, Distinct, JoinKind, Plan, Project, Scan
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.text import spark_sql
from penstock.sql.trees import at, call, nodes, replace_nodes


def filtered(plan: Plan, parts: list[exp.Expression], level: Level) -> Plan:
    """The rows for which all bound conditions hold."""
    rest: list[exp.Expression] = []
    for part in parts:
        joined = _as_join(plan, part, level)
        if joined is None:
            rest.append(part)
        else:
            plan = joined
    plan, rest = attached(plan, rest, level, filtering=True)
    return filter_ranks(plan, rest)


def _as_join(plan: Plan, part: exp.Expression, level: Level) -> Plan | None:
    """The SEMI or ANTI join that a whole condition is, None where it is something else."""
    negated = isinstance(part, exp.Not)
    mark = part.this.unnest() if negated else part
    if not is_mark(mark, SUBQUERY):
        return None
    found, needles, outers = subquery_of(mark, level)
    if found.kind not in (EXISTS, IN) or any(has_mark(item, SUBQUERY) for item in [*needles, *outers]):
        return None
    if found.kind == IN and found.keys and found.bound.single_row:
        return None
    right, names = _renamed(found, plan, outers, level)
    keys: list[Key] = [(item, column_tree(name), False) for item, name in zip(needles, names, strict=False)]
    null_aware = negated and found.kind == IN and can_be_null(keys, plan, right)
    if null_aware:
        return None
    keys += [(outers[number], column_tree(f"{_prefix(found, level)}{name}"), safe) for name, number, safe in found.keys]
    residual = [_outer_filled(part, found, outers, level) for part in found.residual]
    if not keys:
        return None
    return join(plan, right, JoinKind.ANTI if negated else JoinKind.SEMI, keys, residual)


def subquery_of(mark: exp.Expression, level: Level) -> tuple[Subquery, list[exp.Expression], list[exp.Expression]]:
    """The subquery of a mark, the values that it is compared with, and those that it reads around itself."""
    number, *rest = mark.expressions
    found = level.subqueries[int(number.this)]
    return found, rest[: found.needles], rest[found.needles :]


def _prefix(found: Subquery, level: Level) -> str:
    return f"__s{level.subqueries.index(found)}."


def _outer_filled(part: exp.Expression, found: Subquery, outers: list[exp.Expression], level: Level) -> exp.Expression:
    prefix = _prefix(found, level)

    def filled(node: exp.Expression) -> exp.Expression | None:
        if is_mark(node, OUTER):
            return exp.Paren(this=outers[int(node.expressions[0].this)].copy())
        return column_tree(f"{prefix}{node.name}") if isinstance(node, exp.Column) else None

    return replace_nodes(part, filled)


def _renamed(found: Subquery, plan: Plan, outers: list[exp.Expression], level: Level) -> tuple[Plan, list[str]]:
    """The subquery's plan under names that clash with nothing, and the names of its columns."""
    prefix = _prefix(found, level)
    inner = found.bound.plan
    if found.domain is not None:
        inner = with_domain(inner, found.domain.leaf, plan, outers)
    items = tuple((f"{prefix}{item.name}", column(item.name, item.type, item.nullable)) for item in inner.fields)
    return Project(inner, items), [name for name, _ in items[: len(found.bound.names)]]


def with_domain(inner: Plan, leaf: Scan, plan: Plan, outers: list[exp.Expression]) -> Plan:
    """A plan over a domain with the distinct values of the enclosing plan put in."""
    fields = fields_of(plan)
    values = tuple((name, scalar_of(tree, fields)) for name, tree in zip(leaf.names, outers, strict=True))
    source = Distinct(Project(plan, values))

    def swapped(node: Plan) -> Plan:
        if isinstance(node, Scan):
            return source if node == leaf else node
        return node.with_inputs(*(swapped(item) for item in node.inputs))

    return swapped(inner)


def attached(
    plan: Plan, trees: list[exp.Expression], level: Level, *, filtering: bool = False
) -> tuple[Plan, list[exp.Expression]]:
    """The plan joined with every subquery in the trees, and the trees over the joined columns.

    Of conditions that are `filtering`, it does not matter whether one that does not hold is FALSE or NULL.
    """
    done: dict[str, exp.Expression] = {}
    trees = [denials_named(tree, level) for tree in trees]
    while True:
        marks = [node for tree in trees for node in nodes(tree) if is_subquery(node)]
        mark = next((node for node in marks if not any(map(_has_subquery, node.expressions))), None)
        if mark is None:
            level.remember_fields(plan)
            return plan, trees
        text = spark_sql(mark)
        if text not in done:
            plan, done[text] = _value(plan, mark, level, filtering=filtering)
        trees = [replace_nodes(tree, lambda node: _found(node, done)) for tree in trees]


def is_subquery(node: exp.Expression) -> bool:
    """True for a subquery's mark."""
    return is_mark(node, SUBQUERY) or is_mark(node, DENIED)


def _has_subquery(tree: exp.Expression) -> bool:
    return any(map(is_subquery, nodes(tree)))


def _found(node: exp.Expression, done: dict[str, exp.Expression]) -> exp.Expression | None:
    return done.get(spark_sql(node)) if is_subquery(node) else None


def _value(plan: Plan, mark: exp.Expression, level: Level, *, filtering: bool) -> tuple[Plan, exp.Expression]:
    found, needles, outers = subquery_of(mark, level)
    if _needs_domain(found, plan, outers):
        position = level.subqueries.index(found)
        found = level.subqueries[position] = over_its_domain(found)
        outers = list(found.outers)
    right, names = _renamed(found, plan, outers, level)
    prefix = _prefix(found, level)
    keys: list[Key] = [(outers[number], column_tree(f"{prefix}{name}"), safe) for name, number, safe in found.keys]
    if found.kind == EXISTS:
        return _exists_value(plan, right, keys, prefix)
    if found.kind == IN:
        pairs = list(zip(needles, map(column_tree, names), strict=True))
        return in_value(plan, Answers(right, keys, prefix), pairs, _asked(mark, level, filtering=filtering))
    if found.kind == QUANTIFIED:
        return quantified_value(plan, Answers(right, keys, prefix), (found, needles, names))
    return _scalar_value(plan, right, keys, (found, names[0]), prefix)


def _asked(mark: exp.Expression, level: Level, *, filtering: bool) -> str:
    """The answers of IN that are told apart: all three as a value in the dialects of standard SQL, two in Spark's."""
    if not filtering and "open_membership" in level.context.rules.meanings:
        level.context.meanings.add("open_membership")
        return OPEN
    return MAYBE if is_mark(mark, DENIED) else SURE


def _needs_domain(found: Subquery, plan: Plan, outers: list[exp.Expression]) -> bool:
    """True if the subquery has to be asked for each value of the enclosing query.

    A join on keys carries no other condition; it has no row for a key over which a global aggregate has one; and keys
    of different types are equal to several that differ ('1' and '01' both are 1).
    """
    if found.domain is not None:
        return False
    if found.residual or (found.keys and found.kind == IN and found.bound.single_row):
        return True
    empty = found.bound.empty
    if found.keys and empty is not None and empty.find(exp.Column) is not None:
        return True
    own, inner = fields_of(plan), fields_of(found.bound.plan)
    pairs = [(scalar_of(outers[number], own).type, inner[name].type) for name, number, _ in found.keys]
    return any(not told_apart_alike(one, other) for one, other in pairs)


def _exists_value(plan: Plan, right: Plan, keys: list[Key], prefix: str) -> tuple[Plan, exp.Expression]:
    if not keys:
        counted = Aggregate(right, (), ((f"{prefix}n", count_rows(right)),))
        some = scalar_of(exp.GT(this=column_tree(f"{prefix}n"), expression=exp.Literal.number(0)), fields_of(counted))
        return on_keys(plan, Project(counted, ((f"{prefix}mark", some),)), keys), column_tree(f"{prefix}mark")
    distinct = Distinct(keyed(right, keys))
    marked = keyed(distinct, keys, (f"{prefix}mark", scalar_of(exp.Boolean(this=True), {})))
    return on_keys(plan, marked, keys), call("isnotnull", column_tree(f"{prefix}mark"))


def _scalar_value(
    plan: Plan, right: Plan, keys: list[Key], subject: tuple[Subquery, str], prefix: str
) -> tuple[Plan, exp.Expression]:
    found, name = subject
    value = column_tree(name)
    if not found.bound.single_row:
        count = _unused(f"{prefix}n", right)
        right = _one_row(right, keys, value, count)
        message = exp.Literal.string("a subquery used as a value has more than one row")
        many = exp.GT(this=column_tree(count), expression=exp.Literal.number(1))
        refusal = at(call("raise_error", message), found.tree)
        return on_keys(plan, right, keys), call("if", many, refusal, value)
    if keys and found.bound.empty is not None and found.domain is None:
        fields, mark = fields_of(right), _unused(f"{prefix}mark", right)
        items = tuple((item, scalar_of(column_tree(item), fields)) for item in right.names)
        right = Project(right, (*items, (mark, scalar_of(exp.Boolean(this=True), {}))))
        default = found.bound.empty.copy()
        hit = exp.If(this=call("isnotnull", column_tree(mark)), true=value)
        return on_keys(plan, right, keys), exp.Case(ifs=[hit], default=default)
    return on_keys(plan, right, keys), value


def _unused(name: str, plan: Plan) -> str:
    """The name, or a longer one where the plan has a column of that name."""
    return _unused(f"{name}_", plan) if name in plan.names else name


def _one_row(right: Plan, keys: list[Key], value: exp.Expression, count: str) -> Plan:
    """A row for each key and how many there are: more than one is an error, as in Spark, for a row that has the key."""
    fields = fields_of(right)
    groups = tuple((tree.name, scalar_of(tree, fields)) for _, tree, _ in keys)
    typed = scalar_of(value, fields)
    first = AggregateCall("first", (typed,), Scalar(f"first({typed.text})", call("first", value.copy()), typed.type))
    node = Aggregate(right, groups, ((value.name, first), (count, count_rows(right))))
    return keyed(node, keys, *((item.name, column(item.name, item.type)) for item in node.fields[len(groups) :]))
