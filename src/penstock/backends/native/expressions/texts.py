"""Texts that Spark reads as other types, and dates and times as it writes them.

Each reader gives SQL of the value, and SQL of whether the text has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.native.expressions.kinds import RANGE, storage
from penstock.backends.native.raised import text_literal
from penstock.catalog.types import Type

# What Spark trims: blanks and control characters of ASCII (`UTF8String.trimAll`).
AROUND = r"[\x00-\x20\x7f]*"
_NUMBERS = {"MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"}
_DAY = (("yyyy", True), ("-", False), ("MM", True), ("-", False), ("dd", True))
_TRUE, _FALSE = "'t', 'true', 'y', 'yes', '1'", "'f', 'false', 'n', 'no', '0'"


def integer_of_text(text: str, target: Type) -> tuple[str, str]:
    """A sign and digits."""
    least, most = RANGE[target]
    matches = f"regexp_full_match({text}, '{AROUND}[+-]?[0-9]+{AROUND}')"
    digits = f"TRY_CAST(regexp_extract({text}, '[+-]?[0-9]+') AS HUGEINT)"
    inside = f"coalesce({digits} BETWEEN {least} AND {most}, FALSE)"
    bad = f"{text} IS NOT NULL AND NOT ({matches} AND {inside})"
    return f"TRY_CAST({digits} AS {storage(target)})", bad


def truth_of_text(text: str, _target: Type) -> tuple[str, str]:
    """One of ten words."""
    word = f"lower(regexp_replace({text}, '^{AROUND}|{AROUND}$', '', 'g'))"
    return f"({word} IN ({_TRUE}))", f"{word} NOT IN ({_TRUE}, {_FALSE})"


def date_of_text(text: str, _target: Type) -> tuple[str, str]:
    """`yyyy`, `yyyy-m`, `yyyy-m-d`, and anything behind a blank or a T after the day."""
    day = "(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?"
    pattern = rf"(?s)^{AROUND}([+-]?[0-9]{{4,7}}){day}{AROUND}$"
    written, month, day = (f"regexp_extract({text}, '{pattern}', {group})" for group in (1, 2, 3))
    value = date_of_parts(written, month, day)
    return value, f"{text} IS NOT NULL AND {value} IS NULL"


def date_of_parts(written: str, month: str, day: str) -> str:
    """The day of a year with its sign, a month and a day as texts, which may be empty; NULL where there is none."""
    year = f"TRY_CAST({written} AS INTEGER)"
    before = f"CASE WHEN {year} < 1 THEN ' (BC)' ELSE '' END"  # where the year 0 is 1 BC
    counted = f"format('{{:04d}}', CASE WHEN {year} < 1 THEN 1 - {year} ELSE {year} END)"
    others = " || '-' || ".join(f"lpad(CASE {part} WHEN '' THEN '1' ELSE {part} END, 2, '0')" for part in (month, day))
    return f"TRY_CAST({counted} || '-' || {others} || {before} AS DATE)"


def text_of_time(text: str, parts: Sequence[tuple[str, bool]]) -> str:
    """A time of any year in the parts of a format, each with whether it is a part of the time, or stands for itself.

    A year has four digits or more, and a sign before the first one and behind the year 9999. This is as little SQL as
    may be, since it is read each time.
    """
    layout, values, year = "", [], f"year({text})"
    for letters, known in parts:
        if not known:
            layout += letters.replace("{", "{{").replace("}", "}}")
        elif letters == "yyyy":
            layout += "{}{:04d}"
            values += [f"CASE WHEN {year} > 9999 THEN '+' WHEN {year} < 0 THEN '-' ELSE '' END", f"abs({year})"]
        else:
            layout += "{:02d}"
            values.append(f"{_NUMBERS[letters]}({text})")
    return f"format({', '.join([text_literal(layout), *values])})"


def text_of_date(text: str) -> str:
    """`yyyy-MM-dd`."""
    other = text_of_time(text, _DAY)
    return f"CASE WHEN year({text}) BETWEEN 1 AND 9999 THEN CAST({text} AS VARCHAR) ELSE {other} END"


def text_of_timestamp(text: str) -> str:
    """`yyyy-MM-dd HH:mm:ss` and as many digits of the second as there are."""
    day = text_of_date(f"CAST({text} AS DATE)")
    clock = f"CAST(CAST({text} AS TIME) AS VARCHAR)"
    return f"CASE WHEN year({text}) BETWEEN 1 AND 9999 THEN CAST({text} AS VARCHAR) ELSE ({day}) || ' ' || {clock} END"
