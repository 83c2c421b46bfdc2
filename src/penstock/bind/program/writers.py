"""Standing statements: a query whose rows go into a table in the step that gives them, as views to install.

CREATE MATERIALIZED VIEW v INTO t AS q      INSERT INTO t q, where q stands      EXECUTE STATEMENT SET BEGIN … END
→  a `Writer` in the catalogue; when it begins, a hidden view of q whose columns are those of t
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import unknown_column
from penstock.bind.emission.standing import any_waterline, bind_standing, stands
from penstock.bind.program.circles import refuse_circles
from penstock.bind.program.dml import converted, placed_names, refuse_conflict, table_of, targets
from penstock.bind.program.queries import bind_named
from penstock.bind.taking_in import HasWaterline, Start
from penstock.catalog.model import Catalog, Column, Table, View, Writer, Writing
from penstock.catalog.reserved import VERSIONS
from penstock.catalog.types import plain_type
from penstock.errors import PenstockError
from penstock.plan.emission import Content
from penstock.plan.nodes import Plan, Project, SortKey, TopK
from penstock.plan.scalar import Scalar, column
from penstock.plan.showing import Showing
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.nodes import TableFunction
from penstock.sql.points import refuse_point
from penstock.sql.statements import CreateView, Insert

_DELTA = "_tp_delta"


def stands_as_statement(statement: Insert, catalog: Catalog) -> bool:
    """True for an INSERT that goes on writing, and not one that is a step: by its query, its dialect or its set."""
    tree = statement.source
    if isinstance(tree, exp.Values):
        return False
    flink = catalog.settings.get("dialect") == "flink" and _reads_relations(tree)
    return statement.in_set or statement.does != "insert" or flink or stands(tree, catalog)


def _reads_relations(tree: exp.Expression) -> bool:
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    named = any(table.name.lower() not in own for table in tree.find_all(exp.Table))
    return named or next(tree.find_all(TableFunction), None) is not None


def declare_insert(
    catalog: Catalog, statement: Insert, source: str, name: str | None = None, *, session: bool = False
) -> Catalog:
    """The catalogue with a standing INSERT; SqlError for what cannot be written, or a circle."""
    table = table_of(statement.table, statement.table_span, catalog)
    refuse_conflict(statement, table)
    chosen = name or free_name(catalog, f"into_{table.name}")
    query = statement.source
    refuse_point(query)
    rows = _rows(query, catalog, source, chosen, any_waterline)
    columns = _columns(statement, table, rows) if statement.does == "insert" else _of_key(statement, table, rows)
    unless_there = statement.conflict == "NOTHING"
    writer = _writer(chosen, rows, table, columns, query, unless_there=unless_there)
    writer = replace(writer, writing=replace(writer.writing, does=statement.does, alone=statement.conflict == "ERROR"))
    if statement.conflict == "DEDUPLICATE":
        writer = replace(writer, writing=replace(writer.writing, one_each=True))
    writer = replace(writer, text=statement.text, source=source, span=statement.table_span, session=session)
    return _declared(catalog, writer)


def declare_into(catalog: Catalog, statement: CreateView, source: str) -> Catalog:
    """The catalogue with what a view INTO a table writes; the view itself is there already."""
    assert statement.into is not None  # noqa: S101 - the caller asked
    assert statement.into_span is not None  # noqa: S101 - read with the name
    refuse_point(statement.query)
    table = table_of(statement.into, statement.into_span, catalog)
    rows = _rows(statement.query, catalog, source, statement.name, any_waterline)
    columns = _columns(_as_insert(statement, table, rows), table, rows)
    writer = _writer(statement.name, rows, table, columns, statement.query)
    owner = statement.name.lower()
    writer = replace(writer, text=statement.text, source=source, span=statement.into_span, owner=owner)
    return _declared(catalog, writer)


def _as_insert(statement: CreateView, table: Table, rows: _Rows) -> Insert:
    """The INSERT that says the same: by name where the table has all of the query's columns, else by position."""
    assert statement.into_span is not None  # noqa: S101 - the caller asked
    names = [name for place, name in enumerate(rows.names) if place != _delta_place(rows, table)]
    names = list(statement.column_names or names)
    by_name = all((found := table.column(name)) is not None and not found.hidden for name in names)
    return Insert(
        text=statement.text,
        span=statement.span,
        table=table.name,
        table_span=statement.into_span,
        columns=tuple(names) if by_name else (),
        source=statement.query,
        column_spans=(statement.name_span,) * len(names) if by_name else (),
    )


def _declared(catalog: Catalog, writer: Writer) -> Catalog:
    views = writer_views(writer, catalog, any_waterline)
    scanned = {name.removeprefix(VERSIONS) for view in views for name in view.plan.scanned}
    reads = frozenset(scanned - {view.name.lower() for view in views})
    found = catalog.with_writer(replace(writer, plan=views[-1].plan, reads=reads))
    refuse_circles(found, writer.span)
    return found


def free_name(catalog: Catalog, wanted: str) -> str:
    """The name, or with a number behind it if there is something of that name."""
    number, name = 1, wanted
    while name.lower() in catalog.writers or catalog.relation(name) is not None:
        number += 1
        name = f"{wanted}_{number}"
    return name


# Rows


@dataclass(frozen=True)
class _Rows:
    """The rows of a query that is to write: its views, the last of which has them, and the names of what is given."""

    views: tuple[View, ...]
    names: tuple[str, ...]
    showing: Showing | None = None
    bound: BoundQuery | None = None

    @property
    def plan(self) -> Plan:
        plan: Plan = self.views[-1].plan
        return plan


def _rows(  # noqa: PLR0917 - what a standing query is bound with
    query: exp.Expression,
    catalog: Catalog,
    source: str,
    name: str,
    has_waterline: HasWaterline,
    start: Start = Start(),  # noqa: B008 - it is frozen
) -> _Rows:
    """The rows as the query's policy shows them, or as they change where it has none."""
    if not stands(query, catalog):
        bound = bind_named(query, catalog, source)
        view = View(name, "", None, (), bound.plan, "standing")
        return _Rows((view,), tuple(bound.names), bound=bound)
    found = bind_standing(query, catalog, source, name, has_waterline, start=start)
    showing = found.view.showing
    assert showing is not None  # noqa: S101 - the binder gives one
    plain = replace(showing, marked=False)
    return _Rows(found.views, plain.shown_names, plain)


def _columns(statement: Insert, table: Table, rows: _Rows) -> tuple[Column, ...]:
    """The columns of the table that the rows are for, without the one that tells additions from what is taken back."""
    names = [name for place, name in enumerate(rows.names) if place != _delta_place(rows, table)]
    columns = targets(statement, table, placed_names(statement, names if statement.by_name else None))
    if not statement.columns and not statement.by_name and len(names) != len(columns):
        columns = table.shown if len(names) == len(table.shown) else table.required
    if len(names) != len(columns):
        wanted = ", ".join(item.name for item in columns)
        message = f"{len(names)} values for {len(columns)} columns ({wanted})"
        raise wrong(code="WRONG_NUMBER_OF_VALUES", message=message, place=statement.source, sqlstate="21S01")
    return columns


def _of_key(statement: Insert, table: Table, rows: _Rows) -> tuple[Column, ...]:
    """The columns of a DELETE or UPDATE that stands: those of the key, and those that are set."""
    what = statement.does.upper()
    if not table.key:
        message = f"{what} that stands goes by the key of a table, and {table.name} has none"
        raise wrong(code="NO_KEY", message=message, place=statement.table_span, hint=f"give {table.name} a PRIMARY KEY")
    found: list[Column] = []
    for name, place in zip(statement.columns, statement.column_spans, strict=True):
        item = table.column(name)
        if item is None or item.hidden:
            raise unknown_column(name, tuple(each.name for each in table.shown), place)
        found.append(item)
    if what == "UPDATE" and table.computing:
        message = (
            f"UPDATE that stands cannot compute {table.computing[0].told} anew, by which rows of {table.name} are late"
        )
        hint = "UPSERT INTO gives whole rows"
        raise unsupported(code="STANDING_STATEMENT", message=message, place=statement.table_span, hint=hint)
    names = [item.name.lower() for item in found]
    key = [item.lower() for item in table.key]
    if len(set(names)) < len(names) or not set(key) <= set(names) or (what == "DELETE" and set(names) != set(key)):
        wanted = ", ".join(table.key)
        message = f"{what} that stands says its keys by all columns of the PRIMARY KEY ({wanted}), and sets others"
        hint = f"WHERE {wanted if len(key) == 1 else f'({wanted})'} IN (SELECT STREAM …)"
        raise wrong(code="STANDING_STATEMENT", message=message, place=statement.column_spans[0], hint=hint)
    if len(rows.names) != len(found):
        message = f"{len(rows.names)} values for {len(found)} columns ({', '.join(item.name for item in found)})"
        raise wrong(code="WRONG_NUMBER_OF_VALUES", message=message, place=statement.source, sqlstate="21S01")
    return tuple(found)


def _delta_place(rows: _Rows, table: Table) -> int | None:
    """The place of `_tp_delta`, where the table has no column for it: then it says what is taken back."""
    told = rows.showing is not None and rows.showing.delta is not None
    return rows.showing.delta if told and rows.showing is not None and table.column(_DELTA) is None else None


def _writer(
    name: str,
    rows: _Rows,
    table: Table,
    columns: tuple[Column, ...],
    query: exp.Expression,
    *,
    unless_there: bool = False,
) -> Writer:
    delta = _delta_place(rows, table)
    showing = rows.showing
    told = showing is not None and delta is None and (showing.stamped or showing.delta is not None)
    adds_only = told or (showing is not None and delta is None and showing.content is not Content.CHANGES)
    written = tuple(item.name for item in columns)
    writing = Writing(table.name, written, unless_there=unless_there, delta=delta)
    return Writer(name, writing, query, rows.plan, adds_only=adds_only)


# Views


def writer_views(
    writer: Writer,
    catalog: Catalog,
    has_waterline: HasWaterline,
    start: Start = Start(),  # noqa: B008 - it is frozen
) -> tuple[View, ...]:
    """The views of a standing statement, those that it reads first; the last one has the rows that are written."""
    table = catalog.tables[writer.writing.target.lower()]
    name = f"{writer.name} (into {table.name})"
    rows = _rows(writer.query, catalog, writer.source, name, has_waterline, start)
    columns = [found for item in writer.writing.columns if (found := table.column(item)) is not None]
    try:
        plan, showing = _placed(rows, columns, writer.writing.delta)
        plan = _one_each(plan, table) if writer.writing.one_each else plan
    except PenstockError as error:
        raise error.with_source(writer.source) from None
    last = View(
        name,
        "",
        None,
        tuple(Column(item.name, item.type, item.nullable) for item in plan.fields),  # type: ignore[arg-type]
        plan,
        "standing",
        showing=showing,
        writes=writer.writing,
    )
    owner = writer.name.lower()
    return tuple(replace(item, owner=owner, source=writer.source) for item in (*rows.views[:-1], last))


def _placed(rows: _Rows, columns: Sequence[Column], delta: int | None) -> tuple[Plan, Showing | None]:
    """The rows under the names of the columns, in their types where no policy goes by them."""
    showing = rows.showing
    if showing is None or rows.bound is not None:
        assert rows.bound is not None  # noqa: S101 - one of both is there
        return converted(rows.bound, columns), None
    used = {*showing.groups, *showing.windows, *showing.ends, *showing.partition, *showing.limit_by}
    used |= {item.place for item in showing.order}
    wanted = list(columns)
    if delta is not None:
        wanted.insert(delta, Column(_DELTA, "tinyint"))
    items: list[tuple[str, Scalar]] = []
    for place, item in enumerate(rows.plan.fields):
        scalar, name = column(item.name, item.type, item.nullable), item.name
        if place < showing.visible:
            name = wanted[place].name
            scalar = scalar if place in used or place == delta else scalar.cast_to(plain_type(wanted[place].type))
        items.append((name, scalar))
    names = tuple(item.name for item in wanted[: showing.visible])
    return Project(rows.plan, tuple(items)), replace(showing, names=names)


def _one_each(plan: Plan, table: Table) -> Plan:
    """The last row of each key, in the order of its columns."""
    key = {name.lower() for name in table.key}
    fields = {item.name.lower(): column(item.name, item.type, item.nullable) for item in plan.fields}
    others = (scalar for name, scalar in fields.items() if name not in key and _has_order(scalar))
    order = tuple(SortKey(scalar, descending=True, nulls_first=False) for scalar in others)
    partition = tuple(scalar for name, scalar in fields.items() if name in key)
    return TopK(plan, partition, order, 1)


def _has_order(scalar: Scalar) -> bool:
    return not any(kind in str(scalar.type).lower() for kind in ("map<", "variant"))
