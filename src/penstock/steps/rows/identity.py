"""The identity of rows of tables: when two of them are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from penstock.backends.parts import part_changer
from penstock.backends.rows import Key, Row, canonical, canonical_row
from penstock.catalog.model import Table
from penstock.catalog.types import Type


def unordered(value: Any) -> Any:
    """The same for values that are equal but for the order of the entries of their MAPs, which are lists of pairs."""
    if isinstance(value, list):
        items = [unordered(item) for item in value]
        return frozenset(items) if all(isinstance(item, tuple) for item in value) else tuple(items)
    if isinstance(value, tuple):
        return tuple(unordered(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((key, unordered(item)) for key, item in value.items())
    return canonical(value)


def identity_of(table: Table) -> Callable[[Row], Key]:
    """Tells the rows of a table apart: as `canonical_row`, with a VARIANT's JSON as the value it stands for."""
    kinds = tuple(column.type for column in table.columns)
    return JsonIdentity(kinds) if _changers(kinds) else canonical_row


@dataclass(frozen=True, slots=True)
class JsonIdentity:
    """The same for rows of columns of these types, in some of which there are VARIANTs; plain, for a snapshot."""

    kinds: tuple[Type, ...]

    def __call__(self, row: Row) -> Key:
        """The key of one row."""
        changers = _changers(self.kinds)
        return canonical_row(changers[place](value) if place in changers else value for place, value in enumerate(row))


@cache
def _changers(kinds: tuple[Type, ...]) -> dict[int, Callable[[Any], Any]]:
    """The changers of columns with VARIANTs, by their places: what they give for equal values is equal."""
    found = enumerate(part_changer(kind, "variant", _json_identity) for kind in kinds)
    return {place: change for place, change in found if change}


def _json_identity(text: str) -> frozenset[Any]:
    return frozenset({("\0JSON", _json_value(json.loads(text, parse_int=Decimal, parse_float=Decimal)))})


def _json_value(value: Any) -> Any:
    """JSON as Python finds it equal: fields in any order, 1.0 and 1; but true is no number."""
    if isinstance(value, bool):
        return "\0true" if value else "\0false"
    if isinstance(value, dict):
        return frozenset((name, _json_value(item)) for name, item in value.items())
    return tuple(_json_value(item) for item in value) if isinstance(value, list) else value
