"""The libraries whose values are in what a pipeline remembers."""

from __future__ import annotations

LIBRARIES = ("duckdb", "pyarrow", "pyspark")  # whose values another version of them reads, or says that it does not
PARSER = "sqlglot"  # whose trees mean what the same version of it takes them for
