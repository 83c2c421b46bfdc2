"""Functions of Penstock that queries in DuckDB call."""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.backends.matching.function import MATCH, SETTLED, matches_in_arrow, settled_in_arrow
from penstock.backends.native.asked import ASKED, WRITTEN, Ask, nobody
from penstock.backends.native.asked import in_arrow as asked_in_arrow
from penstock.backends.native.json_texts import JSON
from penstock.backends.native.json_texts import in_arrow as json_in_arrow
from penstock.backends.native.letters import CAPITAL, SMALL, capital_in_arrow, small_in_arrow
from penstock.backends.native.room import ROOM, room_in_arrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MATCHES = "STRUCT(picks INTEGER[], longs BIGINT[], doubles DOUBLE[], texts VARCHAR[])[]"


def know_functions(
    connection: DuckDBPyConnection, ask: Ask = nobody, limit: Callable[[], int] = lambda: sys.maxsize
) -> None:
    """Tell a connection of the functions, and of the bytes that values may have.

    It is closed before Python ends: DuckDB complains of functions left over.
    """
    functions: tuple[tuple[str, Callable[..., Any], str], ...] = (
        (MATCH, matches_in_arrow, _MATCHES),
        (SETTLED, settled_in_arrow, "INTEGER"),
        (ASKED, asked_in_arrow(ask, "int64"), "BIGINT"),
        (WRITTEN, asked_in_arrow(ask, "string"), "VARCHAR"),
        (ROOM, room_in_arrow(limit), "BOOLEAN"),
        (JSON, json_in_arrow(ask), "VARCHAR"),
        (SMALL, small_in_arrow, "VARCHAR"),
        (CAPITAL, capital_in_arrow, "VARCHAR"),
    )
    options: dict[str, Any] = {"type": "arrow", "null_handling": "special"}
    for name, function, gives in functions:
        connection.create_function(name, _bare(function), None, gives, **options)
    atexit.register(_closed, weakref.ref(connection))


def _bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without annotations: DuckDB reads them, and does not know those of Arrow."""
    return lambda *columns: function(*columns)  # noqa: PLW0108 - it would be the function with its annotations


def _closed(connection: weakref.ref[DuckDBPyConnection]) -> None:
    found = connection()
    if found is not None:
        found.close()
