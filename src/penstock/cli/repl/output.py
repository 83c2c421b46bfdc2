"""`.output FILE`: what goes to stdout goes into a file instead, until `.output` alone; messages stay on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from penstock.cli.reporting import note


class OutputFile:
    """The file that takes the place of stdout, if there is one."""

    def __init__(self) -> None:
        self._file: TextIO | None = None
        self._before = sys.stdout

    def to(self, name: str) -> None:
        """Write into this file, which is emptied first; without a name to stdout again."""
        opened = Path(name).expanduser().open("w", encoding="utf-8") if name else None
        self.close()
        if opened is not None:
            self._file, self._before, sys.stdout = opened, sys.stdout, opened

    def close(self) -> None:
        """Write to stdout again."""
        if self._file is not None:
            file, self._file, sys.stdout = self._file, None, self._before
            file.close()

    def give_up(self, error: OSError) -> bool:
        """Write to stdout again because nobody reads the file any more; False if stdout itself is meant."""
        if self._file is None:
            return False
        name = self._file.name
        try:
            self.close()
        except OSError:
            note(f"what {name} has not taken is lost")
        note(f"error[CANNOT_ACCESS]: {error.strerror}: {name}; results go to stdout again")
        return True
