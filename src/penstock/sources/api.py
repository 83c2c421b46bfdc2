"""The interfaces that the run loop expects of sources and outputs, and the connectors by name.

A connector is a module with `PROPERTIES` (what a table may say of it, see `properties`) and
`open_source(table, readers, zone)`; one whose properties are to be looked at together has a `check(table)`, one that
fills columns of METADATA the names of those as `METADATA`. Most give a `reading.RecordSource` with their own transport,
or rows of whole messages (`messages`). Those of Penstock are in `CONNECTORS`; another package brings one by an entry
point of the group `penstock.sources` (`installed`).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from penstock.catalog.model import Table
from penstock.catalog.properties import CONNECTOR, START_AFTER, check_table, value_place
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.sources.installed import installed_names, load_installed
from penstock.sources.packages import check_packages
from penstock.sources.properties import check_properties, check_rows_per_step
from penstock.sources.successive import SuccessiveSource, earlier

if TYPE_CHECKING:
    from penstock.steps.change import Change
    from penstock.steps.intake.inputs import MakeReader
    from penstock.steps.rows.batch import Batch
    from penstock.steps.rows.rejected import Rejections


class TableSource(Protocol):
    """Rows for one table that keep coming; what was read counts as used only after `commit`."""

    table: Table

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """Up to about `rows` new rows, None if there are none now; broken rows go to the rejections.

        With `ended` nobody will write more: a last record without its end is one.
        """

    def taken(self) -> Mapping[str, Any]:
        """The ranges read since the last commit, from where to where, ready for JSON; empty if nothing."""

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Stand before what a manifest says was taken: the next `read` gives these rows, and no others."""

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Stand behind what a manifest says was taken: it is not read again."""

    def commit(self) -> None:
        """Take note that what has been read is part of a committed step."""

    def rewind(self) -> None:
        """Go back to the last commit: what has been read since was refused and will be read again."""

    def waiting(self) -> tuple[int, int]:
        """Bytes and files that are known to wait."""

    def describe(self) -> str:
        """The source as its user names it."""


@runtime_checkable
class Held(Protocol):
    """A source that holds something, such as a connection."""

    def close(self) -> None:
        """Let go of it; nothing more is asked of the source."""


@runtime_checkable
class Answering(Protocol):
    """A source whose writers wait for an answer."""

    def stepped(self, number: int) -> None:
        """The number of the step that has what was read; `commit` follows."""


@runtime_checkable
class Noting(Protocol):
    """A source that keeps beside it what it has to know or to have after a crash, or once it is opened anew."""

    def note_in(self, folder: Path) -> None:
        """Keep notes in this folder, which need not be there yet.

        It is one of the pipeline's directory; without a directory it lasts as long as the pipeline.
        """


@runtime_checkable
class Remarking(Protocol):
    """A source that may have something to say when a run begins to follow it."""

    def remark(self) -> str:
        """The words for what somebody may not expect of it, without secrets; empty if there is nothing."""


class Output(Protocol):
    """Takes the changes of views, step by step; writing the same step again changes nothing.

    It is any object with these methods. What `write` raises ends the run, or has the step given again
    (`RunOptions.on_output_error`).
    """

    def write(self, changes: Mapping[str, Change]) -> None:
        """Write what one step has changed: by view, those without changes among them."""

    def close(self) -> None:
        """Take note that the run has ended: everything has been written."""

    def describe(self) -> str:
        """The output as its user names it; by this name a later run gives it what it had not taken."""


# Connectors live in packages that build on this one, so they are named here and loaded when a program asks for them.
CONNECTORS = {
    "files": "penstock.sources.files",
    "delta": "penstock.sources.delta",
    "iceberg": "penstock.sources.iceberg",
    "datagen": "penstock.sources.datagen",
    "kafka": "penstock.sources.kafka",
    "upsert-kafka": "penstock.sources.kafka.upsert",
    "postgres": "penstock.sources.postgres",
    "sql": "penstock.sources.polled",
    "http": "penstock.sources.http",
    "spark": "penstock.sources.spark",
}


def check_source(table: Table) -> None:
    """Refuse a connector that there is not, and properties that it cannot take; looks at nothing outside."""
    connector = _connector(table) if "connector" in table.properties else None
    check_rows_per_step(table)
    _check_earlier(table)
    _check_metadata(table, tuple(getattr(connector, "METADATA", ())))
    if connector is not None:
        check_packages(table, f"table {table.name}")
        check_properties(table, connector.PROPERTIES)
        getattr(connector, "check", _checked)(table)


def _check_earlier(table: Table) -> None:
    """The same for the source that is read before the table's own."""
    if CONNECTOR not in table.properties and START_AFTER in table.properties:
        message = f"table {table.name}: '{START_AFTER}' is for a table that has a connector, which is read then"
        raise SqlError(Diagnostic("MISSING_PROPERTY", message, table.span, hint="add 'connector' = 'kafka'"))
    try:
        before = earlier(table, _metadata_of)
        if before is not None:
            check_table(before.properties, {name: place.name for name, place in before.places.items()})
            check_source(before)
    except SqlError as error:
        raise SqlError([_of_earlier(item, table) for item in error.diagnostics]) from None


def _of_earlier(found: Diagnostic, table: Table) -> Diagnostic:
    return replace(
        found, message=f"'{START_AFTER}' of table {table.name}: {found.message}", span=found.span or table.span
    )


def sources_of(table: Table) -> Iterator[Table]:
    """A table with a connector as each of its sources sees it, its own first; properties may be wrong yet."""
    found: Table | None = table
    while found is not None:
        yield found
        try:
            found = earlier(found, _metadata_of)
        except SqlError:  # said by the check of its own
            return


def _metadata_of(table: Table) -> tuple[str, ...]:
    return tuple(getattr(_connector(table), "METADATA", ()))


def _checked(_table: Table) -> None:
    """A connector without a `check` of its own has nothing to add."""


def _check_metadata(table: Table, known: tuple[str, ...]) -> None:
    """SqlError for a column of METADATA that nothing fills."""
    unknown = (item for item in table.columns if item.metadata is not None and item.metadata not in known)
    found = next(unknown, None)
    if found is not None:
        message = (
            f"column {found.name}: what brings the rows of table {table.name} knows no {str(found.metadata)[:60]!r}"
        )
        near = did_you_mean(str(found.metadata), list(known))
        hint = f"it knows {', '.join(known)}" if known else "leave METADATA out"
        raise SqlError(Diagnostic("UNKNOWN_METADATA", message, found.span, near, hint))


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> TableSource:
    """The source that a table's `'connector'` names; SqlError if there is no such connector."""
    check_source(table)
    return _opened(table, readers, zone)


def _opened(table: Table, readers: MakeReader, zone: tzinfo) -> TableSource:
    own: TableSource = _connector(table).open_source(table, readers, zone)
    before = earlier(table, _metadata_of)
    if before is None:
        return own
    first = _opened(before, readers, zone)
    sources = first.sources if isinstance(first, SuccessiveSource) else (first,)
    return SuccessiveSource(table, (*sources, own))


def _connector(table: Table) -> Any:
    """The module of the table's connector, or what another package brings as one."""
    name = table.properties["connector"].lower()
    if name in CONNECTORS:
        return importlib.import_module(CONNECTORS[name])
    found = load_installed(table, name)
    if found is None:
        known = [*CONNECTORS, *installed_names()]
        message = f"table {table.name}: there is no connector {name[:100]!r}"
        hint = f"the connectors are {', '.join(known)}"
        place = value_place(table, CONNECTOR)
        raise SqlError(Diagnostic("UNKNOWN_CONNECTOR", message, place, did_you_mean(name, known), hint))
    return found
