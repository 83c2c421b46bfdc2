"""Aggregates over DISTINCT values are plain ones over the rows that a DISTINCT has left.

Aggregate by g: count(distinct x), sum(y)      Aggregate by g: count(x) where __part = 1, sum(y) where __part = 0
  a                                              UnionAll
                                          →        Project g, y, NULL, 0
                                                     a
                                                   Project g, NULL, x, 1
                                                     Distinct
                                                       Project g, x
                                                         a

So a step costs what has changed; with the values in the aggregate itself it would cost all rows of the groups. With
one DISTINCT and nothing beside it there is no union. Types that only Spark knows cannot be padded with NULL; then the
aggregate stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.plan.nodes import Aggregate, AggregateCall, Distinct, Field, Plan, Project, UnionAll
from penstock.plan.scalar import Scalar, column, column_tree, render_scalar

_SETS = frozenset(["count", "sum", "avg", "mean"])
_BESIDE = frozenset(["count", "count_if", "sum", "avg", "mean", "min", "max"])
_PART = "__part"


@dataclass(frozen=True)
class _Part:
    """Rows for some of the calls: distinct ones of `items`, or all rows of the input."""

    input: Plan
    items: tuple[tuple[str, Scalar], ...]
    distinct: bool


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
    parts: dict[tuple[str, ...], list[tuple[str, AggregateCall]]] = {}
    for item in plan.aggregates:
        parts.setdefault(_values(item[1]) if _is_set(item[1]) else (), []).append(item)
    if len(parts) == 1:
        return _over_one(plan, plan.aggregates)
    return _over_all(plan, list(parts.values()))


def _values(call: AggregateCall) -> tuple[str, ...]:
    return tuple(item.text for item in _arguments(call))


def _arguments(call: AggregateCall) -> tuple[Scalar, ...]:
    """What is counted: with a FILTER, NULL where it does not hold, which no such aggregate sees."""
    if call.filter is None or not call.distinct:
        return call.arguments
    first, *others = call.arguments
    tree = exp.Case(ifs=[exp.If(this=call.filter.tree.copy(), true=first.tree.copy())])
    return (Scalar(render_scalar(tree), tree, first.type), *others)


def _over_one(plan: Aggregate, calls: tuple[tuple[str, AggregateCall], ...]) -> Plan:
    values = tuple((f"__v{place}", item) for place, item in enumerate(_arguments(calls[0][1])))
    rows = Distinct(Project(plan.input, (*_groups(plan), *values)))
    aggregates = tuple((name, _plain(call, [name for name, _ in values], None)) for name, call in calls)
    return Aggregate(rows, _group_columns(plan), aggregates)


def _over_all(plan: Aggregate, parts: list[list[tuple[str, AggregateCall]]]) -> Plan | None:
    groups = _groups(plan)
    rows: list[_Part] = []
    made: dict[str, AggregateCall] = {}
    for number, calls in enumerate(parts):
        values: dict[str, tuple[str, Scalar]] = {}
        for name, call in calls:
            names = []
            for item in _arguments(call) if call.distinct else _read(call):
                have = values.setdefault(item.text, (f"__v{number}_{len(values)}", item))
                names.append(have[0])
            made[name] = _plain(call, names, number)
        rows.append(_Part(plan.input, tuple(values.values()), calls[0][1].distinct and _is_set(calls[0][1])))
    padded = [(name, item) for part in rows for name, item in part.items]
    if any(item.type is None for _, item in padded):
        return None
    branches = tuple(_branch(part, groups, padded, number) for number, part in enumerate(rows))
    outputs = tuple(Field(item.name, item.type) for item in branches[0].fields)
    aggregates = tuple((name, made[name]) for name, _ in plan.aggregates)
    return Aggregate(UnionAll(branches, outputs), _group_columns(plan), aggregates)


def _read(call: AggregateCall) -> tuple[Scalar, ...]:
    """The values of a call beside the distinct ones; its FILTER's is one more."""
    constant = call.function == "count" and all(item.text in ("*", "1") for item in call.arguments)
    arguments = () if constant else call.arguments
    return arguments if call.filter is None else (*arguments, _boolean(call.filter))


def _boolean(scalar: Scalar) -> Scalar:
    return Scalar(scalar.text, scalar.tree, "boolean", scalar.nullable, scalar.span)


def _plain(call: AggregateCall, names: list[str], part: int | None) -> AggregateCall:
    """The call over columns that hold its values; with a part, over that part's rows alone."""
    filtered = call.filter is not None and not _is_set(call)
    columns = names[:-1] if filtered else names
    arguments: list[exp.Expression] = [column_tree(name) for name in columns] or [exp.Literal.number(1)]
    tree: exp.Expression = exp.Anonymous(this=call.function, expressions=[*arguments])
    conditions: list[exp.Expression] = [] if part is None else [_is_part(part)]
    if filtered:
        conditions.append(column_tree(names[-1]))
    where: exp.Expression | None = None
    for item in conditions:
        where = item if where is None else exp.And(this=where, expression=item)  # both are columns or comparisons
    if where is not None:
        tree = exp.Filter(this=tree, expression=exp.Where(this=where.copy()))
    kinds = [item.type for item in call.arguments] if columns else ["int"]
    return AggregateCall(
        call.function,
        tuple(Scalar(render_scalar(item), item, kind) for item, kind in zip(arguments, kinds, strict=True)),
        Scalar(render_scalar(tree), tree, call.call.type, call.call.nullable, call.call.span),
        filter=None if where is None else Scalar(render_scalar(where), where, "boolean"),
    )


def _is_part(part: int) -> exp.Expression:
    return exp.EQ(this=column_tree(_PART), expression=exp.Literal.number(part))


def _groups(plan: Aggregate) -> tuple[tuple[str, Scalar], ...]:
    return tuple((f"__k{place}", scalar) for place, (_, scalar) in enumerate(plan.groups))


def _group_columns(plan: Aggregate) -> tuple[tuple[str, Scalar], ...]:
    return tuple(
        (name, column(f"__k{place}", scalar.type, scalar.nullable, scalar.span))
        for place, (name, scalar) in enumerate(plan.groups)
    )


def _branch(part: _Part, groups: tuple[tuple[str, Scalar], ...], padded: list[tuple[str, Scalar]], number: int) -> Plan:
    rows: Plan = Project(part.input, (*groups, *part.items))
    if part.distinct:
        rows = Distinct(rows)
    own = {name for name, _ in part.items}
    items = [(name, column(name, item.type, item.nullable)) for name, item in groups]
    items += [(name, column(name, item.type) if name in own else _null(item)) for name, item in padded]
    tag = exp.Literal.number(number)
    return Project(rows, (*items, (_PART, Scalar(str(number), tag, "int", nullable=False))))


def _null(item: Scalar) -> Scalar:
    tree = exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DType.USERDEFINED, kind=item.type))
    return Scalar(render_scalar(tree), tree, item.type)
