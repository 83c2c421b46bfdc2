"""Inner and cross joins on Spark: no layer of what is remembered is exchanged to meet a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.backends.rules.join import LEFT, RIGHT, JoinRule
from penstock.backends.spark.change import Delta
from penstock.backends.spark.grouping import common_type
from penstock.backends.spark.operators.runner import Fanout, SparkRunner, Terms
from penstock.backends.spark.trace import Trace, with_key
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import BROADCAST_ROWS, MATCHES
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Bilinear
from penstock.plan.nodes import AsofJoin, Join
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def join_terms(node: Join | AsofJoin, left: StructType, right: StructType, workspace: Workspace) -> tuple[Terms, Terms]:
    """The terms by which both sides are hashed alike.

    Equalities whose sides only Spark's own comparison brings together take no part.
    """
    sides: tuple[Terms, Terms] = ([], [])
    for key in node.keys:
        left_type = expression_type(workspace, key.left.text, left)
        right_type = expression_type(workspace, key.right.text, right)
        common = common_type(left_type, right_type)
        if common is None:
            continue
        for side, scalar in zip(sides, (key.left, key.right), strict=True):
            kind, schema = (left_type, left) if side is sides[0] else (right_type, right)
            if kind.simpleString() != common:
                text = f"cast({scalar.text} as {common})"
                kind = expression_type(workspace, text, schema)
            else:
                text = scalar.text
            side.append((text, kind))
    return sides


def expression_type(workspace: Workspace, text: str, schema: StructType) -> DataType:
    """The type that Spark gives an expression over a relation of that schema."""
    for field in schema.fields:
        if text == quoted(field.name):
            return field.dataType
    name = workspace.name(workspace.empty(schema))
    return workspace.sql(f"SELECT {text} AS found FROM {name}").schema["found"].dataType


class BilinearRunner(JoinRule[Delta], SparkRunner):
    """A join that keeps both inputs, each partitioned by the join key."""

    def __init__(self, workspace: Workspace, operator: Bilinear, left: StructType, right: StructType) -> None:
        super().__init__(workspace)
        self.node: Join = operator.node  # type: ignore[assignment]
        self.terms = join_terms(self.node, left, right, workspace)
        self.traces = [
            Trace(workspace, with_key(schema), append_only=only, may_repeat=only)
            for schema, only in zip((left, right), operator.append_only, strict=True)
        ]
        self.retracts = not all(operator.append_only)
        self.fanout = Fanout(MATCHES)

    def _terms_of_traces(self) -> Sequence[Terms]:
        return self.terms

    def terms_of(self, place: int, change: Delta) -> Terms:
        del change
        return self.terms[place]

    def matches(self, left: Delta | None, right: Delta | None) -> Delta | None:
        old_left, new_right = self.traces[LEFT], self.remembered[RIGHT]
        parts = []
        if left is not None:
            parts.append(self._probe(left, new_right, left_is_change=True))
        if right is not None:
            parts.append(self._probe(right, old_left, left_is_change=False))
        if not parts:
            return None
        changed = sum(delta.count() for delta in (left, right) if delta is not None)
        estimate = self._estimate(changed, left, right, old_left, new_right)
        retracts = self.retracts and any(
            item.retracts for item in (left, right, old_left, new_right) if item is not None
        )
        return Delta.of_frame(
            self.workspace,
            self.workspace.sql(" UNION ALL ".join(parts)),
            estimate=estimate,
            retracts=retracts,
            cancels=retracts,
            counted=self.fanout.counted(changed),
        )

    def _estimate(
        self, changed: int, left: Delta | None, right: Delta | None, old_left: Trace, new_right: Trace
    ) -> int:
        most = (0 if left is None else left.count()) * new_right.rows + (
            0 if right is None else right.count()
        ) * old_left.rows
        return min(most, self.fanout.expected(changed))

    def _probe(self, change: Delta, trace: Trace, *, left_is_change: bool) -> str:
        kept = self.trace_relation(trace, change.count())
        left, right = (change.view, kept) if left_is_change else (kept, change.view)
        probing = "__left" if left_is_change else "__right"
        conditions = []
        terms = self.terms[0]
        if terms:
            conditions.append(f"__left.{KEY} = __right.{KEY}")
        exact = [f"({key.left.text}) {'<=>' if key.null_safe else '='} ({key.right.text})" for key in self.node.keys]
        if self.node.residual is not None:
            exact.append(f"({self.node.residual.text})")
        if exact:
            # Only the hash is a join key: further ones would ask for another partitioning of the trace.
            conditions.append(f"(({' AND '.join(exact)}) <=> true)")
        hint = self.hint(probing, change.count(), trace) if terms else self._cross_hint(probing, change.count())
        fields = [quoted(field.name) for field in self.node.fields]
        fields.append(f"__left.{WEIGHT} * __right.{WEIGHT} AS {WEIGHT}")
        on = " AND ".join(conditions) or "true"
        return f"SELECT {hint} {', '.join(fields)} FROM {left} __left JOIN {right} __right ON {on}"

    @staticmethod
    def _cross_hint(relation: str, rows: int) -> str:
        return f"/*+ BROADCAST({relation}) */" if rows <= BROADCAST_ROWS else ""
