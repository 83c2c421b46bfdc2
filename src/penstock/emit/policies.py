"""The policy that a view asks for."""

from __future__ import annotations

from collections.abc import Callable

from penstock.catalog.model import Catalog, View
from penstock.emit.api import Emission
from penstock.emit.final import final_rows
from penstock.emit.plain import PLAIN
from penstock.emit.standing import standing_query

# Each gives the emission that a view begins with, or None for a view that does not ask for it.
POLICIES: tuple[Callable[[View, Catalog], Emission | None], ...] = (final_rows, standing_query)


def emission_of(view: View, catalog: Catalog) -> Emission:
    """The emission of a view before its first step; SqlError if what it asks for cannot be."""
    asked = (policy(view, catalog) for policy in POLICIES)
    return next((found for found in asked if found is not None), PLAIN)
