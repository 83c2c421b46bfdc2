"""An Iceberg table as `lake` wants it: its snapshots in a row, the files that each adds and removes.

What an overwrite or a deletion takes away is read from the files that it removes. A snapshot that marks rows as deleted
instead (merge on read) cannot be followed; a content that has such rows can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.catalog.model import Table
from penstock.sources.iceberg.catalogs import loader
from penstock.sources.iceberg.field_ids import FieldIds
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
    ids: FieldIds = field(default_factory=FieldIds)

    def identity(self, version: int) -> str:  # noqa: ARG002 - all versions are of one table
        """The table's uuid."""
        return str(self.load().metadata.table_uuid)

    def facts(self) -> dict[str, Any]:
        """The ids of the fields that each column has been read by."""
        return {"columns": self.ids.to_json()}

    def recall(self, facts: Mapping[str, Any], version: int | None) -> None:
        """Go by these ids; where there are none, by those that the columns' names had at a version."""
        self.ids = FieldIds.of(facts.get("columns", {}))
        snapshot = None if facts or version is None else self.load().snapshot_by_id(version)
        if snapshot is not None and snapshot.schema_id is not None:
            self.columns.read(self.ids.named(self.load().schemas()[snapshot.schema_id]))

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
        columns = self._columns(table)
        return [Part(task.file.file_path, partial(self._rows, table, columns, task)) for task in tasks]

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
        columns = self._columns(table)
        parts = [
            Part(file.file_path, partial(self._rows, table, columns, task(file)), operation)
            for operation, file in _files(table, snapshot)
        ]
        return VersionChange(parts, exact=False)

    def _columns(self, table: Any) -> Mapping[str, Sequence[Any]]:
        """The columns that are read, each with its fields: older rows lack those that the table has got since."""
        names = self.columns.read(self.ids.named(table.schema()))
        return self.ids.bound(names, table)

    def _rows(self, table: Any, columns: Mapping[str, Sequence[Any]], task: Any) -> pa.Table:
        scan = package("pyiceberg.io.pyarrow", _WHAT, "lake").ArrowScan
        everything = package("pyiceberg.expressions", _WHAT, "lake").AlwaysTrue()
        schema = package("pyiceberg.schema", _WHAT, "lake").Schema
        fields = [_renamed(item, name, place) for name, items in columns.items() for place, item in enumerate(items)]
        rows = scan(table.metadata, table.io, schema(*fields), everything).to_table([task])
        return pa.table({name: _first(rows, name, len(items)) for name, items in columns.items()})

    def describe(self) -> str:
        """The name, as its user gives it."""
        return f"the Iceberg table {self.name}"


def _renamed(item: Any, name: str, place: int) -> Any:
    """A field by the name that its column has here; a file has one of several at most."""
    return item.model_copy(update={"name": _field_name(name, place), "required": False})


def _field_name(name: str, place: int) -> str:
    return f"{name}\x00{place}" if place else name


def _first(rows: pa.Table, name: str, fields: int) -> Any:
    newest, *before = [rows.column(_field_name(name, place)) for place in reversed(range(fields))]
    for values in before:
        newest = pc.coalesce(newest, values.cast(newest.type))
    return newest


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
