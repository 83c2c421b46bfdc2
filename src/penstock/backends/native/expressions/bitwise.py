"""Shifts, which leave in the type what is in it, and counts of bits."""

from __future__ import annotations

from penstock.backends.native.expressions.once import in_order, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises
from penstock.backends.native.proof import Proven
from penstock.catalog.types import INTEGRAL

_BITS = {"int": 32, "bigint": 64}


def _shifted(site: Site) -> Proven:
    """`<<`, `>>` and `>>>`, by as many bits as the last five or six of the number say."""
    if not all(kind in INTEGRAL for kind in site.types) or site.types[1] == "bigint":
        site.refuse()
    kind = "bigint" if site.types[0] == "bigint" else "int"
    bits = _BITS[kind]
    signed = "BIGINT" if kind == "bigint" else "INTEGER"

    def body(value: str, number: str) -> str:
        power = f"(1::HUGEINT << CAST({number} & {bits - 1} AS INTEGER))"
        if _SIGNS[site.name] == "<<":
            moved = f"({value}::HUGEINT * {power})"
            return f"CAST({once([f'({moved} % {1 << bits})'], lambda rest: _wrapped(rest, bits))} AS {signed})"
        if _SIGNS[site.name] == ">>":
            return f"CAST(CAST({value} AS {signed}) >> CAST({number} & {bits - 1} AS INTEGER) AS {signed})"
        unsigned = f"CASE WHEN {value} < 0 THEN {value}::HUGEINT + {1 << bits} ELSE {value}::HUGEINT END"
        return f"CAST({once([f'(({unsigned}) // {power})'], lambda rest: _wrapped(rest, bits))} AS {signed})"

    return Proven(in_order(site.values, body), kind, any_raises(site.values))


def _wrapped(rest: str, bits: int) -> str:
    """A number of so many bits without a sign, or below zero, as one with a sign."""
    half = 1 << (bits - 1)
    return (
        f"CASE WHEN {rest} >= {half} THEN {rest} - {1 << bits} WHEN {rest} < {-half} THEN {rest} + {1 << bits}"
        f" ELSE {rest} END"
    )


def _count(site: Site) -> Proven:
    """The bits of a whole number as a BIGINT, which are many below zero."""
    (value,) = site.values
    if value.type not in (*INTEGRAL, "boolean"):
        site.refuse()
    return Proven(f"CAST(bit_count(CAST({value.text} AS BIGINT)) AS INTEGER)", "int", value.raises)


_SIGNS = {"shiftleft": "<<", "shiftright": ">>", "shiftrightunsigned": ">>>", "<<": "<<", ">>": ">>", ">>>": ">>>"}
RULES: dict[tuple[str, int | None], Rule] = {**{(name, 2): _shifted for name in _SIGNS}, ("bit_count", 1): _count}
