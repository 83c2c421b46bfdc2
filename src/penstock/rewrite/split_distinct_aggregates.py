"""Aggregates over DISTINCT values are plain ones over the rows that a DISTINCT has left.

Aggregate by g: count(distinct x), sum(y)      Aggregate by g: count(x) where __part = 1, sum(y) where __part = 0
  a                                              UnionAll
                                          →        Project g, y, NULL, 0
                                                     a
                                                   Project g, NULL, x, __part
                                                     Distinct
                                                       Project g, x, 1
                                                         a

So a step costs what has changed; with the values in the aggregate itself it would cost all rows of the groups. With
one DISTINCT and nothing beside it there is no union. Values of the same types go through one DISTINCT, below which a
UnionAll brings them together: eight counts of two columns, each under four filters, are one operator and not eight.
Types that only Spark knows cannot be padded with NULL; then the aggregate stays as it is. So it does where it groups by
a MAP, which GROUP BY takes and DISTINCT does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.forms import NULL, Aggregated, Branch, Call, Case, Cast, Constant, Form, Reference
from penstock.plan.nodes import Aggregate, AggregateCall, Distinct, Field, Filter, Plan, Project, UnionAll
from penstock.plan.scalar import Scalar, column, scalar_of

_SETS = frozenset(["count", "sum", "avg", "mean"])
_BESIDE = frozenset(["count", "count_if", "sum", "avg", "mean", "min", "max"])
_PART = "__part"


@dataclass(frozen=True)
class _Part:
    """The rows for calls over the same values; `number` tells them from those of other parts."""

    number: int
    values: tuple[Scalar, ...]
    filter: Scalar | None = None


def split_distinct_aggregates(plan: Plan) -> Plan | None:
    """Two levels in place of one."""
    match plan:
        case Aggregate(aggregates=calls) if any(_is_set(call) for _, call in calls):
            return _split(plan)
        case _:
            return None


def _is_set(call: AggregateCall) -> bool:
    return call.distinct and call.function in _SETS


def _split(plan: Aggregate) -> Plan | None:
    plain = [item for item in plan.aggregates if not _is_set(item[1])]
    if any(call.function not in _BESIDE or not call.arguments for _, call in plain):
        return None
    if any(scalar.type is not None and "map<" in scalar.type.lower() for _, scalar in plan.groups):
        return None
    if not plain and len({_values(call) for _, call in plan.aggregates}) == 1:
        return _over_one(plan, plan.aggregates)
    return _over_all(plan)


def _values(call: AggregateCall) -> tuple[str, ...]:
    return tuple(item.text for item in _arguments(call))


def _arguments(call: AggregateCall) -> tuple[Scalar, ...]:
    """The values that are counted: with a FILTER, NULL where it does not hold, which no such aggregate sees."""
    if call.filter is None or not call.distinct:
        return call.arguments
    first, *others = call.arguments
    return (_where(call.filter, first), *others)


def _where(condition: Scalar, value: Scalar) -> Scalar:
    """The value where the condition holds, else NULL."""
    return scalar_of(Case(None, (Branch(condition.form, value.form),)), value.type)


def _over_one(plan: Aggregate, calls: tuple[tuple[str, AggregateCall], ...]) -> Plan:
    values = tuple((f"__v{place}", item) for place, item in enumerate(_arguments(calls[0][1])))
    rows = Distinct(Project(plan.input, (*_groups(plan), *values)))
    aggregates = tuple((name, _plain(call, [name for name, _ in values], None)) for name, call in calls)
    return Aggregate(rows, _group_columns(plan), aggregates)


def _over_all(plan: Aggregate) -> Plan | None:
    beside: dict[str, Scalar] = {}
    parts: dict[tuple[str, ...], _Part] = {}
    columns: dict[tuple[str | None, ...], tuple[str, ...]] = {}
    made: list[tuple[str, AggregateCall]] = []
    rest = any(not _is_set(call) for _, call in plan.aggregates)
    for name, call in plan.aggregates:
        if not _is_set(call):
            texts = [item.text for item in _read(call)]
            beside |= {item.text: item for item in _read(call) if item.text not in beside}
            made.append((name, _plain(call, [f"__v{list(beside).index(text)}" for text in texts], 0)))
            continue
        part = parts.setdefault(_values(call), _part(call, len(parts) + 1, all_rows=rest))
        kinds = tuple(item.type for item in part.values)
        names = columns.setdefault(kinds, tuple(f"__d{len(columns)}_{place}" for place in range(len(kinds))))
        made.append((name, _plain(call, list(names), part.number)))
    named = {f"__v{place}": item for place, item in enumerate(beside.values())}
    padded = {name: item.type for name, item in named.items()}
    padded |= {name: kind for kinds, names in columns.items() for name, kind in zip(names, kinds, strict=True)}
    if any(kind is None for kind in padded.values()):
        return None
    groups = _groups(plan)
    branches = [_branch(Project(plan.input, (*groups, *named.items())), groups, padded, _number(0))] if rest else []
    for kinds, names in columns.items():
        alike = [part for part in parts.values() if tuple(item.type for item in part.values) == kinds]
        rows = Distinct(_together([_tagged(plan.input, part, groups, names) for part in alike]))
        branches.append(_branch(rows, groups, padded, column(_PART, "int", nullable=False)))
    return Aggregate(_together(branches), _group_columns(plan), tuple(made))


def _part(call: AggregateCall, number: int, *, all_rows: bool) -> _Part:
    """The rows of a call over DISTINCT values; without `all_rows` of another part, a group needs one of its own."""
    return _Part(number, call.arguments, call.filter) if all_rows else _Part(number, _arguments(call))


def _tagged(rows: Plan, part: _Part, groups: tuple[tuple[str, Scalar], ...], names: tuple[str, ...]) -> Plan:
    chosen = rows if part.filter is None else Filter(rows, part.filter)
    return Project(chosen, (*groups, *zip(names, part.values, strict=True), (_PART, _number(part.number))))


def _together(branches: list[Plan]) -> Plan:
    if len(branches) == 1:
        return branches[0]
    return UnionAll(tuple(branches), tuple(Field(item.name, item.type) for item in branches[0].fields))


def _number(part: int) -> Scalar:
    return scalar_of(Constant(str(part), "int"), "int", nullable=False)


def _read(call: AggregateCall) -> tuple[Scalar, ...]:
    """The values of a call beside the distinct ones; its FILTER's is one more."""
    constant = call.function == "count" and all(item.text in ("*", "1") for item in call.arguments)
    arguments = () if constant else call.arguments
    if call.filter is None:
        return arguments
    # A row that the FILTER leaves out may have arguments that cannot be evaluated.
    return (*(_where(call.filter, item) for item in arguments), _boolean(call.filter))


def _boolean(scalar: Scalar) -> Scalar:
    return Scalar(scalar.text, scalar.tree, "boolean", scalar.nullable, scalar.span)


def _plain(call: AggregateCall, names: list[str], part: int | None) -> AggregateCall:
    """The call over columns that hold its values; with a part, over that part's rows alone."""
    filtered = call.filter is not None and not _is_set(call)
    columns = names[:-1] if filtered else names
    arguments: tuple[Form, ...] = tuple(Reference(name) for name in columns) or (Constant("1", "int"),)
    conditions: list[Form] = [] if part is None else [Call("=", (Reference(_PART), Constant(str(part), "int")))]
    if filtered:
        conditions.append(Reference(names[-1]))
    where = conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions)) if conditions else None
    plain = Call(call.function, arguments)
    form = plain if where is None else Aggregated(plain, condition=where)
    kinds = [item.type for item in call.arguments] if columns else ["int"]
    return AggregateCall(
        call.function,
        tuple(scalar_of(item, kind) for item, kind in zip(arguments, kinds, strict=True)),
        scalar_of(form, call.call.type, call.call.nullable, call.call.span),
        filter=None if where is None else scalar_of(where, "boolean"),
    )


def _groups(plan: Aggregate) -> tuple[tuple[str, Scalar], ...]:
    return tuple((f"__k{place}", scalar) for place, (_, scalar) in enumerate(plan.groups))


def _group_columns(plan: Aggregate) -> tuple[tuple[str, Scalar], ...]:
    return tuple(
        (name, column(f"__k{place}", scalar.type, scalar.nullable, scalar.span))
        for place, (name, scalar) in enumerate(plan.groups)
    )


def _branch(rows: Plan, groups: tuple[tuple[str, Scalar], ...], padded: dict[str, str | None], part: Scalar) -> Plan:
    items = [(name, column(name, item.type, item.nullable)) for name, item in groups]
    items += [(name, column(name, kind) if name in rows.names else _null(kind)) for name, kind in padded.items()]
    return Project(rows, (*items, (_PART, part)))


def _null(kind: str | None) -> Scalar:
    return scalar_of(NULL if kind is None else Cast(NULL, kind), kind)
