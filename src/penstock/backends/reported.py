"""Exceptions of a backend, as far as the pipeline tells them on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Library = Literal["Spark", "DuckDB", "Arrow", "the parser"]
_CLIPPED = 500


@dataclass(frozen=True, slots=True)
class Reported:
    """An error of a backend: it has 'refused' a query, an expression of one has 'raised', or it has 'failed' itself.

    `fragment` is the expression, as the backend was given it, where it tells. The `library` is the one that has
    failed.
    """

    what: Literal["refused", "raised", "failed"]
    message: str
    sqlstate: str | None = None
    fragment: str | None = None
    condition: str = "SPARK_ERROR"
    library: Library = "Spark"


class ViewRefusedError(Exception):
    """A refusal of a view by a backend that reads the program; its cause says what it has against it."""

    def __init__(self, view: str) -> None:
        super().__init__(view)
        self.view = view


def clipped(text: str) -> str:
    """The text, or what an error has room for of it."""
    return text if len(text) <= _CLIPPED else text[: _CLIPPED - 1] + "…"
