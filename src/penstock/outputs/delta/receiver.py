"""A step as one commit of a Delta table, with the step's number as the version of an application.

The mark of the step is the version of another application, as far as it goes into one. Two commits of the same
applications exclude each other: the second is refused, and given again to whoever has looked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.outputs.accepting import key_of
from penstock.outputs.declared import replaces_others
from penstock.outputs.forms import Form
from penstock.outputs.lake.fitting import check_columns, schema_of
from penstock.outputs.lake.rows import Keyed, added, keyed
from penstock.outputs.receiver import Owner, in_use, refused, unreachable
from penstock.outputs.sink import Sink
from penstock.sources.delta.declared import PATH
from penstock.sources.delta.reasons import reason
from penstock.sources.packages import package
from penstock.steps.change import Change

_OWNER = "penstock.output"
_GOES = "__goes"
_DIGITS = 15  # those of a mark that a version, which is a BIGINT, has room for


@dataclass
class DeltaReceiver:
    """One output's table; it is made with the first step if its types are not known before."""

    path: str
    sink: Sink
    writer: Owner
    key: tuple[str, ...]
    library: Any
    _seen: int | None = None  # the version of the table behind which no other has written

    @property
    def owner(self) -> str:
        """The application of the output, by which the table's log has its steps."""
        return f"penstock/{self.writer.pipeline}/{self.sink.name}"

    @property
    def _marks(self) -> str:
        """The application by which it has their marks."""
        return f"penstock-mark/{self.writer.pipeline}/{self.sink.name}"

    @property
    def where(self) -> str:
        """The table as messages name it."""
        return f"{self.sink.what}: the Delta table {self.path}"

    def taken(self) -> int:
        """The step that the table's log has of this output; DataError if it is that of a copy of the directory."""
        with told(self.library, self.where):
            if not self.library.DeltaTable.is_deltatable(self.path):
                return 0
            return self._checked(self.library.DeltaTable(self.path))

    def _checked(self, there: Any) -> int:
        step = int(there.transaction_version(self.owner) or 0)
        mark = there.transaction_version(self._marks)
        self.writer.check_mark(step, f"{mark:0{_DIGITS}x}" if mark else None, self.where)
        self._seen = there.version()
        return step

    def take(self, change: Change) -> None:
        """Commit a step with its number, unless the table has it."""
        with told(self.library, self.where):
            found = keyed(change, self.key) if self.key else None
            rows = added(change) if found is None else found.rows
            there = self._there(rows.schema)
            if there.version() != self._seen and change.step <= self._checked(there):
                return
            if found is None:
                self._append(there, rows, change.step)
            else:
                self._merge(there, found, change.step)
            self._seen = there.version()

    def _commit(self, step: int) -> Any:
        mark = int(self.writer.mark(step)[:_DIGITS] or "0", 16)
        done = [self.library.Transaction(self.owner, step), self.library.Transaction(self._marks, mark)]
        return self.library.CommitProperties(custom_metadata={"penstock.step": str(step)}, app_transactions=done)

    def _append(self, there: Any, rows: pa.Table, step: int) -> None:
        self.library.write_deltalake(there, _fitted(rows, there), mode="append", commit_properties=self._commit(step))

    def _merge(self, there: Any, found: Keyed, step: int) -> None:
        names = found.rows.column_names
        kept = _fitted(found.rows, there).append_column(_GOES, pa.array([False] * found.rows.num_rows))
        gone = _fitted(found.gone, there).append_column(_GOES, pa.array([True] * found.gone.num_rows))
        source = pa.concat_tables([kept, gone], promote_options="default")
        same = " AND ".join(f"t.{quoted(name)} IS NOT DISTINCT FROM s.{quoted(name)}" for name in self.key)
        values = {quoted(name): f"s.{quoted(name)}" for name in names}
        merge = there.merge(source, same, source_alias="s", target_alias="t", commit_properties=self._commit(step))
        merge = merge.when_matched_delete(f"s.{_GOES}").when_matched_update(values, f"NOT s.{_GOES}")
        merge.when_not_matched_insert(values, f"NOT s.{_GOES}").execute()

    def _there(self, schema: pa.Schema) -> Any:
        """The table, made if there is none."""
        if not self.library.DeltaTable.is_deltatable(self.path):
            return made(self.library, self.path, schema, self.owner)
        return self.library.DeltaTable(self.path)

    def close(self) -> None:
        """Each step has been committed."""


def quoted(name: str) -> str:
    """A name as DataFusion reads it as it is written."""
    return '"' + name.replace('"', '""') + '"'


def made(library: Any, path: str, schema: pa.Schema, owner: str) -> Any:
    """A table that has just been made, an output's own."""
    found = library.DeltaTable.create(path, schema)
    found.alter.set_table_properties({_OWNER: owner}, raise_if_not_exists=False)
    return library.DeltaTable(path)


def _fitted(rows: pa.Table, there: Any) -> pa.Table:
    """The rows in the types of the table."""
    types = {item.name: item.type for item in pa.schema(there.schema().to_arrow())}
    return pa.table({name: rows.column(name).cast(types[name]) for name in rows.column_names})


def opened(sink: Sink, form: Form, owner: Owner) -> DeltaReceiver:
    """The receiver; DataError for a table that another pipeline writes, or that has other columns."""
    library = package("deltalake", "the connector delta", "lake")
    path = PATH.value(sink).removeprefix("file://").rstrip("/")
    receiver = DeltaReceiver(path, sink, owner, key_of(sink) if form is Form.UPSERT else (), library)
    with told(library, receiver.where):
        if library.DeltaTable.is_deltatable(path):
            _claim(receiver)
        elif (schema := schema_of(sink)) is not None:
            made(library, path, schema, receiver.owner)
    return receiver


def _claim(receiver: DeltaReceiver) -> None:
    """Have a table that is there be the output's own."""
    there = receiver.library.DeltaTable(receiver.path)
    fields = there.schema().fields
    types = {item.name: item.type for item in pa.schema(there.schema().to_arrow())}
    required = {item.name for item in fields if not item.nullable}
    check_columns(receiver.sink, types, required, receiver.where)
    writer = there.metadata().configuration.get(_OWNER)
    if writer == receiver.owner:
        return
    if writer is not None:
        if not replaces_others(receiver.sink):
            raise in_use(receiver.where, writer)
        there.delete()
    there.alter.set_table_properties({_OWNER: receiver.owner}, raise_if_not_exists=False)


@contextmanager
def told(library: Any, where: str) -> Iterator[None]:
    """Raise what the library raises as the error that it is for the output."""
    exceptions = library.exceptions
    try:
        yield
    except (exceptions.CommitFailedError, OSError) as error:
        raise unreachable(where, reason(error)) from error
    except (exceptions.DeltaError, pa.ArrowException, ValueError) as error:
        raise refused(where, reason(error)) from error
