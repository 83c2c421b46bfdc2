"""Rows between Arrow on the driver and DataFrames in the declared Spark types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.backends.columns import carried_plainly, in_arrow
from penstock.backends.parts import changed_parts
from penstock.backends.spark.change import Delta, consolidated
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import plain_type
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.backends.api import Earlier
    from penstock.backends.spark.workspace import Workspace


def as_delta(workspace: Workspace, table: Table, change: pa.Table) -> Delta:
    """A change on the driver as the engine takes it, in the declared Spark types."""
    if all(carried_plainly(column.type) for column in table.columns):
        return Delta.of_arrow(workspace, change, plain_schema(table, weighted=True))
    return Delta.of_frame(workspace, as_frame(workspace, table, change), estimate=change.num_rows)


def as_frame(workspace: Workspace, table: Table, rows: pa.Table) -> DataFrame:
    """Rows on the driver as a DataFrame in the declared Spark types; other columns (the weight) stay as they are.

    They are given in one piece: Spark stops reading at an empty batch, and a change of nothing is one.
    """
    rows = rows.combine_chunks()
    declared = {column.name: column.type for column in table.columns}
    if all(carried_plainly(kind) for kind in declared.values()):
        schema = plain_schema(table, weighted=WEIGHT in rows.column_names)
        return workspace.spark.createDataFrame(rows, schema=schema)
    return workspace.given(rows).selectExpr(*(_from_carried(name, declared.get(name)) for name in rows.column_names))


def _from_carried(name: str, kind: str | None) -> str:
    column = quoted(name)
    if kind is None:
        return column
    if carried_plainly(kind):
        return f"CAST({column} AS {kind}) AS {column}"
    return f"CAST({changed_parts(column, kind, _declared_part)} AS {kind}) AS {column}"


def _declared_part(text: str, kind: str) -> str:
    if kind.lower() == "variant":
        return f"parse_json({text})"
    return text if carried_plainly(kind) else f"CAST(make_ym_interval(0, {text}) AS {kind})"


def _to_carried(name: str, kind: str) -> str:
    return f"{changed_parts(quoted(name), kind, _carried_part)} AS {quoted(name)}"


def _carried_part(text: str, kind: str) -> str:
    if kind.lower() == "variant":
        return f"to_json({text})"
    return text if carried_plainly(kind) else f"CAST(CAST({text} AS INTERVAL MONTH) AS INT)"


def plain_schema(table: Table, *, weighted: bool) -> Any:
    """The Spark schema of a table's columns as they are carried."""
    from penstock.backends.spark.schemas import spark_schema  # noqa: PLC0415 - check starts without pyspark

    schema = spark_schema((column.name, plain_type(column.type)) for column in table.columns)
    return schema.add(WEIGHT, "long") if weighted else schema


def carried(frame: DataFrame, table: Table) -> DataFrame:
    """A DataFrame of the table's rows with its columns as Arrow carries them to the driver."""
    declared = {column.name: column.type for column in table.columns}
    return frame.selectExpr(
        *(_to_carried(name, declared[name]) if name in declared else quoted(name) for name in frame.columns)
    )


def declared_rows(frame: DataFrame, table: Table) -> pa.Table:
    """The rows of a DataFrame of the table's columns, fetched in the Arrow types of the declaration."""
    return in_arrow(table, carried(frame, table).toArrow())


def read_changes(
    workspace: Workspace,
    table: Table,
    here: Sequence[pa.Table],
    files: Sequence[str],
    earlier: Earlier | None = None,
) -> DataFrame:
    """The weighted rows of a table that are here, and those in Parquet files, some perhaps from before some columns."""
    frames = [as_frame(workspace, table, pa.concat_tables(here))] if here else []
    together: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        together.setdefault(_columns_there(table, Path(file)), []).append(file)
    for names, group in together.items():
        narrow = replace(table, columns=tuple(column for column in table.columns if column.name in names))
        frame = workspace.spark.read.schema(plain_schema(narrow, weighted=True)).parquet(*group)
        frames.append(frame if earlier is None else completed(table, frame, earlier))
    return _union(frames)


def _columns_there(table: Table, path: Path) -> tuple[str, ...]:
    """The columns of a table that a file has, or a folder that Spark has written."""
    if all(column.earlier is None and column.default is None for column in table.columns):
        return tuple(column.name for column in table.columns)  # those that it lacks are NULL
    file = path if path.is_file() else next(path.glob("*.parquet"), None)
    there = set() if file is None else set(pq.read_schema(file).names)
    return tuple(column.name for column in table.columns if column.name in there)


def completed(table: Table, rows: DataFrame, earlier: Earlier) -> DataFrame:
    """Rows of a table in all of its columns, if they are from before some of them; the weight stays as it is."""
    there = set(rows.columns)
    if all(column.name in there for column in table.columns):
        return rows
    items = [
        quoted(column.name) if column.name in there else f"{earlier.text(column)} AS {quoted(column.name)}"
        for column in table.columns
    ]
    return rows.selectExpr(*items, *([WEIGHT] if WEIGHT in there else []))


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    found = frames[0]
    for frame in frames[1:]:
        found = found.selectExpr(*(quoted(name) for name in frame.columns)).union(frame)
    return found


def repeated(weighted: DataFrame) -> DataFrame:
    """A weighted relation as plain rows, each as often as its weight says."""
    total = consolidated(weighted)
    names = [quoted(name) for name in total.columns if name != WEIGHT]
    return total.selectExpr(*names, f"explode(sequence(1L, {WEIGHT})) AS __copy").selectExpr(*names)
