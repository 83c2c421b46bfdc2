"""Mistakes that Spark finds in a program that is not run: `penstock check --spark` asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.catalog.model import ERROR_VIEW, Catalog, View
from penstock.errors import PenstockError
from penstock.pipeline.reads import as_spark_sees, read_by
from penstock.steps.failures import translated

if TYPE_CHECKING:
    from penstock.engine.analysing import Analysing


def spark_refuses(catalog: Catalog, conf: Mapping[str, str] | None = None) -> list[PenstockError]:
    """Every mistake that Spark finds in the views, analysed over tables without rows, in the order of the program.

    A view that reads one with a mistake is not analysed. Starts a JVM where none is running.
    """
    from penstock.engine.analysing import analysing  # noqa: PLC0415 - it comes with pyspark, without which check starts

    with analysing(catalog.settings.get("time zone", "UTC"), conf) as spark:
        return _refused(spark, as_spark_sees(catalog.with_table(ERROR_VIEW)))


def _refused(spark: Analysing, catalog: Catalog) -> list[PenstockError]:
    for table in catalog.stored_tables():
        spark.know_table(table.name, table.columns)
    errors: list[PenstockError] = []
    unknown: set[str] = set()
    for name, view in catalog.views.items():
        if view.plan is None or read_by(view) & unknown:
            unknown.add(name)
            continue
        found = _mistake(spark, view, catalog)
        if found is not None:
            errors.append(found)
            unknown.add(name)
    return errors


def _mistake(spark: Analysing, view: View, catalog: Catalog) -> PenstockError | None:
    """The mistake that Spark finds in a view; None if there is none, and Spark knows it from then on."""
    try:
        spark.know_view(view)
    except Exception as error:
        said = translated(error, catalog, view)
        if isinstance(said, PenstockError):
            return said
        raise
    return None
