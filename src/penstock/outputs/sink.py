"""The outputs that a program declares: views with a connector, and tables with one that are written.

CREATE VIEW totals WITH ('connector' = 'files', 'path' = 'out') AS SELECT …
CREATE TABLE answers (…) WITH ('connector' = 'files', 'path' = 'out');  INSERT INTO answers SELECT …
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.analysis.changelog import Retraction, retracting
from penstock.analysis.final import PROPERTY as EMIT_FINAL
from penstock.analysis.keys import unique_keys
from penstock.analysis.waterline import has_waterline
from penstock.analysis.written import taken_back
from penstock.bind.emission.standing import bind_standing, shown_by
from penstock.catalog.model import INTO, Catalog, Column, Table, View
from penstock.catalog.properties import CONNECTOR, PropertyPlace
from penstock.catalog.settings import TIME_ZONE, UTC
from penstock.errors import Span
from penstock.outputs.installed import only_takes
from penstock.plan.emission import Content
from penstock.plan.showing import Showing
from penstock.rewrite import rewrite

Key = frozenset[str]


@dataclass(frozen=True)
class Sink:
    """A declared output: the relation whose changes it is given, and what is known of them before anything starts.

    `key` is a table's PRIMARY KEY, `keys` are the sets of columns that are known to tell rows apart, by name as the
    relation has them. `taken_back` says what takes rows back that were given, None if nothing does; with `shows_only`
    an EMIT shows rows, and never says that one has gone.
    """

    relation: Table | View
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    keys: frozenset[Key] = frozenset()
    taken_back: Retraction | None = None
    shows_only: bool = False
    source: str | None = None
    zone: str = "UTC"

    @property
    def name(self) -> str:
        """The name of the view or table."""
        return self.relation.name

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties in its WITH."""
        return self.relation.properties

    @property
    def places(self) -> Mapping[str, PropertyPlace]:
        """The places of them."""
        return self.relation.places

    @property
    def span(self) -> Span | None:
        """The place of its name in the program."""
        return self.relation.span

    @property
    def connector(self) -> str:
        """The connector's name, in lower case."""
        return self.properties[CONNECTOR].lower()

    @property
    def what(self) -> str:
        """The sink as messages name it."""
        return f"{'view' if isinstance(self.relation, View) else 'table'} {self.name}"


def sinks_of(catalog: Catalog) -> tuple[Sink, ...]:
    """The outputs of a program, tables first, in the order in which they are declared."""
    zone = catalog.settings.get(TIME_ZONE, UTC).strip("'\"")
    tables = [_of_table(table, catalog) for table in catalog.tables.values() if is_sink(table, catalog)]
    views = [_of_view(view, catalog) for view in catalog.views.values() if _is_asked_for(view)]
    return tuple(replace(sink, zone=zone) for sink in (*tables, *views))


def is_sink(table: Table, catalog: Catalog) -> bool:
    """True for a table whose connector takes its rows: one that a statement writes into, or that only takes."""
    connector = table.properties.get(CONNECTOR, "").lower()
    return bool(connector) and (bool(catalog.writers_into(table.name)) or only_takes(connector))


def _is_asked_for(view: View) -> bool:
    return CONNECTOR in view.properties and not view.is_hidden


def _of_table(table: Table, catalog: Catalog) -> Sink:
    """A table that is written: the rows of its own key replace one another, those without one are added to."""
    writers = catalog.writers_into(table.name)
    found = (taken_back(writer, catalog) for writer in writers)
    back = None if table.append_only else next((item for item in found if item is not None), None)
    if table.key and not table.append_only and back is None:
        back = Retraction("Table", f"a row of {table.name} takes the place of the one with its key", table.span)
    source = next((item.source for item in writers if item.source), None)
    keys = frozenset({frozenset(table.key)}) if table.key else frozenset[Key]()
    return Sink(table, table.shown, table.key, keys, back, source=source)


def _of_view(view: View, catalog: Catalog) -> Sink:
    if view.kind in ("local", INTO) or view.plan is None:
        return Sink(view, view.columns, source=view.source)
    if view.emits:
        return _of_showing(view, catalog)
    back = None if EMIT_FINAL in view.properties else retracting(view.plan, catalog)
    return Sink(view, view.columns, (), _keys(view, catalog), back, source=view.source)


def _of_showing(view: View, catalog: Catalog) -> Sink:
    """A view with EMIT: the rows that are shown are added, whatever they say; those that are final keep their key."""
    found = bind_standing(
        view.query,
        catalog.read_as(view),
        view.source or "",
        shown_by(view.name),
        has_waterline,
        properties=view.properties,
    )
    showing = found.view.showing
    assert showing is not None  # noqa: S101 - the binder gives one
    plain = showing.content is Content.FINAL and not showing.stated and not showing.stamped
    keys = _keys(view, catalog) if plain else frozenset[Key]()
    return Sink(view, _shown_columns(view, showing), (), keys, shows_only=not plain, source=view.source)


def _shown_columns(view: View, showing: Showing) -> tuple[Column, ...]:
    """The columns that are shown, of unknown type where the policy adds them."""
    known = {item.name.lower(): item for item in view.columns}
    return tuple(known.get(name.lower()) or Column(name, "") for name in showing.shown_names)


def _keys(view: View, catalog: Catalog) -> frozenset[Key]:
    return frozenset() if view.lateness else unique_keys(rewrite(view.plan), catalog)
