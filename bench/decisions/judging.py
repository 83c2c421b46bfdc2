"""What maintained views hold beside DuckDB's answers over the same tables, which it keeps up to date by key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from bench.decisions.data import FACTS, Tables
from penstock.catalog.reserved import WEIGHT


class Judge:
    """The tables, and what each system's changes add up to, in DuckDB; a context manager."""

    def __init__(self, tables: Tables, queries: Mapping[str, str]) -> None:
        self._queries = queries
        self._connection = duckdb.connect()
        for name, rows in tables.items():
            self._connection.register("given", rows)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")

    def replace(self, changed: Tables) -> None:
        """Put rows in the place of those with their keys."""
        for name, keys in FACTS.items():
            self._connection.register("given", changed[name])
            alike = " AND ".join(f"given.{key} = {name}.{key}" for key in keys)
            self._connection.execute(f"DELETE FROM {name} USING given WHERE {alike}")
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM given")

    def write(self, folder: Path) -> None:
        """The tables as Parquet."""
        for name in (row[0] for row in self._connection.execute("SHOW TABLES").fetchall()):
            if not name.startswith("kept "):
                self._connection.execute(f"COPY {name} TO '{folder / name}.parquet' (FORMAT parquet)")

    def answers(self) -> dict[str, pa.Table]:
        """Every view, computed anew."""
        return {name: self._connection.sql(query).to_arrow_table() for name, query in self._queries.items()}

    def add(self, system: str, view: str, change: pa.Table) -> None:
        """Take a change of a view into what a system has said of it; rows without a weight count once."""
        if not change.num_columns:
            return
        weighted = change if WEIGHT in change.column_names else change.append_column(WEIGHT, _ones(change.num_rows))
        kept = f'"kept {system} {view}"'
        typed = f"SELECT *, 0::BIGINT AS {WEIGHT} FROM ({self._queries[view]}) LIMIT 0"
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS {kept} AS {typed}")
        self._connection.register("given", weighted)
        self._connection.execute(f"INSERT INTO {kept} SELECT * FROM given")

    def check(self, system: str) -> None:
        """AssertionError for a view in which a system's rows are not those that DuckDB answers now."""
        for view in self._queries:
            if wrong := self._different(system, view):
                message = f"{system} differs from DuckDB in {wrong} rows of {view}"
                raise AssertionError(message)

    def _different(self, system: str, view: str) -> int:
        held = f'SELECT * EXCLUDE {WEIGHT}, sum({WEIGHT}) AS n FROM "kept {system} {view}" GROUP BY ALL HAVING n <> 0'
        right = f"SELECT *, count(*) AS n FROM ({self._queries[view]}) GROUP BY ALL"
        sides = f"(({held}) EXCEPT ({right})) UNION ALL (({right}) EXCEPT ({held}))"
        ((found,),) = self._connection.execute(f"SELECT count(*) FROM ({sides})").fetchall()
        return int(found)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()


def _ones(count: int) -> pa.Array:
    return pa.repeat(pa.scalar(1, pa.int64()), count)
