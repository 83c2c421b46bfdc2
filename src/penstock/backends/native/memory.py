"""The memory that state in the process may take: what a setting allows, of what the machine has.

What the machine has is what its control group leaves to the process (containers, systemd).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from penstock.catalog.memory import bytes_allowed
from penstock.errors import DataError, Diagnostic

# In each version of control groups: where its folders lie, and the file with the limit.
_UNIFIED = ("sys/fs/cgroup", "memory.max")
_OF_MEMORY = ("sys/fs/cgroup/memory", "memory.limit_in_bytes")


def memory_allowed(setting: str) -> int:
    """The bytes that a setting allows on this machine."""
    found = bytes_allowed(setting, machine_memory())
    assert found is not None, setting  # noqa: S101 - checked where it is set
    return found


def no_room(said: str, limit: int, folder: Path) -> DataError:
    """The error for rows for which DuckDB has found room neither in memory nor on disk."""
    if "max_temp_directory_size" in said or said.startswith("IO Error"):
        what = f"state that is larger than memory_limit goes to {folder}, which cannot be written: {_reason(said)}"
        return DataError(Diagnostic("CANNOT_WRITE", what, hint="make room there, or raise memory_limit"))
    message = f"a step needs more at once than the {limit / 1e6:,.0f} MB that memory_limit allows"
    return DataError(Diagnostic("MEMORY_LIMIT", message, hint="raise memory_limit, or make steps smaller"))


def _reason(said: str) -> str:
    return "the disk is full" if "max_temp" in said else said.partition("\n")[0].rpartition(": ")[2]


def machine_memory(root: Path = Path("/")) -> int:
    """The bytes that the process may use at most."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *_limits(root)])


def _limits(root: Path) -> Iterator[int]:
    """The limits of the process's control groups and those around them; one without says 'max', or a huge number."""
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    for _, controllers, path in (line.split(":", 2) for line in groups):
        if controllers and "memory" not in controllers.split(","):
            continue
        folder, name = _OF_MEMORY if controllers else _UNIFIED
        for group in (Path(path), *Path(path).parents):
            # In a container its own group may be seen as the root, under a path that is not there.
            limit = root / folder / str(group).lstrip("/") / name
            text = limit.read_text(encoding="ascii").strip() if limit.is_file() else ""
            if text.isdigit():
                yield int(text)
