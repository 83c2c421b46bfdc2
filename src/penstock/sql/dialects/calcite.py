"""Calcite: standard SQL's names."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.rules import Rules

RULES = Rules(
    "calcite",
    functions=MappingProxyType({"CARDINALITY": "size", "COLLECT": "collect_list"}),
    double_quoted_names=True,
    bracket_constructors=True,
)
