"""Feldera: Calcite's SQL with BigQuery's date functions."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.dialects.rewriting import call, truncate
from penstock.sql.rules import Rules

RULES = Rules(
    "feldera",
    types=MappingProxyType({"int64": "bigint", "int2": "smallint", "int4": "int", "int8": "bigint"}),
    functions=MappingProxyType(
        {
            "ARG_MAX": "max_by",
            "ARG_MIN": "min_by",
            "NOW": "now",
            "ARRAY_LENGTH": "size",
            "CARDINALITY": "size",
            "LOGICAL_AND": "bool_and",
            "LOGICAL_OR": "bool_or",
            "CHAR_LENGTH": "char_length",
            "PARSE_JSON": "parse_json",
        }
    ),
    rewrites=MappingProxyType(
        {
            "TIMESTAMP_TRUNC": truncate,
            "DATE_TRUNC": truncate,
            "DATETIME_TRUNC": truncate,
            "ISNULL": lambda tree: call("isnull", *tree.expressions),
        }
    ),
    double_quoted_names=True,
    bracket_constructors=True,
)
