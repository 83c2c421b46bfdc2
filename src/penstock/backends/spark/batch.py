"""Plans in batch: what a query answers over whole contents, and what only Spark knows of its types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.backends.clock import clocked, clocked_text
from penstock.backends.render import Renderer
from penstock.backends.reported import ViewRefusedError
from penstock.backends.spark.dialect import SparkDialect
from penstock.backends.spark.fixpoint import least_fixpoint
from penstock.backends.spark.schemas import spark_schema
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import Catalog, Column, View
from penstock.errors import Diagnostic, UnsupportedError
from penstock.plan.expressions import scalars_of
from penstock.plan.nodes import Fixpoint, Plan, Scan

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def batch_frame(
    workspace: Workspace, plan: Plan, relations: Mapping[str, DataFrame], clock: datetime | None = None
) -> DataFrame:
    """The rows of a plan; `relations` gives the content of every table and view that it scans, by lower-case name.

    Lazy, but for fixpoints, which are evaluated round by round.
    """
    names = {name.lower(): workspace.name(frame) for name, frame in relations.items()}
    frames = {name.lower(): frame for name, frame in relations.items()}

    def evaluated(node: Fixpoint) -> DataFrame:
        leaves = _outside(node, frames)
        return least_fixpoint(workspace, _with_inner(node, leaves, evaluated), leaves)

    def fixpoint(node: Fixpoint) -> str:
        return workspace.name(evaluated(node))

    dialect = SparkDialect(clocked(clock), fixpoint, clocked_text(clock), workspace.know_functions)
    return workspace.sql(Renderer(dialect, names).sql(plan))


def _with_inner(node: Fixpoint, leaves: dict[str, DataFrame], evaluate: Callable[[Fixpoint], DataFrame]) -> Fixpoint:
    """The node with a leaf, which is added to `leaves`, for each fixpoint that its bodies read: it stays as it is."""

    def swapped(plan: Plan) -> Plan:
        if isinstance(plan, Fixpoint):
            name = f"#fixpoint{len(leaves)}"
            leaves[name] = evaluate(plan)
            return Scan(name, plan.fields)
        return plan.with_inputs(*(swapped(item) for item in plan.inputs))

    return replace(node, bodies=tuple(swapped(body) for body in node.bodies))


def _outside(node: Fixpoint, frames: dict[str, DataFrame]) -> dict[str, DataFrame]:
    recursive = {name.lower() for name in node.views}
    return {name: frame for name, frame in frames.items() if name not in recursive}


def struct_of(columns: tuple[Column, ...]) -> StructType:
    """The Spark schema of declared columns."""
    return spark_schema((column.name, column.type) for column in columns)


def empty_relation(workspace: Workspace, columns: tuple[Column, ...]) -> DataFrame:
    """A relation of those columns without rows."""
    return workspace.empty(struct_of(columns))


def resolve_types(workspace: Workspace, catalog: Catalog) -> Catalog:
    """The catalog with every view's column types as Spark gives them.

    This is the one time that Spark reads the program before it runs: what it refuses in a view is the cause of a
    ViewRefusedError, for `penstock.steps.failures` to translate.
    """
    frames = {table.name.lower(): empty_relation(workspace, table.columns) for table in catalog.stored_tables()}
    for name, view in catalog.views.items():
        if view.plan is None:
            continue
        try:
            frame = view_schema_frame(workspace, view, frames)
        except Exception as error:
            raise ViewRefusedError(name) from error
        if catalog.registered:
            _check_session_calls(workspace, view, frames)
        frames[name] = frame
        columns = tuple(
            replace(column, type=found.dataType.simpleString(), nullable=found.nullable)
            for column, found in zip(view.columns, frame.schema.fields, strict=True)
        )
        catalog = catalog.with_view(replace(view, columns=columns))
    workspace.release()
    return catalog


def _check_session_calls(workspace: Workspace, view: View, frames: Mapping[str, DataFrame]) -> None:
    """UnsupportedError for a function of the session that does not give each row what its arguments decide."""
    for node in view.plan.walk():
        for scalar in [scalar for scalar in scalars_of(node) if scalar.session_calls]:
            read = {scan.relation.lower() for item in node.inputs for scan in _scans(item)}
            given = {name: frame for name, frame in frames.items() if name in read}
            schema = struct_of(())
            for item in node.inputs:
                schema = type(schema)(schema.fields + batch_frame(workspace, item, given).schema.fields)
            for call in scalar.session_calls:
                if not _is_of_a_row(workspace.empty(schema).selectExpr(call)):
                    name, _, _ = call.partition("(")
                    message = f"a view cannot use {name}() of the session, which one row does not decide"
                    hint = "a view takes functions of the session that give each row a value, always the same"
                    raise UnsupportedError(Diagnostic("UNSUPPORTED", message, scalar.span, hint=hint), view.source)


def _is_of_a_row(projected: DataFrame) -> bool:
    plan = projected._jdf.queryExecution().analyzed()  # noqa: SLF001
    within = plan.children().head()
    kinds = [item.getClass().getSimpleName() for item in (plan, within)]
    return bool(kinds[0] == "Project" and kinds[1] != "Generate" and plan.deterministic())


def view_schema_frame(workspace: Workspace, view: View, frames: Mapping[str, DataFrame]) -> DataFrame:
    """A relation with the view's schema, without rows."""
    read = {scan.relation.lower() for scan in _scans(view.plan)}
    frame = batch_frame(workspace, view.plan, {name: item for name, item in frames.items() if name in read})
    return workspace.empty(frame.schema)


def _scans(plan: Plan) -> list[Scan]:
    return [node for node in plan.walk() if isinstance(node, Scan)]
