"""Calcite: standard SQL's names; decimals are divided with sixteen digits, as DOUBLEs are."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.dialects.parts_of_time import PARTS
from penstock.sql.dialects.rewriting import cut_off
from penstock.sql.dialects.standard_forms import in_standard_forms
from penstock.sql.rules import Rules

RULES = Rules(
    "calcite",
    types=MappingProxyType({"unsigned": "int unsigned"}),
    functions=MappingProxyType(
        {"CARDINALITY": "size", "COLLECT": "collect_list", "ROW": "struct", "WEEK": "weekofyear"}
    ),
    rewrites=MappingProxyType({"TRUNC": cut_off, "TRUNCATE": cut_off}),
    parts=MappingProxyType(dict(PARTS)),
    double_quoted_names=True,
    bracket_constructors=True,
    counts_from_one=True,
    spreads_rows=True,
    rounds_dates=True,
    interval_differences=True,
    forms=in_standard_forms,
    wide_division=True,
)
