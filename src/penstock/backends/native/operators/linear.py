"""Linear operators: the change of the output is the operator applied to the change of the input. And constant rows."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.operators.operator import Changes, NativeOperator
from penstock.backends.native.operators.text import nothing, template
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, once_each
from penstock.backends.render import Renderer
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Clocked, Constant, Linear
from penstock.plan.nodes import Plan, Project, Scan


class LinearOperator(NativeOperator):
    """A chain of filters, projections, unions and generators over the change; whoever reads it evaluates it."""

    def __init__(self, store: Store, operator: Linear | Clocked) -> None:
        super().__init__(store, operator)
        self.template = template(operator.node, operator.inputs, self.outputs, (WEIGHT,))
        self.renamed = _renamed(operator.node, [name for name, _ in self.outputs])

    def step(self, inputs: Changes, *, first: bool) -> Rows | None:
        del first
        if all(rows is None for rows in inputs):
            return None
        return Rows(f"({self.applied([None if rows is None else rows.name for rows in inputs])})")

    def applied(self, relations: list[str | None]) -> str:
        """The chain over relations; one that is not there has no rows."""
        found = {
            position: nothing(self.inputs[position]) if name is None else name
            for position, name in enumerate(relations)
        }
        return self.template.over(self.names(found))


def _renamed(node: Plan, names: Sequence[str]) -> tuple[str, ...] | None:
    """The column of the only leaf that each of these is; None if something is computed, or rows are left out."""
    match node:
        case Scan():
            return tuple(names)
        case Project(input=inner):
            items = dict(node.items)
            read = [items[name].column for name in names]
            return None if None in read else _renamed(inner, [name for name in read if name is not None])
    return None


class ConstantOperator(NativeOperator):
    """Rows of a VALUES: all of them in the first step, nothing afterwards."""

    def __init__(self, store: Store, operator: Constant) -> None:
        super().__init__(store, operator)
        rows = Renderer(NativeDialect(), {}).sql(operator.node)
        self._query = once_each([name for name, _ in self.outputs], f"({rows})")

    def step(self, inputs: Changes, *, first: bool) -> Rows | None:
        del inputs
        return self.made(self._query) if first else None
