"""What a statement was understood as, as a value without places: two texts with one shape mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from sqlglot import exp

from penstock.catalog.model import Column, Table
from penstock.errors import Span
from penstock.sql.statements import Statement

_PLACES = frozenset({"span", "start", "end", "line", "col", "places", "written"})
_TEXTS = frozenset({"text", "query_text"})  # of statements, tables and columns: what was read


def shape_of(value: Any) -> Any:
    """The value as tuples of what it says; places and the texts that were read are left out."""
    match value:
        case exp.Expr():
            args = tuple((key, shape_of(item)) for key, item in sorted(value.args.items()) if _says(item))
            said = tuple(
                (key, key == "stream" or shape_of(item))
                for key, item in sorted(value.meta.items())
                if key not in _PLACES
            )
            return type(value).__name__, args, said
        case Span() | None | bool() | int() | float():
            return None if isinstance(value, Span) else value
        case Enum():
            return value.value
        case Mapping():
            return tuple(sorted((shape_of(key), shape_of(item)) for key, item in value.items()))
        case list() | tuple() | set() | frozenset():
            return tuple(shape_of(item) for item in value)
        case _ if is_dataclass(value):
            named = (item.name for item in fields(value) if not _is_place(value, item.name))
            return type(value).__name__, tuple((name, shape_of(getattr(value, name))) for name in named)
        case _:
            return str(value)


def _says(item: Any) -> bool:
    return item is not None and item is not False and item != []


def _is_place(value: Any, name: str) -> bool:
    read = isinstance(value, Statement | Table | Column) and name in _TEXTS
    return read or name in _PLACES or name.endswith(("_span", "_spans", "_place"))
