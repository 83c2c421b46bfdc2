"""Spark's error of a value that cannot be computed, as an expression that fails when DuckDB comes to it."""

from __future__ import annotations

import json


def failure(code: str, sqlstate: str, message: str, fragment: str) -> str:
    """An expression that fails: `message` is Spark's sentence, `fragment` the part of the query that it is about."""
    said = {"penstock": code, "sqlstate": sqlstate, "message": message, "fragment": fragment}
    text = json.dumps(said, ensure_ascii=False).replace("'", "''")
    return f"error('{text}')"
