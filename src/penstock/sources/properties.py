"""What a table may say in WITH about its source: one list for each connector, checked and documented by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from penstock.analysis.bounds import parse_bound
from penstock.catalog.model import Table
from penstock.errors import Diagnostic, SqlError, did_you_mean


@dataclass(frozen=True, slots=True)
class Property:
    """One property: its name, what it takes, what holds without it, and what it is for.

    `values` are all that it takes; without them `takes` says what it takes, and `check` tells what is wrong with a
    value (None: nothing). `formats` are those that it is for, all if there are none.
    """

    name: str
    about: str
    default: str | None = None
    values: tuple[str, ...] = ()
    takes: str = "text"
    check: Callable[[str], str | None] | None = None
    formats: tuple[str, ...] = ()
    required: bool = False

    def value(self, table: Table) -> str:
        """What the table says, or what holds without it; words are in lower case."""
        found = table.properties.get(self.name, self.default or "")
        return found.lower() if self.values else found


def check_properties(table: Table, known: Sequence[Property]) -> None:
    """Refuse a value that a property cannot have, and a property that the format does not have."""
    style = table.properties.get("format", "").lower()
    for item in known:
        if item.name in table.properties:
            _check_value(table, item, table.properties[item.name])
        elif item.required:
            message = f"table {table.name}: the connector {table.properties['connector']} needs '{item.name}'"
            raise SqlError(Diagnostic("MISSING_PROPERTY", message, table.span, hint=f"'{item.name}' = '{item.takes}'"))
    for item in known:
        if item.name in table.properties and item.formats and (style or "json") not in item.formats:
            message = f"table {table.name}: '{item.name}' is for files of the format {' and '.join(item.formats)}"
            raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span))


def _check_value(table: Table, item: Property, value: str) -> None:
    if item.values and value.lower() not in item.values:
        if item.name == "format":
            raise _unknown_format(table, item, value)
        message = f"table {table.name}: '{item.name}' = {value[:100]!r} means nothing"
        hint = " or ".join(f"'{one}'{' (the default)' if one == item.default else ''}" for one in item.values)
        raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, did_you_mean(value, item.values), hint))
    wrong = item.check(value) if item.check is not None else None
    if wrong is not None:
        message = f"table {table.name}: '{item.name}' = {value[:100]!r}: {wrong}"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint=item.takes))


def _unknown_format(table: Table, item: Property, value: str) -> SqlError:
    message = f"table {table.name}: there is no format {value[:100]!r}"
    hint = f"the formats are {', '.join(item.values)}"
    return SqlError(Diagnostic("UNKNOWN_FORMAT", message, table.span, did_you_mean(value, item.values), hint))


def duration(text: str) -> timedelta:
    """An interval such as `10 seconds`; SqlError if it is none."""
    return parse_bound(text if text.strip().lower().startswith("interval") else f"INTERVAL {text}", "timestamp").time


def check_duration(text: str) -> str | None:
    """What is wrong with an interval."""
    try:
        duration(text)
    except SqlError as error:
        return error.diagnostics[0].message
    return None


def check_one_character(text: str) -> str | None:
    r"""What is wrong with a delimiter; `\t` is a tab."""
    found = text.replace("\\t", "\t")
    if len(found) != 1 or not found.isascii() or found in "\r\n":
        return "it is no single character of ASCII"
    return None
