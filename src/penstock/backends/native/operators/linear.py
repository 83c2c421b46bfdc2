"""Linear operators: the change of the output is the operator applied to the change of the input. And constant rows."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.native.operators.operator import Changes, NativeOperator
from penstock.backends.native.operators.text import nothing, template
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, once_each
from penstock.backends.rules.linear import ConstantRule, LinearRule
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Clocked, Constant, Linear
from penstock.plan.nodes import Plan, Project, Scan


class LinearChain(NativeOperator):
    """A chain over relations."""

    def __init__(self, store: Store, operator: Linear | Clocked) -> None:
        super().__init__(store, operator)
        self.template = template(operator.node, operator.inputs, self.outputs, (WEIGHT,))
        self.renamed = _renamed(operator.node, [name for name, _ in self.outputs])

    def over(self, relations: Sequence[str | None]) -> str:
        """The chain over relations; one that is not there has no rows."""
        found = {
            position: nothing(self.inputs[position]) if name is None else name
            for position, name in enumerate(relations)
        }
        return self.template.over(self.names(found))

    def over_changes(self, changes: Changes) -> str:
        """The chain over the changes that there are."""
        return self.over([None if rows is None else rows.name for rows in changes])


class LinearOperator(LinearRule[Rows], LinearChain):
    """A chain over the change; whoever reads it evaluates it."""

    def applied(self, changes: Changes) -> Rows:
        # Which names all columns anew, and leaves none out, keeps different rows apart.
        whole = self.renamed is not None and set(self.renamed) >= {name for name, _ in self.inputs[0]}
        distinct = whole and changes[0] is not None and changes[0].distinct
        costly = any(change is not None and change.costly for change in changes)
        return Rows(f"({self.over_changes(changes)})", distinct=distinct, costly=costly)


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


class ConstantOperator(ConstantRule[Rows], NativeOperator):
    """Rows of a VALUES."""

    def __init__(self, store: Store, operator: Constant) -> None:
        super().__init__(store, operator)
        rows = template(operator.node, (), self.outputs)
        self._query = once_each([name for name, _ in self.outputs], f"({rows.text})")

    def rows(self) -> Rows | None:
        return self.made(self._query)
