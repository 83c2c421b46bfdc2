"""Functions of calendars: months between times, days of a week, and times as texts of a format, in the zone UTC."""

from __future__ import annotations

from penstock.backends.native.expressions.coercion import as_type
from penstock.backends.native.expressions.formats import formatted
from penstock.backends.native.expressions.once import in_order, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises, constant_text
from penstock.backends.native.proof import Proven
from penstock.catalog.types import INTEGRAL, TEMPORAL

_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_DAYS = {
    name: number
    for number, names in enumerate(
        ("MO MON MONDAY", "TU TUE TUESDAY", "WE WED WEDNESDAY", "TH THU THURSDAY", "FR FRI FRIDAY", "SA SAT SATURDAY",
         "SU SUN SUNDAY"), 1)
    for name in names.split()
}  # fmt: skip
_SECONDS_OF_DAY, _SECONDS_OF_MONTH = 86_400, 2_678_400


def _months(text: str) -> str:
    return f"(CAST(year({text}) AS BIGINT) * 12 + month({text}))"


def _months_between(site: Site) -> Proven:
    """Months with their fraction, of 31 days, rounded to eight digits; between last days of months whole ones."""
    if any(kind not in TEMPORAL for kind in site.types):
        site.refuse()
    values = [as_type(site, form, value, "timestamp") for form, value in zip(site.forms, site.values, strict=True)]

    def body(end: str, start: str) -> str:
        months = f"({_months(end)} - {_months(start)})"
        days = f"(day({end}) - day({start}))"
        last = f"day({end}) = day(last_day({end})) AND day({start}) = day(last_day({start}))"
        seconds = f"({days} * {_SECONDS_OF_DAY} + {_clock(end)} - {_clock(start)})"
        exact = f"(CAST({months} AS DOUBLE) + CAST({seconds} AS DOUBLE) / {_SECONDS_OF_MONTH}::DOUBLE) * 1e8"
        rounded = once(
            [exact], lambda value: f"(floor({value}) + CASE WHEN {value} - floor({value}) >= 0.5 THEN 1 ELSE 0 END)"
        )
        fraction = f"CAST(CAST({rounded} AS BIGINT) AS DOUBLE) / 1e8::DOUBLE"
        return f"CASE WHEN {days} = 0 OR ({last}) THEN CAST({months} AS DOUBLE) ELSE {fraction} END"

    return Proven(in_order(values, body), "double", any_raises(values))


def _clock(text: str) -> str:
    """Whole seconds since midnight."""
    return f"(hour({text}) * 3600 + minute({text}) * 60 + second({text}))"


def _next_day(site: Site) -> Proven:
    """The next day of the week with a constant name."""
    day = _DAYS.get((constant_text(site.forms[1]) or "").upper())
    if day is None or site.types[0] not in TEMPORAL:
        site.refuse("with such a day")
    value = as_type(site, site.forms[0], site.values[0], "date")
    text = once(
        [value], lambda known: f"CAST({known} + CAST(({day + 6} - isodow({known})) % 7 + 1 AS INTEGER) AS DATE)"
    )
    return Proven(text, "date", value.raises)


def _days(site: Site) -> Proven:
    """unix_date."""
    (value,) = site.values
    if value.type != "date":
        site.refuse()
    return Proven(f"CAST({value.text} - DATE '1970-01-01' AS INTEGER)", "int", value.raises)


def _named(function: str) -> Rule:
    """The first three letters of a name in English."""

    def rule(site: Site) -> Proven:
        if site.types[0] not in TEMPORAL:
            site.refuse()
        value = as_type(site, site.forms[0], site.values[0], "date")
        return Proven(f"substring({function}({value.text}), 1, 3)", "string", value.raises)

    return rule


def _from_seconds(site: Site) -> Proven:
    """from_unixtime of seconds that are no BIGINT, in a constant format."""
    value = site.values[0]
    pattern = constant_text(site.forms[1]) if len(site.forms) > 1 else _DEFAULT
    if value.type not in INTEGRAL[:3] or pattern is None:
        site.refuse()
    moment = Proven(f"make_timestamp(CAST({value.text} AS BIGINT) * 1000000)", "timestamp", value.raises)
    return formatted(pattern, moment) or site.refuse(f"with the format {pattern!r}")


RULES: dict[tuple[str, int | None], Rule] = {
    ("months_between", 2): _months_between,
    ("next_day", 2): _next_day,
    ("unix_date", 1): _days,
    ("dayname", 1): _named("dayname"),
    ("monthname", 1): _named("monthname"),
    ("from_unixtime", 1): _from_seconds,
    ("from_unixtime", 2): _from_seconds,
}
