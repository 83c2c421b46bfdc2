"""The keys that operations on a table touch, found by statements of DuckDB over the rows that lie there.

    batch   position, key, operation    →  of each key: its first position, and the last that counts
    found   the stored rows of the keys →  what each key had before

What becomes of a key then whoever asks knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from penstock.backends.native.stored import ProcessRows, positions
from penstock.catalog.reserved import WEIGHT

_SHARED_ROWS = 10_000


@dataclass(frozen=True)
class TouchedKeys:
    """Keys in the order of their first operations, which are at `first`; the last that counts of each is at `last`.

    `last` is NULL where none counts. `there` says whether a key has a row, which is in `stored`; else that has NULLs.
    `filling` has, of each column by its place, the last update that gives it a value after `last`, or NULL.
    """

    first: pa.ChunkedArray
    last: pa.ChunkedArray
    there: pa.ChunkedArray
    stored: pa.Table
    filling: Mapping[int, pa.ChunkedArray]


def by_last(process: ProcessRows, rows: pa.Table, passed: pa.ChunkedArray | None) -> TouchedKeys:
    """The keys of rows of which the last one with each key counts; of those that have `passed`, if that is given."""
    keys, given = ", ".join(process.keys), _numbered(process, rows)
    if passed is not None:
        given = given.append_column("ok", passed)
    counted = "" if passed is None else " FILTER (ok)"
    with process.store.given(given) as relation:
        if passed is None and process.are_apart(relation):
            if not process.has_any(relation):
                return _touched(process, _all_new(process, rows.num_rows))
            touched = f"SELECT {keys}, p AS first, p AS last FROM {relation}"
        else:
            touched = f"SELECT {keys}, min(p) AS first, max(p){counted} AS last FROM {relation} GROUP BY {keys}"
        return _touched(process, _with_stored(process, touched, "last"))


def by_updates(process: ProcessRows, rows: pa.Table, updates: pa.ChunkedArray) -> TouchedKeys:
    """The same where some rows are `updates`, each of which fills up the row that counts, or is stored."""
    keys = ", ".join(process.keys)
    given = process.placed(rows).append_column("p", positions(rows.num_rows)).append_column("up", updates)
    filled = ", ".join(f"max(b.p) FILTER (b.{name} IS NOT NULL) AS u{name}" for name in process.names)
    filling = [f"u{name}" for name in process.names]
    with process.store.given(given) as relation:
        firsts = f"SELECT {keys}, min(p) AS first, max(p) FILTER (NOT up) AS last FROM {relation} GROUP BY {keys}"
        later = f"FROM {relation} b JOIN firsts f ON {process.agreeing('b', 'f')} WHERE b.p > coalesce(f.last, -1)"
        updated = f"SELECT f.first, {filled} {later} GROUP BY f.first"
        joined = "SELECT f.*, u.* EXCLUDE (first) FROM firsts f LEFT JOIN updated u ON f.first = u.first"
        query = f"WITH firsts AS ({firsts}), updated AS ({updated}) {joined}"
        found = _with_stored(process, query, "last", *filling)
    return _touched(process, found, {place: found[name] for place, name in enumerate(filling)})


def first_of_each(process: ProcessRows, rows: pa.Table) -> list[int]:
    """For each row the position of the first with its key."""
    with process.store.given(_numbered(process, rows)) as relation:
        partition = ", ".join(process.keys)
        query = f"SELECT min(p) OVER (PARTITION BY {partition}) AS first FROM {relation} ORDER BY p"
        return list(process.store.arrow(query)["first"].to_pylist())


def _touched(
    process: ProcessRows, found: pa.Table, filling: Mapping[int, pa.ChunkedArray] | None = None
) -> TouchedKeys:
    stored = process.declared(found.select(process.names))
    return TouchedKeys(found["first"], found["last"], found["there"], stored, filling or {})


def _numbered(process: ProcessRows, rows: pa.Table) -> pa.Table:
    """The keys of rows with their positions."""
    return process.placed(rows).select(process.keys).append_column("p", positions(rows.num_rows))


def _with_stored(process: ProcessRows, touched: str, *columns: str) -> pa.Table:
    """The touched keys in the order of their first operations, with their stored rows, and whether there is one."""
    listed = ", ".join(f"g.{name}" for name in ("first", *columns))
    if process.is_empty:
        return _without_stored(process, process.store.arrow(f"SELECT {listed} FROM ({touched}) g ORDER BY first"))
    stored = ", ".join(f"t.{name}" for name in process.names)
    joined = f"touched g LEFT JOIN ({process.found_in('touched')}) t ON {process.agreeing('g', 't')}"
    query = f"SELECT {listed}, {stored}, t.{WEIGHT} IS NOT NULL AS there FROM {joined} ORDER BY first"
    return process.store.arrow(f"WITH touched AS MATERIALIZED ({touched}) {query}")


def _all_new(process: ProcessRows, count: int) -> pa.Table:
    """The same for operations on as many keys, none of which has a stored row."""
    return _without_stored(process, pa.table({"first": positions(count), "last": positions(count)}))


def _nulls(count: int, kind: pa.DataType) -> pa.ChunkedArray:
    """So many NULLs, most of which share their memory."""
    some = pa.nulls(min(count, _SHARED_ROWS), kind)
    whole, rest = divmod(count, _SHARED_ROWS)
    return pa.chunked_array([some] * whole + [some.slice(0, rest)], kind)


def _without_stored(process: ProcessRows, found: pa.Table) -> pa.Table:
    for field in process.schema:
        found = found.append_column(field, _nulls(found.num_rows, field.type))
    return found.append_column("there", pa.repeat(pa.scalar(value=False), found.num_rows))
