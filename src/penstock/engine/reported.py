"""Exceptions of either backend, read: whatever an operator works in, its errors are told in the same words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.backends.render import VERSION
from penstock.backends.reported import Library, Reported, clipped
from penstock.backends.spark.raised import of_surroundings, reported
from penstock.circuit.raised import diagnosed
from penstock.errors import PenstockError, first_line
from penstock.plan.scalar import quoted

# The libraries in whose words nothing may reach a user, by their packages.
_LIBRARIES: Mapping[str, Library] = {
    "duckdb": "DuckDB",
    "pyarrow": "Arrow",
    "sqlglot": "the parser",
    "pyspark": "Spark",
    "py4j": "Spark",
}


def report_of(error: Exception) -> Reported | PenstockError | None:
    """The report of an exception that came out of a backend; None for any other.

    One that is about the machine, and not about the program, is an error of its own.
    """
    raised = diagnosed(error)
    if raised is not None:
        return Reported("raised", clipped(raised.message.strip()), raised.sqlstate or None, raised.fragment or None)
    return of_surroundings(error) or reported(error) or _of_library(error)


def _of_library(error: Exception) -> Reported | None:
    """The report of an exception of a library that is at work in a step, by the package in which its class is."""
    packages = (kind.__module__.partition(".")[0].lstrip("_") for kind in type(error).__mro__)
    name = next((package for package in packages if package in _LIBRARIES), None)
    if name is None:
        return None
    library = _LIBRARIES[name]
    message = f"{library} has failed: {type(error).__name__}: {first_line(error)}"
    return Reported("failed", clipped(message), library=library)


def without_version(fragment: str) -> str:
    """A window call without the key that tells the rows before a step from those after it."""
    version = quoted(VERSION)
    return re.sub(f", {version}|PARTITION BY {version} ?", "", fragment)
