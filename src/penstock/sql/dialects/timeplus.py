"""Timeplus: ClickHouse's type and function names in lower case."""

from __future__ import annotations

from types import MappingProxyType

from penstock.sql.dialects.timeplus_aggregates import AGGREGATES
from penstock.sql.dialects.timeplus_functions import FUNCTIONS, NAMES
from penstock.sql.dialects.timeplus_texts import TEXTS, json_at
from penstock.sql.rules import Rules

RULES = Rules(
    "timeplus",
    backslash="known escape",
    nulls="last",
    types=MappingProxyType(
        {
            "int8": "tinyint",
            "int16": "smallint",
            "int32": "int",
            "int64": "bigint",
            "uint8": "tinyint unsigned",
            "uint16": "smallint unsigned",
            "uint32": "int unsigned",
            "uint64": "bigint unsigned",
            "float32": "float",
            "float64": "double",
            "datetime": "timestamp",
            "datetime64": "timestamp",
            "date32": "date",
            **{f"decimal{bits}": f"decimal{bits}" for bits in (32, 64, 128, 256)},
            "fixed_string": "string",
            "low_cardinality": "nullable",
            "uuid": "string",
            "enum8": "enum",
            "enum16": "enum",
            "enum": "enum",
            "json": "string",
            "tuple": "struct",
        }
    ),
    functions=NAMES,
    rewrites=MappingProxyType({**AGGREGATES, **FUNCTIONS, **TEXTS}),
    durations_everywhere=True,
    case_sensitive=True,
    event_times=True,
    aliases_in_where=True,
    types_as_texts=True,
    counts_from_one=True,
    json_at=json_at,
    keeps_duplicates=True,
    meanings=frozenset({"even_halves", "bare_numbers"}),
)
