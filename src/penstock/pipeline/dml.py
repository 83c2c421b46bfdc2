"""INSERT, UPDATE and DELETE as operations on rows, evaluated over the present content (A2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa

from penstock.backends.columns import in_arrow
from penstock.backends.thresholds import DRIVER_ROWS
from penstock.bind.program.dml import bind_delete, bind_insert, bind_update
from penstock.catalog.model import Catalog, Table
from penstock.catalog.reserved import OPERATION
from penstock.catalog.types import plain_type
from penstock.errors import DataError, Diagnostic, SqlError, did_you_mean
from penstock.pipeline.contents import Contents
from penstock.plan.nodes import Field, Filter, Plan, Project, Scan, Values
from penstock.plan.scalar import Scalar
from penstock.plan.scalar import column as plan_column
from penstock.sql.statements import Delete, Insert, Update
from penstock.steps.intake.bulk import GivenBatch
from penstock.steps.rows.batch import DELETE, INSERT, Batch, RowReader, refuse_deletion
from penstock.steps.rows.rejected import Rejections

Readers = Callable[[Table], RowReader]


def insert_batch(
    statement: Insert, catalog: Catalog, source: str, contents: Contents, readers: Readers
) -> Batch | GivenBatch:
    """The rows of an INSERT; a large SELECT stays where it is evaluated."""
    bound = bind_insert(statement, catalog, source)
    table = target_table(catalog, bound.table, statement)
    found = contents.answered(bound.plan)
    if isinstance(found, pa.Table):
        rows_here = in_arrow(table, found.rename_columns(bound.columns))
    else:
        relations = contents.stepper.engine.relations
        relation = relations.renamed(found, bound.columns)
        if not all(isinstance(node, Values) for node in bound.plan.walk() if not node.inputs):
            relation, rows = relations.evaluated(relation)
            if rows > DRIVER_ROWS:
                return GivenBatch(table, relation, readers(table))
        rows_here = relations.declared_rows(relation, table)
    if bound.taken_back is not None:
        if any(bound.taken_back):
            _refuse_append_only(table, "INSERT")
        done = pa.array([DELETE if item else INSERT for item in bound.taken_back])
        rows_here = rows_here.append_column(OPERATION, done)
    return readers(table).read_arrow(rows_here, Rejections(), carried=True)


def delete_batch(statement: Delete, catalog: Catalog, source: str, contents: Contents) -> Batch:
    """The deletions that a DELETE means now."""
    bound = bind_delete(statement, catalog, source)
    table = target_table(catalog, bound.table, statement)
    _refuse_append_only(table, "DELETE")
    rows = contents.rows(_chosen(table, bound.condition) if bound.rows is None else bound.rows, table)
    return Batch(table, _ended_now(table, rows), (DELETE,) * rows.num_rows)


def update_batch(statement: Update, catalog: Catalog, source: str, contents: Contents, readers: Readers) -> Batch:
    """The operations that an UPDATE means now: an upsert where the key stays, else a deletion and an insertion."""
    bound = bind_update(statement, catalog, source)
    table = target_table(catalog, bound.table, statement)
    _refuse_append_only(table, "UPDATE")
    assigned = {name.lower(): scalar for name, scalar in bound.assignments}
    chosen = _chosen(table, bound.condition) if bound.rows is None else _renamed(bound.rows, table)
    if bound.rows is not None:
        values = zip(assigned, bound.rows.fields[len(table.columns) :], strict=True)
        assigned = {name: plan_column(item.name, item.type, item.nullable) for name, item in values}
    old, new = _updated(table, contents, chosen, assigned)
    _check_required(table, new)
    # A cast to VARCHAR or CHAR does nothing in Spark: the reader holds lengths.
    new = _read(readers(table), new)
    rekeyed = not table.key or any(name.lower() in assigned for name in table.key)
    if not rekeyed:
        return Batch(table, new, None)
    operations = (DELETE,) * old.num_rows + (INSERT,) * new.num_rows
    return Batch(table, pa.concat_tables([_ended_now(table, old), new]), operations)


def _ended_now(table: Table, rows: pa.Table) -> pa.Table:
    """Rows to delete without the time from which they were versions: a statement does not say until when they are."""
    time = table.version_time
    if time is None:
        return rows
    at = rows.schema.get_field_index(time.name)
    return rows.set_column(at, rows.field(at), pa.nulls(rows.num_rows, rows.schema.types[at]))


def _read(reader: RowReader, rows: pa.Table) -> pa.Table:
    """The rows checked; what is hidden of them, which nobody can change, stays as it is."""
    hidden = [column.name for column in reader.table.columns if column.hidden and column.computed is None]
    computed = [column.name for column in reader.table.computing]
    found = reader.read_arrow(rows.drop_columns([*hidden, *computed]), Rejections(), carried=True).rows
    for name in hidden:
        found = found.set_column(found.schema.get_field_index(name), name, rows.column(name))
    return found


def target_table(catalog: Catalog, name: str, statement: Insert | Update | Delete) -> Table:
    """The table that a statement changes; SqlError if there is none of that name."""
    table = catalog.tables.get(name.lower())
    if table is not None:
        return table
    known = [item.name for item in catalog.tables.values()]
    what = "is a view" if name.lower() in catalog.views else "does not exist"
    message = f"table {name[:100]} {what}"
    raise SqlError(Diagnostic("UNKNOWN_TABLE", message, statement.table_span, did_you_mean(name, known)))


def _refuse_append_only(table: Table, statement: str) -> None:
    if table.append_only:
        refuse_deletion(table, statement)


def _chosen(table: Table, condition: Scalar | None) -> Plan:
    """The rows that the condition holds for."""
    fields = tuple(Field(column.name, plain_type(column.type), column.nullable) for column in table.columns)
    rows = Scan(table.name, fields)
    return rows if condition is None else Filter(rows, _over_columns(condition, table))


def _renamed(rows: Plan, table: Table) -> Plan:
    """Rows of a table with further columns behind them, the first ones under the table's names."""
    names = [*(column.name for column in table.columns), *(item.name for item in rows.fields[len(table.columns) :])]
    pairs = zip(names, rows.fields, strict=True)
    return Project(rows, tuple((name, plan_column(item.name, item.type, item.nullable)) for name, item in pairs))


def _updated(
    table: Table, contents: Contents, chosen: Plan, assigned: Mapping[str, Scalar]
) -> tuple[pa.Table, pa.Table]:
    """The rows as they are and as they will be, read in one query."""
    named = {column: f"__new_{place}" for place, column in enumerate(table.columns)}
    items = [(column.name, plan_column(column.name, plain_type(column.type))) for column in table.columns]
    for column, name in named.items():
        scalar = assigned.get(column.name.lower())
        kind = plain_type(column.type)
        new = plan_column(column.name, kind) if scalar is None else _over_columns(scalar, table).cast_to(kind)
        items.append((name, new))
    both = replace(table, columns=(*table.columns, *(replace(column, name=name) for column, name in named.items())))
    found = contents.rows(Project(chosen, tuple(items)), both)
    names = [column.name for column in table.columns]
    return found.select(names), found.select(list(named.values())).rename_columns(names)


def _over_columns(scalar: Scalar, table: Table) -> Scalar:
    """An expression over the table's columns; the binder may qualify the names."""
    names = {name: name.rpartition(".")[2] for name in scalar.columns if table.column(name) is None}
    return scalar.renamed(names) if names else scalar


def _check_required(table: Table, rows: pa.Table) -> None:
    for column in table.columns:
        if (not column.nullable or column.name in table.key) and rows.column(column.name).null_count:
            message = (
                f"table {table.name}, column {column.name}: UPDATE gives NULL, expected {column.type.upper()} NOT NULL"
            )
            raise DataError(Diagnostic("BAD_VALUE", message))
