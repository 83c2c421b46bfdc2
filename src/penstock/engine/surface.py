"""The engine as it is known above: what steps and the pipeline ask of its backend, and of the store in the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.backends.api import Content, Delta, Relations, RowFiles
from penstock.backends.native.store import Store
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import Table, View
from penstock.circuit.lineage import Says
from penstock.engine.constants import constant_row
from penstock.engine.installed import InstalledOperator
from penstock.engine.raising import Numbered, keys_met, raising_rows
from penstock.engine.schemas import schemas_of
from penstock.engine.view_content import ViewContent, content_in_process, content_of

if TYPE_CHECKING:
    import pyarrow as pa


class Surface:
    """Changes, contents and relations, made where the engine works."""

    workspace: Workspace
    store: Store | None

    @property
    def relations(self) -> Relations:
        """The relations of the backend: made of rows, of one another, and read."""
        return self.workspace

    # The session

    @property
    def is_local(self) -> bool:
        """True if the backend works, or would work, on this machine alone."""
        return self.workspace.is_local

    @property
    def has_spark(self) -> bool:
        """True if there is a session; starts nothing."""
        return self.workspace.has_spark

    def follow(self, settings: Mapping[str, str]) -> None:
        """Have the backend follow a program's settings; SqlError for what it refuses."""
        self.workspace.follow(settings)

    def check_session(self) -> None:
        """UnsupportedError if the session, which may be the user's, means something else by a query than Penstock."""
        self.workspace.check_session()

    def release(self) -> None:
        """Give back what only the step, or the query, needed."""
        self.workspace.release()

    def left(self) -> None:
        """Leave all rows where they are: the user has got a relation that may read any of them."""
        self.workspace.left()

    # Changes and contents

    def change(self, rows: pa.Table, schema: Any = None) -> Delta:
        """Weighted rows as a change; `schema` is that of another change, where Arrow cannot tell the types."""
        return self.workspace.change(rows, schema)

    def change_of(self, table: Table, rows: pa.Table) -> Delta:
        """The weighted rows of a table as a change, in the types of its declaration."""
        return self.workspace.change_of(table, rows)

    def new_content(self, view: View, *, in_process: bool) -> Content:
        """The content of a view before its first change: in the process if it can lie there, and may."""
        store = self.store if in_process else None
        return content_in_process(store, view, self.workspace) or self.workspace.content()

    def content_here(self, view: View) -> ViewContent:
        """The same in the process; NotProvenError where its rows cannot lie there."""
        assert self.store is not None  # noqa: S101 - whoever asks has found that operators work there
        return content_of(self.store, view, self.workspace)

    def row_files(self, folder: Path) -> RowFiles:
        """The files of a snapshot in a folder."""
        return self.workspace.row_files(folder)

    # Expressions

    def constants(self, texts: Sequence[str]) -> tuple[Any, ...]:
        """The values of constants of Spark SQL."""
        return constant_row(self.workspace, self.store, texts)

    def raising_rows(self, place: InstalledOperator, rows: Numbered, says: Says, clock: datetime) -> set[int]:
        """The numbers of the rows for which one of the chosen expressions raises, when the clock stands so."""
        self.workspace.clock = clock
        return raising_rows(self.workspace, place, rows, says)

    def keys_met(self, place: InstalledOperator, rows: Numbered) -> dict[int, set[int]] | None:
        """The hashes of the keys under which an operator takes each numbered row; None where that cannot be told."""
        return keys_met(self.workspace, place, rows, schemas_of(self.workspace, place.installed))
