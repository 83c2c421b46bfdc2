"""The connector upsert-kafka, as Flink has it: a message replaces the row of its key, or without a value deletes it."""

from __future__ import annotations

from penstock.sources.kafka import METADATA, check, open_source
from penstock.sources.kafka.declared import PROPERTIES

__all__ = ["METADATA", "PROPERTIES", "check", "open_source"]
