"""The statements of a program: one frozen value for each, with its place in the source.

`tree`s are sqlglot's, parsed by `penstock.sql.parse`; offsets in them, and every `span`, count characters
of the whole program text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.catalog.model import NOTHING, Column, Lateness, Table
from penstock.catalog.properties import PropertyPlace
from penstock.errors import Diagnostic, Span


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement; `text` is its source without the final semicolon.

    `warnings` are its hints and the clauses of its queries that change no answer.
    """

    text: str
    span: Span
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CreateTable(Statement):
    """CREATE TABLE or CREATE STREAM."""

    table: Table
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column that a table gains, and where: behind another one, first (''), or behind those that are there."""

    column: Column
    after: str | None = None
    after_span: Span | None = None


@dataclass(frozen=True, kw_only=True)
class AddColumns(Statement):
    """ALTER TABLE … ADD COLUMNS."""

    table: str
    table_span: Span
    columns: tuple[AddedColumn, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class SetProperties(Statement):
    """ALTER TABLE … SET ('k' = 'v', …) and RESET ('k', …): how a table's source is read from now on."""

    table: str
    table_span: Span
    values: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    places: Mapping[str, PropertyPlace] = field(default_factory=lambda: NOTHING, compare=False, repr=False)
    removed: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateView(Statement):
    """CREATE [OR REPLACE] [LOCAL | MATERIALIZED] VIEW; `into` is the table that its rows are written to."""

    name: str
    name_span: Span
    query: exp.Expression
    query_text: str
    column_names: tuple[str, ...] = ()
    kind: str = "view"
    or_replace: bool = False
    if_not_exists: bool = False
    properties: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    places: Mapping[str, PropertyPlace] = field(default_factory=lambda: NOTHING)
    into: str | None = None
    into_span: Span | None = None


@dataclass(frozen=True, kw_only=True)
class DeclareRecursiveView(Statement):
    """DECLARE RECURSIVE VIEW v (c TYPE, …)."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, kw_only=True)
class CreateFunction(Statement):
    """CREATE [OR REPLACE] FUNCTION f(p TYPE, …) [RETURNS TYPE] RETURN expr."""

    name: str
    parameters: tuple[Column, ...]
    returns: str | None
    body: exp.Expression
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateType(Statement):
    """CREATE [OR REPLACE] TYPE t AS (field TYPE, …) or AS TYPE: a name for a type, which `kind` is."""

    name: str
    name_span: Span
    kind: str
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class Drop(Statement):
    """DROP TABLE, STREAM, VIEW, FUNCTION or TYPE; `what` is 'table', 'view', 'function' or 'type'.

    With `cascade` the views that read it go too.
    """

    what: str
    name: str
    name_span: Span
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, kw_only=True)
class SetLateness(Statement):
    """LATENESS view.column e."""

    view: str
    column: str
    lateness: Lateness
    view_span: Span
    column_span: Span


@dataclass(frozen=True, kw_only=True)
class Advance(Statement):
    """ADVANCE table.column TO e (C15)."""

    table: str
    column: str
    value: exp.Expression
    table_span: Span
    column_span: Span


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    """INSERT INTO t [(c, …)] VALUES … or SELECT …; `source` is an `exp.Values` or a query.

    With `by_name` the query's own column names say where its values go. UPSERT needs a key, and `conflict` is the word
    behind ON CONFLICT DO: NOTHING, UPDATE, DEDUPLICATE or ERROR. One that is `in_set` stands. What it `does` with the
    rows of keys is 'insert', or of an UPDATE or DELETE over a stream 'update' or 'delete'. `INSERT INTO t (* EXCEPT b)`
    gives all columns but those that are `left_out`.
    """

    table: str
    table_span: Span
    columns: tuple[str, ...]
    source: exp.Expression
    by_name: bool = False
    column_spans: tuple[Span, ...] = ()
    upsert: bool = False
    conflict: str | None = None
    conflict_span: Span | None = None
    conflict_keys: tuple[tuple[str, Span], ...] = ()
    in_set: bool = False
    frame: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    does: str = "insert"
    left_out: tuple[tuple[str, Span], ...] = ()

    @property
    def is_constant(self) -> bool:
        """True for the rows of VALUES."""
        return isinstance(self.source, exp.Values)


@dataclass(frozen=True, kw_only=True)
class Update(Statement):
    """UPDATE t [[AS] a] SET c = e, … [WHERE condition]."""

    table: str
    table_span: Span
    assignments: tuple[tuple[str, exp.Expression], ...]
    where: exp.Expression | None
    alias: str | None = None
    column_spans: tuple[Span, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Delete(Statement):
    """DELETE FROM t [[AS] a] [WHERE condition]."""

    table: str
    table_span: Span
    where: exp.Expression | None
    alias: str | None = None


@dataclass(frozen=True, kw_only=True)
class Begin(Statement):
    """BEGIN [TRANSACTION]."""


@dataclass(frozen=True, kw_only=True)
class Commit(Statement):
    """COMMIT."""


@dataclass(frozen=True, kw_only=True)
class Rollback(Statement):
    """ROLLBACK."""


@dataclass(frozen=True, kw_only=True)
class KillQuery(Statement):
    """KILL QUERY name."""

    name: str
    name_span: Span


@dataclass(frozen=True, kw_only=True)
class SavePosition(Statement):
    """SAVE POSITION name."""

    name: str
    name_span: Span


@dataclass(frozen=True, kw_only=True)
class DropPosition(Statement):
    """DROP POSITION [IF EXISTS] name."""

    name: str
    name_span: Span
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class Query(Statement):
    """SELECT …, VALUES …, WITH …."""

    tree: exp.Expression


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """EXPLAIN [ANALYZE | CHANGELOG] [(option, …)] query | view name.

    The options are lower-case: trace, plan, circuit, verdict, changelog, json, analyze.
    """

    options: tuple[str, ...]
    target: str | None
    query: exp.Expression | None
    target_span: Span | None = None


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """SHOW TABLES, SHOW COLUMNS [FROM name], SHOW CREATE TABLE name and the like; `what` is lower-case.

    What is shown has a name that is `like` a pattern, if there is one.
    """

    what: str
    name: str | None = None
    name_span: Span | None = None
    like: str | None = None


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """DESCRIBE [TABLE | VIEW] name."""

    name: str
    name_span: Span


@dataclass(frozen=True, kw_only=True)
class Set(Statement):
    """SET name = value, SET TIME ZONE z; without a value it shows the setting."""

    name: str | None
    value: str | None
    value_span: Span | None = None


@dataclass(frozen=True, kw_only=True)
class Reset(Statement):
    """RESET name, or RESET for all."""

    name: str | None


@dataclass(frozen=True, kw_only=True)
class Unparsed(Statement):
    """CREATE VIEW whose query our parser cannot read: Spark gets it whole, when the program starts (A5)."""

    name: str
    name_span: Span
    query_text: str
    reason: str
    kind: str = "view"
    or_replace: bool = False
    if_not_exists: bool = False
    properties: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    places: Mapping[str, PropertyPlace] = field(default_factory=lambda: NOTHING)
