"""The socket in a pipeline's directory, and lines of JSON on it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.errors import DataError, Diagnostic

NAME = "socket"
MODE = 0o600
LONGEST_QUESTION = 1 << 20
# The system takes addresses of 103 to 107 bytes; a longer path is reached through the open folder.
_LONGEST_ADDRESS = 100
_OPEN_FOLDERS = Path("/proc/self/fd")


@contextmanager
def address(directory: Path) -> Iterator[str]:
    """The socket's address while the block lasts; DataError for a path that the system does not take."""
    path = str(directory / NAME)
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield path
        return
    if not _OPEN_FOLDERS.is_dir():
        message = f"the path of {directory} is too long for a socket in it"
        raise DataError(Diagnostic("PATH_TOO_LONG", message, hint="name the directory by a shorter path, or a link"))
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"{_OPEN_FOLDERS}/{folder}/{NAME}"
    finally:
        os.close(folder)


def line(values: Mapping[str, Any]) -> bytes:
    """One line of JSON."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def lines(connection: socket.socket) -> Iterator[dict[str, Any]]:
    """The lines that come, until the other side ends."""
    with connection.makefile("rb") as stream:
        for text in stream:
            yield json.loads(text)
