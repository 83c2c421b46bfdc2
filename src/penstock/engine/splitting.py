"""An aggregation whose arguments or keys are not proven, as one over a projection that computes these.

    Aggregate by t.k: m = max(xxhash64(t.s))      on Spark, with all that it remembers

    Aggregate by t.k: m = max(value1)             in the process
      Project t.k, value1 = xxhash64(t.s)         on Spark, which keeps nothing for it

Only the change of a step goes through Spark then. It is done where all of the aggregation is proven afterwards, and
no row is computed that a FILTER would have kept from being so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from penstock.backends.native.aggregates import Calls, Types, aggregated
from penstock.backends.native.dialect import types_of
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.scalars import proven
from penstock.catalog.functions import ORDER_SENSITIVE
from penstock.plan.forms import swapped
from penstock.plan.nodes import Aggregate, AggregateCall, Plan, Project
from penstock.plan.scalar import Scalar, column, scalar_of


def split(plan: Plan, complete: Callable[[Plan], Plan]) -> Plan:
    """The plan, whose aggregation is above a projection if that has all of it proven; `complete` fills in types."""
    if not isinstance(plan, Aggregate):
        return plan
    types = types_of(complete(plan.input))
    if _is_proven(plan, types):
        return plan
    lifted = _Lifted(types)
    groups = tuple((name, lifted.over(scalar)) for name, scalar in plan.groups)
    calls = tuple((name, lifted.call(call)) for name, call in plan.aggregates)
    found = replace(plan, input=lifted.projection(plan), groups=groups, aggregates=calls)
    return found if lifted.names and _is_proven(found, types_of(complete(found.input))) else plan


def _is_proven(plan: Aggregate, types: Types) -> bool:
    keys = all(_is_known(lambda: proven(scalar.form, types)) for _, scalar in plan.groups)  # noqa: B023 - called here
    return keys and all(
        _is_known(lambda: aggregated(call.call.form, types, proven, Calls()))  # noqa: B023 - called here
        for _, call in plan.aggregates
    )


def _is_known(work: Callable[[], object]) -> bool:
    try:
        work()
    except NotProvenError:
        return False
    return True


@dataclass
class _Lifted:
    """The expressions that a projection is to compute, each under a name of its own."""

    types: Types
    names: dict[Scalar, str] = field(default_factory=dict)

    def over(self, scalar: Scalar) -> Scalar:
        """The expression, or the column that the projection has for it."""
        if not self._is_lifted(scalar):
            return scalar
        if scalar not in self.names:
            taken = {name.lower() for name in self.types}
            number = len(self.names) + 1
            while f"value{number}" in taken:
                number += 1
            self.names[scalar] = f"value{number}"
            self.types = {**self.types, self.names[scalar]: scalar.type}
        return column(self.names[scalar], scalar.type, scalar.nullable, scalar.span)

    def _is_lifted(self, scalar: Scalar) -> bool:
        if scalar.column is not None or scalar.is_constant or scalar.reads_clock or scalar.type is None:
            return False
        return _is_known(lambda: storage(scalar.type or "")) and not _is_known(lambda: proven(scalar.form, self.types))

    def call(self, call: AggregateCall) -> AggregateCall:
        """The call over columns of the projection; under a FILTER its arguments stay, for they may raise."""
        condition = None if call.filter is None else self.over(call.filter)
        arguments = call.arguments if call.filter is not None else tuple(map(self.over, call.arguments))
        given = [*call.arguments, *([] if call.filter is None else [call.filter])]
        made = [*arguments, *([] if condition is None else [condition])]
        changed = {old.form: new.form for old, new in zip(given, made, strict=True) if new is not old}
        if not changed:
            return call
        form = swapped(call.call.form, changed.get)
        whole = scalar_of(form, call.call.type, call.call.nullable, call.call.span)
        return replace(call, arguments=arguments, filter=condition, call=whole)

    def projection(self, plan: Aggregate) -> Project:
        """The projection below: the input's columns as far as they are read, and the expressions."""
        whole = any(call.function in ORDER_SENSITIVE for _, call in plan.aggregates)  # the whole row has an order
        left = [self.over(scalar) for _, scalar in plan.groups] + [self.call(call).call for _, call in plan.aggregates]
        read = frozenset().union(*(scalar.columns for scalar in left))
        kept = [item for item in plan.input.fields if whole or item.name in read]
        items = [(item.name, column(item.name, item.type, item.nullable)) for item in kept]
        return Project(plan.input, (*items, *((name, scalar) for scalar, name in self.names.items())))
