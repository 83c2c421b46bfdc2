"""A step as one commit of an Iceberg table, with the step's number and its mark among the table's properties.

Rows of keys that change are deleted and added again within the commit. Deleting rewrites the files that hold them (copy
on write), so whoever follows the table needs no merge on read.

A commit is not tried again on top of another's, as pyiceberg would: it may be that of a copy of the directory. The step
is given again instead, to whoever has looked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from penstock.errors import first_line
from penstock.failpoints import reach
from penstock.outputs.accepting import key_of
from penstock.outputs.declared import replaces_others
from penstock.outputs.forms import Form
from penstock.outputs.iceberg import TABLE, target_of
from penstock.outputs.lake.fitting import check_columns, schema_of
from penstock.outputs.lake.rows import added, keyed, replaced
from penstock.outputs.receiver import Owner, in_use, refused, unreachable
from penstock.outputs.sink import Sink
from penstock.sources.iceberg.catalogs import catalog_of
from penstock.sources.packages import package
from penstock.sources.secrets import expanded_all, masked, secret_values
from penstock.steps.change import Change

_WHAT = "the connector iceberg"
_OWNER = "penstock.output"
_STEP, _MARK = "penstock.step.", "penstock.mark."
_RETRIES = "commit.retry.num-retries"


@dataclass
class IcebergReceiver:
    """One output's table; it is made with the first step if its types are not known before."""

    catalog: Any
    sink: Sink
    writer: Owner
    key: tuple[str, ...]
    where: str
    secrets: frozenset[str]

    @property
    def owner(self) -> str:
        """The output as the table's properties name it."""
        return f"{self.writer.pipeline}/{self.sink.name}"

    @property
    def name(self) -> str:
        """The table's name in its catalog."""
        return TABLE.value(self.sink)

    def taken(self) -> int:
        """The step that the table's properties have of this output; DataError if it is that of a copy."""
        with self.told():
            there = self.loaded()
            return 0 if there is None else self.checked(there)

    def checked(self, there: Any) -> int:
        """The step that a table has of this output; DataError if a copy of the directory has written it."""
        step = int(there.properties.get(_STEP + self.owner, 0))
        self.writer.check_mark(step, there.properties.get(_MARK + self.owner), self.where)
        return step

    def loaded(self) -> Any | None:
        """The table as it is now; None if there is none."""
        exceptions = package("pyiceberg.exceptions", _WHAT, "lake")
        try:
            return self.catalog.load_table(self.name)
        except (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError):
            return None

    def made(self, schema: pa.Schema) -> Any:
        """A table that has just been made, the output's own."""
        self.catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        return self.catalog.create_table(self.name, schema, properties={_OWNER: self.owner})

    def take(self, change: Change) -> None:
        """Commit a step with its number, unless the table has it."""
        with self.told():
            if self.key:
                rows, keys = keyed(change, self.key).rows, replaced(change, self.key)
            else:
                rows, keys = added(change), None
            there = self.loaded() or self.made(rows.schema)
            if change.step <= self.checked(there):
                return
            there.metadata.properties[_RETRIES] = "0"  # of this table as it was loaded, and no other
            with there.transaction() as commit:
                if keys is not None and keys.num_rows and there.current_snapshot() is not None:
                    commit.delete(_any_of(keys), snapshot_properties=_said(change.step))
                if rows.num_rows:
                    commit.append(_fitted(rows, there), snapshot_properties=_said(change.step))
                reach("receiver.within")
                said = {_STEP + self.owner: str(change.step), _MARK + self.owner: self.writer.mark(change.step)}
                commit.set_properties(said)

    def close(self) -> None:
        """Each step has been committed."""

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise what the library raises as the error that it is for the output."""
        exceptions = package("pyiceberg.exceptions", _WHAT, "lake")
        try:
            yield
        except (exceptions.CommitFailedException, exceptions.RESTError, OSError) as error:
            raise unreachable(self.where, self._short(error)) from None
        except (pa.ArrowException, ValueError, exceptions.NotInstalledError) as error:
            raise refused(self.where, self._short(error)) from None

    def _short(self, error: BaseException) -> str:
        return masked(first_line(error), self.secrets)


def _said(step: int) -> dict[str, str]:
    return {"penstock.step": str(step)}


def _any_of(keys: pa.Table) -> Any:
    """A condition: the row has one of the keys, of which any part may be NULL."""
    expressions = package("pyiceberg.expressions", _WHAT, "lake")
    if keys.num_columns == 1:
        (name,) = keys.column_names
        return _one_of(expressions, name, keys.column(0).to_pylist())
    # Keys that agree in all but their last column are one condition.
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in zip(*(column.to_pylist() for column in keys.columns), strict=True):
        groups.setdefault(row[:-1], []).append(row[-1])
    *names, last = keys.column_names
    return _any(
        expressions,
        [
            reduce(
                expressions.And,
                [_one_of(expressions, name, [value]) for name, value in zip(names, group, strict=True)],
                _one_of(expressions, last, values),
            )
            for group, values in groups.items()
        ],
    )


def _one_of(expressions: Any, name: str, values: Sequence[Any]) -> Any:
    """A condition: a column has one of the values; NaN and NULL are values.

    It is never unknown: what pyiceberg keeps is what the condition is false of.
    """
    plain = {value for value in values if value is not None and value == value}  # noqa: PLR0124 - NaN is not itself
    parts = [expressions.And(expressions.NotNull(name), expressions.In(name, plain))] if plain else []
    if any(value is None for value in values):
        parts.append(expressions.IsNull(name))
    if any(value is not None and value != value for value in values):  # noqa: PLR0124 - as above
        parts.append(expressions.And(expressions.NotNull(name), expressions.IsNaN(name)))
    return _any(expressions, parts)


def _any(expressions: Any, parts: Sequence[Any]) -> Any:
    """A condition that one of several holds, as a tree that is no deeper than it must be."""
    found = list(parts)
    while len(found) > 1:
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [expressions.Or(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return found[0]


def _fitted(rows: pa.Table, there: Any) -> pa.Table:
    """The rows in the types of the table; columns that the view does not give are NULL."""
    schema = there.schema().as_arrow()
    columns = [
        rows.column(item.name).cast(item.type) if item.name in rows.column_names else pa.nulls(rows.num_rows, item.type)
        for item in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def opened(sink: Sink, form: Form, owner: Owner) -> IcebergReceiver:
    """The receiver; DataError for a table that another pipeline writes, or that has other columns."""
    catalog = catalog_of(expanded_all(sink.properties, sink.what), sink.what, sink.span)
    key = key_of(sink) if form is Form.UPSERT else ()
    secrets = frozenset(secret_values(sink.properties.values()))
    receiver = IcebergReceiver(catalog, sink, owner, key, target_of(sink), secrets)
    with receiver.told():
        there = receiver.loaded()
        if there is not None:
            _claim(receiver, there)
        elif (schema := schema_of(sink)) is not None:
            receiver.made(schema)
    return receiver


def _claim(receiver: IcebergReceiver, there: Any) -> None:
    """Have a table that is there be the output's own."""
    fields = there.schema().fields
    types = {item.name: item.type for item in there.schema().as_arrow()}
    check_columns(receiver.sink, types, {item.name for item in fields if item.required}, receiver.where)
    writer = there.properties.get(_OWNER)
    if writer == receiver.owner:
        return
    if writer is not None and not replaces_others(receiver.sink):
        raise in_use(receiver.where, writer)
    with there.transaction() as commit:
        if writer is not None and there.current_snapshot() is not None:
            commit.delete(package("pyiceberg.expressions", _WHAT, "lake").AlwaysTrue())
        commit.set_properties({_OWNER: receiver.owner})
