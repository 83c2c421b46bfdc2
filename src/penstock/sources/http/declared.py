"""The declaration of a table into which rows are pushed; looks at nothing outside."""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.model import Table
from penstock.errors import Diagnostic, SqlError
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


LISTEN = Property(
    "listen",
    "The address at which the pipeline listens; tables of one address share it, each at the path of its name. Port 0 "
    "is any that is free.",
    takes="as in '127.0.0.1:8080'",
    check=_check_address,
    required=True,
)
TOKEN = Property(
    "token",
    "What must stand in the header `Authorization: Bearer …`; without it anybody who reaches the port may push.",
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
    "max_bytes", "The largest body that is taken (413).", "16777216", takes="a number", check=_check_size
)
QUEUE_BYTES = Property(
    "queue_bytes",
    "How much may wait for a step; then it is said to come later (503 with `Retry-After`).",
    "67108864",
    takes="a number",
    check=_check_size,
)
TIMEOUT = Property(
    "timeout",
    "How long an answer waits for its step (then 504; what was pushed may still come: send it again with its key).",
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
    TOKEN,
    FORMAT,
    MOST_BYTES,
    QUEUE_BYTES,
    TIMEOUT,
    *(item for item in formats.PROPERTIES if item not in (formats.FORMAT, formats.UNKNOWN_COLUMNS, formats.HEADER)),
    UNKNOWN_COLUMNS,
)


def check_listen(table: Table) -> None:
    """SqlError for a name that cannot be a path."""
    if "/" in table.name or "?" in table.name:
        message = f"table {table.name}: a name with / or ? is no path to push to"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint="give the table another name"))
