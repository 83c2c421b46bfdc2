"""Refuses a program whose outputs write what its tables read: each step would bring the next one, without end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from penstock.catalog.model import Catalog, Table
from penstock.catalog.properties import CONNECTOR
from penstock.errors import Diagnostic, SqlError
from penstock.outputs.sink import Sink, is_sink, sinks_of
from penstock.sources.api import sources_of
from penstock.sources.files import declared as files
from penstock.sources.files.listing import listing_of_table
from penstock.sources.formats.declared import FORMAT
from penstock.sources.formats.names import FORMATS
from penstock.sources.kafka import declared as kafka

_KAFKA = ("kafka", "upsert-kafka")
_PORT = "9092"
_WRITTEN = ("part-000000000001-000000000001.{0}", "_staged/000000000001.{0}")  # as outputs.files names them


def loop_checks(catalog: Catalog) -> Iterator[Callable[[], object]]:
    """One check for each output and source that may meet, which raises SqlError where they do."""
    tables = (table for table in catalog.tables.values() if CONNECTOR in table.properties)
    sources = [item for table in tables if not is_sink(table, catalog) for item in sources_of(table)]
    for sink in sinks_of(catalog) if sources else ():
        for table in sources:
            yield partial(_check, sink, table)


def _check(sink: Sink, table: Table) -> None:
    connector = table.properties[CONNECTOR].lower()
    if sink.connector in _KAFKA and connector in _KAFKA:
        _check_topic(sink, table)
    elif sink.connector == connector == "files":
        _check_folder(sink, table)


def _check_topic(sink: Sink, table: Table) -> None:
    topic = sink.properties.get(kafka.TOPIC.name, "").strip()
    if topic and _brokers(sink.properties) & _brokers(table.properties) and _reads(table, topic):
        message = (
            f"{sink.what} writes the topic {topic}, which table {table.name} reads: each step would bring the next"
        )
        hint = f"name another topic; a view that wants these rows reads {sink.name} itself"
        raise SqlError(Diagnostic("OUTPUT_READ_BACK", message, sink.span, hint=hint), sink.source)


def _brokers(properties: Mapping[str, str]) -> set[str]:
    """The addresses of brokers, each with its port."""
    found = (name.strip().lower() for name in kafka.servers_of(properties).split(","))
    return {name if ":" in name else f"{name}:{_PORT}" for name in found if name}


def _reads(table: Table, topic: str) -> bool:
    pattern = table.properties.get(kafka.PATTERN.name)
    if pattern is None:
        return topic in kafka.topic_names(table.properties.get(kafka.TOPIC.name, ""))
    try:
        return re.fullmatch(pattern, topic) is not None
    except re.error:  # said by the check of its own
        return False


def _check_folder(sink: Sink, table: Table) -> None:
    path, style = sink.properties.get(files.PATH.name), sink.properties.get("format", "json")
    if not path or files.PATH.name not in table.properties or FORMAT.value(table) not in FORMATS:
        return  # said by the checks of their own
    listing, folder = listing_of_table(table), Path(path)
    if any(listing.would_read(folder / name.format(style)) for name in _WRITTEN):
        message = (
            f"{sink.what} writes files into {folder}, which table {table.name} reads: each step would bring the next"
        )
        hint = "name a folder outside of what the table reads; or have its 'pattern' leave these files out"
        raise SqlError(Diagnostic("OUTPUT_READ_BACK", message, sink.span, hint=hint), sink.source)
