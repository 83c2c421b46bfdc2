"""Parsed trees as plain values, and back: for what is remembered of a program.

Only classes of expressions are made again, whatever the values say.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, TypeGuard

from sqlglot import serde
from sqlglot.expressions import Expr

from penstock.errors import DataError, Diagnostic


def is_tree(value: object) -> TypeGuard[Expr]:
    """True for a parsed tree."""
    return isinstance(value, Expr)


def tree_values(tree: Expr) -> list[dict[str, Any]]:
    """A tree as lists, dicts and plain values."""
    return serde.dump(tree)


def tree_of(values: list[dict[str, Any]]) -> object:
    """The tree again; DataError for values that name a class which is no expression's."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        waiting += value.get(serde.TYPE) or ()
        _check(value.get(serde.CLASS, serde.DATA_TYPE))
    return serde.load(values)


def _check(name: str) -> None:
    module, _, plain = name.rpartition(".")
    if name == serde.DATA_TYPE or not module:
        return
    found = None
    if module.startswith(("penstock.", "sqlglot.")):
        found = getattr(sys.modules.get(module) or import_module(module), plain, None)
    if not (isinstance(found, type) and issubclass(found, Expr)):
        raise DataError(Diagnostic("BAD_SNAPSHOT", f"a snapshot does not hold {name}"))
