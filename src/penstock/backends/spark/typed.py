"""Types as Spark gives them: the schemas of empty relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.backends.spark.batch import batch_frame, empty_relation
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import Catalog
from penstock.catalog.types import Type
from penstock.circuit.build import Typing
from penstock.plan.nodes import Plan, Scan
from penstock.plan.scalar import Scalar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkTyping(Typing):
    """Types as Spark gives them, for what the binder was not certain of."""

    def __init__(self, workspace: Workspace, catalog: Catalog) -> None:
        self.workspace = workspace
        self.catalog = catalog
        self.frames: dict[Plan, DataFrame] = {}

    def relation(self, plan: Plan) -> DataFrame:
        """A relation without rows that has the schema of a plan."""
        if plan not in self.frames:
            self.frames[plan] = self._empty(plan)
        return self.frames[plan]

    def _empty(self, plan: Plan) -> DataFrame:
        if isinstance(plan, Scan):
            table = self.catalog.table(plan.relation)
            if table is not None:
                names = ", ".join(f"`{name}`" for name in plan.names)
                frame = empty_relation(self.workspace, table.columns)
                return self.workspace.empty(frame.selectExpr(*names.split(", ")).schema)
            return self.relation(self.catalog.views[plan.relation.lower()].plan)
        leaves = {scan.relation.lower(): self._relation_by_name(scan) for scan in plan.walk() if isinstance(scan, Scan)}
        return self.workspace.empty(batch_frame(self.workspace, plan, leaves).schema)

    def _relation_by_name(self, scan: Scan) -> DataFrame:
        table = self.catalog.table(scan.relation)
        if table is not None:
            return empty_relation(self.workspace, table.columns)
        return self.relation(self.catalog.views[scan.relation.lower()].plan)

    def type_of(self, relation: Plan, scalar: Scalar) -> Type | None:
        found = self.relation(relation).selectExpr(f"{scalar.text} AS found").schema["found"]
        return found.dataType.simpleString()
