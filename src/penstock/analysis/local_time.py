"""Times that are read from a clock that is put back once a year, and go up all the same.

t - pmod(local(t) - c, k)                        k divides an hour: what is repeated begins as often
instant(local(t) - pmod(local(t) - c, k) + n)    k is whole hours: of a reading that comes twice the first is meant

`local(t)` is the reading of the clock as microseconds, `unix_micros(from_utc_timestamp(t, zone))`, and `instant` its
inverse, `to_utc_timestamp(timestamp_micros(…), zone)`. `bind/grids.py` writes windows so.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.zones import repeats_within_hours
from penstock.plan.expressions import bare

_HOUR = 3_600_000_000


def followed_time(node: exp.Expression) -> exp.Expression | None:
    """The time that the expression goes up with, None if it is not of these forms."""
    if isinstance(node, exp.Sub):
        return _hourly(node)
    arguments = _arguments(node, "to_utc_timestamp", 2)
    micros = None if arguments is None else _arguments(arguments[0], "timestamp_micros", 1)
    if arguments is None or micros is None:
        return None
    floor = bare(micros[0])
    while isinstance(floor, exp.Add) and _number(floor.expression) is not None:
        floor = bare(floor.this)
    read = None if not isinstance(floor, exp.Sub) else _read(floor.expression, bare(floor.this))
    if read is None or read[1] != bare(arguments[1]) or read[2] % _HOUR:
        return None
    return read[0]


def _hourly(node: exp.Sub) -> exp.Expression | None:
    read, micros = _read(node.expression, None), _arguments(node.this, "unix_micros", 1)
    if read is None or micros is None or _HOUR % read[2] or bare(micros[0]) != bare(read[0]):
        return None
    return micros[0]


def _read(past: exp.Expression, clock: exp.Expression | None) -> tuple[exp.Expression, exp.Expression, int] | None:
    """The time, the zone and the step of `pmod(local(t) - c, k)`; `clock`, if given, is what local(t) must be."""
    arguments = _arguments(past, "pmod", 2)
    step = None if arguments is None else _number(arguments[1])
    if arguments is None or not step or step < 0:
        return None
    reading = bare(arguments[0])
    if isinstance(reading, exp.Sub) and _number(reading.expression) is not None:
        reading = bare(reading.this)
    micros = _arguments(reading, "unix_micros", 1)
    local = None if micros is None else _arguments(micros[0], "from_utc_timestamp", 2)
    if local is None or (clock is not None and clock != reading):
        return None
    zone = bare(local[1])
    if not isinstance(zone, exp.Literal) or not repeats_within_hours(str(zone.name)):
        return None
    return bare(local[0]), zone, step


def _arguments(tree: exp.Expression, name: str, count: int) -> list[exp.Expression] | None:
    node = bare(tree)
    if not isinstance(node, exp.Anonymous) or str(node.this).lower() != name or len(node.expressions) != count:
        return None
    return list(node.expressions)


def _number(tree: exp.Expression) -> int | None:
    """A whole-number literal, cast or negated."""
    node, sign = bare(tree), 1
    while isinstance(node, exp.Neg | exp.Cast):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = bare(node.this)
    digits = isinstance(node, exp.Literal) and not node.is_string and node.name.lstrip("-").isdigit()
    return sign * int(node.name) if digits else None
