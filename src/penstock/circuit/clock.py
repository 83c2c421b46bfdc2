"""The rows that the clock of the step leaves behind for ever."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.derived import Derived
from penstock.analysis.waterline import Reader
from penstock.circuit.forgetting import Expiry
from penstock.plan.expressions import conjuncts
from penstock.plan.nodes import Filter, Plan
from penstock.plan.scalar import Scalar, quoted, scalar_of


def clock_expires(node: Plan, reader: Reader) -> tuple[Expiry, ...]:
    """Rows that a filter on the clock will never let pass again."""
    if not isinstance(node, Filter):
        return ()
    return tuple(item for part in conjuncts(node.condition) for item in _passed(part, node.input, reader))


def _passed(part: Scalar, below: Plan, reader: Reader) -> Iterator[Expiry]:
    types = {item.name: item.type for item in below.fields}
    for item in reader.bounds_in(part, types):
        limit = None if part.columns - {item.column} else reader.rises_with_clock(item, types)
        if limit is not None:
            bound = Derived((scalar_of(limit),), frozenset())
            yield Expiry(0, quoted(item.column), bound, nulls=True, shown=quoted(item.column))
