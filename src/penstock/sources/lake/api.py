"""The table of a lake, as a source sees it: versions in a row, each a change of the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa


class GoneError(Exception):
    """A version, or a file of one, that is not there any more; the message says which."""


class UnreadableError(Exception):
    """A version that says what cannot be read here; the message says what, `hint` what would work."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Part:
    """A file's rows: those that a version has, brings (`+`), takes away (`-`), or both, which `__op` then says.

    `read` raises FileNotFoundError if the file is gone, and OSError, ValueError or an error of Arrow's if it is broken.
    """

    name: str
    read: Callable[[], pa.Table]
    operation: str = "+"


@dataclass(frozen=True, slots=True)
class VersionChange:
    """The change of a version; `exact`: its parts are the rows that change, and none that only move."""

    parts: Sequence[Part]
    exact: bool


class LakeTable(Protocol):
    """The versions of one table, in their order."""

    def identity(self, version: int) -> str | None:
        """The table's own id, whatever it is called, as a version has it; None if that is not there."""

    def facts(self) -> dict[str, Any]:
        """The facts that have to be known again beside that, ready for JSON."""

    def recall(self, facts: Mapping[str, Any], version: int | None) -> None:
        """Know what a manifest has of `facts`, if anything, behind a version; None is before the first."""

    def latest(self) -> int | None:
        """The newest version; None if there is none yet."""

    def after(self, version: int) -> int | None:
        """The version that follows one; None if it is the newest. GoneError if it is not there any more."""

    def content(self, version: int) -> Sequence[Part]:
        """All rows of a version, in an order that stays. GoneError, UnreadableError."""

    def change(self, version: int) -> VersionChange:
        """The change of a version. GoneError, UnreadableError."""

    def describe(self) -> str:
        """The table as its user names it."""
