"""Flink SQL: its names for types and for the time of a row."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.dialects.rewriting import call
from penstock.sql.rules import Rules

RULES = Rules(
    "flink",
    types=MappingProxyType({"bytes": "binary", "multiset": "array"}),
    functions=MappingProxyType({"CARDINALITY": "size", "COLLECT": "collect_list"}),
    rewrites=MappingProxyType(
        {
            "PROCTIME": lambda _tree: call("now"),
            "CURRENT_ROW_TIMESTAMP": lambda _tree: call("now"),
        }
    ),
    bracket_constructors=True,
)
