"""Rows of a change for which an expression raises, and rows that meet under one key, by one query for all of them.

The rows are numbered; the number goes in the place of the weight, which every chain of linear operators carries along.
`try_to_binary` gives NULL where anything below it raises. What it cannot tell, such as an error in Python, the caller
finds by trying parts of the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.backends import api
from penstock.backends.spark.grouping import hash_text
from penstock.backends.spark.operators.join import expression_type
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.lineage import (
    Says,
    chain_of,
    evaluated_by_row,
    keys_taken,
    leaf_number,
    operator_of,
    over_sources,
)
from penstock.circuit.operators import Source
from penstock.engine.installed import InstalledOperator
from penstock.plan.nodes import Plan, Scan
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Numbered = Mapping[str, api.Delta]  # the change of each table, with the numbers of its rows as their weights


def raising_rows(workspace: Workspace, place: InstalledOperator, rows: Numbered, says: Says) -> set[int]:
    """The numbers of the rows for which one of the chosen expressions raises; none where it does not go row by row."""
    circuit = place.installed.circuit
    plan = over_sources(circuit, operator_of(circuit, place.number).node)
    for below, scalars in () if plan is None else evaluated_by_row(plan, says):
        source = _named(workspace, place, below, rows)
        given = ", ".join(workspace.renderer({}).dialect.value(scalar) for scalar in scalars)
        raised = f"try_to_binary(CAST(struct({given}) AS STRING), 'utf-8') IS NULL"
        found = workspace.sql(f"SELECT {quoted(WEIGHT)} AS at FROM ({source}) WHERE {raised}").toArrow()
        if found.num_rows:
            return set(found.column("at").to_pylist())
    return set()


def keys_met(
    workspace: Workspace, place: InstalledOperator, rows: Numbered, schemas: Mapping[int, StructType]
) -> dict[int, set[int]] | None:
    """The hashes of the keys under which each numbered row is taken; None where that cannot be told row by row."""
    circuit = place.installed.circuit
    keys = keys_taken(circuit, place.number)
    if keys is None:
        return None
    if any(not scalars for _, scalars in keys):
        return {number: {0} for delta in rows.values() for number in delta.arrow().column(WEIGHT).to_pylist()}
    found: dict[int, set[int]] = {}
    for number, scalars in keys:
        plan = chain_of(circuit, number)
        if plan is None:
            return None
        texts = [workspace.renderer({}).dialect.value(scalar) for scalar in scalars]
        hashed = hash_text([(text, expression_type(workspace, text, schemas[number])) for text in texts])
        query = f"SELECT {quoted(WEIGHT)} AS at, {hashed} AS hash FROM ({_named(workspace, place, plan, rows)})"
        for row in workspace.sql(query).toArrow().to_pylist():
            found.setdefault(row["at"], set()).add(row["hash"])
    return found


def _named(workspace: Workspace, place: InstalledOperator, plan: Plan, rows: Numbered) -> str:
    """The query for a plan over the changes of sources."""
    scans = [node for node in plan.walk() if isinstance(node, Scan)]
    names = {scan.relation: workspace.name(_change(workspace, place, scan, rows)) for scan in scans}
    return workspace.renderer(names, (WEIGHT,)).sql(plan)


def _change(workspace: Workspace, place: InstalledOperator, scan: Scan, rows: Numbered) -> DataFrame:
    source = operator_of(place.installed.circuit, leaf_number(scan))
    assert isinstance(source, Source)  # noqa: S101 - a chain ends at sources
    if source.relation in rows:
        return rows[source.relation].frame()
    schema = place.installed.tables[source.relation]
    return workspace.empty(type(schema)(schema.fields)).selectExpr("*", f"0L AS {WEIGHT}")
