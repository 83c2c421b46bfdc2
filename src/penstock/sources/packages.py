"""Packages that come with an extra, loaded when a program first needs them."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.errors import Diagnostic, UnsupportedError


def package(module: str, what: str, extra: str) -> Any:
    """A module; UnsupportedError, which says what needs it and how to have it, if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{what} needs a package that is not installed: {error.name or module}"
        hint = f"pip install 'penstock[{extra}]'"
        raise UnsupportedError(Diagnostic("MISSING_PACKAGE", message, hint=hint)) from None
