"""Dates and times, in the zone UTC: a TIMESTAMP is a number of microseconds, a DATE one of days."""

from __future__ import annotations

from penstock.backends.native.expressions.arithmetic import bounds_of, overflowed
from penstock.backends.native.expressions.coercion import as_type
from penstock.backends.native.expressions.formats import formatted
from penstock.backends.native.expressions.once import in_order, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises, constant_text, whole_constant
from penstock.backends.native.expressions.spans import Length, length_of
from penstock.backends.native.proof import Proven
from penstock.catalog.types import INTEGRAL, TEMPORAL
from penstock.plan.forms import Constant, Keyword

_LEAST, _MOST = -9_223_372_022_400_000_000, 9_223_372_036_854_775_806
_FARTHEST_MONTHS = 120_000
_UNITS = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month", "MON": "month",
    "WEEK": "week", "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
    "MILLISECOND": "millisecond", "MICROSECOND": "microsecond",
}  # fmt: skip
_OF_DAYS = ("year", "quarter", "month", "week")
_LENGTHS = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000, "WEEK": 604_800_000_000,
}  # fmt: skip
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_WORD = Proven("", "string")  # stands for a unit, which a rule reads from its form
_PARTS = {
    "year": "year({})", "quarter": "quarter({})", "month": "month({})", "day": "day({})", "dayofmonth": "day({})",
    "dayofweek": "(dayofweek({}) + 1)", "weekday": "(isodow({}) - 1)", "dayofyear": "dayofyear({})",
    "weekofyear": "weekofyear({})", "hour": "hour({})", "minute": "minute({})", "second": "second({})",
}  # fmt: skip
_EXTRACTED = {
    "YEAR": "year", "YEARS": "year", "YR": "year", "QUARTER": "quarter", "QTR": "quarter", "MONTH": "month",
    "MONTHS": "month", "MON": "month", "WEEK": "weekofyear", "WEEKS": "weekofyear", "DAY": "day", "DAYS": "day",
    "DAYOFWEEK": "dayofweek", "DOW": "dayofweek", "DOY": "dayofyear", "HOUR": "hour", "HOURS": "hour",
    "MINUTE": "minute", "MINUTES": "minute",
}  # fmt: skip


def moved(text: str, micros: int, site: Site) -> str:
    """A time so many microseconds later; where there is none, Java's sum overflows."""
    value = (
        f"make_timestamp(epoch_us({text}) + {micros})"
        if micros >= 0
        else f"make_timestamp(epoch_us({text}) - {-micros})"
    )
    bad = f"epoch_us({text}) > {_MOST - micros}" if micros >= 0 else f"epoch_us({text}) < {_LEAST - micros}"
    failure = overflowed("long overflow.", site)
    return f"CASE WHEN {bad} THEN {failure.raising} ELSE {value} END"


def _added(site: Site) -> Proven | None:
    """A date or time and an interval; None where neither side is one."""
    sign = -1 if site.name == "-" else 1
    for place in (0, 1):
        length, value = length_of(site.forms[place]), site.proofs[1 - place]
        if length is None or value is None or value.type not in TEMPORAL or (place == 0 and sign < 0):
            continue
        return _later(site, value, Length(sign * length.months, sign * length.micros, length.days))
    return None


def _later(site: Site, value: Proven, length: Length) -> Proven:
    if abs(length.months) > _FARTHEST_MONTHS:
        site.refuse("of so many months")
    months = f"to_months({length.months})"
    if value.type == "date":
        if length.months:
            return Proven(f"CAST({value.text} + {months} AS DATE)", "date", value.raises)
        if length.days:
            return Proven(f"CAST({value.text} + {length.micros // _LENGTHS['DAY']} AS DATE)", "date", value.raises)
        value = as_type(site, Constant("", "void"), value, "timestamp")
    if length.months:
        return Proven(f"({value.text} + {months})", value.type, value.raises)
    return Proven(once([value], lambda text: moved(text, length.micros, site)), value.type, raises=True)


def or_else(other: Rule) -> Rule:
    """`+` and `-`, which are another rule's where no date or time stands on a side."""

    def rule(site: Site) -> Proven:
        times = any(item is None or item.type in TEMPORAL for item in site.proofs)
        return _plus(site) if times else other(site)

    return rule


def _plus(site: Site) -> Proven:
    found = _added(site)
    if found is not None:
        return found
    value, days = site.values if site.types[0] == "date" or site.name == "-" else site.values[::-1]
    if value.type != "date" or days.type not in INTEGRAL[:3]:
        site.refuse()
    return _days_later(value, days, -1 if site.name == "-" else 1)


def _days_later(value: Proven, days: Proven, sign: int) -> Proven:
    """Java's sum of days, which wraps around."""

    def body(text: str, number: str) -> str:
        total = f"({text} - DATE '1970-01-01') {'+' if sign > 0 else '-'} {number}"
        wrapped = f"((({total}) + {1 << 31}) % {1 << 32} + {1 << 32}) % {1 << 32} - {1 << 31}"
        return f"CAST(DATE '1970-01-01' + CAST({wrapped} AS INTEGER) AS DATE)"

    return Proven(in_order([value, days], body), "date", any_raises([value, days]))


def _date_add(sign: int) -> Rule:
    def rule(site: Site) -> Proven:
        value = as_type(site, site.forms[0], site.values[0], "date")
        if site.types[0] not in (*TEMPORAL, "string") or site.types[1] not in INTEGRAL[:3]:
            site.refuse()
        return _days_later(value, site.values[1], sign)

    return rule


def _with_unit(site: Site) -> Proven:
    """timestampadd(unit, a constant number, time)."""
    unit, number, value = site.forms[0], whole_constant(site.forms[1]), site.proofs[2]
    if not isinstance(unit, Keyword) or number is None or value is None or value.type not in TEMPORAL:
        site.refuse()
    if value.type == "date":
        value = as_type(site, site.forms[2], value, "timestamp")
    word = unit.word.upper()
    if word in _MONTHS:
        return _later(site, value, Length(months=number * _MONTHS[word]))
    if word not in _LENGTHS or abs(number) > 10**9:
        site.refuse()
    return _later(site, value, Length(micros=number * _LENGTHS[word]))


def _days_between(site: Site) -> Proven:
    """datediff(end, start)."""
    if any(kind not in (*TEMPORAL, "string") for kind in site.types):
        site.refuse()
    values = [as_type(site, form, value, "date") for form, value in zip(site.forms, site.values, strict=True)]
    return Proven(in_order(values, lambda end, start: f"CAST({end} - {start} AS INTEGER)"), "int", any_raises(values))


def _between(site: Site) -> Proven:
    """timestampdiff(unit, start, end), cut off toward zero."""
    unit, values = site.forms[0], [item for item in site.proofs[1:] if item is not None]
    if not isinstance(unit, Keyword) or len(values) != 2 or any(item.type not in TEMPORAL for item in values):  # noqa: PLR2004
        site.refuse()
    word = unit.word.upper()
    if word not in _LENGTHS or any_raises(values):
        site.refuse()
    start, end = (f"CAST(epoch_us({item.text}) AS HUGEINT)" for item in values)
    return Proven(f"CAST(({end} - {start}) // {_LENGTHS[word]} AS BIGINT)", "bigint")


def _truncated(site: Site) -> Proven:
    """date_trunc(unit, time), a TIMESTAMP."""
    unit = _UNITS.get((constant_text(site.forms[0]) or "").upper())
    value = site.values[1]
    if unit is None or value.type not in TEMPORAL:
        site.refuse()
    value = as_type(site, site.forms[1], value, "timestamp")
    return Proven(f"CAST(date_trunc('{unit}', {value.text}) AS TIMESTAMP)", "timestamp", value.raises)


def _floored(site: Site) -> Proven:
    """FLOOR(time TO unit), which is date_trunc."""
    unit = site.forms[1]
    if not isinstance(unit, Keyword) or site.proofs[0] is None:
        site.refuse()
    word = Constant(unit.word.upper().removesuffix("S"), "string")
    return _truncated(Site(site.form, "date_trunc", (word, site.forms[0]), (_WORD, site.proofs[0])))


def _ceiled(site: Site) -> Proven:
    """CEIL(time TO unit): the unit that a moment before one unit later lies in."""
    unit, value = site.forms[1], site.proofs[0]
    word = unit.word.upper().removesuffix("S") if isinstance(unit, Keyword) else ""
    if value is None or value.type not in TEMPORAL or word not in (*_MONTHS, *_LENGTHS):
        site.refuse()
    days = word in ("DAY", "WEEK")
    step = Length(months=_MONTHS[word]) if word in _MONTHS else Length(micros=_LENGTHS[word], days=days)
    last = _later(site, _later(site, value, step), Length(micros=-1))
    return _truncated(Site(site.form, "date_trunc", (Constant(word, "string"), site.forms[0]), (_WORD, last)))


def _date_truncated(site: Site) -> Proven:
    """trunc(date, unit), a DATE."""
    unit = _UNITS.get((constant_text(site.forms[1]) or "").upper())
    if unit not in _OF_DAYS or site.types[0] not in TEMPORAL:
        site.refuse()
    value = as_type(site, site.forms[0], site.values[0], "date")
    return Proven(f"CAST(date_trunc('{unit}', {value.text}) AS DATE)", "date", value.raises)


def part(site: Site, name: str, value: Proven) -> Proven:
    """A part of a date or a time."""
    if value.type not in TEMPORAL:
        site.refuse()
    if name in ("hour", "minute", "second"):
        value = as_type(site, Constant("", "void"), value, "timestamp")
    return Proven(f"CAST({_PARTS[name].format(value.text)} AS INTEGER)", "int", value.raises)


def _part(site: Site) -> Proven:
    return part(site, site.name, site.values[0])


def _extract(site: Site) -> Proven:
    """EXTRACT(part FROM time); the second with its fraction."""
    unit, value = site.forms[0], site.proofs[1]
    word = unit.word.upper() if isinstance(unit, Keyword) else (constant_text(unit) or "").upper()
    if value is None:
        site.refuse()
    if word in _EXTRACTED:
        return part(site, _EXTRACTED[word], value)
    if word not in ("SECOND", "SECONDS", "SEC", "SECS") or value.type not in TEMPORAL[1:]:
        site.refuse()
    micros = f"((epoch_us({value.text}) % 60000000) + 60000000) % 60000000"
    text = f"CAST(CAST({micros} AS DECIMAL(18,0)) * CAST('0.000001' AS DECIMAL(6,6)) AS DECIMAL(8,6))"
    return Proven(text, "decimal(8,6)", value.raises)


def _moment(site: Site) -> Proven:
    if site.types[0] != "timestamp":
        site.refuse()
    return site.values[0]


def _seconds(site: Site) -> Proven:
    """unix_timestamp: whole seconds, cut off toward zero."""
    if site.types[0] not in ("date", "timestamp"):
        site.refuse()
    value = as_type(site, site.forms[0], site.values[0], "timestamp")
    return Proven(f"(epoch_us({value.text}) // 1000000)", "bigint", value.raises)


def _counted(unit: int) -> Rule:
    """Whole units since 1970, rounded down."""

    def rule(site: Site) -> Proven:
        value = _moment(site)
        micros = f"epoch_us({value.text})"
        if unit == 1:
            return Proven(micros, "bigint", value.raises, (_LEAST, _MOST))
        past = f"(({micros} % {unit}) + {unit}) % {unit}"
        return Proven(f"(({micros} - {past}) // {unit})", "bigint", value.raises)

    return rule


def _from_count(unit: int) -> Rule:
    """A time out of whole units since 1970, of which a BIGINT may have too many."""

    def rule(site: Site) -> Proven:
        (value,) = site.values
        if value.type not in INTEGRAL[:3]:
            site.refuse()
        return Proven(f"make_timestamp(CAST({value.text} AS BIGINT) * {unit})", "timestamp", value.raises)

    return rule


def _from_micros(site: Site) -> Proven:
    (value,) = site.values
    if value.type not in INTEGRAL:
        site.refuse()
    return Proven(f"make_timestamp(CAST({value.text} AS BIGINT))", "timestamp", value.raises)


def _as_date(site: Site) -> Proven:
    """to_date of what can be cast to one."""
    return as_type(site, site.forms[0], site.values[0], "date")


def _as_timestamp(site: Site) -> Proven:
    """to_timestamp of a date, a time or a constant."""
    return as_type(site, site.forms[0], site.values[0], "timestamp")


def _last_day(site: Site) -> Proven:
    if site.types[0] not in TEMPORAL:
        site.refuse()
    value = as_type(site, site.forms[0], site.values[0], "date")
    return Proven(f"last_day({value.text})", "date", value.raises)


def _months_later(site: Site) -> Proven:
    """add_months, by a constant or a number that is not too large to be added to any date."""
    if site.types[0] not in TEMPORAL or site.types[1] not in INTEGRAL[:3]:
        site.refuse()
    value, number = as_type(site, site.forms[0], site.values[0], "date"), site.values[1]
    if max(map(abs, bounds_of(number))) > _FARTHEST_MONTHS:
        site.refuse("by a number that may be too large")
    values = [value, number]
    text = in_order(values, lambda day, months: f"CAST({day} + to_months({months}) AS DATE)")
    return Proven(text, "date", any_raises(values))


def _formatted(site: Site) -> Proven:
    value, pattern = site.values[0], constant_text(site.forms[1])
    if value.type not in TEMPORAL or pattern is None:
        site.refuse()
    value = as_type(site, site.forms[0], value, "timestamp")
    found = formatted(pattern, value)
    return site.refuse(f"with the format {pattern!r}") if found is None else found


RULES: dict[tuple[str, int | None], Rule] = {
    **{(name, 1): _part for name in _PARTS},
    ("extract", 2): _extract,
    ("date_part", 2): _extract,
    ("datepart", 2): _extract,
    **{(name, 2): _date_add(1) for name in ("date_add", "dateadd")},
    ("date_sub", 2): _date_add(-1),
    **{(name, 2): _days_between for name in ("datediff", "date_diff")},
    **{(name, 3): _with_unit for name in ("timestampadd", "dateadd", "date_add")},
    **{(name, 3): _between for name in ("timestampdiff", "datediff", "date_diff")},
    ("date_trunc", 2): _truncated,
    ("floor to", 2): _floored,
    ("ceil to", 2): _ceiled,
    ("trunc", 2): _date_truncated,
    ("unix_micros", 1): _counted(1),
    ("unix_millis", 1): _counted(1_000),
    ("unix_seconds", 1): _counted(1_000_000),
    ("unix_timestamp", 1): _seconds,
    ("to_unix_timestamp", 1): _seconds,
    ("timestamp_micros", 1): _from_micros,
    ("timestamp_millis", 1): _from_count(1_000),
    ("timestamp_seconds", 1): _from_count(1_000_000),
    ("to_date", 1): _as_date,
    ("date", 1): _as_date,
    ("to_timestamp", 1): _as_timestamp,
    ("timestamp", 1): _as_timestamp,
    ("last_day", 1): _last_day,
    ("add_months", 2): _months_later,
    ("date_format", 2): _formatted,
}
