"""The openings of a directory that have made its steps, by which two copies of it are told apart that are both at work.

    <directory>/openings.json    {"format": 1, "openings": [[mark, first step], …]}

A copy has the same id, and the same steps up to then. Whoever opens one of them has a mark of its own, for all steps
from there on: so the same number stands for two steps, and the marks say it. A receiver keeps the mark of a step beside
its number. Only outputs ask, so a directory without any has no such file.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from penstock.steps.checked_files import facts_of, write_facts

FORMAT = 1
FILE = "openings.json"


class Openings:
    """The openings of a directory that have made steps, and the present one; without a directory that alone."""

    def __init__(self, directory: Path | None = None) -> None:
        self._path = None if directory is None else directory / FILE
        self._mark = uuid.uuid4().hex
        self._found: list[tuple[str, int]] = []
        self._begun = False

    def begin(self, number: int) -> None:
        """Have the steps behind a number be those of the present opening; does nothing the second time."""
        if self._begun:
            return
        earlier = [] if self._path is None or not self._path.exists() else _read(self._path)
        # One that has made no step left nothing that could have its mark.
        self._found = [*((mark, first) for mark, first in earlier if first <= number), (self._mark, number + 1)]
        if self._path is not None:
            write_facts(self._path, {"format": FORMAT, "openings": self._found})
        self._begun = True

    @property
    def present(self) -> str:
        """The mark of the present opening."""
        return self._mark

    def mark(self, step: int) -> str | None:
        """The mark of the opening that has made a step; None for one from before there were marks."""
        return next((mark for mark, first in reversed(self._found) if first <= step), None)


def _read(path: Path) -> list[tuple[str, int]]:
    return [(str(mark), int(first)) for mark, first in facts_of(path)["openings"]]
