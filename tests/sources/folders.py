"""Folders of files as the sources of a table, read by hand: no JVM, and a clock that a test sets."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from tests.steps.tables import NO_DEFAULTS, declared

from penstock.sources.files import open_source
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections

OLD = 3600.0


def written(path, text, age=10.0):
    """A file that was written to so many seconds ago."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    aged(path, age)


def aged(path, age):
    at = time.time() - age
    os.utime(path, (at, at))


def source(folder, style="json", columns="a INT, b STRING", kind="TABLE", **properties):
    said = {"connector": "files", "path": str(folder), "format": style, **properties}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in said.items()).replace("\\", "\\\\")
    table = declared(f"CREATE {kind} t ({columns}) WITH ({texts})")
    return open_source(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient), None)


@dataclass
class Reader:
    """Reads a folder, step by step."""

    found: object
    rejected: list = field(default_factory=list)

    def read(self, rows=100_000, *, ended=False):
        """The rows of one step; what is rejected is in `rejected`."""
        rejections = Rejections(tolerant=True)
        batch = self.found.read(rows, rejections, ended=ended)
        self.rejected += rejections.rows
        taken = self.found.taken()
        self.found.commit()
        self.taken = taken
        return rows_of(batch)

    def all(self, rows=100_000):
        """The rows of all steps until there are no more, the input having ended."""
        found = []
        while part := self.read(rows, ended=True):
            found += part
        return found


def rows_of(batch):
    if batch is None:
        return []
    return list(zip(*(column.to_pylist() for column in batch.rows.columns), strict=True))


def reader(folder, style="json", columns="a INT, b STRING", **properties):
    return Reader(source(folder, style, columns, **properties))
