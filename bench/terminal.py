"""A command on a terminal of its own, as somebody types into it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 1 << 16
_LONGEST, _ENDING, _AGAIN = 300, 30, 0.2  # seconds


class Terminal:
    """Starts a command; what it shows can be waited for. Leaving the block ends it."""

    def __init__(self, call: Sequence[str]) -> None:
        self._ours, theirs = pty.openpty()
        self._began = time.perf_counter()
        plain = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}  # nobody answers where the cursor is
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            call, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | plain, start_new_session=True
        )
        os.close(theirs)

    def until(self, text: str, typed: str = "") -> float:
        """Type something, and give the seconds until the text is shown, of the first call from the start."""
        began = time.perf_counter() if typed else self._began
        os.write(self._ours, typed.encode())
        shown = b""
        while text.encode() not in shown:
            ready, _, _ = select.select([self._ours], [], [], _LONGEST)
            try:
                more = os.read(self._ours, _CHUNK) if ready else b""
            except OSError:  # the other end is closed
                more = b""
            if not more:
                message = f"{text!r} was not shown, but {shown.decode(errors='replace')[-500:]!r}"
                raise RuntimeError(message)
            shown += more
        return time.perf_counter() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        began = time.perf_counter()
        while self._process.poll() is None:
            if time.perf_counter() - began > _ENDING:
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(OSError, subprocess.TimeoutExpired):
                os.write(self._ours, b"\x04")  # Ctrl-D, which is lost while no prompt is there
                self._process.wait(_AGAIN)
        os.close(self._ours)
