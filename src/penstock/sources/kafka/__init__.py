"""The connectors kafka and upsert-kafka: messages of topics as the source of a table, by a client in the process.

    WITH ('connector' = 'kafka', 'topic' = 'orders', 'bootstrap.servers' = 'localhost:9092', 'format' = 'json')

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of its topics |
| `client` | the settings of the client, and what its errors mean |
| `topics` | which partitions there are, and where reading them begins |
| `consuming` | messages as they come, and when a partition has no more |
| `source` | the rows of a table: read on, taken back, read again |
| `upsert` | the connector upsert-kafka |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.sources.kafka.declared import PROPERTIES, TIMEOUT, check_topics
from penstock.sources.messages.choice import check_messages, rows_of
from penstock.sources.messages.declared import UPSERT, style_of
from penstock.sources.messages.metadata import FACTS, check_metadata
from penstock.sources.properties import duration

if TYPE_CHECKING:
    from penstock.sources.kafka.source import KafkaSource
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["METADATA", "PROPERTIES", "check", "open_source"]

METADATA = tuple(FACTS)
UPSERT_CONNECTOR = "upsert-kafka"


def check(table: Table) -> None:
    """SqlError for what its properties cannot say together; looks at nothing outside."""
    check_topics(table)
    check_metadata(table)
    check_messages(table, upserts=_upserts(table))


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> KafkaSource:  # noqa: ARG001
    """The source that a table's properties describe; DataError if its broker or topic cannot be had."""
    from penstock.sources.kafka.client import client_of  # noqa: PLC0415 - the client is an extra, and takes long to load
    from penstock.sources.kafka.source import KafkaSource  # noqa: PLC0415 - the client is an extra, and takes long to load

    patience = duration(TIMEOUT.value(table)).total_seconds()
    client = client_of(table, f"table {table.name}", patience)
    return KafkaSource(table, client, rows_of(table, readers, upserts=_upserts(table), patience=patience))


def _upserts(table: Table) -> bool:
    return style_of(table) == UPSERT or table.properties["connector"].lower() == UPSERT_CONNECTOR
