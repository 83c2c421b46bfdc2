"""The past that a standing query of Timeplus reads: SETTINGS seek_to, or a WHERE that asks for `_tp_time` or `_tp_sn`.

seek_to = 'latest'                   rows that come from now on (default)
seek_to = 'earliest'                 all rows
seek_to = '2025-01-01 10:00:00'      rows from that time on, and all that come
seek_to = '-2h'                      the same, two hours before the query begins
seek_to = '4294967296'               rows from that sequence number on
WHERE _tp_time >= ...                all rows, of which the condition leaves some
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlglot import exp

from penstock.bind.query_settings import SEEK_TO
from penstock.catalog.model import EVENT_TIME, Catalog
from penstock.catalog.reserved import SEQUENCE_NUMBER
from penstock.catalog.zones import zone_named
from penstock.errors import Diagnostic, Span, SqlError

_BACK = re.compile(r"-(\d{1,9})(ms|s|m|h|d|w)")
_DIGITS = 18  # fewer than the greatest BIGINT has
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.Between)


@dataclass(frozen=True, slots=True)
class Seek:
    """The rows of the past that are read: none, or those from a time or a sequence number on, or all."""

    past: bool = False
    since: datetime | int | None = None


def seek_of(
    settings: Mapping[str, str],
    tree: exp.Expression,
    clock: datetime,
    catalog: Catalog,
    place: Span | None = None,
) -> Seek:
    """The past that a query reads which begins at a clock; SqlError for a setting, at its place, that says no time."""
    value = settings.get(SEEK_TO)
    if value is None:
        return Seek(past=_asks_for_time(tree))
    if value in ("earliest", "latest"):
        return Seek(past=value == "earliest")
    if value.isdecimal():
        return Seek(past=True, since=_number(value, place))
    back = _BACK.fullmatch(value)
    if back is not None:
        return Seek(past=True, since=clock - timedelta(**{_UNITS[back[2]]: int(back[1])}))
    try:
        return Seek(past=True, since=_utc(datetime.fromisoformat(value.upper()), catalog))
    except ValueError:
        raise _no_place(value, place) from None


def _number(value: str, place: Span | None) -> int:
    if len(value) > _DIGITS:
        raise _no_place(value, place)
    return int(value)


def _no_place(value: str, place: Span | None) -> SqlError:
    message = f"SETTINGS seek_to is no place to begin: {value[:60]!r}"
    hint = "'earliest', 'latest', '-2h', a time as in '2025-01-01 10:00:00', or a number that _tp_sn had"
    return SqlError(Diagnostic("BAD_SETTING", message, place, hint=hint))


def _utc(time: datetime, catalog: Catalog) -> datetime:
    """A time in UTC: one that names no zone is in that of the pipeline."""
    if time.tzinfo is None:
        time = time.replace(tzinfo=zone_named(catalog.settings.get("time zone", "UTC")) or UTC)
    return time.astimezone(UTC).replace(tzinfo=None)


def _asks_for_time(tree: exp.Expression) -> bool:
    """True if a WHERE compares `_tp_time` or `_tp_sn`."""
    return any(_says_when(column) for where in tree.find_all(exp.Where) for column in where.find_all(exp.Column))


def _says_when(column: exp.Column) -> bool:
    return column.name in (EVENT_TIME, SEQUENCE_NUMBER) and column.find_ancestor(*_COMPARISONS) is not None
