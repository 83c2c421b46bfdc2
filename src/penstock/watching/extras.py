"""Packages that only some need: an extra of Penstock's brings them."""

from __future__ import annotations

from importlib.util import find_spec

from penstock.errors import Diagnostic, UnsupportedError


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is a part of
        return False


def check_extra(module: str, extra: str, wanted_by: str) -> None:
    """Refuse what wants a module that is not installed."""
    if not _is_there(module):
        message = f"{wanted_by} wants the Python package {module}, which is not installed"
        raise UnsupportedError(Diagnostic("MISSING_PACKAGE", message, hint=f"pip install 'penstock[{extra}]'"))
