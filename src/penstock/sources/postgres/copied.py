r"""The copy of a table as it was: its rows in a file, before a step has any of them.

    copy.rows    the rows, as COPY writes them: a line each, a tab between two values, \N for NULL
    copy.json    {"slot": …, "at": …, "lsn": …, "columns": {name: [type, modifier]}, "rows": 3, "bytes": 21}

The second is there once the first is whole and on the disk. A step reads some lines of it and says behind which byte it
ends, so it does not matter in what order the database has given them, nor whether the table has a key; a process that
goes on finds the lines that no step has where they were (ADR 0038).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from penstock.sources.postgres.messages import TypeOf, lsn_number, lsn_text
from penstock.steps.durable import write_atomically

ROWS, WHOLE = "copy.rows", "copy.json"
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_MEANT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_NULL = rb"\N"


@dataclass(frozen=True)
class Copy:
    """A table's rows as they were where a slot begins, in a folder; `columns` are those of a row, in its order."""

    folder: Path
    lsn: int
    columns: Mapping[str, TypeOf]
    rows: int
    size: int

    def lines(self, byte: int, rows: int) -> tuple[list[bytes], int]:
        """So many rows behind a byte, or all that there are, and the byte behind them. OSError if it cannot be read."""
        with (self.folder / ROWS).open("rb") as file:
            file.seek(byte)
            found = list(islice(file, rows))
        return found, byte + sum(map(len, found))

    def values(self, line: bytes) -> list[bytes | None]:
        """The values of a row."""
        if not self.columns:
            return []
        return [None if field == _NULL else _unescaped(field) for field in line[:-1].split(b"\t")]

    def keep(self, of: Mapping[str, str]) -> None:
        """Have it be there from now on, as that of a slot; its rows are on the disk."""
        facts = {"lsn": lsn_text(self.lsn), "columns": self.columns, "rows": self.rows, "bytes": self.size}
        write_atomically(self.folder / WHOLE, json.dumps({**of, **facts}))


def _unescaped(field: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), field) if b"\\" in field else field


def copy_in(folder: Path, of: Mapping[str, str]) -> Copy | None:
    """The copy that a folder has, whole and of that slot; None if there is none."""
    try:
        found: dict[str, Any] = json.loads((folder / WHOLE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    if any(found.get(name) != value for name, value in of.items()):
        return None
    columns = {name: TypeOf(*kind) for name, kind in found["columns"].items()}
    return Copy(folder, lsn_number(found["lsn"]), columns, found["rows"], found["bytes"])


def remove_copy(folder: Path) -> None:
    """Have no copy in a folder, be it whole or not."""
    for name in (WHOLE, ROWS):
        (folder / name).unlink(missing_ok=True)
