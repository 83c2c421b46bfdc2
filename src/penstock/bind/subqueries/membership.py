"""IN and NOT IN of a query as values.

Whether a row is in the query's answer has three answers in SQL: TRUE where an answer is equal, NULL where a NULL leaves
it open, else FALSE. Spark asks for two of them at a time: a bare IN is TRUE or FALSE (*sure*), and a NOT IN is what is
left when nothing is equal and nothing is open (not *maybe*). NOT goes down through AND and OR before that is decided.

One column is maybe in the answer if it is there, or if it or one of the answers is NULL. With several columns a pair of
rows is open if it is equal wherever neither is NULL. Which columns those are depends on both rows' NULLs, so each row
is looked up once for each pattern of NULLs that the other can have:

    (a, b) NOT IN (SELECT c, d …)      row (1, NULL) with pattern 'c is NULL': every answer (NULL, …) is open
                                       row (1, NULL) with pattern 'no NULL':   the answers (1, …) are open
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.level import IN, Level
from penstock.bind.marks import DENIED, SUBQUERY, is_mark, marked
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.subqueries.lookups import (
    Answers,
    Key,
    aggregate_call,
    can_be_null,
    count_rows,
    groups_of,
    join,
    keyed,
    on_keys,
    renamed,
    told_apart_alike,
)
from penstock.plan.nodes import Aggregate, Distinct, Field, Filter, Generate, JoinKind, Plan, Project
from penstock.plan.scalar import column_tree
from penstock.sql.trees import call, conjunction, replace_nodes

SURE, MAYBE, OPEN = "sure", "maybe", "open"
"""TRUE where equal; TRUE where equal or open; SQL's three values."""
Pair = tuple[exp.Expression, exp.Expression]
Value = tuple[Plan, exp.Expression]
_MOST_NULLABLE = 5  # columns that can be NULL: a row is looked up for 2^n patterns


def denials_named(tree: exp.Expression, level: Level) -> exp.Expression:
    """The tree with other marks for those INs whose negation is asked for."""

    def affirmed(node: exp.Expression) -> exp.Expression:
        return replace_nodes(node, lambda item: exp.Not(this=denied(item.this)) if isinstance(item, exp.Not) else None)

    def denied(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Not):
            return exp.Not(this=affirmed(node.this))
        if isinstance(node, exp.Paren):
            return exp.Paren(this=denied(node.this))
        if isinstance(node, exp.And | exp.Or):
            return type(node)(this=denied(node.this), expression=denied(node.expression))
        if is_mark(node, SUBQUERY) and level.subqueries[int(node.expressions[0].name)].kind == IN:
            return marked(DENIED, [affirmed(item) for item in node.expressions])
        return affirmed(node)

    return affirmed(tree)


def in_value(plan: Plan, found: Answers, pairs: Sequence[Pair], asked: str) -> Value:
    """The plan with what tells whether the row is in the answer, and the expression that says it.

    `pairs` are the compared values, the row's and the answer's.
    """
    if asked != SURE and not can_be_null([(*pair, False) for pair in pairs], plan, found.plan):
        asked = SURE
    several = len(pairs) > 1
    sure: exp.Expression = exp.Boolean(this=False)
    if asked != MAYBE or not several:
        plan, sure = _sure(plan, found, pairs)
    if asked == SURE:
        return plan, sure
    if several:
        plan, maybe = _maybe_by_patterns(plan, found, pairs)
    else:
        plan, left_open = _maybe_one(plan, found, pairs[0])
        maybe = exp.Paren(this=exp.Or(this=sure.copy(), expression=left_open))
    if asked == MAYBE:
        return plan, maybe
    ifs = [exp.If(this=sure, true=exp.Boolean(this=True)), exp.If(this=maybe, true=exp.Null())]
    return plan, exp.Case(ifs=ifs, default=exp.Boolean(this=False))


def _sure(plan: Plan, found: Answers, pairs: Sequence[Pair]) -> Value:
    right, keys, prefix = found.plan, found.keys, found.prefix
    every: list[Key] = [*keys, *((needle, value, False) for needle, value in pairs)]
    own, fields = fields_of(plan), fields_of(right)
    kinds = [(scalar_of(needle, own).type, scalar_of(value, fields).type) for needle, value in pairs]
    if not all(told_apart_alike(one, other) for one, other in kinds):
        return _sure_of_unlike(plan, right, every, f"{prefix}x")
    present = conjunction(call("isnotnull", value.copy()) for _, value in pairs)
    known = right if present is None else Filter(right, scalar_of(present, fields))
    distinct = Distinct(keyed(known, every))
    hit = (f"{prefix}hit", scalar_of(exp.Boolean(this=True), {}))
    hits = renamed(keyed(distinct, every, hit), "h")
    plan = join(plan, hits, JoinKind.LEFT, [(item, column_tree(f"h{value.name}"), safe) for item, value, safe in every])
    return plan, call("isnotnull", column_tree(f"h{prefix}hit"))


def _sure_of_unlike(plan: Plan, right: Plan, every: list[Key], prefix: str) -> Value:
    """Answers of another type, of which several may be equal to one value of the row: which values have any."""
    fields = fields_of(plan)
    names = [f"{prefix}{index}" for index in range(len(every))]
    asked = [(needle, name) for (needle, _, _), name in zip(every, names, strict=True)]
    wanted = Distinct(Project(plan, tuple((name, scalar_of(tree, fields)) for tree, name in asked)))
    ties: list[Key] = [(column_tree(name), value, safe) for name, (_, value, safe) in zip(names, every, strict=True)]
    met = join(wanted, right, JoinKind.INNER, ties)
    return _looked_up(plan, Distinct(_chosen(met, names)), asked, prefix)


def _maybe_one(plan: Plan, found: Answers, pair: Pair) -> Value:
    """The condition under which a NULL leaves it open: the row's own where there are answers, or one of the answers."""
    right, keys, prefix = found.plan, found.keys, found.prefix
    needle, value = pair
    missing = aggregate_call("count_if", call("isnull", value), right)
    counts = ((f"{prefix}n", count_rows(right)), (f"{prefix}m", missing))
    node = Aggregate(right, groups_of(right, keys), counts)
    over = fields_of(node)
    some, left_open = (
        scalar_of(exp.GT(this=column_tree(f"{prefix}{name}"), expression=exp.Literal.number(0)), over) for name in "nm"
    )
    known = keyed(node, keys, (f"{prefix}some", some), (f"{prefix}open", left_open))
    either = exp.Or(this=call("isnull", needle.copy()), expression=column_tree(f"{prefix}open"))
    both = exp.And(this=column_tree(f"{prefix}some"), expression=exp.Paren(this=either))
    return on_keys(plan, known, keys), call("coalesce", both, exp.Boolean(this=False))


def _maybe_by_patterns(plan: Plan, found: Answers, pairs: Sequence[Pair]) -> Value:
    """The condition that an answer is equal wherever neither is NULL, by the patterns of NULLs on both sides."""
    right, keys, prefix = found.plan, found.keys, found.prefix
    nullable = [pair for pair in pairs if can_be_null([(*pair, False)], plan, right)]
    if len(nullable) > _MOST_NULLABLE:
        reason = f"NOT IN with more than {_MOST_NULLABLE} columns that can be NULL"
        raise NotIncremental(reason, pairs[0][0], rewriting="NOT EXISTS, if the compared values are never NULL")
    firm: list[Key] = [*keys, *((*pair, False) for pair in pairs if pair not in nullable)]
    names = [f"{prefix}l{index}" for index in range(len(firm) + len(nullable))]
    asked = [item for item, _, _ in firm] + [needle for needle, _ in nullable]
    fields = fields_of(plan)
    wanted = Distinct(
        Project(plan, tuple((name, scalar_of(tree, fields)) for name, tree in zip(names, asked, strict=True)))
    )
    own = [column_tree(name) for name in names]
    lefts = _by_pattern(wanted, own[: len(firm)], own[len(firm) :], f"{prefix}a")
    given = [value for _, value, _ in firm], [value for _, value in nullable]
    rights = _by_pattern(right, *given, f"{prefix}b", answers=True)
    tied: list[Key] = [
        (column_tree(f"{prefix}ak{index}"), column_tree(f"{prefix}bk{index}"), safe)
        for index, (_, _, safe) in enumerate(firm)
    ]
    tied += [(column_tree(f"{prefix}a{part}"), column_tree(f"{prefix}b{part}"), False) for part in ("l", "r")]
    tied += [
        (column_tree(f"{prefix}av{index}"), column_tree(f"{prefix}bv{index}"), True) for index in range(len(nullable))
    ]
    met = join(lefts, Distinct(rights), JoinKind.INNER, tied)
    return _looked_up(plan, Distinct(_chosen(met, names)), list(zip(asked, names, strict=True)), prefix)


def _by_pattern(
    plan: Plan, firm: Sequence[exp.Expression], open_: Sequence[exp.Expression], name: str, *, answers: bool = False
) -> Plan:
    """Each row once for each pattern of the other side, with the values that are compared under both patterns.

    A pattern has a bit for each column, 1 where it is not NULL; `l` is the asking row's, `r` the answer's.
    """
    fields = fields_of(plan)
    last = exp.Literal.number(2 ** len(open_) - 1)
    patterns = call("explode", call("sequence", exp.Literal.number(0), last))
    other = f"{name}{'l' if answers else 'r'}"
    wide = Generate(plan, scalar_of(patterns, fields), (Field(other, "int", nullable=False),))
    fields = fields_of(wide)
    bits = [
        call("if", call("isnull", tree.copy()), exp.Literal.number(0), exp.Literal.number(2**index))
        for index, tree in enumerate(open_)
    ]
    pattern: exp.Expression = bits[0]
    for bit in bits[1:]:
        pattern = exp.Add(this=pattern, expression=bit)
    items: list[tuple[str, exp.Expression]] = [(item, column_tree(item)) for item in (() if answers else plan.names)]
    items += [(other, column_tree(other)), (f"{name}{'r' if answers else 'l'}", pattern)]
    items += [(f"{name}k{index}", tree) for index, tree in enumerate(firm)]
    for index, tree in enumerate(open_):
        both = exp.BitwiseAnd(this=column_tree(other), expression=exp.Literal.number(2**index))
        shown = exp.GT(this=exp.Paren(this=both), expression=exp.Literal.number(0))
        items.append((f"{name}v{index}", call("if", shown, tree.copy(), exp.Null())))
    return Project(wide, tuple((item, scalar_of(tree, fields)) for item, tree in items))


def _chosen(plan: Plan, names: list[str]) -> Project:
    fields = fields_of(plan)
    return Project(plan, tuple((name, scalar_of(column_tree(name), fields)) for name in names))


def _looked_up(plan: Plan, found: Plan, asked: list[tuple[exp.Expression, str]], prefix: str) -> Value:
    """The condition that the row's values are among those found."""
    mark = f"{prefix}maybe"
    items = tuple((name, column_tree(name)) for _, name in asked)
    fields = fields_of(found)
    marks = Project(
        found,
        (*((name, scalar_of(tree, fields)) for name, tree in items), (mark, scalar_of(exp.Boolean(this=True), {}))),
    )
    keys: list[Key] = [(tree, column_tree(name), True) for tree, name in asked]
    return join(plan, marks, JoinKind.LEFT, keys), call("isnotnull", column_tree(mark))
