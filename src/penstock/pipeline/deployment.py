"""The difference between a program that runs and another one, and the statements that make the one of the other.

Relations are compared by what they mean: tables by their columns, key and properties, views by their bound plans, with
the columns that these read. A view that reads one whose answer changes changes with it. A table may gain columns: that
is ALTER TABLE … ADD COLUMNS. What cannot be done is a problem, said before all else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from penstock.bind.program.add_columns import refuse_added
from penstock.bind.program.compile import Program, declare
from penstock.catalog.model import PASSED, Catalog, Table, View
from penstock.catalog.properties import CONNECTOR, says_how
from penstock.catalog.settings import CHANGEABLE, DEFAULT_DIALECT, DIALECT, TIME_ZONE
from penstock.errors import Diagnostic, PenstockError
from penstock.pipeline.alike import alike
from penstock.pipeline.reads import read_by, tables_read
from penstock.pipeline.supported import refuse_widened_outputs
from penstock.plan.scalar import quoted
from penstock.sql import statements as sql
from penstock.sql.parse import parse
from penstock.sql.statements import AddedColumn
from penstock.steps.rows.added import new_columns, tables_of_both

What = Literal["added", "removed", "changed", "rebuilt", "unchanged", "refused"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One relation: what becomes of it, and what that means in words."""

    name: str
    kind: str
    what: What
    about: str = ""


@dataclass(frozen=True)
class Deployment:
    """A change of program: all relations, the statements that make it, and what keeps it from being made.

    `after` is the catalog that it leads to. Of its views those `added` are maintained anew, from `rows` rows of tables;
    `removed` ones, and tables that are `dropped`, go. While a run goes on those that are added are filled beside it,
    but for those that are `at_once`, in the step of the change, each for a reason. All names are in lower case.
    """

    differences: tuple[Difference, ...]
    statements: tuple[str, ...]
    after: Catalog
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    rows: int = 0
    seconds: float | None = None
    problems: tuple[Diagnostic, ...] = ()
    at_once: Mapping[str, str] = field(default_factory=dict)

    @property
    def beside(self) -> tuple[str, ...]:
        """The views that are filled beside a run that goes on."""
        return tuple(name for name in self.added if name not in self.at_once)

    @property
    def is_empty(self) -> bool:
        """True if nothing is different."""
        return not self.statements and not self.problems

    def to_json(self) -> dict[str, Any]:
        """As values."""
        return {
            "differences": [
                {"name": item.name, "kind": item.kind, "what": item.what, "about": item.about}
                for item in self.differences
            ],
            "statements": list(self.statements),
            "rows": self.rows,
            "seconds": self.seconds,
            "at_once": [{"name": self.after.views[name].name, "why": why} for name, why in self.at_once.items()],
            "problems": [item.to_json(None) for item in self.problems],
        }


@dataclass(frozen=True)
class Present:
    """The facts of the pipeline that matter: its catalog, whether it has stepped, and the rows that a table keeps.

    `missing` gives the diagnostic for a table whose rows have come and are not kept.
    """

    catalog: Catalog
    stepped: bool
    rows: Callable[[Table], int]
    missing: Callable[[Table], Diagnostic | None]


def deployment(present: Present, program: Program, rate: float | None = None) -> Deployment:
    """The change from what is there to a program; views are rebuilt at `rate` rows a second, as far as is known."""
    before, after = present.catalog, program.catalog
    again = _rebuilt(before, after)
    tables, views = list(_tables(before, after)), list(_views(before, after, again))
    refused = {item.name.lower() for item in tables if item.what == "refused"}
    removed = _readers_first(before, [item.name.lower() for item in views if item.what == "removed"] + list(again))
    dropped = tuple(item.name.lower() for item in tables if item.what == "removed")
    added = [item.name.lower() for item in views if item.what in ("added", "changed", "rebuilt")]
    widened = {
        name: gained
        for name, known, table in tables_of_both(before, after)
        if (gained := _gained(_read_as(known, table), table))
    }
    statements = tuple(_statements(before, program, removed, dropped, set(added), widened))
    added = [name for view in added for name in (*(item.name.lower() for item in after.passed_in(view)), view)]
    problems = [*_problems(before, after, again, stepped=present.stepped), *_statement_problems(before, after)]
    read = {name for view in added for name in tables_read(after, view)} & before.tables.keys()
    problems += [found for name in sorted(read) if (found := present.missing(before.tables[name]))]
    rows = sum(present.rows(before.tables[name]) for name in read)
    catalog = before
    if not problems:
        catalog = _declared(before, program, statements)
    return Deployment(
        (*tables, *(_beside_refused(item, after, refused) for item in views)),
        statements,
        catalog,
        tuple(added),
        tuple(removed),
        dropped,
        rows,
        None if rate is None or not rate else rows / rate,
        tuple(problems),
    )


def _same_table(one: Table, other: Table) -> bool:
    return one == other


def _read_as(known: Table, table: Table) -> Table:
    """The table that is there, read as the other one if they differ in how their sources are read; else as it is."""
    names = _other_properties(known, table)
    connector = known.properties.get(CONNECTOR, "").lower()
    fits = bool(connector) and all(says_how(name, connector) for name in names)
    return replace(known, properties=table.properties, places=table.places) if fits else known


def _other_properties(known: Table, table: Table) -> list[str]:
    one, other = known.properties, table.properties
    return sorted(name for name in {**one, **other} if one.get(name) != other.get(name))


def _setting(known: Table, table: Table, dialect: str) -> Iterator[str]:
    """The statements by which the source of a table is read as that of the other one."""
    if _read_as(known, table) is known:
        return
    given = table.properties
    names = _other_properties(known, table)
    values = [f"'{name}' = {_literal(given[name], dialect)}" for name in names if name in given]
    if values:
        yield f"ALTER TABLE {quoted(known.name)} SET ({', '.join(values)});"
    if gone := [f"'{name}'" for name in names if name not in given]:
        yield f"ALTER TABLE {quoted(known.name)} RESET ({', '.join(gone)});"


def _literal(text: str, dialect: str) -> str:
    """A text as the dialect writes it."""
    if dialect in {DEFAULT_DIALECT, "timeplus"}:
        text = text.replace("\\", "\\\\").replace("'", "\\'")
    else:
        text = text.replace("'", "''")
    return f"'{text}'"


def _gained(known: Table, table: Table) -> tuple[AddedColumn, ...]:
    """The columns with which one table is the other; none if they are the same, or differ in more."""
    new = [AddedColumn(column) for column in new_columns(known, table)]
    if _with_columns(known, new) == table:
        return tuple(new)
    names = ["", *(column.name for column in table.columns)]
    placed = [AddedColumn(item.column, names[names.index(item.column.name) - 1]) for item in new]
    there = {column.name.lower() for column in known.columns}
    for item in placed:
        if item.after and item.after.lower() not in there:
            return ()  # behind a column that is spelled in another way
        there.add(item.column.name.lower())
    return tuple(placed) if _with_columns(known, placed) == table else ()


def _with_columns(table: Table, columns: Iterable[AddedColumn]) -> Table:
    for item in columns:
        table = table.with_column(item.column, item.after)
    return table


def _same_view(name: str, before: Catalog, after: Catalog) -> bool:
    one, other = ([*catalog.passed_in(name), catalog.views[name]] for catalog in (before, after))
    if len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(_meaning(mine) == _meaning(theirs) and alike(mine.plan, theirs.plan) for mine, theirs in pairs)


def _meaning(view: View) -> tuple[Any, ...]:
    """All that tells a view from another beside its plan; an EMIT is compared as it is written."""
    names = tuple(column.name.lower() for column in view.columns)
    emitted = " ".join(view.text.split()) if view.emits else ""
    return view.kind, dict(view.properties), dict(view.lateness), view.recursive, view.writes, names, emitted


def _rebuilt(before: Catalog, after: Catalog) -> dict[str, str]:
    """The views of both that are made anew, each with the one of which that comes: itself, or one that it reads."""
    both = [view.name.lower() for view in after.named_views() if view.name.lower() in before.views]
    found = {name: name for name in both if not _same_view(name, before, after)}
    gone = {*before.tables, *before.views} - {*after.tables, *after.views}
    while True:
        more = {
            name: next(iter(sorted(_read_by_others(after, name) & (found.keys() | gone))))
            for name in both
            if name not in found and _read_by_others(after, name) & found.keys()
        }
        if not more:
            return found
        found |= more


def _tables(before: Catalog, after: Catalog) -> Iterator[Difference]:
    for name, table in after.tables.items():
        known = before.tables.get(name)
        problem = None if known is None else next(_problems_of(before, after, known, table), None)
        if known is None:
            yield Difference(table.name, "table", "added")
        elif problem is not None:
            yield Difference(table.name, "table", "refused", problem.message)
        elif _same_table(known, table):
            yield Difference(table.name, "table", "unchanged", "its rows stay")
        else:
            yield Difference(table.name, "table", "changed", _about_table(known, table))
    for name, table in before.tables.items():
        if name not in after.tables:
            yield Difference(table.name, "table", "removed", "its rows and their history go")


def _about_table(known: Table, table: Table) -> str:
    about = [_about_gained(gained)] if (gained := _gained(_read_as(known, table), table)) else ["its rows stay"]
    if names := _other_properties(known, table):
        about.append(f"its source is read with another {', '.join(map(repr, names))}")
    return "; ".join(about)


def _about_gained(gained: Iterable[AddedColumn]) -> str:
    found = [f"{item.column.name} = {item.column.default or 'NULL'}" for item in gained]
    return f"its rows stay, with {' and '.join(found)}"


def _views(before: Catalog, after: Catalog, again: dict[str, str]) -> Iterator[Difference]:
    for name, view in after.views.items():
        if not view.is_named:
            continue
        if name not in before.views:
            yield Difference(view.name, "view", "added", f"filled from {_filled_from(after, name)}")
        elif name not in again:
            yield Difference(view.name, "view", "unchanged", "its answer and state stay")
        elif again[name] == name:
            yield Difference(view.name, "view", "changed", f"made anew from {_filled_from(after, name)}")
        else:
            about = f"reads {after.views[again[name]].name}; made anew from {_filled_from(after, name)}"
            yield Difference(view.name, "view", "rebuilt", about)
    for name, view in before.views.items():
        if name not in after.views and view.is_named:
            yield Difference(view.name, "view", "removed", "its answer and state go")


def _beside_refused(item: Difference, after: Catalog, refused: Collection[str]) -> Difference:
    """The difference of a view, which is none while a table that it reads cannot become what it would have to be."""
    name = item.name.lower()
    found = sorted(tables_read(after, name) & set(refused)) if item.what != "removed" else []
    if not found:
        return item
    reads = ", ".join(after.tables[table].name for table in found)
    return replace(item, what="refused", about=f"reads {reads}, whose change is refused")


def _filled_from(catalog: Catalog, name: str) -> str:
    found = sorted(tables_read(catalog, name) & catalog.tables.keys())
    if not found:
        return "constants"
    keyed = [catalog.tables[item].name for item in found if catalog.tables[item].key]
    others = [catalog.tables[item].name for item in found if not catalog.tables[item].key]
    parts = [f"the content of {', '.join(keyed)}"] if keyed else []
    return " and ".join([*parts, f"the history of {', '.join(others)}"] if others else parts)


def _readers_first(catalog: Catalog, names: Collection[str]) -> list[str]:
    """The views in an order in which each comes before those that it reads."""
    waiting, found = list(names), list[str]()
    while waiting:
        read = {name for other in waiting for name in _read_by_others(catalog, other)}
        free = [name for name in waiting if name not in read] or waiting
        found += free
        waiting = [name for name in waiting if name not in free]
    return found


def _read_by_others(catalog: Catalog, name: str) -> frozenset[str]:
    """The relations, other than itself, that a view reads; of what passes in another view that view."""
    views = (*catalog.passed_in(name), catalog.views[name])
    read = {item for view in views if view.plan is not None for item in read_by(view)}
    passed = {item: str(view.owner) for item in read if (view := catalog.views.get(item)) and view.kind == PASSED}
    return frozenset(passed.get(item, item) for item in read) - {name}


def _statements(  # noqa: PLR0917 - all that changes
    before: Catalog,
    program: Program,
    removed: Iterable[str],
    dropped: Iterable[str],
    added: Collection[str],
    widened: Mapping[str, Sequence[AddedColumn]],
) -> Iterator[str]:
    """The statements that make the one of the other: what goes, readers first, then what comes, in its order."""
    yield from (f"DROP VIEW {quoted(before.views[name].name)};" for name in removed)
    yield from (f"DROP TABLE {quoted(before.tables[name].name)};" for name in dropped)
    functions = {name for name, item in program.catalog.functions.items() if before.functions.get(name) != item}
    for name in before.functions:
        if name in functions or name not in program.catalog.functions:
            yield f"DROP FUNCTION {quoted(before.functions[name].name)};"
    for name, kind in before.types.items():
        if program.catalog.types.get(name) != kind:
            yield f"DROP TYPE {quoted(name)};"
    for name, usual in CHANGEABLE.items():
        wanted = program.catalog.settings.get(name, usual)
        if wanted != before.settings.get(name, usual):
            yield f"SET {name} = '{wanted}';"
    for name, known in before.tables.items():
        if name in program.catalog.tables:
            yield from _setting(known, program.catalog.tables[name], before.dialect)
    later = []
    last = {_declares_table(item): item for item in program.statements}
    for item in program.statements:
        if (name := _declares_table(item)) in widened and item is last[name]:
            yield _adding(before.tables[name], widened[name])
        if isinstance(item, sql.SetLateness) and item.view.lower() in added:
            later.append(item.text)
        elif _is_new(item, before, added, functions):
            yield item.text
    yield from later


def _declares_table(item: sql.Statement) -> str:
    """The lower-case name of the table whose columns a statement declares; empty if it declares none."""
    match item:
        case sql.CreateTable():
            return item.table.name.lower()
        case sql.AddColumns():
            return item.table.lower()
        case _:
            return ""


def _adding(table: Table, columns: Iterable[AddedColumn]) -> str:
    return f"ALTER TABLE {quoted(table.name)} ADD COLUMNS IF NOT EXISTS ({', '.join(map(_placed, columns))});"


def _placed(item: AddedColumn) -> str:
    place = "" if item.after is None else f" AFTER {quoted(item.after)}" if item.after else " FIRST"
    return f"{item.column.text}{place}"


def _is_new(item: sql.Statement, before: Catalog, added: Collection[str], functions: Collection[str]) -> bool:
    match item:
        case sql.CreateTable() | sql.AddColumns():
            return _declares_table(item) not in before.tables
        case sql.CreateView() | sql.Unparsed() | sql.DeclareRecursiveView():
            return item.name.lower() in added
        case sql.CreateFunction():
            return item.name.lower() in functions
        case sql.CreateType():
            return before.types.get(item.name.lower()) != item.kind
        case _:
            return False


def _declared(before: Catalog, program: Program, statements: Iterable[str]) -> Catalog:
    """The catalog after the statements; what is not different is the same value."""
    catalog = before
    own = {item.text: item for item in program.statements}
    for text in statements:
        if text in own:
            catalog = declare(catalog, own[text], program.source)
        else:
            for item in parse(text, catalog.dialect, catalog.types, catalog.nesting):
                catalog = declare(catalog, item, text)
    return catalog


def _problems(before: Catalog, after: Catalog, again: dict[str, str], *, stepped: bool) -> Iterator[Diagnostic]:
    for name, table in after.tables.items():
        known = before.tables.get(name)
        if known is not None:
            yield from _problems_of(before, after, known, table)
        if name in before.views:
            yield _other_kind(before.views[name].name, "a view", "a table", table.span)
    for name, view in after.views.items():
        if name in before.tables:
            yield _other_kind(view.name, "a table", "a view", view.span)
    for name in again:
        view = after.views[name]
        if any(_shows_once(item) for item in (before.views[name], view)):
            message = f"view {view.name} has EMIT, emit_final or LATENESS: what it has shown cannot be taken back"
            hint = "give the new one another name, beside the old one"
            yield Diagnostic("SHOWN_ALREADY", message, view.span, hint=hint)
    if stepped and before.settings.get(TIME_ZONE, "UTC") != after.settings.get(TIME_ZONE, "UTC"):
        message = "the time zone cannot change after the first step: rows that are there were read in it"
        yield Diagnostic("TIME_ZONE_FIXED", message, hint="begin with an empty directory")


def _shows_once(view: View) -> bool:
    """True for what has been shown by when it came; what dedup lets pass follows from the rows that are there."""
    return view.emits or (bool(view.lateness) and view.kind != PASSED) or "emit_final" in view.properties


def _problems_of(before: Catalog, after: Catalog, known: Table, table: Table) -> Iterator[Diagnostic]:
    """The diagnostics of a table that is there already; none if it is the same."""
    known = _read_as(known, table)
    if not _same_table(known, table):
        yield from _changed(before, after, known, table)


def _changed(before: Catalog, after: Catalog, known: Table, table: Table) -> Iterator[Diagnostic]:
    """The diagnostics of a table that cannot become the other one."""
    gained = _gained(known, table)
    if not gained:
        message = f"table {table.name} is declared in another way than the one whose rows are there"
        hint = "columns can be added; else give the new one another name, and write into it what is to go on"
        yield Diagnostic("TABLE_CHANGED", _lost(known, table) or message, table.span, hint=hint)
        return
    try:
        refuse_widened_outputs(before, after, [table.name.lower()])
        for item in gained:
            refuse_added(item.column)
    except PenstockError as error:
        yield from error.diagnostics


def _lost(known: Table, table: Table) -> str | None:
    """The difference in words, where it is that of a column that is there; None if it is another one."""
    for column in known.columns:
        other = table.column(column.name)
        if other is None and column.computed is not None:
            return f"table {table.name} would lose the WATERMARK of its computed column {column.told}"
        if other is None:
            return f"table {table.name} would lose the column {column.name}, which its rows have"
        if other.type != column.type:
            was, now = column.type.upper(), other.type.upper()
            return f"column {column.name} of table {table.name} is {was} in the rows that are there, and would be {now}"
    return None


def _other_kind(name: str, was: str, now: str, span: Any) -> Diagnostic:
    message = f"{name} is {was} now, and would be {now}"
    return Diagnostic("TABLE_CHANGED", message, span, hint="give the new one another name")


def _statement_problems(before: Catalog, after: Catalog) -> Iterator[Diagnostic]:
    """The diagnostics of standing statements and settings: they cannot change yet."""
    for name in {**before.writers, **after.writers}:
        one, other = before.writers.get(name), after.writers.get(name)
        if one is None or other is None or not alike(one.plan, other.plan) or one.writing != other.writing:
            found = one or other
            assert found is not None  # noqa: S101 - one of them is there
            message = f"the standing statement {found.name}, which writes into {found.writing.target}, would change"
            hint = "standing statements come and go with a new directory only"
            yield Diagnostic("STATEMENT_CHANGED", message, found.span, hint=hint)
    usual = {DIALECT: DEFAULT_DIALECT}
    had, wanted = {**usual, **before.settings}, {**usual, **after.settings}
    changed = {
        key for key in had | wanted if key != TIME_ZONE and key not in CHANGEABLE and had.get(key) != wanted.get(key)
    }
    for key in sorted(changed):
        message = f"the setting {key} would be another"
        yield Diagnostic("SETTING_CHANGED", message, hint=_back_to(key, before, after))


def _back_to(key: str, before: Catalog, after: Catalog) -> str:
    """The hint for a setting that a program does not have as the pipeline has it."""
    if key != DIALECT:
        return "settings are read when a pipeline begins"
    return f"the pipeline is in dialect {before.dialect}: have it read SET dialect = '{after.dialect}' first"


def missing_of(check: Callable[[str], None]) -> Callable[[Table], Diagnostic | None]:
    """Gives what is said of a table whose history a new view would need and does not find."""

    def missing(table: Table) -> Diagnostic | None:
        try:
            check(table.name.lower())
        except PenstockError as error:
            return error.diagnostics[0]
        return None

    return missing
