"""Feldera: Calcite's SQL with BigQuery's date functions."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.dialects.feldera_functions import FUNCTIONS, NAMES
from penstock.sql.dialects.parts_of_time import PARTS
from penstock.sql.dialects.standard_forms import in_standard_forms
from penstock.sql.rules import Rules

RULES = Rules(
    "feldera",
    backslash="character",
    types=MappingProxyType(
        {
            "int64": "bigint",
            "int2": "smallint",
            "int4": "int",
            "int8": "bigint",
            "float4": "float",
            "float32": "float",
            "float8": "double",
            "float64": "double",
            "uuid": "string",
            "unsigned": "int unsigned",
        }
    ),
    functions=MappingProxyType(dict(NAMES)),
    rewrites=MappingProxyType(dict(FUNCTIONS)),
    parts=MappingProxyType(dict(PARTS)),
    double_quoted_names=True,
    bracket_constructors=True,
    counts_from_one=True,
    spreads_rows=True,
    rounds_dates=True,
    interval_differences=True,
    forms=in_standard_forms,
    open_variants=True,
    meanings=frozenset(
        {
            "whole_quotients",
            "open_rows",
            "open_membership",
            "weeks_from_sunday",
            "argument_types",
            "dates_stay_dates",
            "milliseconds",
            "cuts_digits",
            "true_or_false",
            "capital_booleans",
            "lists_keep_nulls",
            "pivot_counts",
        }
    ),
)
