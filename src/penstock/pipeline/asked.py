"""Mistakes that Spark finds in a program that is not run: `penstock check --spark` asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.catalog.model import ERROR_VIEW, Catalog, View
from penstock.errors import PenstockError
from penstock.pipeline.reads import as_spark_sees, read_by
from penstock.steps.failures import translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.backends.spark.workspace import Workspace


def spark_refuses(catalog: Catalog, conf: Mapping[str, str] | None = None) -> list[PenstockError]:
    """Every mistake that Spark finds in the views, analysed over tables without rows, in the order of the program.

    A view that reads one with a mistake is not analysed. Starts a JVM where none is running.
    """
    # Both start a JVM, and come with pyspark.
    from penstock.backends.spark.session import open_session  # noqa: PLC0415 - check starts without pyspark
    from penstock.backends.spark.workspace import Workspace  # noqa: PLC0415 - check starts without pyspark

    spark = open_session(master="local[1]", conf=conf)
    spark.conf.set("spark.sql.session.timeZone", catalog.settings.get("time zone", "UTC"))
    workspace = Workspace(spark)
    try:
        return _refused(workspace, as_spark_sees(catalog.with_table(ERROR_VIEW)))
    finally:
        workspace.close()


def _refused(workspace: Workspace, catalog: Catalog) -> list[PenstockError]:
    from penstock.backends.spark.batch import empty_relation  # noqa: PLC0415 - check starts without pyspark

    frames = {table.name.lower(): empty_relation(workspace, table.columns) for table in catalog.stored_tables()}
    errors: list[PenstockError] = []
    unknown: set[str] = set()
    for name, view in catalog.views.items():
        if view.plan is None or read_by(view) & unknown:
            unknown.add(name)
            continue
        found = _analysed(workspace, view, frames, catalog)
        if isinstance(found, PenstockError):
            errors.append(found)
            unknown.add(name)
        else:
            frames[name] = found
    return errors


def _analysed(
    workspace: Workspace, view: View, frames: Mapping[str, DataFrame], catalog: Catalog
) -> DataFrame | PenstockError:
    """A relation with the view's schema, or what Spark has against the view."""
    from penstock.backends.spark.batch import view_schema_frame  # noqa: PLC0415 - check starts without pyspark

    try:
        return view_schema_frame(workspace, view, frames)
    except Exception as error:
        said = translated(error, catalog)
        if isinstance(said, PenstockError):
            return said
        raise
