"""Views whose words mean what the types say, as UNNEST of an array of rows: Spark has no words for them."""

from __future__ import annotations

from penstock.catalog.model import View
from penstock.plan.nodes import Generate
from penstock.sql.dialects import rules_of
from penstock.sql.trees import call_name

# Rules for which the oracle has words of its own (`quotients`).
TRANSLATED = frozenset({"whole_quotients", "whole_averages"})
_OF_VARIANTS = ("variant_get(", "to_variant_object(")


def goes_by_types(view: View, dialect: str) -> bool:
    """True for a view that the binder has put into Spark's words by the types of what it reads."""
    if view.meanings - TRANSLATED:
        return True
    rules = rules_of(view.dialect or dialect)
    if view.plan is None or not (rules.spreads_rows or rules.open_variants):
        return False
    written, bound = view.text.lower(), repr(view.plan).lower()
    if rules.open_variants and any(word in bound and word not in written for word in _OF_VARIANTS):
        return True
    return rules.spreads_rows and "unnest" in written and any(map(_spreads, view.plan.walk()))


def _spreads(node: object) -> bool:
    """True for a generator that gives the fields of rows."""
    if not isinstance(node, Generate):
        return False
    return call_name(node.generator.tree) == "inline" or str(node.outputs[-1].type).startswith("struct<")
