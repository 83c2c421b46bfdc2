"""Sqlglot as it is needed here: written in Python, since the dialect extends its classes."""

from __future__ import annotations

from sqlglot import parser

from penstock.errors import Diagnostic, UnsupportedError


def refuse_compiled(file: str | None = parser.__file__) -> None:
    """Raise UnsupportedError where sqlglot is compiled (`sqlglot[c]`): nothing can inherit from its classes then.

    `file` is where sqlglot's parser was read from.
    """
    if file is not None and not file.endswith(".py"):
        message = "sqlglot is installed in compiled form (sqlglot[c] or sqlglot[rs]), whose classes cannot be extended"
        hint = "pip uninstall sqlglotc sqlglotrs; what is left is sqlglot in Python, which Penstock needs"
        raise UnsupportedError(Diagnostic("SQLGLOT_COMPILED", message, hint=hint))
