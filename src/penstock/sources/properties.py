"""The properties of a table's source in WITH: one list for each connector, checked and documented by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from penstock.analysis.bounds import parse_bound
from penstock.catalog.model import Table, View
from penstock.catalog.properties import ROWS_PER_STEP, TABLE, Placed, is_among, name_place, value_place
from penstock.errors import DataError, Diagnostic, SqlError, did_you_mean


class Declared(Placed, Protocol):
    """A table or view: whatever can have properties."""

    @property
    def name(self) -> str: ...

    @property
    def properties(self) -> Mapping[str, str]: ...


def named(declared: Declared) -> str:
    """A table or view as messages name it."""
    return f"{'view' if isinstance(declared, View) else 'table'} {declared.name}"


@dataclass(frozen=True, slots=True)
class Property:
    """One property: its name, what it takes, what holds without it, and what it is for.

    `values` are all that it takes, and `beside` says what does what none of them does; without them `takes` says what
    it takes, and `check` tells what is wrong with a value (None: nothing). `formats` are those that it is for, all if
    there are none; `limited` has those of a value that is for some only.
    """

    name: str
    about: str
    default: str | None = None
    values: tuple[str, ...] = ()
    beside: str = ""
    takes: str = "text"
    check: Callable[[str], str | None] | None = None
    formats: tuple[str, ...] = ()
    limited: tuple[str, tuple[str, ...]] | None = None
    required: bool = False

    def value(self, table: Declared) -> str:
        """The value that the table gives, or the one that holds without it; words are in lower case."""
        found = table.properties.get(self.name, self.default or "")
        return found.lower() if self.values else found


ON_REPLACED = Property(
    "on_replaced",
    "When another thing stands under the same name than the one that was read: `run` stops with an error that names "
    "both, or the new one is read from its beginning, and rows that were read before stay.",
    "fail",
    ("fail", "read"),
)


def check_replaced(table: Table, thing: str, known: str, present: str | None) -> None:
    """DataError if a thing is not the one that was read, unless the table has the new one read."""
    if ON_REPLACED.value(table) == "read":
        return
    what = f"is {present}" if present is not None else "is not there"
    message = f"table {table.name}: {thing} is another one: what steps have read was {known}, and what is there {what}"
    hint = (
        "'on_replaced' = 'read' reads the new one from its beginning, and rows that were read before stay; or bring "
        "back the one that was read, or begin with an empty directory"
    )
    raise DataError(Diagnostic("CANNOT_READ_AGAIN", message, table.span, hint=hint))


def check_properties(table: Declared, known: Sequence[Property]) -> None:
    """Refuse values that properties cannot have, and properties that there are not or not with the format, at once."""
    found = wrong_values(table, known)
    found += _unknown(table, [*(item.name for item in TABLE), *(item.name for item in known)])
    if found:
        raise SqlError(found)


def _unknown(table: Declared, known: Sequence[str]) -> list[Diagnostic]:
    """Those of a connector of another package, of whose words the catalog knows none."""
    connector, words = table.properties["connector"], ", ".join(known)
    return [
        Diagnostic(
            "UNKNOWN_PROPERTY",
            f"{named(table)}: the connector {connector} has no property {name[:60]!r}",
            name_place(table, name),
            did_you_mean(name, known),
            f"the properties are {words}",
        )
        for name in table.properties
        if not is_among(name, known)
    ]


def wrong_values(table: Declared, known: Sequence[Property]) -> list[Diagnostic]:
    """The faults of a table's, or a view's, values."""
    return [wrong for item in known if (wrong := _wrong(table, item)) is not None]


def _wrong(table: Declared, item: Property) -> Diagnostic | None:
    if item.name not in table.properties:
        return _missing(table, item) if item.required else None
    if item.formats and _style(table) not in item.formats:
        message = f"{named(table)}: '{item.name}' is for the format {' and '.join(item.formats)}"
        return Diagnostic("BAD_PROPERTY", message, name_place(table, item.name))
    value = table.properties[item.name]
    if item.values:
        return _limited(table, item, value) if value.lower() in item.values else _meaningless(table, item, value)
    wrong = item.check(value) if item.check is not None else None
    if wrong is None:
        return _missing(table, item) if item.required and not value else None
    message = f"{named(table)}: '{item.name}' = {value[:100]!r}: {wrong}"
    return Diagnostic("BAD_PROPERTY", message, value_place(table, item.name), hint=item.takes)


def _style(table: Declared) -> str:
    """The name of the format, which Flink calls that of the value."""
    return (table.properties.get("value.format") or table.properties.get("format", "json")).lower()


def _limited(table: Declared, item: Property, value: str) -> Diagnostic | None:
    """The fault of a value that is for other formats than the table's."""
    if item.limited is None or value.lower() != item.limited[0] or _style(table) in item.limited[1]:
        return None
    message = f"{named(table)}: '{item.name}' = '{value}' is for the format {' and '.join(item.limited[1])}"
    return Diagnostic("BAD_PROPERTY", message, value_place(table, item.name), hint=item.beside)


def _missing(table: Declared, item: Property) -> Diagnostic:
    message = f"{named(table)}: the connector {table.properties['connector']} needs '{item.name}'"
    return Diagnostic("MISSING_PROPERTY", message, table.span, hint=f"'{item.name}' = '{item.takes}'")


def _meaningless(table: Declared, item: Property, value: str) -> Diagnostic:
    near, place = did_you_mean(value, item.values), value_place(table, item.name)
    if item.name == "format":
        message, hint = f"{named(table)}: there is no format {value[:100]!r}", ", ".join(item.values)
        return Diagnostic("UNKNOWN_FORMAT", message, place, near, f"the formats are {hint}")
    message = f"{named(table)}: '{item.name}' = {value[:100]!r} means nothing"
    hint = " or ".join(f"'{one}'{' (the default)' if one == item.default else ''}" for one in item.values)
    return Diagnostic("BAD_PROPERTY", message, place, near, f"{hint}; {item.beside}" if item.beside else hint)


def rows_per_step(table: Declared) -> int | None:
    """The number of rows that a step takes of a table's source at most, if the table says one."""
    said = table.properties.get(ROWS_PER_STEP)
    return None if said is None else int(said)


def check_rows_per_step(table: Declared) -> None:
    """SqlError for a number that is none."""
    said = table.properties.get(ROWS_PER_STEP)
    if said is not None and not (said.isascii() and said.isdigit() and int(said) > 0):
        message = f"{named(table)}: '{ROWS_PER_STEP}' = {said[:100]!r}: it is no whole number above 0"
        place = value_place(table, ROWS_PER_STEP)
        raise SqlError(Diagnostic("BAD_PROPERTY", message, place, hint="'rows_per_step' = '10000'"))


def duration(text: str) -> timedelta:
    """An interval such as `10 seconds`; SqlError if it is none."""
    return parse_bound(text if text.strip().lower().startswith("interval") else f"INTERVAL {text}", "timestamp").time


def check_duration(text: str) -> str | None:
    """The fault in an interval; None if there is none."""
    try:
        duration(text)
    except SqlError as error:
        return error.diagnostics[0].message
    return None


def check_one_character(text: str) -> str | None:
    r"""The fault in a delimiter, where `\t` is a tab; None if there is none."""
    found = text.replace("\\t", "\t")
    if len(found) != 1 or not found.isascii() or found in "\r\n":
        return "it is no single character of ASCII"
    return None
