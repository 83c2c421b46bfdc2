"""Sources without the columns that nobody reads: rows come in, are kept and handed on as narrow as that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.circuit.operators import Circuit, Clocked, Linear, Operator, Source, leaf
from penstock.plan.nodes import Field, Plan, Project, Scan, UnionAll
from penstock.rewrite.prune_columns import cheapest, requirements

Names = frozenset[str]


def narrowed(circuit: Circuit) -> Circuit:
    """The circuit with each source that only chains of linear nodes read as narrow as they need it.

    Nodes that keep state stand behind such a chain: pruning puts a projection there (penstock.rewrite).
    """
    read = _columns_read(circuit)
    fields = {
        operator.number: _kept(operator.fields, read[operator.number])
        for operator in circuit.operators
        if isinstance(operator, Source) and operator.number in read
    }
    return Circuit(tuple(_over(operator, fields) for operator in circuit.operators), circuit.outputs)


def _columns_read(circuit: Circuit) -> dict[int, Names]:
    """For each operator that is read by linear chains alone: the columns that one of them reads."""
    found: dict[int, Names] = {}
    whole = set(circuit.outputs.values())
    for operator in circuit.operators:
        if isinstance(operator, Linear | Clocked):
            _note(operator.node, frozenset(operator.node.names), found)
        else:
            whole |= set(operator.inputs)
    return {number: names for number, names in found.items() if number not in whole}


def _note(plan: Plan, needed: Names, found: dict[int, Names]) -> None:
    if isinstance(plan, Scan):
        number = int(plan.relation.removeprefix("#"))
        found[number] = found.get(number, frozenset()) | needed
        return
    if isinstance(plan, UnionAll):  # its branches go by the places of their columns
        wanted = tuple(frozenset(item.names) for item in plan.inputs)
    else:  # a projection names all of its columns, whether or not somebody reads them
        wanted = requirements(plan, frozenset(plan.names) if isinstance(plan, Project) else needed)
    for item, names in zip(plan.inputs, wanted, strict=True):
        _note(item, names, found)


def _kept(fields: tuple[Field, ...], read: Names) -> tuple[Field, ...]:
    """The fields that are read; one at least, so that rows can be counted."""
    return tuple(item for item in fields if item.name in read) or (cheapest(fields),)[: len(fields)]


def _over(operator: Operator, fields: Mapping[int, tuple[Field, ...]]) -> Operator:
    """The operator over narrower sources, or the source itself."""
    if operator.number in fields and isinstance(operator.node, Scan):
        return replace(operator, node=replace(operator.node, outputs=fields[operator.number]))
    if not any(number in fields for number in operator.inputs):
        return operator
    return replace(operator, node=_leaves(operator.node, fields))


def _leaves(plan: Plan, fields: Mapping[int, tuple[Field, ...]]) -> Plan:
    if isinstance(plan, Scan):
        number = int(plan.relation.removeprefix("#"))
        return leaf(number, fields[number]) if number in fields else plan
    return plan.with_inputs(*(_leaves(item, fields) for item in plan.inputs))
