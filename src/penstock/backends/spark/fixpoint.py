"""Least fixed points of recursive views, round by round.

With set semantics (DISTINCT) each round evaluates every body over the last round's rows and the evaluation ends when
no view has grown. Without, as in Spark's WITH RECURSIVE … UNION ALL, each round sees the rows that the round before
has added, and ends when there are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from penstock.backends.spark.change import consolidated
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.rounds import ROUND
from penstock.errors import DataError, Diagnostic
from penstock.plan.nodes import Fixpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def least_fixpoint(workspace: Workspace, node: Fixpoint, frames: dict[str, DataFrame]) -> DataFrame:
    """The rows of `node.views[node.output]` over the given leaves (name → DataFrame); evaluates every round."""
    schemas = [_empty(workspace, node, position) for position in range(len(node.bodies))]
    return _by_sets(workspace, node, frames, schemas) if node.distinct else _by_rounds(workspace, node, frames, schemas)


def _empty(workspace: Workspace, node: Fixpoint, position: int) -> DataFrame:
    declared = ", ".join(
        f"cast(NULL as {field.type or 'void'}) AS `{field.name}`" for field in node.bodies[position].fields
    )
    return workspace.sql(f"SELECT {declared} WHERE false")


def recursive_schemas(workspace: Workspace, node: Fixpoint, inputs: Mapping[str, StructType]) -> list[StructType]:
    """Each recursive view's rows as changes with their rounds; `inputs` are the schemas of the leaves' changes."""
    leaves = {name: workspace.empty(schema).drop(WEIGHT) for name, schema in inputs.items()}
    known = [_empty(workspace, node, position) for position in range(len(node.bodies))]
    if any(field.type is None for body in node.bodies for field in body.fields):
        known = _evaluate(workspace, node, known, leaves)
    added = (StructField(ROUND, IntegerType(), nullable=False), StructField(WEIGHT, LongType(), nullable=False))
    return [
        StructType([*(StructField(item.name, item.dataType) for item in frame.schema.fields), *added])
        for frame in _evaluate(workspace, node, known, leaves)
    ]


def _evaluate(
    workspace: Workspace, node: Fixpoint, known: list[DataFrame], frames: dict[str, DataFrame]
) -> list[DataFrame]:
    leaves = {**frames, **{name.lower(): frame for name, frame in zip(node.views, known, strict=True)}}
    found = []
    for body in node.bodies:
        names = {leaf: workspace.name(frame) for leaf, frame in leaves.items()}
        found.append(workspace.sql(workspace.renderer(names).sql(body)))
    return found


def _by_sets(workspace: Workspace, node: Fixpoint, frames: dict[str, DataFrame], empty: list[DataFrame]) -> DataFrame:
    known, sizes = empty, [0] * len(empty)
    for _ in range(node.bound):
        rounds = [
            workspace.checkpoints.evaluated(frame.distinct()) for frame in _evaluate(workspace, node, known, frames)
        ]
        found = [rows for _, rows in rounds]
        known = [frame for frame, _ in rounds]
        if found == sizes:
            return known[node.output]
        sizes = found
    raise endless(node)


def _by_rounds(workspace: Workspace, node: Fixpoint, frames: dict[str, DataFrame], empty: list[DataFrame]) -> DataFrame:
    anchors = [workspace.checkpoints.evaluated(frame)[0] for frame in _evaluate(workspace, node, empty, frames)]
    total, last = list(anchors), list(anchors)
    for _ in range(node.bound):
        rounds = [
            workspace.checkpoints.evaluated(_without(frame, anchor))
            for frame, anchor in zip(_evaluate(workspace, node, last, frames), anchors, strict=True)
        ]
        last = [frame for frame, _ in rounds]
        if not any(rows for _, rows in rounds):
            return total[node.output]
        total = [whole.union(part) for whole, part in zip(total, last, strict=True)]
    raise endless(node)


def _without(rows: DataFrame, anchor: DataFrame) -> DataFrame:
    """EXCEPT ALL, also of rows that hold a MAP or a VARIANT, which Spark refuses."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - 200 ms that a shell need not wait

    both = rows.withColumn(WEIGHT, F.lit(1)).union(anchor.withColumn(WEIGHT, F.lit(-1)))
    left = consolidated(both).where(F.col(WEIGHT) > 0)
    return left.withColumn(WEIGHT, F.explode(F.array_repeat(F.lit(1), F.col(WEIGHT).cast("int")))).drop(WEIGHT)


def endless(node: Fixpoint) -> DataError:
    """The error of a recursion that goes on."""
    name = node.views[node.output].removesuffix("@recursive")
    return DataError(
        Diagnostic(
            "RECURSION_LIMIT",
            f"the recursive view {name} still grows after {node.bound} rounds",
            span=node.span,
            hint="bound it by a condition (a depth, distinct rows), or raise MAX RECURSION LEVEL or recursion_limit",
        )
    )
