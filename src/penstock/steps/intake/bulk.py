"""Spark DataFrames as input: what is small comes to the driver, what is large is checked and folded by Spark SQL.

A DataFrame has the table's columns by name, and may have `__op` ('+', '-', '~') and `__seq`, the arrival order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

from penstock.backends import api
from penstock.backends.columns import python_rows
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.exchange import declared_rows
from penstock.backends.thresholds import DRIVER_ROWS
from penstock.catalog.model import Column, Table
from penstock.catalog.reserved import OPERATION, POSITION, SEQUENCE, WEIGHT
from penstock.catalog.types import INTEGRAL, is_decimal, plain_type
from penstock.errors import DataError, Diagnostic
from penstock.plan.scalar import quoted
from penstock.steps.intake.fold import Intake, Judge, fold_rows
from penstock.steps.intake.judging import greatest_text, verdict
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import LateColumn
from penstock.steps.intake.many import fold_by_key
from penstock.steps.intake.memory import TableMemory
from penstock.steps.intake.process import ProcessRows
from penstock.steps.intake.rowcounts import RowCounts
from penstock.steps.rows.batch import Batch, RowReader, concatenated, first_position, refuse_deletion, unknown_column
from penstock.steps.rows.defaults import Defaults
from penstock.steps.rows.rejected import row_json

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.backends.spark.workspace import Workspace

_NO_OPERATIONS = {"-": 0, "~": 0, "?": 0, "aside": 0}
_WIDENS = {
    "tinyint": 1,
    "smallint": 2,
    "int": 3,
    "bigint": 4,
    "decimal": 5,
    "float": 6,
    "double": 7,
}


@dataclass(frozen=True)
class FrameBatch:
    """A DataFrame for one table."""

    table: Table
    frame: DataFrame
    reader: RowReader

    @cached_property
    def checked(self) -> DataFrame:
        """The columns in declared types, not evaluated yet."""
        given = self.frame.selectExpr(*_selection(self.table, self.frame, self.reader.defaults))
        if not self.table.computing:
            return given
        return given.selectExpr(*_with_computed(self.table, given.columns))

    def fetched(self, judge: Judge) -> Batch:
        """The rows on the driver."""
        return self.fetched_from(self.checked.localCheckpoint(eager=True), judge)

    def in_process(self, process: ProcessRows, judge: Judge) -> Batch:
        """The rows in the process, however many they are, for a table with a key that lies there."""
        rows = declared_rows(self.checked, self.table)
        if SEQUENCE not in rows.column_names:
            with process.store.given(process.placed(rows)) as given:
                twice = process.twice(given)
            if twice is not None:
                _refuse_twice(self.table, twice)
        return self._read(rows, judge)

    def fetched_from(self, frame: DataFrame, judge: Judge) -> Batch:
        """The rows of the checked frame, evaluated already, on the driver."""
        _check_keys(self.table, frame)
        rows = declared_rows(frame, self.table)
        return self._read(rows, judge)

    def _read(self, rows: pa.Table, judge: Judge) -> Batch:
        hidden = [column.name for column in self.table.columns if column.hidden]  # which the reader makes anew
        return self.reader.read_arrow(rows.drop_columns(hidden), judge.rejections, carried=True)


def _selection(table: Table, frame: DataFrame, defaults: Defaults) -> list[str]:
    """The table's columns as Spark casts them, with `__op` and `__seq`; DataError for one that does not fit."""
    given = {field.name.lower(): field for field in frame.schema.fields}
    for name, field in given.items():
        if name not in (OPERATION, SEQUENCE) and table.column(name) is None:
            unknown_column(table, field.name, "the DataFrame given")
    chosen = []
    for column in table.columns:
        found = None if column.hidden else given.get(column.name.lower())
        if found is None:
            chosen.append(f"{defaults.text(column)} AS {quoted(column.name)}")
            continue
        _check_type(table, column, plain_type(found.dataType.simpleString()))
        chosen.append(f"CAST({quoted(found.name)} AS {plain_type(column.type)}) AS {quoted(column.name)}")
    return chosen + [name for name in (OPERATION, SEQUENCE) if name in given]


def _with_computed(table: Table, given: Sequence[str]) -> list[str]:
    """The given columns, with the values of computed columns in the places of the columns that keep them."""
    terms = {item.name: f"CAST(({item.computed}) AS {item.type}) AS {quoted(item.name)}" for item in table.computing}
    return [terms.get(name, quoted(name)) for name in given]


def _check_type(table: Table, column: Column, found: str) -> None:
    wanted = plain_type(column.type)
    if found in (wanted, "void") or wanted == "variant":
        return
    ranks = [_WIDENS.get(kind.partition("(")[0]) for kind in (found, wanted)]
    numeric = ranks[0] is not None and ranks[1] is not None
    whole = found in ("tinyint", "smallint", "int", "bigint")
    if numeric and (whole or ranks[0] <= ranks[1]):  # type: ignore[operator]
        return
    temporal = {"date", "timestamp", "timestamp_ntz"}
    if found in temporal and wanted in temporal and wanted != "date":
        return
    if found.partition("<")[0] == wanted.partition("<")[0] != found:
        return
    message = f"table {table.name}, column {column.name}: found {found.upper()}, expected {column.type.upper()}"
    raise DataError(Diagnostic("BAD_VALUE", message, hint=f"cast the column to {column.type.upper()}"))


def _check_keys(table: Table, frame: DataFrame) -> None:
    """Refuse several rows of one key in a DataFrame that does not say their order."""
    if not table.key or SEQUENCE in frame.columns:
        return
    keys = [quoted(name) for name in table.key]
    twice = frame.groupBy(*keys).count().where("count > 1").select(*keys).limit(1).collect()
    if twice:
        _refuse_twice(table, twice[0])


def _refuse_twice(table: Table, key: Sequence[Any]) -> NoReturn:
    shown = ", ".join(f"{name} = {value!r}" for name, value in zip(table.key, key, strict=True))
    message = f"table {table.name}: several rows of the key {shown} in one step, and nothing that tells their order"
    raise DataError(Diagnostic("DUPLICATE_KEY", message, hint=f"add a column {SEQUENCE} with the order of arrival"))


def fold_frame(
    workspace: api.Workspace,
    batches: Sequence[Batch | FrameBatch],
    judge: Judge,
    memory: TableMemory,
    counts: Callable[[], RowCounts],
    *,
    read: frozenset[str] | None,
) -> Intake:
    """The change of a table for which a DataFrame came in, alone or with other rows.

    `read` names the columns that views read, in lower case; None where all are wanted.
    """
    first, store, live = batches[0], memory.store, memory.counts
    spark = cast("Workspace", workspace)  # a DataFrame is of its session
    process = None if store is None else store.process
    if store is not None and process is not None:
        here = [item if isinstance(item, Batch) else item.in_process(process, judge) for item in batches]
        return fold_by_key(judge.stamped(concatenated(here)), judge, store)
    if len(batches) > 1 or not isinstance(first, FrameBatch):
        fetched = [item if isinstance(item, Batch) else item.fetched(judge) for item in batches]
        batch = judge.stamped(concatenated(fetched))
    else:
        bulk = _Bulk.of(spark, first, judge, read if _only_views_read(first.table, judge) else None)
        if bulk.stays(store):
            return bulk.folded(store, live, counts)
        batch = judge.stamped(first.fetched_from(bulk.given, judge))
    return fold_by_key(batch, judge, store) if store is not None else fold_rows(batch, judge, counts, live)


class _Bulk:
    """A large DataFrame on its way into a table, evaluated once; the same pass tells the facts about its rows."""

    def __init__(
        self,
        workspace: Workspace,
        table: Table,
        given: DataFrame,
        facts: dict[str, Any],
        judge: Judge,
        *,
        read: frozenset[str] | None,
    ) -> None:
        self._workspace = workspace
        self._table = table
        self._judge = judge
        self._facts = facts
        self.given = given
        self._rows = int(facts["rows"])
        frame = given if OPERATION in given.columns else given.selectExpr("*", f"'+' AS {OPERATION}")
        self._frame = _positioned(frame, judge.step) if POSITION in given.columns else frame
        self._narrow = read is not None
        self._names = [quoted(column.name) for column in table.columns if read is None or column.name.lower() in read]

    @classmethod
    def of(cls, workspace: Workspace, batch: FrameBatch, judge: Judge, read: frozenset[str] | None = None) -> _Bulk:
        """The DataFrame, evaluated: all of it, or the columns that are read and the rows that are set aside."""
        checked = batch.checked
        terms = _facts_asked(batch.table, judge, operations=OPERATION in checked.columns)
        if read is not None:
            terms |= {f"cast {name}": f"count({quoted(name)})" for name in _unread(batch, read)}
        names = None if read is None else _narrowed(batch.table, judge, checked.columns, read)
        given, facts = workspace.checkpoints.measured(checked, terms, names)
        return cls(workspace, batch.table, given, {**_NO_OPERATIONS, **facts}, judge, read=read)

    def stays(self, store: KeyStore | None) -> bool:
        """True if the rows stay on the executors: many, and nothing about them goes row by row.

        Where columns that nobody reads are gone the rows stay in any case: they are rows of the table no more.
        """
        if self._narrow:
            return True
        if self._rows <= DRIVER_ROWS or self._judge.holding.columns or _has_limits(self._table):
            return False
        if store is None:
            return all(item.rows is None for item in self._late)
        return not self._late and not self._facts["~"]

    def folded(self, store: KeyStore | None, live: RowCounts | None, counts: Callable[[], RowCounts]) -> Intake:
        """The change of the table."""
        self._check()
        return self._plain(live, counts) if store is None else self._keyed(store)

    @property
    def _late(self) -> tuple[LateColumn, ...]:
        return self._judge.lateness.columns

    def _check(self) -> None:
        facts = self._facts
        for name, value in facts.items():
            if name.startswith("null ") and value:
                message = f"table {self._table.name}, column {name[5:]}: found NULL in {value} rows, expected NOT NULL"
                raise DataError(Diagnostic("BAD_VALUE", message))
        if facts["?"]:
            message = f"table {self._table.name}, column {OPERATION}: found something else than '+', '-' or '~'"
            raise DataError(Diagnostic("BAD_VALUE", message))
        if facts["~"]:
            message = f"table {self._table.name}: a partial update needs a PRIMARY KEY"
            raise DataError(Diagnostic("NO_PRIMARY_KEY", message))
        if facts["-"] and self._table.append_only:
            refuse_deletion(self._table, f"column {OPERATION}")

    def _plain(self, live: RowCounts | None, counts: Callable[[], RowCounts]) -> Intake:
        kept = self._frame
        if self._facts["aside"]:
            judged = kept if self._narrow else kept.selectExpr("*", *_judged(self._table, self._judge))
            kept = judged.where("__why IS NULL")
            self._set_aside(judged)
        weight = f"CASE WHEN {OPERATION} = '-' THEN -1L ELSE 1L END AS {WEIGHT}"
        change = kept.selectExpr(*self._names, weight)
        rows = self._rows - self._facts["aside"]
        if self._narrow and rows <= DRIVER_ROWS:
            delta = Delta.of_frame(self._workspace, change, estimate=rows).settled()
        else:
            self._workspace.checkpoints.sharing(change, self.given)
            delta = Delta.of_frame(self._workspace, change, rows=rows, retracts=bool(self._facts["-"]))
        if self._facts["-"]:
            live = counts()
            live.check_frame(delta)
        values = {item.column.name.lower(): [_greatest(item, self._facts)] for item in self._late}
        intake = Intake(self._table, delta, self._judge.lateness.moved(values), self._rows)
        if live is None:
            return intake
        return replace(intake, apply=partial(live.commit, delta), propose=partial(live.propose, delta))

    def _set_aside(self, judged: DataFrame) -> None:
        aside = judged.where("__why IS NOT NULL").selectExpr("__row.*", "__why")
        found = declared_rows(aside, self._table)
        for *row, why in python_rows(found):
            self._judge.rejections.add(
                self._table.name, why, row_json(dict(zip(found.column_names, row, strict=False)))
            )

    def _keyed(self, store: KeyStore) -> Intake:
        _check_keys(self._table, self._frame)
        last = self._last()
        before = store.base_frame()
        change = last.where(f"{OPERATION} = '+'").selectExpr(*self._names, f"1L AS {WEIGHT}")
        if before is not None:
            keys = [quoted(name) for name in self._table.key]
            old = before.join(last.selectExpr(*keys), list(self._table.key), "left_semi")
            change = change.union(old.selectExpr(*self._names, f"-{WEIGHT}"))
        delta = self._delta(consolidated(change))
        if self._table.append_only and delta.frame().where(f"{WEIGHT} < 0").limit(1).count():
            refuse_deletion(self._table, "the DataFrame given")
        lateness = self._judge.lateness
        return Intake(self._table, delta, lateness, self._rows, store.commit, propose=lambda: store.propose(delta))

    def _last(self) -> DataFrame:
        """The last operation on each key."""
        if SEQUENCE not in self._frame.columns:
            return self._frame
        keys = [quoted(name) for name in self._table.key]
        payload = ", ".join([*self._names, OPERATION])
        view = self._workspace.name(self._frame)
        last = f"max_by(struct({payload}), struct({SEQUENCE} IS NULL, {SEQUENCE}))"  # NULL comes last, as in small ones
        query = f"SELECT {last} AS last FROM {view} GROUP BY {', '.join(keys)}"
        return self._workspace.sql(f"SELECT last.* FROM ({query})")

    def _delta(self, frame: DataFrame) -> Delta:
        kept, rows = self._workspace.checkpoints.evaluated(frame)
        return Delta.of_frame(self._workspace, kept, rows=rows)


def _positioned(frame: DataFrame, step: int) -> DataFrame:
    """The rows with their position in the order of arrival: that of `__seq`, else of the partitions they lie in."""
    if SEQUENCE in frame.columns:
        place = f"row_number() OVER (ORDER BY {SEQUENCE} ASC NULLS LAST) - 1"
    else:
        room = first_position(1) // frame.rdd.getNumPartitions()
        place = f"spark_partition_id() * {room}L + monotonically_increasing_id() % {1 << 33}L"
    others = [quoted(name) for name in frame.columns if name != POSITION]
    return frame.selectExpr(*others, f"CAST({first_position(step)}L + {place} AS BIGINT) AS {POSITION}")


def _only_views_read(table: Table, judge: Judge) -> bool:
    """True if the rows of a table are wanted by views alone, and no fold of them goes row by row."""
    kept = bool(table.key) or table.history.lower() != "none" or not table.append_only
    by_row = bool(judge.holding.columns) or any(item.rows is not None for item in judge.lateness.columns)
    return not kept and not by_row and not _has_limits(table)


def _has_limits(table: Table) -> bool:
    """True if a column is a VARCHAR or CHAR, whose length is checked, and filled up, row by row."""
    return any("char(" in column.type.lower() for column in table.columns)


def _unread(batch: FrameBatch, read: frozenset[str]) -> list[str]:
    """The columns that nobody reads and that have another type than declared: their casts may find an overflow."""
    given = {item.name.lower(): item.dataType.simpleString() for item in batch.frame.schema.fields}
    names = [(column.name, column.name.lower(), plain_type(column.type).lower()) for column in batch.table.columns]
    return [name for name, lower, kind in names if lower not in read and given.get(lower, kind) != kind]


def _narrowed(table: Table, judge: Judge, columns: Sequence[str], read: frozenset[str]) -> list[str]:
    """The columns that are read, what the DataFrame says of its rows, and whole rows where they are set aside."""
    names = [quoted(name) for name in columns if name.lower() in read or name in (OPERATION, SEQUENCE)]
    return [*names, *(_judged(table, judge) if judge.lateness.columns else ())]


def _judged(table: Table, judge: Judge) -> list[str]:
    """The reason to set a row aside, as `__why`, and then the row as `__row`; both NULL for one that is accepted."""
    why, names = verdict(judge.lateness, judge.clock), ", ".join(quoted(column.name) for column in table.columns)
    return [f"{why} AS __why", f"CASE WHEN ({why}) IS NOT NULL THEN struct({names}) END AS __row"]


def _facts_asked(table: Table, judge: Judge, *, operations: bool) -> dict[str, str]:
    """The facts of a pass over the rows: how many, NULLs where none may be, operations, late rows, greatest values."""
    added = f" AND {OPERATION} = '+'" if operations else ""
    terms = {"rows": "count(*)", "aside": "0L"}
    for column in table.columns:
        if not column.nullable or column.name in table.key:
            terms[f"null {column.name}"] = f"count_if({quoted(column.name)} IS NULL{added})"
    if operations:
        terms |= {which: f"count_if({OPERATION} = '{which}')" for which in "-~"}
        terms["?"] = f"count_if({OPERATION} IS NULL OR {OPERATION} NOT IN ('+', '-', '~'))"
    if judge.lateness.columns:
        terms["aside"] = f"count_if({verdict(judge.lateness, judge.clock)} IS NOT NULL)"
    for item in judge.lateness.columns:
        terms[f"max {item.place}"] = _portable(item, greatest_text(item, judge.clock))
    return {name: text for name, text in terms.items() if text != "0L"}


def _portable(item: LateColumn, text: str) -> str:
    """A value of a LATENESS column's type in a form that reaches Python unchanged."""
    if item.column.type == "timestamp":
        return f"unix_micros({text})"
    return (
        text if item.column.type in ("float", "double") or item.column.type in INTEGRAL else f"CAST({text} AS STRING)"
    )


def _greatest(item: LateColumn, facts: dict[str, Any]) -> Any:
    """The greatest value of a LATENESS column, as it compares with a waterline."""
    value = facts[f"max {item.place}"]
    if value is None:
        return None
    if item.column.type == "timestamp":
        return datetime(1970, 1, 1) + timedelta(microseconds=value)  # noqa: DTZ001 - UTC, as all waterlines
    if item.column.type in ("date", "timestamp_ntz"):
        return datetime.fromisoformat(value)
    return Decimal(value) if is_decimal(item.column.type) else value
