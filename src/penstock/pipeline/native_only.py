"""A program that wants no Spark for a step (`engine = 'native'`), judged before it runs: without a JVM."""

from __future__ import annotations

from penstock.analysis.waterline import has_waterline
from penstock.bind.program.writers import writer_views
from penstock.catalog.model import Catalog
from penstock.catalog.settings import NATIVE, engine_of
from penstock.circuit.places import SPARK
from penstock.emit.policies import emission_of
from penstock.engine.foreseeing import foreseen
from penstock.explain.verdict import plans_of
from penstock.rewrite import rewrite_views


def check_native_program(catalog: Catalog) -> None:
    """UnsupportedError for the first thing in a program for which a step would need Spark, if it wants none.

    It is the error that such a pipeline would begin with; of types that only Spark knows it may be another one.
    """
    if engine_of(catalog.settings) != NATIVE:
        return
    from penstock.engine.placing import (  # noqa: PLC0415 - 100 ms that a program on Spark need not wait
        check_native,
        check_native_lines,
        check_native_tables,
        wants_process,
    )

    wants_process(catalog, local=True)
    check_native_tables(catalog)
    for writer in catalog.writers.values():
        for view in writer_views(writer, catalog, has_waterline):
            catalog = catalog.with_view(view)
    rewritten = rewrite_views(catalog)
    views = {name: view for name, view in rewritten.views.items() if view.plan is not None}
    placed = foreseen(plans_of(rewritten), rewritten)
    on_spark = {number: place for number, place in placed.places.items() if place.where == SPARK}
    check_native(rewritten, placed.circuit, on_spark)
    check_native_lines(rewritten, {name: emission_of(view, rewritten).goes_by for name, view in views.items()})
