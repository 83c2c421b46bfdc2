"""Timeplus: ClickHouse's type and function names in lower case."""

from __future__ import annotations

from types import MappingProxyType

from sqlglot import exp

from penstock.sql.dialects.rewriting import call, filtered
from penstock.sql.rules import Rewrite, Rules

_UNITS = {"ms": "MILLISECOND", "us": "MICROSECOND", "s": "SECOND", "m": "MINUTE", "h": "HOUR", "d": "DAY"}


def _now(_tree: exp.Anonymous) -> exp.Expression:
    return call("now")


def _count(tree: exp.Anonymous) -> exp.Expression:
    """count() is count(*)."""
    return tree if tree.expressions else call("count", exp.Star())


def _count_if(tree: exp.Anonymous) -> exp.Expression:
    """count_if(condition), count_if(x, condition)."""
    return tree if len(tree.expressions) == 1 else filtered("count", tree)


def _date_diff(tree: exp.Anonymous) -> exp.Expression:
    """date_diff('second', a, b) is timestampdiff(SECOND, a, b)."""
    unit = tree.expressions[0] if tree.expressions else None
    if not isinstance(unit, exp.Literal) or not unit.is_string:
        return tree
    name = _UNITS.get(unit.name.lower(), unit.name.upper())
    return call("timestampdiff", exp.Var(this=name), *tree.expressions[1:])


def _first_k(descending: bool) -> Rewrite:  # noqa: FBT001
    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        """max_k(x, k): the k greatest values, greatest first."""
        value, count = tree.expressions[:2]
        values = call("sort_array", call("collect_list", value), exp.Boolean(this=not descending))
        return call("slice", values, exp.Literal.number(1), count)

    return rewrite


def _if(name: str) -> Rewrite:
    return lambda tree: filtered(name, tree)


RULES = Rules(
    "timeplus",
    types=MappingProxyType(
        {
            "int8": "tinyint",
            "int16": "smallint",
            "int32": "int",
            "int64": "bigint",
            "uint8": "smallint",
            "uint16": "int",
            "uint32": "bigint",
            "uint64": "decimal",
            "float32": "float",
            "float64": "double",
            "datetime": "timestamp",
            "datetime64": "timestamp",
            "date32": "date",
            "fixed_string": "string",
            "low_cardinality": "nullable",
            "uuid": "string",
            "json": "string",
            "tuple": "struct",
        }
    ),
    functions=MappingProxyType(
        {
            "UNIQ": "approx_count_distinct",
            "UNIQ_EXACT": "count_distinct",
            "GROUP_ARRAY": "collect_list",
            "GROUP_UNIQ_ARRAY": "collect_set",
            "ARG_MAX": "max_by",
            "ARG_MIN": "min_by",
            "ANY": "first",
            "EARLIEST": "first",
            "LATEST": "last",
            "LAGS": "lag",
            "TO_STRING": "string",
            "TO_INT": "int",
            "TO_FLOAT": "double",
            "LENGTH": "length",
        }
    ),
    rewrites=MappingProxyType(
        {
            "NOW64": _now,
            "NOW": _now,
            "COUNT": _count,
            "COUNT_IF": _count_if,
            "DATE_DIFF": _date_diff,
            "MAX_K": _first_k(descending=True),
            "MIN_K": _first_k(descending=False),
            **{f"{name.upper()}_IF": _if(name) for name in ("sum", "avg", "min", "max")},
        }
    ),
    durations_everywhere=True,
    case_sensitive=True,
    event_times=True,
)
