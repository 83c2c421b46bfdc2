"""Points between steps that have been given a name.

<directory>/log/positions.json    the saved positions, by their names
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from penstock.errors import DataError, Diagnostic, message_of
from penstock.steps.checked_files import facts_of, write_facts


@dataclass(frozen=True, slots=True)
class Position:
    """The point behind a step, 0 before the first; `clock` is its clock (naive UTC), `name` what it is saved as."""

    step: int
    clock: datetime | None = None
    name: str | None = None


class SavedPositions:
    """The positions that have names, whose case does not count; in a file, if there is one."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._positions: dict[str, Position] = {} if path is None or not path.exists() else _read(path)

    @property
    def all(self) -> tuple[Position, ...]:
        """All of them, the first to be saved first."""
        return tuple(self._positions.values())

    def get(self, name: str) -> Position | None:
        """The position of a name, if there is one."""
        return self._positions.get(name.lower())

    def save(self, name: str, step: int, clock: datetime | None) -> Position:
        """Give a point a name; one that is taken moves there."""
        position = Position(step, clock, name)
        others = {key: item for key, item in self._positions.items() if key != name.lower()}
        self._store({**others, name.lower(): position})
        return position

    def drop(self, name: str) -> None:
        """Forget a name."""
        self._store({key: item for key, item in self._positions.items() if key != name.lower()})

    def _store(self, positions: Mapping[str, Position]) -> None:
        if self._path is not None:
            saved = [
                {"name": item.name, "step": item.step, "clock": item.clock and item.clock.isoformat()}
                for item in positions.values()
            ]
            write_facts(self._path, {"positions": saved})
        self._positions = dict(positions)


def _read(path: Path) -> dict[str, Position]:
    try:
        found = [_position(item) for item in facts_of(path)["positions"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the saved positions in {path} cannot be read: {message_of(error)}"
        hint = "move the file away; the positions in it are lost then, and nothing else is"
        raise DataError(Diagnostic("CANNOT_READ", message, hint=hint)) from error
    return {name.lower(): Position(step, clock, name) for name, step, clock in found}


def _position(saved: Mapping[str, object]) -> tuple[str, int, datetime | None]:
    clock = saved["clock"]
    return str(saved["name"]), int(str(saved["step"])), None if clock is None else datetime.fromisoformat(str(clock))
