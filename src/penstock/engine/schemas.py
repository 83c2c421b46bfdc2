"""The Spark schemas of the changes in a circuit, weight last; only what works on Spark is asked of it."""

from __future__ import annotations

from pyspark.sql.types import StructType

from penstock.backends.spark.batch import batch_frame, struct_of
from penstock.backends.spark.schemas import spark_schema, weight_field
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import Catalog
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Arrived, Arriving, Constant, Operator, Source
from penstock.engine.installed import Installed


def schemas_of(workspace: Workspace, installed: Installed) -> dict[int, StructType]:
    """The schema of each operator's change in a circuit."""
    return {item.number: schema_of(workspace, installed, item.number) for item in installed.circuit.operators}


def schema_of(workspace: Workspace, installed: Installed, number: int) -> StructType:
    """The schema of an operator's change, from empty inputs; asked once."""
    if number not in installed.schemas:
        operator = next(item for item in installed.circuit.operators if item.number == number)
        installed.schemas[number] = _asked(workspace, installed, operator)
    return installed.schemas[number]


def _asked(workspace: Workspace, installed: Installed, operator: Operator) -> StructType:
    if isinstance(operator, Source):
        kinds = installed.tables[operator.relation]
        return StructType([*(kinds[name] for name in operator.node.names), weight_field()])
    if isinstance(operator, Arriving | Arrived):
        return schema_of(workspace, installed, operator.inputs[0])
    if operator.number in installed.native:
        return spark_schema(installed.native[operator.number].outputs, weighted=True)
    leaves = {
        f"#{number}": workspace.empty(_without_weight(schema_of(workspace, installed, number)))
        for number in operator.inputs
    }
    found = batch_frame(workspace, operator.node, leaves).schema
    fields = [] if isinstance(operator, Constant) and not operator.fields else found.fields
    return StructType([*fields, weight_field()])


def relation_schema(catalog: Catalog, name: str) -> StructType:
    """The schema of a table, or of a view with LATENESS that is read like one."""
    return struct_of((catalog.table(name) or catalog.views[name]).columns)


def _without_weight(schema: StructType) -> StructType:
    return StructType([item for item in schema.fields if item.name != WEIGHT])
