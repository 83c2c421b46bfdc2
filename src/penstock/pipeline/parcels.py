"""The changes that outputs have not taken yet, in a pipeline's directory: written before their step is, removed after.

    <directory>/outbox/<output>/000000000042.arrow    a step that the output has still to take
    <directory>/outbox/<output>/000000000041.taken    the last that it has taken, so that a target that lost it is found

A file whose step is not in the log is of a step that never happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from penstock.outputs.names import file_name
from penstock.steps.change import Change
from penstock.steps.checked_files import rows_of, with_digest, without_digest
from penstock.steps.durable import sync

_CLOCK, _COLUMNS = b"penstock.clock", b"penstock.columns"
_WAITING, _TAKEN = ".arrow", ".taken"


class ParcelFiles:
    """The folder `outbox` of a directory."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "outbox"

    def put(self, output: str, change: Change) -> None:
        """Have a change be on the disk."""
        path = self._path(output, change.step, _WAITING)
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {_CLOCK: change.clock.isoformat(), _COLUMNS: "\0".join(change.columns)}
        table = change.arrow()
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **told})
        temporary = path.with_suffix(".tmp")
        rows = pa.BufferOutputStream()
        feather.write_feather(table, rows, compression="lz4")
        temporary.write_bytes(with_digest(bytes(rows.getvalue())))
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)

    def remove(self, output: str, step: int) -> None:
        """Forget a step that has not happened."""
        self._path(output, step, _WAITING).unlink(missing_ok=True)

    def took(self, output: str, step: int) -> None:
        """Take note that an output has taken a step."""
        earlier = [path for path in self._files(output, _TAKEN) if int(path.stem) != step]
        waiting = self._path(output, step, _WAITING)
        if waiting.exists():
            waiting.replace(waiting.with_suffix(_TAKEN))
        for path in earlier:
            path.unlink(missing_ok=True)

    def last(self, output: str) -> int:
        """The last step that an output is known to have taken, 0 for none."""
        return max((int(path.stem) for path in self._files(output, _TAKEN)), default=0)

    def waiting(self, output: str, until: int) -> Iterator[tuple[int, Path]]:
        """The steps that an output has not taken, up to one; those behind it never happened and are removed."""
        for path in self._files(output, _WAITING):
            if int(path.stem) > until:
                path.unlink()
            else:
                yield int(path.stem), path

    def _files(self, output: str, suffix: str) -> list[Path]:
        return sorted((self._folder / file_name(output.lower())).glob(f"*{suffix}"))

    def _path(self, output: str, step: int, suffix: str) -> Path:
        return self._folder / file_name(output.lower()) / f"{step:012}{suffix}"


def read_parcel(path: Path) -> tuple[pa.Table, tuple[str, ...], datetime]:
    """The rows of a parcel, the names of its columns, and the clock of its step."""
    with rows_of(path):
        table = feather.read_table(pa.BufferReader(without_digest(path)), memory_map=False)
    told = table.schema.metadata
    clock = datetime.fromisoformat(told.pop(_CLOCK).decode())
    columns = tuple(told.pop(_COLUMNS).decode().split("\0"))
    return table.replace_schema_metadata(told or None), columns, clock
