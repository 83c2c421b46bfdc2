"""The need of a program for Spark, told before it is at work: a session can be begun meanwhile."""

from __future__ import annotations

from penstock.catalog.model import ERROR_VIEW, Catalog
from penstock.catalog.properties import CONNECTOR
from penstock.catalog.settings import NATIVE, engine_of
from penstock.circuit.places import SPARK
from penstock.engine.foreseeing import foreseen
from penstock.errors import PenstockError
from penstock.pipeline.supported import is_source
from penstock.rewrite import rewrite_views

_OF_SPARK = "spark"  # the connector of what Spark reads


def needs_spark(catalog: Catalog) -> bool:
    """True if rows of a table come from Spark, or an operator of a view will work on it, on this machine.

    A program that is going to be refused needs none: that is said when it is set to work.
    """
    if any(_is_read_by_spark(name, catalog) for name in catalog.tables):
        return True
    if engine_of(catalog.settings) == NATIVE:
        return False
    try:
        seen = rewrite_views(catalog.with_table(ERROR_VIEW))
        plans = {name: view.plan for name, view in seen.views.items() if view.plan is not None}
        found = foreseen(plans, seen) if plans else None
    except PenstockError:
        return False
    return found is not None and any(place.where == SPARK for place in found.places.values())


def _is_read_by_spark(name: str, catalog: Catalog) -> bool:
    table = catalog.tables[name]
    return is_source(table, catalog) and table.properties[CONNECTOR].lower() == _OF_SPARK
