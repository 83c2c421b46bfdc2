"""Comparisons with ANY or ALL of a query: `x > ALL (SELECT …)`.

ANY is TRUE if the comparison holds for one answer, ALL is FALSE if it fails for one; what a NULL leaves open is NULL.
The least and the greatest answer decide for all of them where values are ordered as they are compared; `= ANY` is IN,
`<> ALL` its negation. For every other comparison each row meets each answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.bind.level import Subquery
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.subqueries.lookups import Answers, Key, aggregate_call, count_rows, groups_of, join, keyed, on_keys
from penstock.bind.subqueries.membership import OPEN, Value, in_value
from penstock.catalog.types import Type, is_numeric
from penstock.plan.nodes import Aggregate, Distinct, JoinKind, Plan, Project
from penstock.plan.scalar import column_tree
from penstock.sql.complaints import unsupported
from penstock.sql.trees import call

Subject = tuple[Subquery, list[exp.Expression], list[str]]
_ORDERED = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_DATES = ("date", "timestamp", "timestamp_ntz")


def quantified_value(plan: Plan, answers: Answers, subject: Subject) -> Value:
    """The plan with what decides the comparison, and the expression that says how."""
    found, needles, names = subject
    compared = found.compared
    if not isinstance(compared, exp.Binary):
        raise TypeError(compared)
    any_of = isinstance(compared.expression, exp.Any)
    pairs = list(zip(needles, map(column_tree, names), strict=True))
    if isinstance(compared, exp.EQ if any_of else exp.NEQ):
        plan, value = in_value(plan, answers, pairs, OPEN)
        return plan, value if any_of else exp.Not(this=exp.Paren(this=value))
    if len(pairs) > 1:
        hint = "compare one column, or write EXISTS with the condition"
        raise unsupported(
            code="QUANTIFIED_ROW", message="several columns compared with ANY or ALL", place=compared, hint=hint
        )
    ordered = isinstance(compared, (*_ORDERED, exp.NEQ, exp.EQ))
    kinds = scalar_of(needles[0], fields_of(plan)).type, answers.plan.field(names[0]).type
    decide = _by_ends if ordered and _ordered_alike(*kinds) else _one_by_one
    return decide(plan, answers, (compared, needles[0], pairs[0][1]))


def _ordered_alike(left: Type | None, right: Type | None) -> bool:
    """True if the answers' own order is the one in which they are compared with the other type."""
    if left is None or right is None:
        return False
    return left == right or (is_numeric(left) and is_numeric(right)) or (left in _DATES and right in _DATES)


Parts = tuple[exp.Binary, exp.Expression, exp.Column]


def _by_ends(plan: Plan, given: Answers, parts: Parts) -> Value:
    """One row for each key: the least and the greatest answer, how many there are, and how many are not NULL."""
    right, keys, prefix = given.plan, given.keys, given.prefix
    compared, needle, value = parts
    calls = (
        ("lo", aggregate_call("min", value, right)),
        ("hi", aggregate_call("max", value, right)),
        ("n", count_rows(right)),
        ("m", aggregate_call("count", value, right)),
    )
    ends = Aggregate(right, groups_of(right, keys), tuple((f"{prefix}{name}", item) for name, item in calls))
    low, high, rows, filled = (column_tree(f"{prefix}{name}") for name, _ in calls)
    one, other = (exp.Paren(this=type(compared)(this=needle.copy(), expression=end)) for end in (low, high))
    any_of = isinstance(compared.expression, exp.Any)
    decided: exp.Expression = exp.Or(this=one, expression=other)
    if not any_of:
        decided = exp.Not(this=exp.Paren(this=exp.And(this=one, expression=other)))
    unknown = exp.Or(this=exp.LT(this=filled, expression=rows), expression=call("isnull", needle.copy()))
    nothing = exp.EQ(this=call("coalesce", rows.copy(), exp.Literal.number(0)), expression=exp.Literal.number(0))
    answers = [(nothing, exp.Boolean(this=not any_of)), (decided, exp.Boolean(this=any_of)), (unknown, exp.Null())]
    return on_keys(plan, ends, keys), _case(answers, any_of=any_of)


def _one_by_one(plan: Plan, given: Answers, parts: Parts) -> Value:
    """For each different row that asks: for how many answers the comparison decides, and for how many it is NULL."""
    right, keys, prefix = given.plan, given.keys, given.prefix
    compared, needle, value = parts
    names = [f"{prefix}l{index}" for index in range(len(keys) + 1)]
    asked = [*(item for item, _, _ in keys), needle]
    fields = fields_of(plan)
    lefts = tuple((name, scalar_of(tree, fields)) for name, tree in zip(names, asked, strict=True))
    answer = (f"{prefix}answer", scalar_of(value, fields_of(right)))
    tied = [(column_tree(name), tree, safe) for name, (_, tree, safe) in zip(names, keys, strict=False)]
    met = join(Distinct(Project(plan, lefts)), keyed(right, keys, answer), JoinKind.INNER, tied)
    holds = exp.Paren(this=type(compared)(this=column_tree(names[-1]), expression=column_tree(answer[0])))
    any_of = isinstance(compared.expression, exp.Any)
    decides = holds if any_of else exp.Not(this=holds)
    columns = [column_tree(name) for name in names]
    over = fields_of(met)
    counted = Aggregate(
        met,
        tuple((name, scalar_of(tree, over)) for name, tree in zip(names, columns, strict=True)),
        (
            (f"{prefix}yes", aggregate_call("count_if", decides, met)),
            (f"{prefix}open", aggregate_call("count_if", call("isnull", holds.copy()), met)),
        ),
    )
    tying: list[Key] = [(tree, name, True) for tree, name in zip(asked, columns, strict=True)]
    zero = exp.Literal.number(0)
    yes, left_open = (exp.GT(this=column_tree(f"{prefix}{name}"), expression=zero.copy()) for name in ("yes", "open"))
    answers: list[tuple[exp.Expression, exp.Expression]] = [(yes, exp.Boolean(this=any_of)), (left_open, exp.Null())]
    return join(plan, counted, JoinKind.LEFT, tying), _case(answers, any_of=any_of)


def _case(answers: Sequence[tuple[exp.Expression, exp.Expression]], *, any_of: bool) -> exp.Case:
    """The first answer whose condition holds; else no row has decided."""
    ifs = [exp.If(this=condition, true=answer) for condition, answer in answers]
    return exp.Case(ifs=ifs, default=exp.Boolean(this=not any_of))
