"""The connectors of outputs by name, and what is checked of a program's outputs before anything starts.

A connector is a module, or what a package brings under the entry-point group `penstock.outputs`, with
  PROPERTIES                    what a view or table may say of it, beside `declared.COMMON`
  FORMS, CHOSEN                 the forms that it can take; those among which it chooses where none is said
  check_sink(sink, form)        SqlError for what it cannot take; looks at nothing outside
  target_of(sink)               where it writes, as its user names it, without any secret
  weakness_of(sink)             why it takes a step at least once, None if exactly once
  open_receiver(sink, form, owner)   the `receiver.Receiver`; DataError if the target does not fit
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.catalog.model import Catalog, View
from penstock.catalog.properties import CONNECTOR, TABLE, VIEW, is_among, name_place, value_place
from penstock.errors import Diagnostic, PenstockError, SqlError, did_you_mean
from penstock.outputs.accepting import form_of, key_of
from penstock.outputs.declared import COMMON
from penstock.outputs.forms import Form
from penstock.outputs.installed import installed, known_names
from penstock.outputs.loops import loop_checks
from penstock.outputs.receiver import Owner, Receiver
from penstock.outputs.sink import Sink, sinks_of
from penstock.sources.packages import check_packages
from penstock.sources.properties import wrong_values

CONNECTORS = {
    "files": "penstock.outputs.files",
    "print": "penstock.outputs.printed",
    "blackhole": "penstock.outputs.blackhole",
    "kafka": "penstock.outputs.kafka",
    "upsert-kafka": "penstock.outputs.kafka.upsert",
    "postgres": "penstock.outputs.postgres",
    "delta": "penstock.outputs.delta",
    "iceberg": "penstock.outputs.iceberg",
    "http": "penstock.outputs.webhook",
}
_FOR_ALL = ("print", "blackhole")  # several outputs may go there
EXACTLY_ONCE = "exactly once"
_PARTS = ("PROPERTIES", "FORMS", "CHOSEN", "check_sink", "target_of", "weakness_of", "open_receiver")


@dataclass(frozen=True)
class Outlet:
    """An output that has been checked: the sink, its connector, and the form in which changes are given."""

    sink: Sink
    connector: Any
    form: Form

    @property
    def name(self) -> str:
        """The name of its view or table."""
        return self.sink.name

    @property
    def target(self) -> str:
        """The place where it writes, as its user names it."""
        return str(self.connector.target_of(self.sink))

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which rows take each other's place; none but for upserts."""
        return key_of(self.sink) if self.form is Form.UPSERT else ()

    @property
    def guarantee(self) -> str:
        """`EXACTLY_ONCE`, or `at least once, because …`."""
        weakness = self.connector.weakness_of(self.sink)
        return EXACTLY_ONCE if weakness is None else f"at least once, because {weakness}"

    @property
    def is_exact(self) -> bool:
        """True if the target has each step once, whatever happens."""
        return self.guarantee == EXACTLY_ONCE

    def describe(self) -> str:
        """One line on where its changes go, in which form, and how often."""
        by = f" by ({', '.join(self.key)})" if self.form is Form.UPSERT else ""
        return f"{self.name} → {self.target}: {self.form}{by}, {self.guarantee}"

    def opened(self, owner: Owner) -> Receiver:
        """The receiver at work; DataError if the target cannot be had, or does not fit."""
        found: Receiver = self.connector.open_receiver(self.sink, self.form, owner)
        return found


def outlets_of(catalog: Catalog) -> tuple[Outlet, ...]:
    """The outputs of a program; SqlError for the first that cannot be."""
    return tuple(checked(sink) for sink in sinks_of(catalog))


def output_checks(catalog: Catalog) -> Iterator[Callable[[], object]]:
    """One check for each output, which raises what is wrong with it, and those of all together."""
    for sink in sinks_of(catalog):
        yield partial(checked, sink)
    yield partial(_check_targets, catalog)
    yield from loop_checks(catalog)


def checked(sink: Sink) -> Outlet:
    """The output of a sink; SqlError for a connector, property or form that cannot be."""
    connector = _connector(sink)
    _check_kind(sink)
    try:
        check_packages(sink, sink.what)
    except PenstockError as error:
        raise (error if sink.source is None else error.with_source(sink.source)) from None
    _check_properties(sink, connector)
    form = form_of(sink, connector.FORMS, connector.CHOSEN)
    try:
        connector.check_sink(sink, form)
    except PenstockError as error:
        raise (error if sink.source is None else error.with_source(sink.source)) from None
    return Outlet(sink, connector, form)


def _check_kind(sink: Sink) -> None:
    if isinstance(sink.relation, View) and sink.relation.kind in ("local", "into"):
        local = sink.relation.kind == "local"
        message = f"{sink.what} is {'LOCAL' if local else 'another name for a table'}, and no output"
        hint = "leave LOCAL out" if local else "give the connector to the table that it writes into"
        raise SqlError(Diagnostic("NOT_AN_OUTPUT", message, sink.span, hint=hint), sink.source)


def _check_properties(sink: Sink, connector: Any) -> None:
    known = (*COMMON, *connector.PROPERTIES)
    found = wrong_values(sink.relation, known)
    names = [item.name for item in (*(VIEW if isinstance(sink.relation, View) else TABLE), *known)]
    if not isinstance(sink.relation, View):
        names += _OF_READING
    found += [_misspelt(sink, name, names) for name in sink.properties if not is_among(name, names)]
    if found:
        raise SqlError(found, sink.source)


# What Flink's tables say of their format, whether they are read or written: of rows that are written it says nothing.
_OF_READING = ("on_error", "on_bad_value", "missing_columns")


def _misspelt(sink: Sink, name: str, known: list[str]) -> Diagnostic:
    message = f"{sink.what}: an output to {sink.connector} has no property {name[:60]!r}"
    hint = f"the properties are {', '.join(known)}"
    place = name_place(sink, name)
    return Diagnostic("UNKNOWN_PROPERTY", message, place, did_you_mean(name, known), hint)


def _check_targets(catalog: Catalog) -> None:
    """Refuse two outputs into one place."""
    seen: dict[tuple[str, str], Sink] = {}
    for sink in sinks_of(catalog):
        try:
            place = sink.connector, str(_connector(sink).target_of(sink))
        except PenstockError:
            continue  # said by the check of its own
        other = seen.setdefault(place, sink)
        if other is not sink and sink.connector not in _FOR_ALL:
            message = f"{sink.what} and {other.what} are written into one place, {place[1]}"
            hint = "give each a place of its own; or UNION ALL in one view"
            raise SqlError(Diagnostic("OUTPUT_TWICE", message, sink.span, hint=hint), sink.source)


def _connector(sink: Sink) -> Any:
    if sink.connector in CONNECTORS:
        return importlib.import_module(CONNECTORS[sink.connector])
    found = installed(sink.connector)
    if not found:
        known = known_names()
        message = f"{sink.what}: there is no connector {sink.connector[:100]!r} that takes rows"
        near, hint = did_you_mean(sink.connector, known), f"the connectors of outputs are {', '.join(known)}"
        place = value_place(sink, CONNECTOR)
        raise SqlError(Diagnostic("UNKNOWN_CONNECTOR", message, place, near, hint), sink.source)
    if len({point.value for point in found}) > 1:
        message = f"{sink.what}: several packages bring a connector {sink.connector!r}"
        hint = f"uninstall all but one: {', '.join(point.value for point in found)}"
        raise SqlError(Diagnostic("BROKEN_CONNECTOR", message, sink.span, hint=hint), sink.source)
    return _loaded(sink, found[0])


def _loaded(sink: Sink, point: Any) -> Any:
    """The connector that an entry point names; SqlError if it cannot be loaded, or lacks a part."""
    try:
        connector = point.load()
        lacks = [part for part in _PARTS if not hasattr(connector, part)]
        why = f"it has no {', '.join(lacks)}" if lacks else ""
    except Exception as error:  # noqa: BLE001 - another package's, told with its name
        why = f"{type(error).__name__}: {error}"
    if why:
        message = f"{sink.what}: the connector {sink.connector!r} ({point.value}) cannot be used: {why[:300]}"
        raise SqlError(Diagnostic("BROKEN_CONNECTOR", message, sink.span), sink.source)
    return connector
