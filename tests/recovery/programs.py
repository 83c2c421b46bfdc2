"""The programs of the machine: tables, views in several forms, and what DuckDB answers to the same over plain rows.

A view's query reads the same in Spark SQL and in DuckDB's; those forms of a view have the same columns, so that one can
be deployed in the place of another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

DELAY, WINDOW = timedelta(seconds=4), timedelta(seconds=20)
START = datetime(2025, 1, 1)  # noqa: DTZ001 - UTC
_BEGINNING = """
SET state_seconds = '{seconds}';
SET log_retention = '{retention}';
CREATE TABLE keyed (id INT PRIMARY KEY, k INT, x INT);
CREATE TABLE bag (k INT, x INT);
CREATE TABLE timed (ts TIMESTAMP LATENESS INTERVAL 4 SECONDS, k INT);
CREATE TABLE fed (id INT, k INT) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json');
CREATE MATERIALIZED VIEW counts
    WITH ('connector' = 'files', 'path' = '{folder}/counts', 'format' = 'json', 'form' = 'retract',
        'timeout' = '1 second')
    AS SELECT COUNT(*) AS n, MAX(id) AS m FROM fed;
CREATE VIEW closed AS SELECT window_end AS w, COUNT(*) AS n
    FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL 20 SECONDS)) GROUP BY window_end EMIT AFTER WATERMARK;
"""
_SUMS = "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM {} GROUP BY k"
OUTPUTS = {
    "sums": "WITH ('connector' = 'target', 'path' = '{folder}/sums', 'form' = 'retract', 'timeout' = '0 seconds')",
    "pairs": "WITH ('connector' = 'target', 'path' = '{folder}/pairs', 'form' = 'retract', "
    "'on_output_error' = 'continue')",
}
VIEWS: dict[str, tuple[str, ...]] = {
    "sums": (
        _SUMS.format("keyed"),
        _SUMS.format("keyed WHERE x > 2"),
        _SUMS.format("(SELECT k, x FROM keyed UNION ALL SELECT k, x FROM bag) AS both_of_them"),
    ),
    "pairs": (
        "SELECT keyed.id, bag.x AS y FROM keyed JOIN bag ON keyed.k = bag.k",
        "SELECT keyed.id, bag.x AS y FROM keyed LEFT JOIN bag ON keyed.k = bag.k",
        "SELECT fed.id, CAST(sums.s AS INT) AS y FROM fed LEFT JOIN sums ON fed.k = sums.k",
    ),
    "best": ("SELECT k, MAX(x) AS m FROM bag GROUP BY k", "SELECT k, MIN(x) AS m FROM bag GROUP BY k"),
    "kinds": ("SELECT DISTINCT k FROM bag", "SELECT k FROM bag EXCEPT SELECT k FROM keyed"),
    "ranked": (
        "SELECT id, RANK() OVER (PARTITION BY k ORDER BY x NULLS FIRST, id) AS r FROM keyed",
        "SELECT id, RANK() OVER (ORDER BY x NULLS FIRST, id) AS r FROM keyed",
    ),
    "top": (
        "SELECT id, x FROM keyed ORDER BY x DESC NULLS LAST, id LIMIT 3",
        "SELECT id, x FROM keyed ORDER BY x NULLS LAST, id LIMIT 2",
    ),
    "minutes": (
        "SELECT date_trunc('MINUTE', ts) AS w, COUNT(*) AS n FROM timed GROUP BY 1",
        "SELECT date_trunc('MINUTE', ts) AS w, COUNT(DISTINCT k) AS n FROM timed GROUP BY 1",
    ),
    "recent": (
        "SELECT ts, k FROM timed WHERE ts > now() - INTERVAL 20 SECONDS",
        "SELECT ts, k FROM timed WHERE ts > now() - INTERVAL 90 SECONDS AND k > 1",
    ),
    "chained": (
        "SELECT n, COUNT(*) AS c FROM sums GROUP BY n",
        "SELECT s AS n, COUNT(*) AS c FROM sums GROUP BY s",
    ),
    "alone": (
        "SELECT id FROM keyed WHERE NOT EXISTS (SELECT 1 FROM bag WHERE bag.k = keyed.k)",
        "SELECT id FROM keyed WHERE k IN (SELECT k FROM fed)",
    ),
}
Chosen = Mapping[str, int]  # the views that there are, each in one of its forms
BEGINNING: Chosen = {"sums": 0, "pairs": 0}


def program(chosen: Chosen, folder: Path, seconds: str, retention: str) -> str:
    """The program with some views, in an order in which each comes behind those that it reads."""
    views = "".join(
        f"CREATE VIEW {name} {OUTPUTS.get(name, '').format(folder=folder)} AS {forms[chosen[name]]};\n"
        for name, forms in VIEWS.items()
        if name in chosen
    )
    return _BEGINNING.format(seconds=seconds, retention=retention, folder=folder) + views


def answers(chosen: Chosen, tables: Mapping[str, list[tuple[Any, ...]]], clock: datetime) -> dict[str, Counter[Any]]:
    """The answer of each view over the rows of the tables, by DuckDB."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            if tables[name]:
                rows = ", ".join(f"({', '.join(map(_literal, row))})" for row in tables[name])
                connection.execute(f"INSERT INTO {name} VALUES {rows}")
        found = {}
        for name, forms in {**_ALWAYS, **VIEWS}.items():
            if name in _ALWAYS or name in chosen:
                text = forms[chosen.get(name, 0)].replace("now()", f"TIMESTAMP '{clock}'")
                connection.execute(f"CREATE VIEW {name} AS {text}")
                found[name] = Counter(connection.execute(f"FROM {name}").fetchall())
        return found


def _literal(value: int | datetime | None) -> str:
    return "NULL" if value is None else f"TIMESTAMP '{value}'" if isinstance(value, datetime) else str(value)


def closed(rows: Iterable[tuple[Any, ...]], waterline: datetime | None) -> Counter[Any]:
    """What `closed` has shown: the windows that end at or before the waterline."""
    ends = Counter(START + (1 + (row[0] - START) // WINDOW) * WINDOW for row in rows if row[0] is not None)
    return Counter({(end, number): 1 for end, number in ends.items() if waterline is not None and end <= waterline})


TABLES = {
    "keyed": "id INT, k INT, x INT",
    "bag": "k INT, x INT",
    "timed": "ts TIMESTAMP, k INT",
    "fed": "id INT, k INT",
}
_ALWAYS = {
    "counts": ("SELECT COUNT(*) AS n, MAX(id) AS m FROM fed",),
}
