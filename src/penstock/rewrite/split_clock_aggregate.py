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

from penstock.plan.forms import NULL, Aggregated, Branch, Call, Case, Constant, Form, Reference, reads_clock
from penstock.plan.nodes import Aggregate, AggregateCall, Filter, Join, JoinKey, JoinKind, Plan, Project
from penstock.plan.scalar import Scalar, column, scalar_of

_FUNCTIONS = frozenset({"count", "sum", "avg", "mean", "min", "max", "count_if"})
_ZERO = Constant("0", "int")


@dataclass
class _Part:
    """The calls over the rows that pass one condition; `zeros` are those that say 0 where there are none."""

    condition: Scalar
    calls: list[tuple[str, AggregateCall]] = field(default_factory=list)
    zeros: set[str] = field(default_factory=set)


def split_clock_aggregate(plan: Plan) -> Plan | None:
    """One aggregate for each condition, joined by the groups; None where some call reads the clock otherwise."""
    match plan:
        case Aggregate() if any(call.call.reads_clock for _, call in plan.aggregates):
            pass
        case _:
            return None
    if any(scalar.reads_clock for _, scalar in plan.groups):
        return None
    timeless, parts = [], dict[str, _Part]()
    for name, call in plan.aggregates:
        if not call.call.reads_clock:
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
    everything = AggregateCall("count", (), scalar_of(Call("count", (Constant("1", "int"),))))
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
        together = Join(together, Project(passing, named), JoinKind.LEFT if keys else JoinKind.INNER, keys)
        values |= {name: _value(prefix + name, call, zero=name in part.zeros) for name, call in part.calls}
    items = ((item.name, values[item.name]) for item in plan.fields)
    return Project(together, tuple(items))


def _value(name: str, call: AggregateCall, *, zero: bool) -> Scalar:
    if not zero:
        return column(name, call.call.type)
    value = Call("coalesce", (Reference(name), _ZERO))
    return scalar_of(value, call.call.type, call.call.nullable, call.call.span)


def _conditional(call: AggregateCall, *, grouped: bool) -> tuple[Scalar, AggregateCall, bool] | None:
    """The condition, the call over the rows that pass it, and whether it says 0 over none."""
    if call.function not in _FUNCTIONS:
        return None
    counts = call.function in ("count", "count_if")
    match call.call.form:
        case Aggregated(inner, distinct=distinct, condition=Form() as condition, within=(), nulls=""):
            plain: Form = Aggregated(inner, distinct=True) if distinct else inner
            arguments, zero = inner.arguments, counts
            function, scalars = call.function, call.arguments if distinct else None
        case Call(_, (argument,)):
            found = _branch(call.function, argument, grouped=grouped)
            if found is None:
                return None
            condition, value, zeroed = found
            arguments, zero, distinct, scalars = (value,), counts or zeroed, False, None
            function = "count" if counts else call.function
            plain = Call(function, arguments)
        case _:
            return None
    if any(reads_clock(item) for item in arguments):
        return None
    made = scalar_of(plain, call.call.type, call.call.nullable, call.call.span)
    over = tuple(scalar_of(item) for item in arguments) if scalars is None else scalars
    passing = scalar_of(condition, "boolean", span=call.call.span)
    return passing, AggregateCall(function, over, made, distinct=distinct), zero


def _branch(function: str, form: Form, *, grouped: bool) -> tuple[Form, Form, bool] | None:
    """Condition and value of `CASE WHEN … THEN … END`; whether another row counts as 0, as it does in a SUM of it."""
    otherwise: Form | None
    match form:
        case _ if function == "count_if":
            return form, Constant("1", "int"), True
        case Case(None, (Branch(condition, value),), otherwise):
            pass
        case Call("if", (condition, value)):
            otherwise = None
        case Call("if", (condition, value, otherwise)):
            pass
        case _:
            return None
    if otherwise is None or otherwise == NULL:
        return condition, value, False
    ones = isinstance(value, Constant) and value.value.isdigit() and otherwise == _ZERO
    return (condition, value, True) if function == "sum" and grouped and ones else None
