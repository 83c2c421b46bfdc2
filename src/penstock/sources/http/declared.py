"""The declaration of a table into which rows are pushed, or for whose rows an address is asked."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote, urlsplit

from penstock.catalog.model import Table
from penstock.catalog.properties import name_place, value_place
from penstock.catalog.types import is_numeric, is_temporal
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.sources.formats import declared as formats
from penstock.sources.properties import Property, check_duration

_PORTS = 65_536
FORMATS = ("json", "csv", "raw", "debezium")


def address(text: str) -> tuple[str, int]:
    """The host and port of `127.0.0.1:8080`; ValueError for anything else."""
    host, colon, port = text.rpartition(":")
    number = int(port) if colon and port.isascii() and port.isdigit() else _PORTS
    if not host or number >= _PORTS:
        message = f"{text!r} is no address"
        raise ValueError(message)
    return host.strip("[]"), number


def _check_address(text: str) -> str | None:
    try:
        address(text)
    except ValueError:
        return "it is no address with a port"
    return None


def _check_size(text: str) -> str | None:
    return None if text.isascii() and text.isdigit() and int(text) > 0 else "it is no whole number above 0"


def _check_url(text: str) -> str | None:
    return None if text.startswith("${") or is_address(text) else "it is no address of http or https"


def is_address(text: str) -> bool:
    """True for the address of a server of HTTP."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)


LISTEN = Property(
    "listen",
    "The address at which the pipeline listens; tables of one address share it, each at the path of its name. Port 0 "
    "is any that is free.",
    takes="as in '127.0.0.1:8080'",
    check=_check_address,
)
URL = Property(
    "url",
    "Instead of `listen`: the address that is asked for rows, again and again. A column's name in braces stands for "
    "the largest value of it so far.",
    takes="as in 'https://host/orders?after={id}'",
    check=_check_url,
)
START = Property("start", "With `url`: what stands in the place of the column before there are rows.", "")
HEADER = Property(
    "header.*", "With `url`: a header of each request, as in `'header.Authorization' = 'Bearer ${env:API_TOKEN}'`."
)
EVERY = Property(
    "every",
    "With `url`: how often it is asked while it has nothing new.",
    "10 seconds",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
TOKEN = Property(
    "token",
    "With `listen`: what must stand in the header `Authorization: Bearer …`; without it anybody who reaches the port "
    "may push.",
    takes="as in '${env:ORDERS_TOKEN}'",
)
FORMAT = Property(
    "format",
    "The format of a body: an object or an array of JSON, or lines of it; records of CSV with the columns in their "
    "order; one value; Debezium's envelopes.",
    "json",
    FORMATS,
)
MOST_BYTES = Property(
    "max_bytes",
    "The largest body that is taken (413), or read from `url`.",
    "16777216",
    takes="a number",
    check=_check_size,
)
QUEUE_BYTES = Property(
    "queue_bytes",
    "With `listen`: how much may wait for a step; then it is said to come later (503 with `Retry-After`).",
    "67108864",
    takes="a number",
    check=_check_size,
)
TIMEOUT = Property(
    "timeout",
    "How long an answer waits for its step (then 504; what was pushed may still come: send it again with its key); how "
    "long `url` may not answer before `run` stops with an error.",
    "30 seconds",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)

UNKNOWN_COLUMNS = replace(
    formats.UNKNOWN_COLUMNS,
    about="Columns of the row that the table lacks are left out, or the row is rejected.",
    values=("ignore", "reject"),
    limited=None,
)

PROPERTIES = (
    LISTEN,
    URL,
    START,
    HEADER,
    EVERY,
    TOKEN,
    FORMAT,
    MOST_BYTES,
    QUEUE_BYTES,
    TIMEOUT,
    *(item for item in formats.PROPERTIES if item not in (formats.FORMAT, formats.UNKNOWN_COLUMNS, formats.HEADER)),
    UNKNOWN_COLUMNS,
)


_PUSHED, _ASKED = (TOKEN, QUEUE_BYTES), (START, EVERY)
_GROW = ("string", "varchar", "char")
_COLUMN = re.compile(r"(?<!\$)\{([^{}]+)\}")


def growing(table: Table) -> str | None:
    """The name of the column that stands in a table's `'url'`."""
    found = _COLUMN.search(URL.value(table))
    return None if found is None else found[1]


def with_value(url: str, text: str) -> str:
    """An address with a value in the place of the column."""
    return _COLUMN.sub(lambda _: quote(text, safe=""), url)


def is_asked(table: Table) -> bool:
    """True if an address is asked for a table's rows, and they are not pushed."""
    return URL.name in table.properties


def check_ways(table: Table) -> None:
    """SqlError for rows that come in no way, or in both, and for properties of the other one."""
    if is_asked(table) == (LISTEN.name in table.properties):
        message = f"table {table.name}: the connector http needs either 'listen' or 'url'"
        hint = f"'listen' = '127.0.0.1:8080' for rows that are pushed, 'url' {URL.takes} for rows that are asked for"
        raise SqlError(Diagnostic("MISSING_PROPERTY", message, table.span, hint=hint))
    asked = is_asked(table)
    others = [item.name for item in (_PUSHED if asked else _ASKED) if item.name in table.properties]
    others += [] if asked else [name for name in table.properties if name.startswith("header.")]
    other = next(iter(others), None)
    if other is not None:
        message = f"table {table.name}: '{other}' is for rows that are {'pushed' if asked else 'asked for'}"
        hint = f"'header.Authorization' = 'Bearer …' is sent to '{URL.name}'" if asked else f"it goes with '{URL.name}'"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, name_place(table, other), hint=hint))


def check_asked(table: Table) -> None:
    """SqlError for a column in `'url'` by which nobody can go on, and for a document that would be there again."""
    names, style = _COLUMN.findall(URL.value(table)), FORMAT.value(table)
    if not names and style != "raw" and not table.key:
        message = (
            f"table {table.name}: '{URL.name}' has no column to go on by, and the table no key: all would come again"
        )
        hint = f"{URL.takes}, or a PRIMARY KEY, by which rows of a document that has changed replace those before"
        raise SqlError(Diagnostic("NO_PRIMARY_KEY", message, table.span, hint=hint))
    for name in names:
        column = next((item for item in table.shown if item.label.lower() == name.lower()), None)
        if column is None or name != names[0]:
            known = [item.name for item in table.shown]
            what = f"{name[:60]!r}, which is no column of it" if column is None else f"more than {names[0]}"
            message = f"table {table.name}: '{URL.name}' names {what}"
            place = value_place(table, URL.name)
            raise SqlError(Diagnostic("UNKNOWN_COLUMN", message, place, did_you_mean(name, known)))
        if not (is_numeric(column.type) or is_temporal(column.type) or column.type.lower().startswith(_GROW)):
            message = f"table {table.name}: {name} is {column.type.upper()}, which does not grow"
            raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint="numbers, times and texts do"))
        if style not in ("json", "csv"):
            message = f"table {table.name}: {name} is not found in the format {style}"
            raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint="'format' = 'json' or 'csv'"))


def check_listen(table: Table) -> None:
    """SqlError for a name that cannot be a path."""
    if "/" in table.name or "?" in table.name:
        message = f"table {table.name}: a name with / or ? is no path to push to"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint="give the table another name"))
