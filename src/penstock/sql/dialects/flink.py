"""Flink SQL: its names for types and functions, and the settings that say nothing here."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.dialects.flink_forms import in_other_forms
from penstock.sql.dialects.flink_functions import FUNCTIONS, NAMES
from penstock.sql.rules import Rules

RULES = Rules(
    "flink",
    backslash="character",
    types=MappingProxyType({"bytes": "binary", "multiset": "array"}),
    functions=MappingProxyType(dict(NAMES)),
    rewrites=MappingProxyType(dict(FUNCTIONS)),
    bracket_constructors=True,
    counts_from_one=True,
    spreads_rows=True,
    watermarks_drop=False,
    namespaces=("default_catalog", "default_database"),
    interval_differences=True,
    forms=in_other_forms,
    idle_settings=(
        "table.",
        "execution.",
        "sql-client.",
        "pipeline.",
        "parallelism.",
        "state.",
        "restart-strategy",
        "rest.",
        "taskmanager.",
        "jobmanager.",
    ),
    meanings=frozenset(
        {
            "whole_quotients",
            "open_rows",
            "open_membership",
            "argument_types",
            "wide_averages",
            "dates_stay_dates",
            "capital_booleans",
            "lists_keep_nulls",
            "null_for_no_rows",
        }
    ),
)
