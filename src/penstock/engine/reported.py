"""Exceptions of either backend, read: whatever an operator works in, its errors are told in the same words."""

from __future__ import annotations

import re

from penstock.backends.render import VERSION
from penstock.backends.reported import Reported, clipped
from penstock.backends.spark.raised import of_surroundings, reported
from penstock.circuit.raised import diagnosed
from penstock.errors import PenstockError
from penstock.plan.scalar import quoted


def report_of(error: Exception) -> Reported | PenstockError | None:
    """The report of an exception that came out of a backend; None for any other.

    One that is about the machine, and not about the program, is an error of its own.
    """
    raised = diagnosed(error)
    if raised is not None:
        return Reported("raised", clipped(raised.message.strip()), raised.sqlstate or None, raised.fragment or None)
    return of_surroundings(error) or reported(error)


def without_version(fragment: str) -> str:
    """A window call without the key that tells the rows before a step from those after it."""
    version = quoted(VERSION)
    return re.sub(f", {version}|PARTITION BY {version} ?", "", fragment)
