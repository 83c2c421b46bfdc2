"""The program: tables, and a view for each query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from penstock.bind.program.compile import compile_program

_FOLDER = Path(__file__).parent
TABLES = (_FOLDER / "tables.sql").read_text()


def views() -> Mapping[str, str]:
    """Each query by its name, in the words that Spark and DuckDB share."""
    files = sorted((_FOLDER / "views").glob("*.sql"))
    return {re.sub(r"^\d+_", "", path.stem): path.read_text() for path in files}


def program() -> str:
    """All of it as SQL."""
    return TABLES + "".join(f"CREATE VIEW {name} AS\n{query};\n" for name, query in views().items())


def columns() -> Mapping[str, list[str]]:
    """The columns of each table."""
    tables = compile_program(TABLES, None).catalog.tables
    return {name: [column.name for column in table.columns] for name, table in tables.items()}
