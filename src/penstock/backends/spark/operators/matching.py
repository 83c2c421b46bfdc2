"""MATCH_RECOGNIZE: a keyed operator that forgets the rows before the first search that can still change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.backends.matching.query import unsettled_query
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.keyed import KeyedRunner
from penstock.catalog.reserved import KEY
from penstock.plan.matching import MatchRecognize

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MatchingRunner(KeyedRunner):
    """The matches in the rows of each partition."""

    def settle(self, rows: DataFrame, line: str) -> DataFrame:
        node = self.operator.node
        assert isinstance(node, MatchRecognize)  # noqa: S101 - it is made for nothing else
        relations = {f"#{self.operator.inputs[0]}": self.workspace.name(rows)}
        kept = unsettled_query(self.workspace.renderer(relations, (KEY,)), node, line)
        return self.workspace.sql(f"SELECT {columns_text(tuple(rows.columns))} FROM ({kept})")
