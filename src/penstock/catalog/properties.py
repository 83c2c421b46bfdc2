"""The properties that tables and views can have, by name: what stands in WITH, and what a connector adds to it.

The names of what a connector's tables take stand here too, so that a misspelt word is found without loading it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from penstock.errors import Diagnostic, Span, SqlError, did_you_mean

CONNECTOR, FORMAT, COMMENT, PARTITIONED_BY = "connector", "format", "comment", "partitioned_by"
START_AFTER, ROWS_PER_STEP = "start_after", "rows_per_step"


@dataclass(frozen=True, slots=True)
class Property:
    """A property and what it is for, in one line."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class PropertyPlace:
    """The places in the SQL of a property's name and of its value."""

    name: Span
    value: Span


class Placed(Protocol):
    """A table or view that keeps where its properties are written."""

    @property
    def places(self) -> Mapping[str, PropertyPlace]: ...

    @property
    def span(self) -> Span | None: ...


def value_place(declared: Placed, name: str) -> Span | None:
    """The place of a property's value; that of the table or view where the property is not written, but meant."""
    found = declared.places.get(name)
    return declared.span if found is None else found.value


def name_place(declared: Placed, name: str) -> Span | None:
    """The same of its name."""
    found = declared.places.get(name)
    return declared.span if found is None else found.name


_COMMENT = Property(COMMENT, "a text for whoever reads the program")

TABLE: tuple[Property, ...] = (
    Property(
        CONNECTOR,
        "where rows come from, by the properties below; without it from INSERT and `step()` alone. "
        "Of a table that a standing statement writes into it says where its changes go, as of a view",
    ),
    Property(
        START_AFTER,
        "the connector of a source that is read to its end before the table's own begins, as a table of Delta's past "
        "before a topic",
    ),
    Property(ROWS_PER_STEP, "how many rows of the table's source one step takes at most; the rest waits where it is"),
    Property(f"{START_AFTER}.*", "the properties of that source, as in 'start_after.path'; it may have one before it"),
    Property(
        "append_only",
        "'true': rows are only inserted, anything else is refused; 'false' is the default, but for streams",
    ),
    Property(
        "history",
        "how much of what came is kept for queries: 'all' (default), 'none', or a duration such as '24 hours'",
    ),
    Property("materialized", "Feldera's; the content of a table can always be asked for"),
    Property(
        "event_time_column", "the column that is the time of a row, for windows that name none; `_tp_time` in Timeplus"
    ),
    Property("mode", "Timeplus' kind of stream: 'append', 'versioned_kv', 'changelog_kv' or 'changelog'"),
    _COMMENT,
)
VIEW: tuple[Property, ...] = (
    Property(CONNECTOR, "where the view's changes go: 'files', 'print' …; its own properties stand beside it"),
    Property("first_result", "when a window is shown first, from its end: '-10 minutes' is before it"),
    Property("complete_result", "when a window is complete, from its end: '5 minutes' waits for late rows"),
    Property("update_rate", "how often results are shown until then: an interval, or 'count(100)': after so many rows"),
    Property("late_updates", "'on': late rows change a complete window until `last_result`; 'off' is the default"),
    Property("last_result", "when a window changes no more, from its end"),
    Property("result_state", "'on': a column says of each row whether it is early, complete or final"),
    Property(
        "emit_final",
        "a column, by name or by number from 0: an output row is shown once, when the column's waterline has passed it",
    ),
    _COMMENT,
)

_OF_KAFKA = (
    "topic", "topic-pattern", "bootstrap.servers", "properties.*", "scan.startup.mode",
    "scan.startup.specific-offsets", "scan.startup.timestamp-millis", "scan.topic-partition-discovery.interval",
    "timeout", "on_lost", "on_replaced", "idle_after", FORMAT, "value.format", "key.format", "key.fields",
    "value.fields-include", "schema.registry.url", "schema.registry.basic-auth.user-info", "avro.schema",
    "protobuf.descriptor", "protobuf.message",
    "on_error", "on_bad_value", "missing_columns", "unknown_columns", "epoch", "delimiter", "quote", "escape",
    "null_text",
)  # fmt: skip

# What the tables of a connector may say beside that, by the connector's name; the connector itself says what of it.
# A name that ends in `*` is all that begin so.
CONNECTORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "files": (
            "path", "pattern", "partitioned_by", "complete_after", "on_replaced", FORMAT, "on_error", "on_bad_value",
            "missing_columns", "unknown_columns", "epoch", "header", "delimiter", "quote", "escape", "null_text",
        ),
        "delta": ("path", "starting_version", "on_replaced", "on_error", "unknown_columns", "epoch"),
        "iceberg": ("table", "catalog", "catalog.*", "path", "on_replaced", "on_error", "unknown_columns", "epoch"),
        "postgres": (
            "connection", "password", "table", "publication", "slot", "on_existing_slot", "on_truncate", "timeout",
            "on_replaced", "on_error", "unknown_columns",
        ),
        "sql": (
            "url", "user", "password", "table", "query", "column", "every", "timeout", "on_error", "unknown_columns",
            "epoch",
        ),
        "http": (
            "listen", "url", "start", "header.*", "every", "token", FORMAT, "max_bytes", "queue_bytes", "timeout",
            "on_error", "on_bad_value", "missing_columns", "unknown_columns", "epoch", "delimiter", "quote", "escape",
            "null_text",
        ),
        "spark": (
            FORMAT, "path", "checkpoint", "option.*", "every", "timeout", "on_error", "unknown_columns", "epoch",
        ),
        "datagen": ("rows-per-second", "number-of-rows", "seed", "fields.*"),
        "kafka": _OF_KAFKA,
        "upsert-kafka": _OF_KAFKA,
    }
)  # fmt: skip

# What a table's source reads, and what the table is: these stay as they are while a pipeline goes on. The others say
# how it is read, and may change: options of formats, sizes, credentials, addresses at which the same thing answers.
_READ = frozenset({
    CONNECTOR, START_AFTER, FORMAT, "value.format", "key.format", "key.fields", "value.fields-include", "path",
    "pattern", PARTITIONED_BY, "starting_version", "table", "catalog", "topic", "topic-pattern", "scan.startup.mode",
    "scan.startup.specific-offsets", "scan.startup.timestamp-millis", "slot", "publication", "query", "column",
    "url", "listen", "start", "checkpoint", "option.*", "number-of-rows", "seed",
    "fields.*", "append_only", "history", "materialized", "event_time_column", "mode", "avro.schema", "epoch",
    "protobuf.descriptor", "protobuf.message",
})  # fmt: skip


def says_how(name: str, connector: str) -> bool:
    """True for a property that says how a table's source is read, and not what is."""
    own = name.removeprefix(f"{START_AFTER}.")
    known = CONNECTORS.get(connector, ()) if own == name else tuple(_of_connectors())
    return not is_among(own, tuple(_READ)) and (own in {ROWS_PER_STEP, COMMENT} or is_among(own, known))


# The same for the outputs of a connector: views with it, and tables that are written.
_OUTPUT = ("form", "key", "on_other_pipeline", "on_output_error", "timeout")
_INTO_KAFKA = (
    *_OUTPUT, "topic", "bootstrap.servers", "properties.*", FORMAT, "value.format", "key.format",
    "sink.delivery-guarantee",
    "shared",
)  # fmt: skip
OUTPUTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "files": (*_OUTPUT, "path", FORMAT, "escape", "roll_steps", "roll_bytes"),
        "print": (*_OUTPUT, FORMAT),
        "blackhole": _OUTPUT,
        "kafka": _INTO_KAFKA,
        "upsert-kafka": _INTO_KAFKA,
        "postgres": (*_OUTPUT, "connection", "password", "table", "create"),
        "delta": (*_OUTPUT, "path"),
        "iceberg": (*_OUTPUT, "table", "catalog", "catalog.*"),
        "http": (*_OUTPUT, "url", "header.*"),
    }
)


def partition_names(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a table's `'partitioned_by'` names."""
    return tuple(name.strip() for name in properties.get(PARTITIONED_BY, "").split(",") if name.strip())


def check_table(properties: Mapping[str, str], spans: Mapping[str, Span]) -> None:
    """SqlError for each property that no table has, or that says nothing without a connector."""
    connector = properties.get(CONNECTOR, "").lower()
    if connector and connector not in {*CONNECTORS, *OUTPUTS}:
        return  # the connector itself is what is wrong, or another package's
    own = [item.name for item in TABLE]
    known = [*own, *(_of_connector(connector) if connector else _of_connectors())]
    found = [_misspelt(name, "table", known, spans) for name in _unknown(properties, known)]
    if not connector and not found:
        found = [_without_connector(name, spans) for name in _unknown(properties, own)]
    if found:
        raise SqlError(found)


def check_view(properties: Mapping[str, str], spans: Mapping[str, Span]) -> None:
    """SqlError for each property that no view has, or that says nothing without a connector."""
    connector = properties.get(CONNECTOR, "").lower()
    if connector and connector not in OUTPUTS:
        return  # as of a table
    own = [item.name for item in VIEW]
    known = [*own, *(OUTPUTS[connector] if connector else ())]
    found = [_misspelt(name, "view", known, spans) for name in _unknown(properties, known)]
    if found:
        raise SqlError(found)


def _of_connector(name: str) -> tuple[str, ...]:
    """The names that its sources and its outputs take."""
    return tuple(dict.fromkeys((*CONNECTORS.get(name, ()), *OUTPUTS.get(name, ()))))


def _of_connectors() -> list[str]:
    return [name for connector in {**CONNECTORS, **OUTPUTS} for name in _of_connector(connector)]


def is_among(name: str, known: Sequence[str]) -> bool:
    """True if a name is one of those known, of which `properties.*` is any that begins with `properties.`."""
    return name in known or any(item.endswith(".*") and name.startswith(item[:-1]) for item in known)


def _unknown(properties: Mapping[str, str], known: Sequence[str]) -> list[str]:
    return [name for name in properties if not is_among(name, known)]


def _misspelt(name: str, what: str, known: Sequence[str], spans: Mapping[str, Span]) -> Diagnostic:
    message = f"a {what} has no property {name[:60]!r}"
    if name in {item.name for item in (TABLE if what == "view" else VIEW)} and name != CONNECTOR:
        hint = f"it is a property of {'tables' if what == 'view' else 'views'}"
        return Diagnostic("UNKNOWN_PROPERTY", message, spans.get(name), hint=hint)
    hint = f"the properties of a {what} are {', '.join(dict.fromkeys(known))}"
    if name == "connectors":
        hint = "name one connector, and its properties beside it: WITH ('connector' = 'files', 'path' = 'folder')"
    return Diagnostic("UNKNOWN_PROPERTY", message, spans.get(name), did_you_mean(name, known), hint)


def _without_connector(name: str, spans: Mapping[str, Span]) -> Diagnostic:
    owner = next(connector for connector in {**CONNECTORS, **OUTPUTS} if is_among(name, _of_connector(connector)))
    message = f"{name!r} says nothing of a table that has no connector"
    return Diagnostic("MISSING_PROPERTY", message, spans.get(name), hint=f"add 'connector' = '{owner}'")
