"""Operators with state over projections that compute what is not proven of what they read.

    Aggregate by t.k: m = max(xxhash64(t.s))      on Spark, with all that it remembers

    Aggregate by t.k: m = max(value1)             in the process
      Project t.k, value1 = xxhash64(t.s)         on Spark, which keeps nothing for it

Only the change of a step goes through Spark then. It is done with keys, arguments and orders of aggregations, joins,
Top-Ks, windows and sessions, where all of the operator is proven afterwards. What the keys of an inner join leave of
its condition becomes a filter above it. No row is computed that a FILTER, or a key of a join, would have kept from
being so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, assert_never, cast

from penstock.backends.native.aggregates import Calls, Types, aggregated
from penstock.backends.native.dialect import types_of
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.proof import is_proven
from penstock.backends.native.scalars import proven
from penstock.backends.native.windows import windowed
from penstock.catalog.functions import ORDER_SENSITIVE
from penstock.plan.expressions import plan_reads_clock
from penstock.plan.forms import Aggregated, Form, Over, swapped
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKey,
    JoinKind,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column, scalar_of
from penstock.types.infer import infer

Complete = Callable[[Plan], Plan]


def split(plan: Plan, complete: Complete) -> Plan:
    """The plan, whose operator is above a projection if that has all of it proven; `complete` fills in types."""
    if plan_reads_clock(plan):
        return plan
    node = cast("Node", plan)
    match node:
        case Aggregate():
            return _aggregation(node, complete)
        case Join() | AsofJoin():
            return _join(node, complete)
        case TopK() | Window() | Session():
            return _over_columns(node, complete)
        case Scan() | Values() | Project() | Filter() | UnionAll() | Generate() | Distinct() | SetOperation():
            return node
        case MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return node
        case _:
            assert_never(node)


# Aggregations


def _aggregation(plan: Aggregate, complete: Complete) -> Plan:
    types = types_of(complete(plan.input))
    if _aggregates(plan, types):
        return plan
    lifted = _Lifted(types)
    groups = tuple((name, lifted.over(scalar)) for name, scalar in plan.groups)
    calls = tuple((name, _call(call, lifted)) for name, call in plan.aggregates)
    whole = any(call.function in ORDER_SENSITIVE for _, call in plan.aggregates)  # the whole row has an order
    left = [scalar for _, scalar in groups] + [call.call for _, call in calls]
    read = frozenset().union(*(scalar.columns for scalar in left))
    below = lifted.projection(plan.input, [item for item in plan.input.fields if whole or item.name in read])
    found = replace(plan, input=below, groups=groups, aggregates=calls)
    return found if lifted.names and _aggregates(found, types_of(complete(below))) else plan


def _aggregates(plan: Aggregate, types: Types) -> bool:
    return _all_proven((scalar for _, scalar in plan.groups), types) and all(
        is_proven(lambda: aggregated(call.call.form, types, proven, Calls()))  # noqa: B023 - called here
        for _, call in plan.aggregates
    )


def _call(call: AggregateCall, lifted: _Lifted) -> AggregateCall:
    """The call over columns of the projection; under a FILTER its arguments stay, for they may raise."""
    condition = None if call.filter is None else lifted.over(call.filter)
    arguments = call.arguments if call.filter is not None else tuple(map(lifted.over, call.arguments))
    given = [*call.arguments, *([] if call.filter is None else [call.filter])]
    made = [*arguments, *([] if condition is None else [condition])]
    changed = {old.form: new.form for old, new in zip(given, made, strict=True) if new is not old}
    if not changed:
        return call
    return replace(call, arguments=arguments, filter=condition, call=_rewritten(call.call, changed))


# Joins


def _join(plan: Join | AsofJoin, complete: Complete) -> Plan:
    """The join over columns, of which each side computes its own, without what the answer has not."""
    types = {**types_of(complete(plan.left)), **types_of(complete(plan.right))}
    left, right = _Lifted(types), _Lifted(types)
    keys = tuple(JoinKey(left.over(key.left), right.over(key.right, left), key.null_safe) for key in plan.keys)
    above = None if isinstance(plan, AsofJoin) else _filter_above(plan, types)
    if isinstance(plan, AsofJoin):
        match = replace(plan.match, left=left.over(plan.match.left), right=right.over(plan.match.right, left))
        changed: dict[str, Any] = {"match": match}
    else:
        changed = {"residual": plan.residual if above is None else None}
    if not (left.names or right.names or above is not None):
        return plan
    found = replace(plan, left=left.whole(plan.left), right=right.whole(plan.right), keys=keys, **changed)
    if not _joins(found, {**types, **left.types, **right.types}):
        return plan
    return _without_more(plan, found if above is None else Filter(found, above))


def _filter_above(plan: Join, types: Types) -> Scalar | None:
    """The rest of the condition, where it is not proven and a filter of what the keys have found says the same."""
    if plan.kind != JoinKind.INNER or not plan.keys or plan.residual is None:
        return None
    return None if _all_proven([plan.residual], types) else plan.residual


def _joins(plan: Join | AsofJoin, types: Types) -> bool:
    sides = [scalar for key in plan.keys for scalar in (key.left, key.right)]
    rest = plan.residual if isinstance(plan, Join) else None
    times = [plan.match.left, plan.match.right] if isinstance(plan, AsofJoin) else []
    return _all_stored(plan, types) and _all_proven([*sides, *times, *([] if rest is None else [rest])], types)


# Top-Ks, windows and sessions


def _over_columns(plan: TopK | Window | Session, complete: Complete) -> Plan:
    types = types_of(complete(plan.input))
    lifted = _Lifted(types)
    match plan:
        case TopK():
            order = tuple(replace(key, value=lifted.over(key.value)) for key in plan.order)
            changed: dict[str, Any] = {"partition": tuple(map(lifted.over, plan.partition)), "order": order}
        case Window():
            calls = tuple((name, _over(call, lifted)) for name, call in plan.calls)
            changed = {"partition": tuple(map(lifted.over, plan.partition)), "calls": calls}
        case Session():
            changed = {"keys": tuple(map(lifted.over, plan.keys)), "time": lifted.over(plan.time)}
    if not lifted.names:
        return plan
    found = replace(plan, input=lifted.whole(plan.input), **changed)
    return _without_more(plan, found) if _is_over_columns(found, lifted.types) else plan


def _is_over_columns(plan: TopK | Window | Session, types: Types) -> bool:
    if not _all_stored(plan, types):
        return False
    match plan:
        case TopK():
            return _all_proven([*plan.partition, *(key.value for key in plan.order)], types)
        case Window():
            return _all_proven(plan.partition, types) and all(
                is_proven(lambda: windowed(call.form, types, proven, (), Calls()))  # noqa: B023 - called here
                for _, call in plan.calls
            )
        case Session():
            return _all_proven([*plan.keys, plan.time], types)


def _over(call: Scalar, lifted: _Lifted) -> Scalar:
    """A window call over columns; under a FILTER its arguments stay, for they may raise."""
    form = call.form
    if not isinstance(form, Over) or form.call is None:
        return call
    filtered = isinstance(form.function, Aggregated) and form.function.condition is not None
    read = [*form.partition, *(item.value for item in form.order), *(() if filtered else form.call.arguments)]
    changed = {item: new for item in read if (new := lifted.of_form(item)) is not item}
    return _rewritten(call, changed) if changed else call


# What is lifted


@dataclass
class _Lifted:
    """The expressions that a projection is to compute, each under a name of its own."""

    types: Types
    names: dict[Scalar, str] = field(default_factory=dict)

    def over(self, scalar: Scalar, beside: _Lifted | None = None) -> Scalar:
        """The expression, or the column that the projection has for it; what is `beside` has its names already."""
        if not self._is_lifted(scalar):
            return scalar
        if scalar not in self.names:
            taken = {name.lower() for name in (*self.types, *(() if beside is None else beside.types))}
            number = next(number for number in count(len(self.names) + 1) if f"value{number}" not in taken)
            self.names[scalar] = f"value{number}"
            self.types = {**self.types, self.names[scalar]: scalar.type}
        return column(self.names[scalar], scalar.type, scalar.nullable, scalar.span)

    def of_form(self, form: Form) -> Form:
        """The same of a part of an expression, whose type follows from those of the input."""
        scalar = scalar_of(form)
        fields = {name: Field(name, kind) for name, kind in self.types.items()}
        kind, nullable = infer(scalar.tree, fields)
        found = replace(scalar, type=kind, nullable=nullable)
        lifted = self.over(found)
        return form if lifted is found else lifted.form

    def _is_lifted(self, scalar: Scalar) -> bool:
        if scalar.column is not None or scalar.is_constant or scalar.reads_clock or scalar.type is None:
            return False
        if "map<" in scalar.type:  # in which a key may stand twice, as the process has none
            return False
        return is_proven(lambda: storage(scalar.type or "")) and not is_proven(lambda: proven(scalar.form, self.types))

    def whole(self, plan: Plan) -> Plan:
        """The plan with the expressions beside its columns."""
        return self.projection(plan, plan.fields) if self.names else plan

    def projection(self, plan: Plan, kept: Iterable[Field]) -> Project:
        """Some columns of the plan, and the expressions."""
        items = [(item.name, column(item.name, item.type, item.nullable)) for item in kept]
        return Project(plan, (*items, *((name, scalar) for scalar, name in self.names.items())))


def _rewritten(call: Scalar, changed: Mapping[Form, Form]) -> Scalar:
    return scalar_of(swapped(call.form, changed.get), call.type, call.nullable, call.span)


def _without_more(plan: Plan, found: Plan) -> Plan:
    """The columns of the plan itself."""
    return Project(found, tuple(zip(plan.names, plan.columns(), strict=True)))


def _all_stored(plan: Plan, types: Types) -> bool:
    """True if the process can hold every row that the operator reads."""
    read = [types.get(item.name) for side in plan.inputs for item in side.fields]
    return all(kind is not None and is_proven(lambda: storage(kind)) for kind in read)  # noqa: B023 - called here


def _all_proven(scalars: Iterable[Scalar], types: Types) -> bool:
    return all(is_proven(lambda: proven(scalar.form, types)) for scalar in scalars)  # noqa: B023 - called here
