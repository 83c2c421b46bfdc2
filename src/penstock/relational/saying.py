"""Errors that name the call: `filter(amout > 10): column 'amout' does not exist`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from penstock.errors import Diagnostic, PenstockError, SqlError

Raised = TypeVar("Raised", bound=PenstockError)
_LONGEST = 60


def call(name: str, *arguments: Any) -> str:
    """A call as a reader knows it again."""
    text = ", ".join(map(_shown, arguments))
    return f"{name}({text if len(text) <= _LONGEST else text[:_LONGEST] + '…'})"


def _shown(argument: Any) -> str:
    if isinstance(argument, list | tuple):
        return ", ".join(map(_shown, argument))
    return str(argument.text) if hasattr(argument, "text") else repr(argument)


def at(where: str, error: Raised) -> Raised:
    """The error with the call before each message; `source` stays."""
    found = [replace(item, message=f"{where}: {item.message}") for item in error.diagnostics]
    return type(error)(found, error.source)


def refused(*, message: str, hint: str) -> SqlError:
    """A call that has no meaning."""
    return SqlError(Diagnostic("PYTHON_CALL", message, hint=hint))
