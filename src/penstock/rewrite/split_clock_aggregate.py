"""An aggregate whose condition reads the clock is one over the rows that pass it.

    Aggregate by k: n = count(CASE WHEN at > now() THEN 1 END), m = max(x)

    Project k, n = coalesce(n', 0), m
      Join left on k <=> k'
        Aggregate by k: m = max(x)
        Aggregate by k' : n' = count(1)
          Filter at > now()

The filter keeps only rows that the clock can still reach, and a group changes only with a row that comes or goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from penstock.plan.expressions import bare, boolean, reads_clock, tree_reads_clock
from penstock.plan.nodes import INNER, LEFT, Aggregate, AggregateCall, Filter, Join, JoinKey, Plan, Project
from penstock.plan.scalar import Scalar, column, column_tree, render_scalar

_FUNCTIONS = frozenset({"count", "sum", "avg", "mean", "min", "max", "count_if"})
_BRANCHES = (2, 3)  # arguments of IF


@dataclass
class _Part:
    """The calls over the rows that pass one condition; `zeros` are those that say 0 where there are none."""

    condition: Scalar
    calls: list[tuple[str, AggregateCall]] = field(default_factory=list)
    zeros: set[str] = field(default_factory=set)


def split_clock_aggregate(plan: Plan) -> Plan | None:
    """One aggregate for each condition, joined by the groups; None where some call reads the clock otherwise."""
    match plan:
        case Aggregate() if any(reads_clock(call.call) for _, call in plan.aggregates):
            pass
        case _:
            return None
    if any(reads_clock(scalar) for _, scalar in plan.groups):
        return None
    timeless, parts = [], dict[str, _Part]()
    for name, call in plan.aggregates:
        if not reads_clock(call.call):
            timeless.append((name, call))
            continue
        found = _conditional(call, grouped=bool(plan.groups))
        if found is None:
            return None
        condition, inner, zero = found
        part = parts.setdefault(condition.text, _Part(condition))
        part.calls.append((name, inner))
        part.zeros |= {name} if zero else set()
    return _joined(plan, timeless, list(parts.values()))


def _joined(plan: Aggregate, timeless: list[tuple[str, AggregateCall]], parts: list[_Part]) -> Plan:
    everything = AggregateCall("count", (), _scalar(exp.Anonymous(this="count", expressions=[exp.Literal.number(1)])))
    together: Plan = Aggregate(plan.input, plan.groups, tuple(timeless) or (("__rows", everything),))
    values = {item.name: column(item.name, item.type, item.nullable) for item in together.fields}
    for number, part in enumerate(parts):
        prefix = f"__c{number}."
        passing = Aggregate(Filter(plan.input, part.condition), plan.groups, tuple(part.calls))
        named = tuple((prefix + item.name, column(item.name, item.type, item.nullable)) for item in passing.fields)
        keys = tuple(
            JoinKey(column(name, scalar.type), column(prefix + name, scalar.type), null_safe=True)
            for name, scalar in plan.groups
        )
        together = Join(together, Project(passing, named), LEFT if keys else INNER, keys)
        values |= {name: _value(prefix + name, call, zero=name in part.zeros) for name, call in part.calls}
    items = ((item.name, values[item.name]) for item in plan.fields)
    return Project(together, tuple(items))


def _value(name: str, call: AggregateCall, *, zero: bool) -> Scalar:
    if not zero:
        return column(name, call.call.type)
    tree = exp.Anonymous(this="coalesce", expressions=[column_tree(name), exp.Literal.number(0)])
    return Scalar(render_scalar(tree), tree, call.call.type, call.call.nullable, call.call.span)


def _conditional(call: AggregateCall, *, grouped: bool) -> tuple[Scalar, AggregateCall, bool] | None:
    """The condition, the call over the rows that pass it, and whether it says 0 over none."""
    tree = bare(call.call.tree)
    if call.function not in _FUNCTIONS:
        return None
    counts = call.function in ("count", "count_if")
    if isinstance(tree, exp.Filter):
        inner, condition = tree.this, tree.expression.this
        arguments, zero = inner.expressions, counts
    elif isinstance(tree, exp.Anonymous) and len(tree.expressions) == 1:
        found = _branch(call.function, bare(tree.expressions[0]), grouped=grouped)
        if found is None:
            return None
        condition, value, zeroed = found
        arguments, zero = [value], counts or zeroed
        inner = exp.Anonymous(this="count" if counts else call.function, expressions=[value.copy()])
    else:
        return None
    if any(tree_reads_clock(item) for item in arguments):
        return None
    function = "count" if counts and not isinstance(tree, exp.Filter) else call.function
    distinct = isinstance(tree, exp.Filter) and call.distinct
    scalars = call.arguments if distinct else tuple(_scalar(item) for item in arguments)
    made = Scalar(render_scalar(inner), inner.copy(), call.call.type, call.call.nullable, call.call.span)
    return boolean(condition.copy(), call.call.span), AggregateCall(function, scalars, made, distinct=distinct), zero


def _branch(
    function: str, tree: exp.Expression, *, grouped: bool
) -> tuple[exp.Expression, exp.Expression, bool] | None:
    """Condition and value of `CASE WHEN … THEN … END`; whether another row counts as 0, as it does in a SUM of it."""
    if function == "count_if":
        return tree, exp.Literal.number(1), True
    if isinstance(tree, exp.Case) and len(tree.args["ifs"]) == 1 and tree.this is None:
        condition, value = tree.args["ifs"][0].this, tree.args["ifs"][0].args["true"]
        otherwise = tree.args.get("default")
    elif isinstance(tree, exp.Anonymous) and str(tree.this).lower() == "if" and len(tree.expressions) in _BRANCHES:
        condition, value = tree.expressions[:2]
        otherwise = tree.expressions[2] if len(tree.expressions) > len(_BRANCHES) else None
    else:
        return None
    if otherwise is None or isinstance(bare(otherwise), exp.Null):
        return condition, value, False
    ones = _is_number(bare(value)) and bare(otherwise) == exp.Literal.number(0)
    return (condition, value, True) if function == "sum" and grouped and ones else None


def _is_number(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Literal) and tree.name.isdigit()


def _scalar(tree: exp.Expression) -> Scalar:
    return Scalar(render_scalar(tree), tree.copy())
