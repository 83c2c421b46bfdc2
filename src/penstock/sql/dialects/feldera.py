"""Feldera: Calcite's SQL with BigQuery's date functions."""

from __future__ import annotations

from types import MappingProxyType

from sqlglot import exp

from penstock.sql.dialects.rewriting import call, moved, truncate
from penstock.sql.rules import Rules

RULES = Rules(
    "feldera",
    types=MappingProxyType({"int64": "bigint", "int2": "smallint", "int4": "int", "int8": "bigint", "uuid": "string"}),
    functions=MappingProxyType(
        {
            "ARG_MAX": "max_by",
            "ARG_MIN": "min_by",
            "NOW": "now",
            "ARRAY_LENGTH": "size",
            "ARRAY_REVERSE": "reverse",
            "ARRAY_CONCAT": "concat",
            "ARRAY_TO_STRING": "array_join",
            "ARRAY_EXISTS": "exists",
            "CARDINALITY": "size",
            "LOGICAL_AND": "bool_and",
            "LOGICAL_OR": "bool_or",
            "CHAR_LENGTH": "char_length",
            "PARSE_JSON": "parse_json",
            "IS_NAN": "isnan",
            "ROW": "struct",
        }
    ),
    rewrites=MappingProxyType(
        {
            "TIMESTAMP_TRUNC": truncate,
            "DATE_TRUNC": truncate,
            "DATETIME_TRUNC": truncate,
            "DATE_ADD": moved(exp.Add, "date_add"),
            "DATE_SUB": moved(exp.Sub, "date_sub"),
            "TO_HEX": lambda tree: call("lower", call("hex", *tree.expressions)),
            "ISNULL": lambda tree: call("isnull", *tree.expressions),
        }
    ),
    double_quoted_names=True,
    bracket_constructors=True,
    counts_from_one=True,
)
