"""Sources without the columns that nobody reads: rows come in, are kept and handed on as narrow as that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.circuit.operators import Circuit, Clocked, Linear, Operator, Source
from penstock.plan.nodes import Field, Plan, Project, Scan, UnionAll
from penstock.rewrite.prune_columns import fields_needed, requirements

Names = frozenset[str]


def narrowed(circuit: Circuit) -> Circuit:
    """The circuit with each source that only chains of linear nodes read as narrow as they need it.

    Nodes that keep state stand behind such a chain: pruning puts a projection there (penstock.rewrite).
    """
    read = _columns_read(circuit)
    fields = {
        name: fields_needed(operator.fields, read[name])
        for operator in circuit.operators
        if isinstance(operator, Source) and (name := _leaf(operator.number)) in read
    }
    return replace(circuit, operators=tuple(_over(operator, fields) for operator in circuit.operators))


def _leaf(number: int) -> str:
    """The relation by which nodes read an operator."""
    return f"#{number}"


def _columns_read(circuit: Circuit) -> dict[str, Names]:
    """For each operator that is read by linear chains alone: the columns that one of them reads."""
    found: dict[str, Names] = {}
    whole = {*circuit.outputs.values(), *(report.number for report in circuit.reports)}
    for operator in circuit.operators:
        if isinstance(operator, Linear | Clocked):
            _note(operator.node, frozenset(operator.node.names), found)
        else:
            whole |= set(operator.inputs)
    read_whole = set(map(_leaf, whole))
    return {name: names for name, names in found.items() if name not in read_whole}


def _note(plan: Plan, needed: Names, found: dict[str, Names]) -> None:
    if isinstance(plan, Scan):
        found[plan.relation] = found.get(plan.relation, frozenset()) | needed
        return
    if isinstance(plan, UnionAll):  # its branches go by the places of their columns
        wanted = tuple(frozenset(item.names) for item in plan.inputs)
    else:  # a projection names all of its columns, whether or not somebody reads them
        wanted = requirements(plan, frozenset(plan.names) if isinstance(plan, Project) else needed)
    for item, names in zip(plan.inputs, wanted, strict=True):
        _note(item, names, found)


def _over(operator: Operator, fields: Mapping[str, tuple[Field, ...]]) -> Operator:
    """The operator over narrower sources, or the source itself."""
    own = fields.get(_leaf(operator.number))
    if own is not None and isinstance(operator.node, Scan):
        return replace(operator, node=replace(operator.node, outputs=own))
    if not any(_leaf(number) in fields for number in operator.inputs):
        return operator
    return replace(operator, node=_leaves(operator.node, fields))


def _leaves(plan: Plan, fields: Mapping[str, tuple[Field, ...]]) -> Plan:
    if isinstance(plan, Scan):
        return replace(plan, outputs=fields[plan.relation]) if plan.relation in fields else plan
    return plan.with_inputs(*(_leaves(item, fields) for item in plan.inputs))
