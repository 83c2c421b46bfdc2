"""A second engine: DuckDB answers the same query over the same rows, so that a misreading shared with Spark shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlglot

from penstock.testing.fuzz.tables import Relation, sql_type, written
from penstock.testing.multisets import Weighted, consolidate

if TYPE_CHECKING:
    import duckdb


# DuckDB 2.0.0 mixes up the columns of equal subqueries that it evaluates once, and takes GROUPING SETS for fewer rows
# than they give, so that a LIMIT above them goes.
_WRONG = {"common_subplan", "statistics_propagation"}


class Duck:
    """Tables in DuckDB, in memory."""

    def __init__(self, tables: Sequence[Relation]) -> None:
        import duckdb  # noqa: PLC0415 - developers have it

        self._connection: duckdb.DuckDBPyConnection = duckdb.connect()
        self._tables = tuple(tables)
        known = {name for (name,) in self._connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
        self._connection.execute(f"SET disabled_optimizers = '{','.join(sorted(_WRONG & known))}'")
        self._connection.execute("CREATE MACRO isnotnull(x) AS x IS NOT NULL")  # our own word in plans
        for table in tables:
            listed = ", ".join(f"{name} {translated_type(kind)}" for name, kind in table.columns)
            self._connection.execute(f"CREATE TABLE {table.name} ({listed})")

    def fill(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Replace a table's rows."""
        table = next(item for item in self._tables if item.name == name)
        self._connection.execute(f"DELETE FROM {name}")
        kinds = [kind for _, kind in table.columns]
        for row in rows:
            values = ", ".join(written(value, kind) for value, kind in zip(row, kinds, strict=True))
            self._connection.execute(translated(f"INSERT INTO {name} VALUES ({values})"))

    def declare(self, name: str, text: str) -> bool:
        """Make a view; False if DuckDB cannot read its query."""
        return self.answer(f"CREATE OR REPLACE VIEW {name} AS {text}") is not None

    def answer(self, query: str) -> list[Weighted] | None:
        """The query's rows; None if DuckDB cannot read it, or casts what Spark, which is lazier, does not look at."""
        import duckdb  # noqa: PLC0415 - developers have it

        try:
            rows = self._connection.execute(translated(query)).fetchall()
        except (
            duckdb.ParserException,
            duckdb.BinderException,
            duckdb.NotImplementedException,
            duckdb.CatalogException,
            duckdb.ConversionException,
        ):
            return None
        return consolidate((1, row) for row in rows)


def translated(query: str) -> str:
    """Spark's words in DuckDB's."""
    return sqlglot.transpile(query, read="databricks", write="duckdb")[0]


def translated_type(kind: str) -> str:
    """A type in DuckDB's words."""
    return sqlglot.exp.DataType.build(sql_type(kind), dialect="databricks").sql("duckdb")
