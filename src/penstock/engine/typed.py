"""Types that no JVM is asked for: those that proofs give, and Spark's for what is not proven."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from penstock.backends.native.dialect import types_of
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.scalars import proven
from penstock.backends.native.trace import Columns
from penstock.backends.native.typing import completed
from penstock.catalog.model import Catalog, View
from penstock.catalog.types import Type, plain_type
from penstock.circuit.build import Typing
from penstock.engine.splitting import split
from penstock.plan.nodes import Field, Plan, Scan
from penstock.plan.scalar import Scalar


def typed_in_process(catalog: Catalog, names: Collection[str]) -> Catalog | None:
    """The catalog with the types of the columns of these views, as proofs give them; None where one gives none."""
    wanted = {name.lower() for name in names}
    for name, view in catalog.views.items():
        if view.plan is None or name not in wanted:
            continue
        typed = _with_types(view, completed(view.plan, leaves_of(catalog, view.plan)).fields)
        if typed is None:
            return None
        catalog = catalog.with_view(typed)
    return catalog


def _with_types(view: View, fields: tuple[Field, ...]) -> View | None:
    types = [item.type for item in fields if item.type is not None]
    if len(types) != len(fields):
        return None
    pairs = zip(view.columns, types, strict=True)
    return replace(view, columns=tuple(replace(column, type=kind) for column, kind in pairs))


def leaves_of(catalog: Catalog, plan: Plan) -> dict[str, Columns]:
    """The columns of the relations that a plan reads, as far as their types are known."""
    read = {node.relation for node in plan.walk() if isinstance(node, Scan)}
    relations = {name: catalog.relation(name) for name in read}
    return {
        name: tuple((column.name, plain_type(column.type)) for column in relation.columns if column.type is not None)
        for name, relation in relations.items()
        if relation is not None
    }


class ProvenTyping(Typing):
    """The types that proofs give; `otherwise` is asked for the others."""

    def __init__(self, catalog: Catalog, otherwise: Typing) -> None:
        self.catalog = catalog
        self.otherwise = otherwise
        self._completed: dict[Plan, Plan] = {}

    def type_of(self, relation: Plan, scalar: Scalar) -> Type | None:
        try:
            return proven(scalar.form, types_of(self._complete(relation))).type
        except NotProvenError:
            return self.otherwise.type_of(relation, scalar)

    def split(self, plan: Plan) -> Plan:
        return split(plan, self._complete)

    def _complete(self, relation: Plan) -> Plan:
        if relation not in self._completed:
            self._completed[relation] = completed(relation, leaves_of(self.catalog, relation))
        return self._completed[relation]
