"""A Delta table as `lake` wants it: its log says which files a version adds and removes, Arrow reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from penstock.catalog.model import Table
from penstock.catalog.reserved import OPERATION
from penstock.errors import DataError, Diagnostic, UnsupportedError
from penstock.sources.delta.log import DELETION_VECTORS, Action, actions_of, log_path, says_columns
from penstock.sources.delta.reasons import OF_STORES, reason
from penstock.sources.formats.parquet_values import as_spark_means
from penstock.sources.lake.api import GoneError, Part, UnreadableError, VersionChange
from penstock.sources.lake.columns import LakeColumns
from penstock.sources.packages import package
from penstock.steps.rows.batch import DELETE, INSERT

_CHANGE_TYPE = "_change_type"
_OPERATIONS = {"add": INSERT, "remove": DELETE, "cdc": INSERT}


@dataclass
class DeltaLake:
    """The versions of one table in a folder, or in an object store."""

    path: str
    files: Any
    library: Any
    columns: LakeColumns
    _known: tuple[Any, str] | None = None

    def identity(self, version: int) -> str | None:
        """The id in the metadata of a version, which is asked for once as long as its file is the same."""
        file = self.files.get_file_info(log_path(version))
        key = version, file.mtime_ns, file.size
        if self._known is None or self._known[0] != key:
            try:
                found = str(self._at(version).metadata().id)
            except (GoneError, UnreadableError):
                return None
            self._known = key, found
        return self._known[1]

    def facts(self) -> dict[str, Any]:
        """Nothing: each version says its columns by name."""
        return {}

    def recall(self, facts: Mapping[str, Any], version: int | None) -> None:
        """Nothing has to be known."""

    def latest(self) -> int | None:
        """The newest version."""
        try:
            return int(self.library.DeltaTable(self.path).version())
        except self.library.exceptions.DeltaError as error:
            message = f"its log cannot be read: {str(error)[:300]}"
            raise UnreadableError(
                message, "see that all files of the log since its last checkpoint are there"
            ) from error

    def after(self, version: int) -> int | None:
        """The next number, if its file is there; if not, there may be later ones all the same."""
        if self._is_there(log_path(version + 1)):
            return version + 1
        latest = self.latest()
        if latest is not None and latest > version:
            message = f"version {version + 1} is not in its log any more, which goes on to {latest}"
            raise GoneError(message)
        return None

    def _is_there(self, path: str) -> bool:
        return bool(self.files.get_file_info(path).type != pa_fs.FileType.NotFound)

    def content(self, version: int) -> Sequence[Part]:
        """The files of a version, by their paths."""
        table = self._at(version)
        if pa.table(table.deletion_vectors()).num_rows:
            message = f"version {version} marks rows of files as deleted (deletion vectors), which cannot be read"
            raise UnreadableError(message, DELETION_VECTORS)
        types = self._read_types(table)
        rows = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        actions = [Action("add", row["path"], _typed_partition(row)) for row in rows]
        return [self._part(action, types) for action in sorted(actions, key=lambda action: action.path)]

    def _at(self, version: int) -> Any:
        try:
            return self.library.DeltaTable(self.path, version=version)
        except self.library.exceptions.DeltaError as error:
            message = f"version {version} is not there any more: {error}"
            raise GoneError(message) from error

    def change(self, version: int) -> VersionChange:
        """The files that a version adds and removes, or in which it says what it changes."""
        with self.files.open_input_stream(log_path(version)) as file:
            text = file.read()
        actions = actions_of(text, version)
        types = self._read_types(self._at(version)) if actions else {}
        if says_columns(text) and any(action.kind != "add" for action in actions):
            # Rows that go have the columns that they came with, also those that the table has no more.
            types = {**self._read_types(self._at(version - 1)), **types}
        exact = all(action.kind == "cdc" for action in actions)
        return VersionChange([self._part(action, types) for action in actions], exact)

    def _read_types(self, table: Any) -> dict[str, pa.DataType]:
        """The columns of a version that are read, and their types."""
        types = _types(table)
        return {name: types[name] for name in self.columns.read(types)}

    def _part(self, action: Action, types: Mapping[str, pa.DataType]) -> Part:
        path = unquote(action.path)
        if "://" in path or path.startswith(("/", "file:")) or ".." in path.split("/"):
            message = f"the file {path[:200]} lies outside of the table's folder"
            raise UnreadableError(message, "a copy of the table (a deep clone) has its files within")
        read = partial(_rows, self.files, path, action, types)
        return Part(f"{self.path}/{path}", read, _OPERATIONS[action.kind])

    def describe(self) -> str:
        """The path, as its user names it."""
        return f"the Delta table {self.path}"


def _types(table: Any) -> dict[str, pa.DataType]:
    """The columns of a table's version, and their types."""
    return {item.name: item.type for item in pa.schema(table.schema().to_arrow())}


def _typed_partition(row: Mapping[str, Any]) -> dict[str, Any]:
    prefix = "partition."
    return {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}


def _rows(files: Any, path: str, action: Action, types: Mapping[str, pa.DataType]) -> pa.Table:
    """The rows of a file in the columns of its version: those that it lacks are the partition's, or NULL."""
    with files.open_input_file(path) as file:  # Spark writes times as INT96, of which Arrow makes nanoseconds
        parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
        found = as_spark_means(parquet.read(use_threads=False), parquet)
    columns = {name: _column(found, name, kind, action.partition) for name, kind in types.items()}
    if action.kind == "cdc":
        columns[OPERATION] = _operations(found.column(_CHANGE_TYPE))
    return pa.table(columns)


def _column(found: pa.Table, name: str, kind: pa.DataType, partition: Mapping[str, Any]) -> Any:
    if name in partition:
        return pa.repeat(_constant(partition[name], kind), found.num_rows)
    if name not in found.column_names:
        return pa.nulls(found.num_rows, kind)
    return found.column(name).cast(kind)


def _constant(value: Any, kind: pa.DataType) -> pa.Scalar:
    """The value of a partition, which the log has as text; an empty one is NULL."""
    if isinstance(value, str):
        return pa.scalar(value or None, pa.string()).cast(kind)
    return pa.scalar(value, kind)


def _operations(kinds: Any) -> Any:
    """The operation of each row that the change feed has."""
    goes = pc.is_in(kinds, pa.array(["delete", "update_preimage"]))
    return pc.if_else(goes, DELETE, INSERT)


def _found(library: Any, table: Table, path: str) -> Any:
    """The table of the library; DataError if there is none, or if the store does not let it be seen."""
    try:
        if library.DeltaTable.is_deltatable(path):
            return library.DeltaTable(path)
    except (OSError, library.exceptions.DeltaError) as error:
        message = f"table {table.name}: the Delta table {path} cannot be reached: {reason(error)}"
        hint = OF_STORES if "://" in path else "see that all files of its log are there, and may be read"
        raise DataError(Diagnostic("CANNOT_READ", message, table.span, hint=hint)) from error
    message = f"table {table.name}: there is no Delta table at {path}"
    raise DataError(Diagnostic("NO_SUCH_FOLDER", message, table.span, hint="correct 'path', or create the table"))


def delta_table(table: Table, path: str) -> DeltaLake:
    """The table at a path; DataError if there is none, or if it has no column of the table."""
    library = package("deltalake", "the connector delta", "lake")
    handlers = package("deltalake.fs", "the connector delta", "lake")
    path = path.removeprefix("file://").rstrip("/")
    found = _found(library, table, path)
    if found.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        message = f"table {table.name}: the columns of the Delta table {path} have other names in its files"
        hint = "set delta.columnMapping.mode to none"
        raise UnsupportedError(Diagnostic("LAKE_CANNOT_READ", message, table.span, hint=hint))
    columns = LakeColumns(table, f"the Delta table {path}")
    columns.read(_types(found))  # what does not go is said at the start, as far as it is there
    return DeltaLake(path, pa_fs.PyFileSystem(handlers.DeltaStorageHandler(path)), library, columns)
