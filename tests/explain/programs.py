"""Programs from SQL text, for tests of what EXPLAIN says."""

from __future__ import annotations

from penstock.bind.program.compile import compile_program
from penstock.catalog.model import Catalog


def compiled(text: str, dialect: str | None = None) -> Catalog:
    """The catalog that a program declares."""
    return compile_program(text, dialect).catalog
