"""DISTINCT, INTERSECT and EXCEPT: how often a row occurs, in each input."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.backends.rules.grouped import CountedRule, multiplicity
from penstock.backends.spark.change import Delta
from penstock.backends.spark.grouping import hash_text
from penstock.backends.spark.operators.grouped import GroupedRunner
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Counted
from penstock.circuit.partials import Partial
from penstock.plan.nodes import Distinct, SetOperation
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class CountedRunner(CountedRule[Delta], GroupedRunner):
    """The state has each different row, with how often it is in each input."""

    def __init__(self, workspace: Workspace, operator: Counted, schemas: Sequence[StructType]) -> None:
        super().__init__(workspace)
        self.node: Distinct | SetOperation = operator.node  # type: ignore[assignment]
        self.schemas = schemas
        self.outputs = self.node.names
        self.groups = tuple(f"__g{position}" for position in range(len(self.outputs)))
        self.partials = tuple(Partial(f"__c{side}", WEIGHT) for side in range(len(schemas)))

    def counted(self, sides: Sequence[Delta | None]) -> Delta | None:
        texts = [self._side(delta, place) for place, delta in enumerate(sides) if delta is not None]
        if self._unlike:
            # Where only Spark knows the type that both sides have together, both take part in the plan.
            texts += [self._absent(place) for place, delta in enumerate(sides) if delta is None]
        estimate = sum(delta.estimate for delta in sides if delta is not None)
        return self.advance(self._hashed(" UNION ALL ".join(texts)), estimate)

    def _side(self, delta: Delta, position: int) -> str:
        columns = [f"{quoted(name)} AS {group}" for name, group in zip(delta.names, self.groups, strict=True)]
        counts = [
            f"{WEIGHT if side == position else '0L'} AS {quoted(item.name)}" for side, item in enumerate(self.partials)
        ]
        return f"SELECT {', '.join([*columns, *counts])} FROM {delta.view}"

    @cached_property
    def _unlike(self) -> bool:
        """True if the sides' columns are of different types."""
        kinds = [[field.dataType for field in schema.fields] for schema in self.schemas]
        return any(kind != kinds[0] for kind in kinds)

    def _absent(self, position: int) -> str:
        schema = self.schemas[position]
        return self._side(Delta.of_frame(self.workspace, self.workspace.empty(schema)), position)

    def _hashed(self, sides: str) -> str:
        schema = self.schemas[0]
        terms = [(group, schema[position].dataType) for position, group in enumerate(self.groups)]
        if len(self.schemas) > 1:
            found = self.workspace.sql(f"SELECT * FROM ({sides}) WHERE false").schema
            terms = [(group, found[group].dataType) for group in self.groups]
        return f"SELECT {hash_text(terms)} AS {KEY}, * FROM ({sides})"

    def contributed_schema(self) -> StructType:
        sides = " UNION ALL ".join(map(self._absent, range(len(self.schemas))))
        return self.workspace.sql(self.compacted(self._hashed(sides))).schema

    def output(self) -> str:
        change = f"{self._weight('__t_')} - {self._weight('__o_')}"
        names = [f"{group} AS {quoted(name)}" for group, name in zip(self.groups, self.outputs, strict=True)]
        row = f"struct({', '.join([*names, f'{change} AS {WEIGHT}'])})"
        return f"array(if({change} <> 0, {row}, NULL))"

    def _weight(self, prefix: str) -> str:
        counts = [f"coalesce({quoted(prefix + item.name)}, 0L)" for item in self.partials]
        return multiplicity(self.node, counts)
