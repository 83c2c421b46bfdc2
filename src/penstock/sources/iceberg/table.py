"""An Iceberg table as `lake` wants it: its snapshots in a row, the files that each adds and removes.

What an overwrite or a deletion takes away is read from the files that it removes. A snapshot that marks rows as deleted
instead (merge on read) cannot be followed; a content that has such rows can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.iceberg.catalogs import loader
from penstock.sources.lake.api import GoneError, Part, UnreadableError, VersionChange
from penstock.sources.lake.columns import LakeColumns
from penstock.sources.packages import package
from penstock.steps.rows.batch import DELETE, INSERT

_WHAT = "the connector iceberg"
_COPY = "write the table with copy-on-write: write.delete.mode, write.update.mode and write.merge.mode"
_MOVES = "replace"


@dataclass
class IcebergLake:
    """The snapshots of one table; `load` gives it as it is now, `columns` says those that are read."""

    name: str
    load: Callable[[], Any]
    columns: LakeColumns

    def latest(self) -> int | None:
        """The current snapshot."""
        snapshot = self.load().current_snapshot()
        return None if snapshot is None else int(snapshot.snapshot_id)

    def after(self, version: int) -> int | None:
        """The snapshot whose parent it is, on the way to the current one."""
        table, following = self.load(), None
        snapshot = table.current_snapshot()
        while snapshot is not None and snapshot.snapshot_id != version:
            following = int(snapshot.snapshot_id)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        if snapshot is None:
            message = f"snapshot {version} is not there any more, or not one that the present content was made from"
            raise GoneError(message)
        return following

    def content(self, version: int) -> Sequence[Part]:
        """The files of a snapshot, by their paths."""
        table = self.load()
        if table.snapshot_by_id(version) is None:
            message = f"snapshot {version} is not there any more"
            raise GoneError(message)
        tasks = sorted(table.scan(snapshot_id=version).plan_files(), key=lambda task: str(task.file.file_path))
        names = self._names(table)
        return [Part(task.file.file_path, partial(self._rows, table, names, task)) for task in tasks]

    def change(self, version: int) -> VersionChange:
        """The files that a snapshot adds and removes."""
        table = self.load()
        snapshot = table.snapshot_by_id(version)
        if snapshot is None:
            message = f"snapshot {version} is not there any more"
            raise GoneError(message)
        if snapshot.summary is not None and snapshot.summary.operation.value == _MOVES:
            return VersionChange((), exact=True)
        task = package("pyiceberg.table", _WHAT, "lake").FileScanTask
        names = self._names(table)
        parts = [
            Part(file.file_path, partial(self._rows, table, names, task(file)), operation)
            for operation, file in _files(table, snapshot)
        ]
        return VersionChange(parts, exact=False)

    def _names(self, table: Any) -> list[str]:
        """The columns that are read of a table as it is now: older rows lack those that it has got since."""
        return self.columns.read(column.name for column in table.schema().fields)

    def _rows(self, table: Any, names: Sequence[str], task: Any) -> pa.Table:
        scan = package("pyiceberg.io.pyarrow", _WHAT, "lake").ArrowScan
        everything = package("pyiceberg.expressions", _WHAT, "lake").AlwaysTrue()
        schema = table.schema().select(*names)
        return scan(table.metadata, table.io, schema, everything).to_table([task])

    def describe(self) -> str:
        """The name, as its user gives it."""
        return f"the Iceberg table {self.name}"


def _files(table: Any, snapshot: Any) -> Iterator[tuple[str, Any]]:
    """The data files that a snapshot adds and removes, with the operation on their rows."""
    manifests = package("pyiceberg.manifest", _WHAT, "lake")
    operations = {manifests.ManifestEntryStatus.ADDED: INSERT, manifests.ManifestEntryStatus.DELETED: DELETE}
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
            if entry.status not in operations or entry.snapshot_id != snapshot.snapshot_id:
                continue
            if manifest.content != manifests.ManifestContent.DATA:
                message = (
                    f"snapshot {snapshot.snapshot_id} marks rows as deleted (merge on read), which cannot be followed"
                )
                raise UnreadableError(message, _COPY)
            yield operations[entry.status], entry.data_file


def iceberg_table(table: Table) -> IcebergLake:
    """The table that a table's properties name; DataError if there is none, or if it has no column of the table."""
    name = table.properties.get("table") or table.properties["path"]
    load = loader(table.properties, f"table {table.name}", table.span)
    columns = LakeColumns(table, f"the Iceberg table {name}")
    columns.read(column.name for column in load().schema().fields)  # what does not go is said at the start
    return IcebergLake(name, load, columns)
