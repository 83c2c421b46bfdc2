"""Calcite: standard SQL's names; decimals are divided with sixteen digits, as DOUBLEs are."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.dialects import standard_functions as standard
from penstock.sql.dialects.parts_of_time import PARTS
from penstock.sql.dialects.rewriting import cut_off, with_nulls
from penstock.sql.dialects.standard_forms import in_standard_forms
from penstock.sql.rules import Rules

RULES = Rules(
    "calcite",
    backslash="character",
    nulls="greatest",
    types=MappingProxyType({"unsigned": "int unsigned", "float": "double"}),
    functions=MappingProxyType(
        {"CARDINALITY": "size", "COLLECT": "collect_list", "ROW": "struct", "WEEK": "weekofyear"}
    ),
    rewrites=MappingProxyType(
        {
            "TRUNC": cut_off,
            "LISTAGG": standard.listagg,
            "TRUNCATE": cut_off,
            "SUBSTRING": standard.substring,
            "INITCAP": standard.initcap,
            "LN": standard.logarithm("LN"),
            "LOG10": standard.logarithm("LOG10"),
            "LOG2": standard.logarithm("LOG2"),
            "LOG": standard.logarithm_of_one,
            "GREATEST": with_nulls("greatest"),
            "LEAST": with_nulls("least"),
        }
    ),
    parts=MappingProxyType(dict(PARTS)),
    double_quoted_names=True,
    bracket_constructors=True,
    counts_from_one=True,
    spreads_rows=True,
    rounds_dates=True,
    interval_differences=True,
    meanings=frozenset(
        {
            "whole_quotients",
            "open_rows",
            "missing_rows",
            "capital_labels",
            "open_membership",
            "weeks_from_sunday",
            "argument_types",
            "whole_groups_alone",
            "dates_stay_dates",
            "milliseconds",
            "cuts_digits",
            "true_or_false",
            "capital_booleans",
            "lists_keep_nulls",
            "pivot_counts",
        }
    ),
    forms=in_standard_forms,
    wide_division=True,
)
