"""A `java` that starts nothing: it writes down how it was called, and can wait for ever, as one that is slow."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """#!/bin/sh
echo "$$ $1" >> '{calls}'
if [ "$1" = -version ]; then echo 'openjdk version "21.0.1"' >&2; exit 0; fi
exec sleep 600
"""


@dataclass(frozen=True)
class FakeJava:
    """A Java at `home`; `environment` is that of a process which finds no other."""

    home: Path

    @classmethod
    def of(cls, folder: Path) -> FakeJava:
        program = folder / "java" / "bin" / "java"
        program.parent.mkdir(parents=True)
        made = cls(folder / "java")
        program.write_text(_SCRIPT.format(calls=made._calls), encoding="utf-8")
        program.chmod(0o755)
        return made

    @property
    def _calls(self) -> Path:
        return self.home / "calls"

    @property
    def environment(self) -> dict[str, str]:
        paths = [str(self.home / "bin"), "/usr/bin", "/bin"]
        given = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        return given | {"JAVA_HOME": str(self.home), "PATH": os.pathsep.join(paths), "COLUMNS": "200"}

    def calls(self) -> list[str]:
        """The first argument of each call."""
        return [line.split()[1] for line in self._lines()]

    def running(self) -> list[int]:
        """The processes that have been started as a JVM, and are still there."""
        return [pid for pid in (int(line.split()[0]) for line in self._lines()) if _is_alive(pid)]

    def await_start(self, seconds: float = 60.0) -> None:
        """Wait until a JVM has been asked for."""
        last = time.monotonic() + seconds
        while not [call for call in self.calls() if call != "-version"]:
            assert time.monotonic() < last, "no JVM was started"
            time.sleep(0.02)

    def gone(self, seconds: float = 5.0) -> bool:
        """True if none of them is left a moment later."""
        last = time.monotonic() + seconds
        while self.running() and time.monotonic() < last:
            time.sleep(0.02)
        return not self.running()

    def _lines(self) -> list[str]:
        return self._calls.read_text(encoding="utf-8").splitlines() if self._calls.exists() else []


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
