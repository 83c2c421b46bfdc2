"""The libraries whose values are in what a pipeline remembers."""

from __future__ import annotations

LIBRARIES = ("duckdb", "pyarrow", "pyspark", "sqlglot")
