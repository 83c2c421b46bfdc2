"""INSERT, UPDATE and DELETE bound to their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.bind.binder import context_of
from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import is_another_case, unknown_column, unknown_relation
from penstock.bind.level import Level
from penstock.bind.program.computed import over_kept, refuse_value
from penstock.bind.program.queries import bind_named
from penstock.bind.scalars import fields_of
from penstock.bind.scope import Scope, relation_in_scope
from penstock.catalog.model import EVENT_TIME, SYSTEM_TABLES, Catalog, Column, Table
from penstock.catalog.reserved import COMPUTED
from penstock.catalog.types import plain_type
from penstock.errors import Diagnostic, PenstockError, Span, SqlError, did_you_mean
from penstock.plan.nodes import Field, Plan, Project, Values
from penstock.plan.scalar import Scalar, column
from penstock.sql.border import compiling
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.dialects import rules_of
from penstock.sql.parse import parse_expression
from penstock.sql.statements import Advance, Delete, Insert, Update
from penstock.sql.text import span_of, spark_sql
from penstock.sql.trees import aggregate_calls, window_calls
from penstock.types.check import check_condition, check_given

_DELTA = "_tp_delta"


@dataclass(frozen=True)
class BoundInsert:
    """The rows to insert: the plan's fields are the target's `columns`, in that order, already of their types.

    With `taken_back` some of them are deleted instead, as `_tp_delta` says of each.
    """

    table: str
    columns: tuple[str, ...]
    plan: Plan
    taken_back: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class BoundUpdate:
    """New values by column, and which rows they are for, over the table's own column names.

    Where a subquery takes part, `rows` is a query instead: the rows as they are, then the new values in order.
    """

    table: str
    assignments: tuple[tuple[str, Scalar], ...]
    condition: Scalar | None
    rows: Plan | None = None


@dataclass(frozen=True)
class BoundDelete:
    """The rows to delete by a condition over the table's own column names; None for all.

    Where a subquery takes part, `rows` is a query for them instead.
    """

    table: str
    condition: Scalar | None
    rows: Plan | None = None


def check_dml(statement: Insert | Update | Delete, catalog: Catalog, source: str) -> None:
    """Raise what binding the statement would raise."""
    match statement:
        case Insert():
            bind_insert(statement, catalog, source)
        case Update():
            bind_update(statement, catalog, source)
        case Delete():
            bind_delete(statement, catalog, source)


def bind_insert(statement: Insert, catalog: Catalog, source: str = "") -> BoundInsert:
    """The plan of an INSERT; raises SqlError for unknown columns, wrong widths and missing values."""
    try:
        with compiling(statement.span):
            table = table_of(statement.table, statement.table_span, catalog)
            refuse_conflict(statement, table)
            _refuse_nothing(statement)
            statement, taken_back = _without_deltas(statement, table)
            bound = bind_named(statement.source, catalog, source) if statement.by_name else None
            columns = targets(statement, table, placed_names(statement, None if bound is None else bound.names))
            bound = bound or bind_named(_with_defaults(statement.source, columns), catalog, source)
            columns = (
                columns
                if statement.columns or statement.left_out or len(bound.names) == len(columns)
                else _with_optional(table, bound)
            )
            if len(bound.names) != len(columns):
                wanted = ", ".join(item.name for item in columns)
                message = f"{len(bound.names)} values for {len(columns)} columns ({wanted})"
                raise wrong(code="WRONG_NUMBER_OF_VALUES", message=message, place=statement.source, sqlstate="21S01")
            _refuse_nulls(statement.source, columns)
            plan = converted(bound, columns, span_of(statement.source) or statement.table_span)
    except PenstockError as error:
        raise error.with_source(source) from None
    return BoundInsert(table.name, tuple(item.name for item in columns), plan, taken_back)


def _without_deltas(statement: Insert, table: Table) -> tuple[Insert, tuple[bool, ...] | None]:
    """VALUES without the values of `_tp_delta`, and which rows are taken back by them; None where it is not named."""
    at = statement.columns.index(_DELTA) if _DELTA in statement.columns else None
    if at is None or len(statement.columns) == 1 or not statement.is_constant or table.column(_DELTA) is not None:
        return statement, None
    source: exp.Expression = statement.source.copy()
    taken_back = []
    for row in source.expressions:
        if len(row.expressions) != len(statement.columns):
            message = f"{len(row.expressions)} values for {len(statement.columns)} columns"
            raise wrong(code="WRONG_NUMBER_OF_VALUES", message=message, place=row, sqlstate="21S01")
        delta = row.expressions.pop(at)
        said = spark_sql(delta).replace(" ", "")
        if said not in ("1", "+1", "-1"):
            message, hint = f"{_DELTA} is {said[:60]}, and says 1 of a row that comes, -1 of one that goes", "-1"
            raise wrong(code="BAD_VALUE", message=message, place=delta, hint=hint)
        taken_back.append(said == "-1")
    columns, places = list(statement.columns), list(statement.column_spans)
    del columns[at], places[at]
    rest = replace(statement, columns=tuple(columns), column_spans=tuple(places), source=source)
    return rest, tuple(taken_back)


def table_of(name: str, span: Span, catalog: Catalog) -> Table:
    """The table that a statement changes; SqlError if there is none of that name."""
    found = catalog.tables.get(name.lower())
    if found is not None and not is_another_case(found, name, rules_of(catalog.settings.get("dialect", "penstock"))):
        return found
    if name.lower() in catalog.views:
        hint = "change the tables that it reads"
        raise wrong(
            code="NOT_A_TABLE", message=f"{name!r} is a view, which cannot be changed itself", place=span, hint=hint
        )
    known = tuple(item.name for item in catalog.tables.values())
    if name.lower() in SYSTEM_TABLES:
        raise wrong(
            code="NOT_A_TABLE", message=f"{name!r} is a system relation, which Penstock alone fills", place=span
        )
    message = f"there is no table {name[:80]!r}"
    raise SqlError(Diagnostic("UNKNOWN_TABLE", message, span, did_you_mean(name, known), sqlstate="42P01"))


def placed_names(statement: Insert, by_name: Sequence[str] | None) -> Iterable[tuple[str, Span]]:
    """The columns that are named, or those of a query BY NAME, each with the place to point at."""
    if by_name is None:
        return zip(statement.columns, statement.column_spans, strict=True)
    tree = statement.source
    places = [span_of(item) for item in tree.expressions] if isinstance(tree, exp.Select) and not tree.is_star else []
    places = places if len(places) == len(by_name) else [None] * len(by_name)
    return [(name, place or statement.table_span) for name, place in zip(by_name, places, strict=True)]


def targets(statement: Insert, table: Table, names: Iterable[tuple[str, Span]]) -> tuple[Column, ...]:
    """The columns of those names, or all that a row must have; SqlError for one that is wrong or missing."""
    found: list[Column] = []
    for name, place in names:
        item = table.column(name)
        refuse_value(table, name, place)
        if item is None or item.hidden:
            raise unknown_column(name, tuple(each.name for each in table.shown), place)
        if item in found:
            raise wrong(code="DUPLICATE_COLUMN", message=f"the column {name!r} is named twice", place=place)
        found.append(item)
    if statement.left_out:
        found = _all_but(statement, table)
    if not found:
        return table.required
    given = {item.name for item in found}
    for item in table.columns:
        if item.name not in given and not item.nullable and item.default is None and item.computed is None:
            message = f"the column {item.name!r} is NOT NULL, has no DEFAULT and is not among the columns"
            raise wrong(code="MISSING_VALUE", message=message, place=statement.table_span, sqlstate="23502")
    return tuple(found)


def _all_but(statement: Insert, table: Table) -> list[Column]:
    """The columns that are not left out; SqlError for one that is none."""
    for name, place in statement.left_out:
        if table.column(name) not in table.required:
            raise unknown_column(name, tuple(each.name for each in table.required), place)
    left_out = [table.column(name) for name, _ in statement.left_out]
    return [item for item in table.required if item not in left_out]


def _with_optional(table: Table, bound: BoundQuery) -> tuple[Column, ...]:
    """The columns of rows that have one more than they must."""
    return table.shown if len(bound.names) == len(table.shown) else table.required


def _is_default(cell: exp.Expression) -> bool:
    written = isinstance(cell, exp.Column | exp.Var) and cell.name.upper() == "DEFAULT"
    return written and not (isinstance(cell, exp.Column) and cell.this.args.get("quoted"))


def _with_defaults(source: exp.Expression, columns: tuple[Column, ...]) -> exp.Expression:
    """VALUES with the word DEFAULT replaced by the column's default."""
    if not isinstance(source, exp.Values):
        return source
    if not any(_is_default(cell) for row in source.expressions for cell in row.expressions):
        return source  # and is not copied, however many rows it has
    copy = source.copy()
    for row in copy.expressions:
        if not isinstance(row, exp.Tuple):
            continue
        for index, cell in enumerate(list(row.expressions)):
            if _is_default(cell) and index < len(columns):
                default = columns[index].default
                row.expressions[index] = exp.Null() if default is None else parse_expression(default)
    return copy


def _refuse_nulls(source: exp.Expression, columns: tuple[Column, ...]) -> None:
    if not isinstance(source, exp.Values):
        return
    for row in source.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        for item, cell in zip(columns, cells, strict=False):
            if isinstance(cell, exp.Null) and not item.nullable:
                message = f"NULL for the column {item.name!r}, which is NOT NULL"
                raise wrong(code="NULL_IN_NOT_NULL", message=message, place=row, sqlstate="23502")


def refuse_conflict(statement: Insert, table: Table) -> None:
    """SqlError for UPSERT or ON CONFLICT without a key to go by."""
    clause = "UPSERT" if statement.upsert else "ON CONFLICT"
    if (statement.upsert or statement.conflict) and not table.key:
        place = statement.conflict_span or statement.table_span
        hint = f"give {table.name} a PRIMARY KEY, or write INSERT INTO"
        message = f"{clause} replaces rows by their key, and table {table.name} has none"
        raise wrong(code="NO_KEY", message=message, place=place, hint=hint)
    named = {name.lower() for name, _ in statement.conflict_keys}
    if statement.conflict_keys and named != {name.lower() for name in table.key}:
        key = ", ".join(table.key)
        message = f"ON CONFLICT names the key of {table.name}, which is ({key})"
        raise wrong(
            code="NO_KEY", message=message, place=statement.conflict_keys[0][1], hint=f"ON CONFLICT ({key}) DO …"
        )


def _refuse_nothing(statement: Insert) -> None:
    if statement.conflict in {"NOTHING", "ERROR"}:
        hint = "INSERT … SELECT … WHERE k NOT IN (SELECT k FROM the table)"
        message = f"ON CONFLICT DO {statement.conflict} in a statement that does not stand"
        raise unsupported(code="ON_CONFLICT", message=message, place=statement.conflict_span, hint=hint)


def converted(bound: BoundQuery, columns: Sequence[Column], place: Span | None = None) -> Plan:
    """The rows under the columns' names and in their types."""
    plan, fields = bound.plan, fields_of(bound.plan)
    if isinstance(plan, Values):
        for row in plan.rows:
            for cell, item in zip(row, columns, strict=True):
                check_given(item.name, item.type, cell.type, cell.span)
        rows = tuple(
            tuple(cell.cast_to(plain_type(item.type)) for cell, item in zip(row, columns, strict=True))
            for row in plan.rows
        )
        return Values(rows, tuple(Field(item.name, plain_type(item.type), item.nullable) for item in columns))
    items = []
    for have, item in zip(bound.fields, columns, strict=True):
        found = fields[have.name]
        check_given(item.name, item.type, found.type, place)
        items.append((item.name, column(found.name, found.type, found.nullable).cast_to(plain_type(item.type))))
    return Project(plan, tuple(items))


def bind_update(statement: Update, catalog: Catalog, source: str = "") -> BoundUpdate:
    """The assignments and the condition of an UPDATE."""
    try:
        with compiling(statement.span):
            _refuse_standing(statement)
            table = table_of(statement.table, statement.table_span, catalog)
            refuse_unfindable(table, statement.table_span)
            where = None if statement.where is None else over_kept(statement.where, table, statement.alias)
            assigned = tuple((name, over_kept(tree, table, statement.alias)) for name, tree in statement.assignments)
            statement = replace(statement, where=where, assignments=assigned)
            level = _row_level(table, catalog, statement.alias)
            given = zip(statement.assignments, statement.column_spans, strict=True)
            assignments = tuple(_assignment(name, tree, place, table, level) for (name, tree), place in given)
            condition = _condition(statement.where, level)
            rows = _rows(statement, tuple(tree for _, tree in statement.assignments), table, level)
    except PenstockError as error:
        raise error.with_source(source) from None
    return BoundUpdate(table.name, assignments, condition, rows)


def _refuse_standing(statement: Update | Delete) -> None:
    """A statement over a stream in another form than those that stand (`sql.standing`)."""
    assigned = [tree for _, tree in statement.assignments] if isinstance(statement, Update) else []
    for tree in [*assigned, *([] if statement.where is None else [statement.where])]:
        for query in tree.find_all(exp.Select):
            if "stream" in query.meta:
                kind = type(statement).__name__.upper()
                hint = "WHERE key IN (SELECT STREAM …) stands; leave STREAM out for the rows that are there"
                raise unsupported(
                    code="STANDING_STATEMENT",
                    message=f"{kind} that stands in this form",
                    place=query.meta["stream"],
                    hint=hint,
                )


def _rows(statement: Update | Delete, more: tuple[exp.Expression, ...], table: Table, level: Level) -> Plan | None:
    """The rows that a statement with subqueries is about, and further values for each of them."""
    if not level.subqueries:
        return None
    name = exp.to_identifier(statement.alias or table.name, quoted=True)
    alias = exp.TableAlias(this=name)
    labels = [item.label if item.computed is None else item.told for item in table.columns]
    own = [exp.Column(this=exp.to_identifier(label, quoted=True), table=name.copy()) for label in labels]
    values = [exp.alias_(tree.copy(), f"__new_{place}", quoted=True) for place, tree in enumerate(more)]
    query = exp.Select(expressions=[*own, *values])
    query.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(table.name, quoted=True), alias=alias)))
    if statement.where is not None:
        query.set("where", exp.Where(this=statement.where.copy()))
    return bind_named(query, level.context.catalog).plan


def _assignment(name: str, tree: exp.Expression, place: Span, table: Table, level: Level) -> tuple[str, Scalar]:
    item = table.column(name)
    refuse_value(table, name, place)
    if item is None or item.hidden:
        raise unknown_column(name, tuple(each.name for each in table.shown), place)
    if isinstance(tree, exp.Null) and not item.nullable:
        message = f"NULL for the column {item.name!r}, which is NOT NULL"
        raise wrong(code="NULL_IN_NOT_NULL", message=message, place=tree, sqlstate="23502")
    given = _row_scalar(tree, level)
    check_given(item.name, item.type, given.type, tree if span_of(tree) is not None else place)
    return item.name, given.cast_to(plain_type(item.type))


def bind_delete(statement: Delete, catalog: Catalog, source: str = "") -> BoundDelete:
    """The condition of a DELETE."""
    try:
        with compiling(statement.span):
            _refuse_standing(statement)
            table = table_of(statement.table, statement.table_span, catalog)
            refuse_unfindable(table, statement.table_span)
            where = None if statement.where is None else over_kept(statement.where, table, statement.alias)
            statement = replace(statement, where=where)
            level = _row_level(table, catalog, statement.alias)
            condition = _condition(statement.where, level)
            rows = _rows(statement, (), table, level)
    except PenstockError as error:
        raise error.with_source(source) from None
    return BoundDelete(table.name, condition, rows)


def advanced_column(catalog: Catalog, statement: Advance) -> tuple[Table, Column]:
    """The column with LATENESS that ADVANCE names; SqlError if it is none."""
    table = catalog.tables.get(statement.table.lower())
    if table is None and catalog.relation(statement.table) is None:
        raise unknown_relation(statement.table, tuple(catalog.tables), statement.table_span)
    found = None if table is None else table.column(statement.column) or table.column(COMPUTED + statement.column)
    if table is None or found is None or found.lateness is None:
        message = f"ADVANCE needs a column with LATENESS; {statement.table}.{statement.column} is none"
        place = statement.table_span if table is None else statement.column_span
        raise SqlError(Diagnostic("NO_LATENESS", message, place))
    return table, found


def refuse_unfindable(table: Table, span: Span | None = None) -> None:
    """Raise SqlError for a table of which nothing tells whether a row is there: without a key, and without history."""
    if table.key or table.append_only or table.history.lower() != "none":
        return
    message = f"table {table.name} has neither a key nor a history, so rows to delete or change cannot be found in it"
    hint = f"give {table.name} a PRIMARY KEY, or leave out 'history' = 'none'"
    raise SqlError(Diagnostic("NO_HISTORY", message, span, hint=hint))


def _row_level(table: Table, catalog: Catalog, alias: str | None) -> Level:
    columns = [item for item in table.columns if item.computed is None]
    fields = tuple(Field(item.name, plain_type(item.type), item.nullable) for item in columns)
    names, shown = tuple(item.label for item in columns), fields
    if table.event_time is not None:
        time = next(item for item in fields if item.name == table.event_time)
        names, shown = (*names, EVENT_TIME), (*fields, time)
    context = context_of(catalog)
    level = Level(context, Scope((relation_in_scope(alias or table.name, names, shown, exact=context.exact),)))
    level.fields.update({item.name: item for item in fields})
    return level


def _condition(tree: exp.Expression | None, level: Level) -> Scalar | None:
    if tree is None:
        return None
    found = _row_scalar(tree, level)
    check_condition(found.tree, level.fields, "WHERE")
    return found


def _row_scalar(tree: exp.Expression, level: Level) -> Scalar:
    bound = level.bind(tree)
    for found in (*aggregate_calls(bound), *window_calls(bound)):
        raise wrong(code="AGGREGATE_IN_DML", message="an aggregate cannot stand here", place=found)
    return level.scalar(bound)
