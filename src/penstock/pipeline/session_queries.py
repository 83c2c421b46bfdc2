"""The standing queries of a session in a pipeline's directory, so that whoever opens it next is told that they ended.

    <directory>/queries.json    the names and texts of those that stand now, where there are any

They end with their process, in whichever way it ends; only those of the program go on (`standing_queries`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.steps.checked_files import facts_of, facts_text
from penstock.steps.durable import replace_atomically

FORMAT = 1


class SessionQueries:
    """The file with the queries of a session; a pipeline without a directory has none."""

    def __init__(self, directory: Path | None = None) -> None:
        self._path = None if directory is None else directory / "queries.json"
        self._noted: dict[str, str] = {}

    def left(self) -> dict[str, str]:
        """The queries that stood when the directory was left, by name; they are told once."""
        if self._path is None or not self._path.exists():
            return {}
        facts = facts_of(self._path)
        self._path.unlink()
        return dict(facts["queries"])

    def note(self, queries: Mapping[str, str]) -> None:
        """Have the file name the queries that stand now."""
        if self._path is None or queries == self._noted:
            return
        if queries:
            text = facts_text({"format": FORMAT, "queries": dict(queries)})
            replace_atomically(self._path, lambda path: path.write_text(text, encoding="utf-8"))
        else:
            self._path.unlink(missing_ok=True)
        self._noted = dict(queries)  # not before it is written: what has failed is tried again
