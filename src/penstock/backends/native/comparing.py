"""Values told apart and ordered: in keys, in ORDER BY, and as one value that sorts like a whole row.

DuckDB's order of numbers, strings and times is Spark's: NaN is the greatest and equals itself, both zeros are equal,
strings go by their bytes. What it groups keeps the sign of the first zero, where Spark gives 0.0.

Nested values are sorted alone, never compared: DuckDB puts a NULL in them last, Spark first. They go by what sorts as
they do: an ARRAY by the sort keys of its elements, a STRUCT by one of all its fields, a MAP by the sorted ones of its
entries, and then by these as they lie, as the whole row has it (catalog.sorting).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from penstock.backends.native.expressions.once import applied, once
from penstock.backends.native.proof import NotProvenError, Proven
from penstock.backends.native.raised import text_literal
from penstock.catalog.types import FRACTIONAL, INTEGRAL, TEMPORAL, Type, is_decimal, split_types, struct_fields

_COMPARED = frozenset([*INTEGRAL, *FRACTIONAL, *TEMPORAL, "boolean", "string", "binary"])
_PLAIN = frozenset([*INTEGRAL, *TEMPORAL])  # the least and the largest of which are quickly found
_FIRST = "ASC NULLS FIRST"


def require_compared(kind: Type | None) -> None:
    """Refuse a type whose values DuckDB may tell apart or order in another way."""
    if kind is None:
        raise NotProvenError(what="a type that only Spark knows")
    if kind not in _COMPARED and not is_decimal(kind):
        raise NotProvenError(what=f"comparing values of type {kind}")


def key(value: Proven) -> str:
    """A value as a key of groups and partitions, in which both zeros are one."""
    require_compared(value.type)
    if value.type not in FRACTIONAL:
        return value.text
    return f"CASE WHEN {value.text} = 0 THEN abs({value.text}) ELSE {value.text} END"


def sorted_by(value: Proven, *, descending: bool = False, nulls_first: bool = True) -> str:
    """An item of an ORDER BY."""
    return f"{sorting(value)} {_direction(descending=descending, nulls_first=nulls_first)}"


def sorting(value: Proven) -> str:
    """A value, or of a nested one what sorts as it does; NULL where it is."""
    text, kind = value.text, value.type
    if kind.startswith("array<"):
        return applied("list_transform", text, lambda item: sort_key([Proven(item, kind[6:-1])]))
    if kind.startswith("map<"):
        of_key, of_value = split_types(kind[4:-1])
        entries = applied(
            "list_transform",
            f"map_entries({text})",
            lambda item: sort_key([Proven(f"{item}.key", of_key), Proven(f"{item}.value", of_value)]),
        )
        whole = once([entries], lambda keys: f"create_sort_key(list_sort({keys}), '{_FIRST}', {keys}, '{_FIRST}')")
        return f"CASE WHEN {text} IS NOT NULL THEN {whole} END"
    if kind.startswith("struct<"):
        fields = struct_fields(kind)
        parts = [Proven(f"struct_extract({text}, {text_literal(name)})", of) for name, of in fields]
        return f"CASE WHEN {text} IS NOT NULL THEN {sort_key(parts)} END"
    require_compared(kind)
    return text


def directed_sort_key(values: Iterable[tuple[Proven, bool, bool]]) -> str:
    """Values as one that sorts as they do; each with whether it descends, and whether NULLs are first."""
    parts = [
        f"{sorting(value)}, '{_direction(descending=descending, nulls_first=nulls_first)}'"
        for value, descending, nulls_first in values
    ]
    return f"create_sort_key({', '.join(parts)})" if parts else "0"


def sort_key(values: Iterable[Proven], turned: Container[int] = ()) -> str:
    """Several values as one that sorts as they do, ascending, those at the places `turned` descending; NULLs first."""
    parts = []
    for place, value in enumerate(values):
        parts.append(f"{sorting(value)}, '{'DESC' if place in turned else 'ASC'} NULLS FIRST'")
    return f"create_sort_key({', '.join(parts)})" if parts else "0"


def _direction(*, descending: bool, nulls_first: bool) -> str:
    return f"{'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


@dataclass(frozen=True, slots=True)
class Order:
    """An order of rows as one value, of which the largest or the least is first, and NULL is last."""

    value: str
    largest: bool

    def item(self, name: str) -> str:
        """The value, which has that name, as an item of an ORDER BY."""
        return f"{name} {_direction(descending=self.largest, nulls_first=False)}"

    def last(self, name: str, count: int) -> str:
        """The last value of a group that can be among its first ones; NULL if all can."""
        aggregate = "max" if self.largest else "min"
        return f"{aggregate}({name})" if count == 1 else f"{aggregate}({name}, {count})[{count}]"

    def reaches(self, name: str, last: str) -> str:
        """The condition of a value that is not behind the last one."""
        return f"({last} IS NULL OR {name} {'>=' if self.largest else '<='} {last})"


def order_of(value: Proven, *, descending: bool, nulls_first: bool) -> Order:
    """The order by one value: the value itself, or what sorts as it does."""
    if value.type in _PLAIN and not nulls_first:
        return Order(value.text, descending)
    direction = _direction(descending=descending, nulls_first=nulls_first)
    return Order(f"create_sort_key({sorting(value)}, '{direction}')", largest=False)
