"""Look-ups of maintained content by key: what is kept in the process is found by an index, and nothing is scanned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.analysis.keys import view_keys
from penstock.backends.columns import python_rows
from penstock.catalog.model import Catalog, Column, Table, View
from penstock.errors import DataError, Diagnostic, SqlError, did_you_mean
from penstock.pipeline.answer import Answer
from penstock.pipeline.execution import Execution
from penstock.plan.scalar import quoted
from penstock.relational.writing import literal
from penstock.steps.rows.rejected import Rejections


@dataclass(frozen=True)
class Asked:
    """The columns that a look-up goes by, and the values to look for, checked and in the columns' types."""

    relation: Table | View
    keys: pa.Table

    @property
    def condition(self) -> str:
        """The same as a condition of SQL."""
        kinds = {column.name: column.type for column in self.relation.columns}
        names = self.keys.column_names
        rows = [
            " AND ".join(_equals(name, kinds[name], value) for name, value in zip(names, row, strict=True))
            for row in python_rows(self.keys)
        ]
        return " OR ".join(f"({row})" for row in rows) or "FALSE"


def looked_up(execution: Execution, name: str, key: Any) -> Answer:
    """The rows of a table or view that have a key, or one of several.

    Within a transaction, and where the content does not lie in the process, the rows are asked for as a query would.
    """
    asked = _asked(execution, name, key)
    view = asked.relation
    if isinstance(view, View) and execution.transaction is None:
        execution.stepper.check_intact()
        found = execution.stepper.stored.looked_up(view, asked.keys)
        if found is not None:
            return Answer(execution.engine.relations, found)
    return execution.query(f"SELECT * FROM {quoted(asked.relation.name)} WHERE {asked.condition}")


def _asked(execution: Execution, name: str, key: Any) -> Asked:
    relation = execution.catalog.relation(name)
    if relation is None:
        known = [item.name for item in execution.catalog.tables.values()]
        known += [item.name for item in execution.catalog.named_views()]
        message = f"there is no table or view {name[:100]}"
        raise SqlError(Diagnostic("UNKNOWN_RELATION", message, candidates=did_you_mean(name, known)))
    names, rows = _by_name(relation, key) or _by_key(relation, key, execution.catalog)
    columns = tuple(_column(relation, item) for item in names)
    plain = Table(relation.name, tuple(Column(column.name, column.type) for column in columns))
    batch = execution.readers(plain).read([tuple(row) for row in rows], Rejections())
    return Asked(relation, batch.rows)


def _by_name(relation: Table | View, key: Any) -> tuple[Sequence[str], list[Any]] | None:
    """The columns and values of `{"k": 1}`, or of a list of such; None if the key is of another form."""
    given = [key] if isinstance(key, Mapping) else list(key) if isinstance(key, list) else []
    if not given or not all(isinstance(item, Mapping) and item for item in given):
        return None
    names = list(given[0])
    if any(list(item) != names for item in given):
        message = f"{relation.name}: the keys of one look-up have different columns"
        raise DataError(Diagnostic("LOOKUP_KEY", message, hint="the same columns, in the same order, in each"))
    return names, [tuple(item.values()) for item in given]


def _by_key(relation: Table | View, key: Any, catalog: Catalog) -> tuple[Sequence[str], list[Any]]:
    names = _key_of(relation, catalog)
    if not names:
        first = relation.columns[0].name
        message = f"{relation.name} has no key that is known"
        hint = f"say by which columns: lookup({relation.name!r}, {{{first!r}: …}})"
        raise DataError(Diagnostic("LOOKUP_KEY", message, hint=hint))
    rows = [item if isinstance(item, tuple) else (item,) for item in (key if isinstance(key, list) else [key])]
    for row in rows:
        if len(row) != len(names):
            message = f"the key of {relation.name} is ({', '.join(names)}), and {row!r} has {len(row)} values"
            raise DataError(Diagnostic("LOOKUP_KEY", message, hint="a tuple for one key, a list for several"))
    return names, rows


def _key_of(relation: Table | View, catalog: Catalog) -> tuple[str, ...]:
    """The smallest key, in the order of the columns; empty if none is known."""
    if isinstance(relation, Table):
        return tuple(relation.key)
    keys = sorted(view_keys(relation, catalog), key=lambda key: (len(key), sorted(key)))
    known = {name.lower() for name in keys[0]} if keys else set()
    return tuple(column.name for column in relation.columns if column.name.lower() in known)


def _column(relation: Table | View, name: str) -> Column:
    found = next((column for column in relation.columns if column.name.lower() == str(name).lower()), None)
    if found is None:
        known = [column.name for column in relation.columns]
        message = f"{relation.name} has no column {str(name)[:100]}"
        raise SqlError(Diagnostic("UNKNOWN_COLUMN", message, candidates=did_you_mean(str(name), known)))
    return found


def _equals(name: str, kind: str, value: Any) -> str:
    if value is None:
        return f"{quoted(name)} IS NULL"
    return f"{quoted(name)} = CAST({literal(value)} AS {kind})"
