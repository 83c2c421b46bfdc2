"""The declarations of a program: tables, views, functions, and the settings of the program.

All values are frozen; `Catalog.with_…` gives a new catalog, so a statement that fails has changed nothing.
Names are compared without regard to case and shown as they were written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from penstock.catalog.properties import PropertyPlace
from penstock.catalog.reserved import COMPUTED, ENDED, ORDER, VERSIONS, WATERLINE, keeps_waterlines
from penstock.catalog.settings import DEFAULT_DIALECT, DEFAULT_MAX_NESTING, DIALECT, MAX_NESTING, without_meaning
from penstock.catalog.types import Type, is_temporal
from penstock.errors import Diagnostic, Span

if TYPE_CHECKING:
    from penstock.plan.showing import Showing

REFINEMENT = ("first_result", "complete_result", "update_rate", "late_updates", "last_result", "result_state")
NOTHING: Mapping[str, Any] = MappingProxyType({})
EVENT_TIME = "_tp_time"  # of the streams of dialect timeplus
INTO = "into"  # the kind of a view whose rows are those of the table that it writes into
PASSED = "passed"  # the kind of the rows that dedup lets pass in another view


@dataclass(frozen=True)
class Lateness:
    """LATENESS of one column: the bound as Spark SQL (`INTERVAL '1' HOUR`, `10`), or as a number of rows (C15).

    `ahead` is the bound of the guard AHEAD (B12). A standing query's own waterline may keep to a `grid`, and be
    another for each value of `keys`; rows that are more than `age` microseconds behind the clock are none of its. A
    column with `sessions` is filled in behind the view: it numbers them. With `remembering` the first row of each
    value of `keys` passes, in the order of the column. One that `drops` nothing moves the waterline alone: who reads
    the rows judges them.
    """

    bound: str
    rows: int | None = None
    ahead: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    grid: Grid | None = None
    keys: tuple[str, ...] = ()
    age: int | None = None
    sessions: ClosingSessions | None = None
    remembering: Remembering | None = None
    drops: bool = True


@dataclass(frozen=True)
class ClosingSessions:
    """The sessions of each value of `keys`, in the order in which rows arrive; all names are those of columns.

    A row opens one if `opens` holds for it (None: any row), and closes one if `closes` holds (None: no row). It ends
    when the times in `time` are `longest` apart, or when no row has come for `silence` by the clock (microseconds).
    A row that opens one while another is open begins anew, or with `merges` belongs to it. The row that closes one is
    `included` or not. `arrived` tell when a row has come, where rows keep that; those that have come together are
    `in_order`, or lie in none and are taken by their times.
    """

    keys: tuple[str, ...]
    time: str
    opens: str | None
    closes: str | None
    longest: int
    silence: int | None = None
    merges: bool = False
    included: bool = True
    arrived: tuple[str, ...] = ()
    in_order: bool = True


@dataclass(frozen=True)
class Remembering:
    """For how many microseconds a key is remembered (0: for ever), and how many are; `arrived` is the time of a row."""

    micros: int
    keys: int
    arrived: str = ""


@dataclass(frozen=True)
class Grid:
    """The ends of windows: every `slide` from `origin` on, in microseconds since 1970.

    A waterline on a grid stands at the last end that it has passed, so that a row is on time as long as a window
    that ends there is open.
    """

    slide: int
    origin: int = 0


@dataclass(frozen=True)
class Column:
    """A declared column. `default` is Spark SQL, `watermark` the delay as Spark SQL.

    Rows given by position need not have an `optional` column, which is behind all others, and is the step's clock where
    it is left out. A `hidden` one is optional, given by nobody, and no part of `*`. `written` is its name where another
    column's differs by case only, which `name` then does not. `computed` is Spark SQL over the names of the others: a
    hidden column that keeps the value of a computed one, made when the row comes. `earlier` is what rows have in it
    that were there before it was added: a constant of Spark SQL. `text` is its declaration as it is written,
    `default_tree` the default as it was parsed, for places in it.
    """

    name: str
    type: Type
    nullable: bool = True
    default: str | None = None
    lateness: Lateness | None = None
    watermark: str | None = None
    domain_constant: bool = False
    comment: str | None = None
    optional: bool = False
    hidden: bool = False
    written: str | None = None
    metadata: str | None = None
    computed: str | None = None
    earlier: str | None = field(default=None, compare=False)
    text: str = field(default="", compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    default_tree: Any = field(default=None, compare=False, repr=False)

    @property
    def keeps_waterlines(self) -> bool:
        """True for a hidden column by which who reads a row knows how far time had got when it came."""
        return self.hidden and keeps_waterlines(self.name)

    @property
    def label(self) -> str:
        """The name that the program gives it."""
        return self.written or self.name

    @property
    def told(self) -> str:
        """The name by which rows and waterlines tell of it: of one that keeps a computed column's value, that one's."""
        return self.name.removeprefix(WATERLINE).removeprefix(COMPUTED)


@dataclass(frozen=True)
class ComputedColumn:
    """A column that is not kept: its value is made of the row's others where it is read, by Spark SQL over their names.

    It stands behind the first `place` of those that are kept. One that has a bound is kept nevertheless, in the hidden
    column `kept`. `tree` is the expression as it was parsed, for places in it.
    """

    name: str
    text: str
    place: int
    lateness: Lateness | None = None
    kept: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    tree: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ForeignKey:
    """Knowledge for the planner; not enforced."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]
    places: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Table:
    """A table: a multiset without a `key`, a map from key to row with one (A1).

    `event_time` is the column that `_tp_time` is another name for, in dialect timeplus, `computed` what is read beside
    the columns. `warnings` are the parts of its statement that have no meaning here.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    stream: bool = False
    properties: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    places: Mapping[str, PropertyPlace] = field(default_factory=lambda: NOTHING, compare=False, repr=False)
    foreign_keys: tuple[ForeignKey, ...] = ()
    event_time: str | None = None
    computed: tuple[ComputedColumn, ...] = ()
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    text: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def append_only(self) -> bool:
        """True if only inserts are accepted (B1)."""
        return self.stream or self.properties.get("append_only", "false").lower() == "true"

    @property
    def required(self) -> tuple[Column, ...]:
        """The columns that a row given by position must have."""
        return tuple(item for item in self.columns if not item.optional)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that anybody can see."""
        return tuple(item for item in self.columns if not item.hidden)

    @cached_property
    def computing(self) -> tuple[Column, ...]:
        """The columns whose values are computed when a row comes."""
        return tuple(item for item in self.columns if item.computed is not None)

    @property
    def history(self) -> str:
        """The part of the accepted input that is kept: 'all', 'none' or an interval (C6)."""
        return self.properties.get("history", "all")

    def column(self, name: str) -> Column | None:
        """The column of that name, without regard to case."""
        lower = name.lower()
        lower = self.event_time.lower() if lower == EVENT_TIME and self.event_time else lower
        exactly = (item for item in self.columns if item.written == name)
        return next(exactly, next((item for item in self.columns if item.name.lower() == lower), None))

    def with_column(self, column: Column, after: str | None = None) -> Table:
        """The table with one more column: behind another one, first (''), or behind all that a row must have."""
        names = [item.name.lower() for item in self.columns]
        place = len(self.required) if after is None else names.index(after.lower()) + 1 if after else 0
        columns = (*self.columns[:place], column, *self.columns[place:])
        computed = tuple(replace(item, place=item.place + (item.place > place)) for item in self.computed)
        return replace(self, columns=columns, computed=computed)

    @property
    def version_time(self) -> Column | None:
        """The column from whose value on a row is its key's version (C12); None for a table without versions."""
        keys = {name.lower() for name in self.key}
        late = (item for item in self.columns if item.lateness is not None and item.name.lower() not in keys)
        return next((item for item in late if self.key and is_temporal(item.type)), None)

    @cached_property
    def versions(self) -> Table | None:
        """The stream of the table's versions, one row for each operation on a key; None for a table without.

        A row holds from its time on, until the next of its key; of several of one time the one with the least ORDER
        does, which came last. One that ENDED says that there is no row of the key from then on.
        """
        time = self.version_time
        if time is None:
            return None
        order = (Column(ORDER, "bigint", nullable=False), Column(ENDED, "boolean", nullable=False))
        keys = {name.lower() for name in self.key}
        given = (
            Column(
                item.name,
                item.type,
                nullable=item.name.lower() not in keys,
                lateness=replace(item.lateness, drops=True) if item is time and item.lateness else None,
                domain_constant=item.domain_constant,
                written=item.written,
                earlier=item.earlier,
            )
            for item in self.columns
        )
        kept = {"history": self.history}
        return Table(VERSIONS + self.name, (*order, *given), stream=True, properties=MappingProxyType(kept))


@dataclass(frozen=True)
class Writing:
    """Rows of a query that go into a table, by position into its `columns`.

    With `one_each` the last row that the query has for a key stands for all of them; `unless_there` leaves a row of a
    key that is there already as it is. `delta` is the place of a column that says what is taken back. What it `does` is
    'insert'; 'delete' ends the keys of its rows, and 'update' sets its columns in the rows of keys that are there.
    With `alone` a row of a key that is there already refuses the step.
    """

    target: str
    columns: tuple[str, ...]
    one_each: bool = False
    unless_there: bool = False
    delta: int | None = None
    does: str = "insert"
    alone: bool = False


@dataclass(frozen=True)
class Writer:
    """A standing statement: what its query gives in a step is in the table in the same step.

    `query` is the parsed query, `plan` what is written, its columns those of `writing`; with `adds_only` no row is
    taken back, whatever the plan does. It `reads` the relations of these lower-case names. A materialized view INTO a
    table is the `owner` of its writer, by its name in lower case; one of a `session` ends with KILL QUERY. `source` is
    what the places in it are places of.
    """

    name: str
    writing: Writing
    query: Any = field(compare=False, repr=False)
    plan: Any = field(compare=False, repr=False)
    text: str = ""
    source: str = field(default="", compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    owner: str | None = None
    session: bool = False
    adds_only: bool = False
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True)
class View:
    """A view: `query` is the parsed text, `text` the text of the query as written.

    `kind` is 'view', 'local' or 'materialized'; 'into' for one that is another name for the table that its statement
    writes into; 'standing' for a query that is shown by a policy of emission, its
    `showing`, and 'gate' for the rows that such a query takes in, with a waterline of its own; 'passed' for the rows
    that dedup lets pass in a view, which is its `owner`. `columns` is known once the view is bound; a type in it may
    be None until Spark has been asked. `plan` is a `penstock.plan.nodes.Plan`; None for a view that was only
    declared (DECLARE RECURSIVE VIEW). `source` is what the places in it are places of, `declaration` the whole
    statement, `dialect` the one in which it is written. A standing query that shows a view with EMIT has that view as
    its `owner`; one that `writes` into a table has its statement. `warnings` are of words in its query that mean
    something else in the system that its dialect is named after, `meanings` the rules by which they got that meaning.
    """

    name: str
    text: str
    query: Any = field(compare=False, repr=False)
    columns: tuple[Column, ...]
    plan: Any = field(compare=False, repr=False)
    kind: str = "view"
    properties: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    lateness: Mapping[str, Lateness] = field(default_factory=lambda: NOTHING)
    recursive: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    source: str | None = field(default=None, compare=False, repr=False)
    declaration: str = field(default="", compare=False, repr=False)
    dialect: str = field(default="", compare=False, repr=False)
    showing: Showing | None = field(default=None, repr=False)
    owner: str | None = None
    writes: Writing | None = None
    places: Mapping[str, PropertyPlace] = field(default_factory=lambda: NOTHING, compare=False, repr=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    meanings: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def emits(self) -> bool:
        """True for a view that is an output with a policy of emission, the EMIT of its query."""
        refined = any(name in self.properties for name in REFINEMENT)
        return self.query is not None and (refined or bool(self.query.meta.get("emit")))

    @property
    def is_output(self) -> bool:
        """True for a view whose changes are given to whoever asked for it: not LOCAL, and no other name of a table."""
        return self.kind not in ("local", INTO) and self.is_named

    @property
    def is_named(self) -> bool:
        """True for a view that somebody has named, and has not come along with another one or with a query."""
        return self.kind != PASSED and not self.is_hidden

    @property
    def is_hidden(self) -> bool:
        """True for a relation that a standing query brought along, or is: nobody asked for it by name."""
        return self.kind in ("standing", "gate")


@dataclass(frozen=True)
class Function:
    """A SQL function of the program: its `body` is the parsed expression over its parameters."""

    name: str
    parameters: tuple[Column, ...]
    returns: Type | None
    body: Any = field(compare=False, repr=False)
    text: str = ""


@dataclass(frozen=True)
class Catalog:
    """Everything that a program has declared so far, in the order of declaration."""

    tables: Mapping[str, Table] = field(default_factory=lambda: NOTHING)
    views: Mapping[str, View] = field(default_factory=lambda: NOTHING)
    functions: Mapping[str, Function] = field(default_factory=lambda: NOTHING)
    # What stands for the names of the program's own types.
    types: Mapping[str, Type] = field(default_factory=lambda: NOTHING)
    settings: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    writers: Mapping[str, Writer] = field(default_factory=lambda: NOTHING)
    # The functions, in lower case, that the session of Spark has beside the built-in ones, or in place of them.
    registered: frozenset[str] = frozenset()
    # The settings of the session, which the program's go before, by which an expression may mean something else.
    session: Mapping[str, str] = field(default_factory=lambda: NOTHING)

    @property
    def in_effect(self) -> Mapping[str, str]:
        """The settings of the session on which answers depend, and the program's."""
        return {**self.session, **self.settings} if self.session else self.settings

    def relation(self, name: str) -> Table | View | None:
        """The table or view of that name."""
        lower = name.lower()
        return self.table(lower) or self.views.get(lower)

    def table(self, name: str) -> Table | None:
        """The table of that name: a declared one, the versions of one, or a system relation."""
        lower = name.lower()
        found = self.tables.get(lower) or SYSTEM_TABLES.get(lower)
        if found is None and lower.startswith(VERSIONS):
            owner = self.tables.get(lower.removeprefix(VERSIONS))
            return None if owner is None else owner.versions
        return found

    def stored_tables(self) -> Iterator[Table]:
        """All tables into which rows come: those declared, and the versions of those that have them."""
        for table in self.tables.values():
            yield table
            if table.versions is not None:
                yield table.versions

    def relation_names(self) -> tuple[str, ...]:
        """The names of all tables and views, as written."""
        return tuple(item.name for item in self.relations())

    def relations(self) -> Iterator[Table | View]:
        """All tables, then all views that somebody has named."""
        yield from self.tables.values()
        yield from self.named_views()

    def named_views(self) -> Iterator[View]:
        """The views that somebody has named."""
        return (view for view in self.views.values() if view.is_named)

    def passed_in(self, name: str) -> tuple[View, ...]:
        """The rows that dedup lets pass in a view."""
        return tuple(view for view in self.views.values() if view.kind == PASSED and view.owner == name.lower())

    def with_table(self, table: Table) -> Catalog:
        """The catalog with a table added or replaced."""
        return replace(self, tables=_with(self.tables, table.name, table))

    def with_view(self, view: View) -> Catalog:
        """The catalog with a view added or replaced; a new one is written in the present dialect."""
        view = view if view.dialect else replace(view, dialect=self.dialect)
        return replace(self, views=_with(self.views, view.name, view))

    @property
    def dialect(self) -> str:
        """The dialect in which the next statement is read."""
        return self.settings.get(DIALECT, DEFAULT_DIALECT)

    @property
    def nesting(self) -> int:
        """The depth to which operations may be nested in the next statement."""
        return int(self.settings.get(MAX_NESTING, DEFAULT_MAX_NESTING))

    def read_as(self, view: View) -> Catalog:
        """The catalog in the dialect in which a view is written, to read its query again."""
        return self if view.dialect in {"", self.dialect} else self.with_setting(DIALECT, view.dialect)

    def with_passed(self, name: str, views: Collection[View]) -> Catalog:
        """The catalog with the rows that dedup lets pass in a view, and without those that it let pass before."""
        if not views and name.lower() not in self.views:
            return self
        gone = {view.name.lower() for view in self.passed_in(name)}
        kept = {key: view for key, view in self.views.items() if key not in gone}
        return replace(self, views=MappingProxyType(kept | {view.name.lower(): view for view in views}))

    def with_function(self, function: Function) -> Catalog:
        """The catalog with a function added or replaced."""
        return replace(self, functions=_with(self.functions, function.name, function))

    def with_type(self, name: str, kind: Type | None) -> Catalog:
        """The catalog with a type added or replaced, or without it if `kind` is None."""
        kept = {key: old for key, old in self.types.items() if key != name.lower()}
        return replace(self, types=MappingProxyType(kept if kind is None else kept | {name.lower(): kind}))

    def with_writer(self, writer: Writer) -> Catalog:
        """The catalog with a standing statement added or replaced."""
        return replace(self, writers=_with(self.writers, writer.name, writer))

    def without_writer(self, name: str) -> Catalog:
        """The catalog without a standing statement."""
        kept = {key: item for key, item in self.writers.items() if key != name.lower()}
        return replace(self, writers=MappingProxyType(kept))

    def writers_into(self, table: str) -> tuple[Writer, ...]:
        """The standing statements that write into a table, in their order."""
        return tuple(item for item in self.writers.values() if item.writing.target.lower() == table.lower())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings of what stands in statements, or is set, and has no meaning here, or another one."""
        of_tables = (item for table in self.tables.values() for item in table.warnings)
        of_views = (item for view in self.views.values() for item in view.warnings)
        return (*of_tables, *of_views, *without_meaning(self.settings))

    def with_setting(self, name: str, value: str | None) -> Catalog:
        """The catalog with a setting changed, or removed if `value` is None; Spark's own settings keep their case."""
        kept = {key: old for key, old in self.settings.items() if key != name}
        return replace(self, settings=MappingProxyType(kept if value is None else kept | {name: value}))

    def without(self, name: str) -> Catalog:
        """The catalog without the table or view of that name, and without what a view writes and lets pass."""
        lower = name.lower()
        gone = {lower, *(view.name.lower() for view in self.passed_in(name))}
        return replace(
            self,
            writers=MappingProxyType({key: item for key, item in self.writers.items() if item.owner != lower}),
            tables=MappingProxyType({key: item for key, item in self.tables.items() if key != lower}),
            views=MappingProxyType({key: item for key, item in self.views.items() if key not in gone}),
        )


def _with(old: Mapping[str, Any], name: str, value: Any) -> Mapping[str, Any]:
    return MappingProxyType({**old, name.lower(): value})


# Rows that did not make it into their table: late, broken, or refused by an expression (B5).
ERROR_VIEW = Table(
    name="error_view",
    columns=tuple(Column(name, "string", nullable=False) for name in ("table_or_view_name", "message", "metadata")),
    stream=True,
)
SYSTEM_TABLES: Mapping[str, Table] = MappingProxyType({ERROR_VIEW.name: ERROR_VIEW})
