"""DataFrames that the user gives as rows of a table: checked, measured and folded by Spark SQL, where they lie.

    GivenRows       columns by name, in any types that fit, and perhaps `__op` ('+', '-', '~') and `__seq`
    → declared      the columns of the table, not evaluated yet
    → measured      evaluated once; the same pass tells the facts about the rows
    → change, replacing    the change of the table

What is given without a key goes row by row into the change; with one the last operation on each key counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from penstock.backends.api import Arrival, ColumnsRead, Facts, Relation
from penstock.backends.columns import in_arrow
from penstock.backends.judging import Judging
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.exchange import carried, declared_rows
from penstock.backends.spark.judging import greatest, portable_greatest, verdict
from penstock.backends.spark.streamed import streamed
from penstock.backends.thresholds import DRIVER_ROWS
from penstock.catalog.model import Column, Table
from penstock.catalog.reserved import ARRIVED, OPERATION, POSITION, SEQUENCE, WEIGHT
from penstock.catalog.types import Type, plain_type
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.backends.spark.workspace import Workspace

_NO_OPERATIONS = {"-": 0, "~": 0, "?": 0, "aside": 0}


@dataclass(frozen=True)
class GivenRows:
    """A DataFrame for a table, before it is evaluated."""

    workspace: Workspace
    frame: DataFrame

    @cached_property
    def kinds(self) -> Mapping[str, Type]:
        """The columns in their order, with their types as Spark writes them."""
        return {field.name: field.dataType.simpleString() for field in self.frame.schema.fields}

    def declared(self, table: Table, default: Callable[[Column], str]) -> GivenRows:
        """The rows in the columns of a table and their types; what is not given is a default, as Spark SQL."""
        found = self.frame.selectExpr(*_selection(table, self.frame.columns, default))
        if table.computing:
            found = found.selectExpr(*_with_computed(table, found.columns))
        return GivenRows(self.workspace, found)

    def evaluated(self) -> GivenRows:
        """The same, evaluated where they lie."""
        return GivenRows(self.workspace, self.frame.localCheckpoint(eager=True))

    def fetched(self, table: Table) -> pa.Table:
        """The rows in the Arrow types of the table's declaration."""
        return declared_rows(self.frame, table)

    def pieces(self, table: Table) -> Iterator[pa.Table]:
        """The same in their order, piece by piece as they are evaluated."""
        return (in_arrow(table, piece) for piece in streamed(carried(self.frame, table)))

    def twice(self, table: Table) -> Sequence[Any] | None:
        """A key of the table that several rows have; None if there is none."""
        keys = [quoted(name) for name in table.key]
        twice = self.frame.groupBy(*keys).count().where("count > 1").select(*keys).limit(1).collect()
        return cast("Sequence[Any]", twice[0]) if twice else None

    def measured(
        self, table: Table, judging: Judging, arrival: Arrival, read: ColumnsRead | None = None
    ) -> MeasuredRows:
        """The declared rows evaluated: all of them, or the columns that are read and the rows that are set aside."""
        columns = self.frame.columns
        terms = _facts_asked(table, judging, operations=OPERATION in columns)
        if read is not None:
            terms |= {f"cast {name}": f"count({quoted(name)})" for name in read.cast}
        names = None if read is None else _narrowed(table, judging, columns, read.names)
        given, facts = self.workspace.checkpoints.measured(self.frame, terms, names)
        return MeasuredRows(self.workspace, table, judging, arrival, read, given, {**_NO_OPERATIONS, **facts})


@dataclass(frozen=True)
class MeasuredRows:
    """The same once it is evaluated, as `given`, with the `found` facts by their names."""

    workspace: Workspace
    table: Table
    judging: Judging
    arrival: Arrival
    read: ColumnsRead | None
    given: DataFrame
    found: Mapping[str, Any]

    @cached_property
    def facts(self) -> Facts:
        """The facts about the rows."""
        found = self.found
        return Facts(
            int(found["rows"]),
            found["aside"],
            deletions=found["-"],
            updates=found["~"],
            unknown=found["?"],
            nulls={name[5:]: value for name, value in found.items() if name.startswith("null ")},
            greatest=greatest(self.judging, found),
        )

    @property
    def rows(self) -> GivenRows:
        """The rows themselves."""
        return GivenRows(self.workspace, self.given)

    @cached_property
    def _frame(self) -> DataFrame:
        """The rows with their operations, and with their positions where the table keeps them."""
        given = self.given
        frame = given if OPERATION in given.columns else given.selectExpr("*", f"'+' AS {OPERATION}")
        frame = _positioned(frame, self.arrival) if POSITION in given.columns else frame
        kept = {name: text for name, text in self.arrival.kept.items() if name in given.columns}
        return frame.selectExpr(*(_kept(name, kept) for name in frame.columns)) if kept else frame

    @cached_property
    def _names(self) -> list[str]:
        read = self.read
        names = (column.name for column in self.table.columns)
        return [quoted(name) for name in names if read is None or name.lower() in read.names]

    @cached_property
    def _judged(self) -> DataFrame:
        frame = self._frame
        return frame if self.read is not None else frame.selectExpr("*", *_judged(self.table, self.judging))

    def aside(self) -> pa.Table:
        """The rows that are set aside, in the Arrow types of the declaration, each with the reason behind it."""
        aside = self._judged.where("__why IS NOT NULL").selectExpr("__row.*", "__why")
        return declared_rows(aside, self.table)

    def change(self) -> Delta:
        """The change of a table without a key that the others are, each operation by itself."""
        kept = self._judged.where("__why IS NULL") if self.facts.aside else self._frame
        weight = f"CASE WHEN {OPERATION} = '-' THEN -1L ELSE 1L END AS {WEIGHT}"
        change = kept.selectExpr(*self._names, weight)
        rows = self.facts.rows - self.facts.aside
        if self.read is not None and rows <= DRIVER_ROWS:
            return Delta.of_frame(self.workspace, change, estimate=rows).settled()
        self.workspace.checkpoints.sharing(change, self.given)
        return Delta.of_frame(self.workspace, change, rows=rows, retracts=bool(self.facts.deletions))

    def replacing(self, before: Relation | None) -> Delta:
        """The change that the last operation of each key makes of the weighted rows that there were before."""
        last = self._last()
        change = last.where(f"{OPERATION} = '+'").selectExpr(*self._names, f"1L AS {WEIGHT}")
        if before is not None:
            keys = [quoted(name) for name in self.table.key]
            old = before.join(last.selectExpr(*keys), list(self.table.key), "left_semi")
            change = change.union(old.selectExpr(*self._names, f"-{WEIGHT}"))
        kept, rows = self.workspace.checkpoints.evaluated(consolidated(change))
        return Delta.of_frame(self.workspace, kept, rows=rows)

    def _last(self) -> DataFrame:
        """The last operation on each key."""
        if SEQUENCE not in self._frame.columns:
            return self._frame
        keys = [quoted(name) for name in self.table.key]
        payload = ", ".join([*self._names, OPERATION])
        view = self.workspace.name(self._frame)
        last = f"max_by(struct({payload}), struct({SEQUENCE} IS NULL, {SEQUENCE}))"  # NULL comes last, as in small ones
        query = f"SELECT {last} AS last FROM {view} GROUP BY {', '.join(keys)}"
        return self.workspace.sql(f"SELECT last.* FROM ({query})")


def _selection(table: Table, columns: Sequence[str], default: Callable[[Column], str]) -> list[str]:
    """The table's columns as Spark casts them, with `__op` and `__seq`."""
    given = {name.lower(): name for name in columns}
    chosen = []
    for column in table.columns:
        found = None if column.hidden else given.get(column.name.lower())
        if found is None:
            chosen.append(f"{default(column)} AS {quoted(column.name)}")
        else:
            chosen.append(f"CAST({quoted(found)} AS {plain_type(column.type)}) AS {quoted(column.name)}")
    return chosen + [name for name in (OPERATION, SEQUENCE) if name in given]


def _kept(name: str, kept: Mapping[str, str]) -> str:
    """A column, or what all rows of the step have in it."""
    return f"{kept[name]} AS {quoted(name)}" if name in kept else quoted(name)


def _with_computed(table: Table, given: Sequence[str]) -> list[str]:
    """The given columns, with the values of computed columns in the places of the columns that keep them."""
    terms = {item.name: f"CAST(({item.computed}) AS {item.type}) AS {quoted(item.name)}" for item in table.computing}
    return [terms.get(name, quoted(name)) for name in given]


def _positioned(frame: DataFrame, arrival: Arrival) -> DataFrame:
    """The rows with their position in the order of arrival: that of `__seq`, else of the partitions they lie in.

    Where rows do not keep when they arrived either, a position need not be one row's: there is one for all of them.
    """
    if SEQUENCE in frame.columns:
        place = f"row_number() OVER (ORDER BY {SEQUENCE} ASC NULLS LAST) - 1"
    elif ARRIVED not in frame.columns:
        place = "0L"
    else:
        room = arrival.room // frame.rdd.getNumPartitions()
        place = f"spark_partition_id() * {room}L + monotonically_increasing_id() % {1 << 33}L"
    others = [quoted(name) for name in frame.columns if name != POSITION]
    return frame.selectExpr(*others, f"CAST({arrival.first}L + {place} AS BIGINT) AS {POSITION}")


def _narrowed(table: Table, judging: Judging, columns: Sequence[str], read: frozenset[str]) -> list[str]:
    """The columns that are read, what the DataFrame says of its rows, and whole rows where they are set aside."""
    names = [quoted(name) for name in columns if name.lower() in read or name in (OPERATION, SEQUENCE)]
    return [*names, *(_judged(table, judging) if judging else ())]


def _judged(table: Table, judging: Judging) -> list[str]:
    """The reason to set a row aside, as `__why`, and then the row as `__row`; both NULL for one that is accepted."""
    why, names = verdict(judging), ", ".join(quoted(column.name) for column in table.columns)
    return [f"{why} AS __why", f"CASE WHEN ({why}) IS NOT NULL THEN struct({names}) END AS __row"]


def _facts_asked(table: Table, judging: Judging, *, operations: bool) -> dict[str, str]:
    """The facts of a pass over the rows: how many, NULLs where none may be, operations, late rows, greatest values."""
    added = f" AND {OPERATION} = '+'" if operations else ""
    terms = {"rows": "count(*)"}
    for column in table.columns:
        if not column.nullable or column.name in table.key:
            terms[f"null {column.name}"] = f"count_if({quoted(column.name)} IS NULL{added})"
    if operations:
        terms |= {which: f"count_if({OPERATION} = '{which}')" for which in "-~"}
        terms["?"] = f"count_if({OPERATION} IS NULL OR {OPERATION} NOT IN ('+', '-', '~'))"
    if judging:
        terms["aside"] = f"count_if({verdict(judging)} IS NOT NULL)"
    for item in judging:
        terms[f"max {item.place}"] = portable_greatest(item)
    return terms
