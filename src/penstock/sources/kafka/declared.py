"""The declaration of a table's topics, with Flink's names; looks at nothing outside."""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.catalog.model import Table
from penstock.catalog.properties import name_place
from penstock.errors import Diagnostic, SqlError
from penstock.sources.messages import declared as messages
from penstock.sources.properties import ON_REPLACED, Property, check_duration

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_OFFSETS = re.compile(r"partition:(\d+),offset:(\d+)")
PASSED = "properties."
GROUP, RESET = "properties.group.id", "properties.auto.offset.reset"


def _check_names(text: str) -> str | None:
    wrong = [name for name in topic_names(text) if not _NAME.fullmatch(name) or name in (".", "..")]
    return f"{wrong[0][:60]!r} cannot be the name of a topic" if wrong else None


def _check_pattern(text: str) -> str | None:
    try:
        re.compile(text)
    except re.error as error:
        return f"it is no regular expression: {error}"
    return None


def _check_offsets(text: str) -> str | None:
    return None if all(_OFFSETS.fullmatch(part.strip()) for part in text.split(";")) else "it names no offsets"


def _check_number(text: str) -> str | None:
    return None if text.isdigit() and int(text) > 0 else "it is no whole number above 0"


TOPIC = Property("topic", "The topic, or several.", takes="names, as in 'orders;returns'", check=_check_names)
PATTERN = Property(
    "topic-pattern",
    "A regular expression: every topic with such a name, those that come later too.",
    takes="a regular expression",
    check=_check_pattern,
)
SERVERS = Property("bootstrap.servers", "The brokers to begin with.", takes="addresses, as in 'one:9092,two:9092'")
PASSED_ON = Property(
    f"{PASSED}*",
    "Settings of the client (librdkafka) by their own names, such as `'properties.security.protocol'` or "
    "`'properties.sasl.password'`; `'properties.bootstrap.servers'` is `bootstrap.servers`.",
)
STARTUP = Property(
    "scan.startup.mode",
    "Where reading begins in a pipeline that has read nothing yet. Partitions that come later are read from their "
    "beginning. `'group-offsets'` is where the group `'properties.group.id'` stands, which is only looked at; a "
    "partition without an offset of it goes by `'properties.auto.offset.reset'`, `'earliest'` by default.",
    "earliest-offset",
    ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)
STARTUP_OFFSETS = Property(
    "scan.startup.specific-offsets",
    "With `'specific-offsets'`: where each partition begins; others at their beginning.",
    takes="as in 'partition:0,offset:42;partition:1,offset:300'",
    check=_check_offsets,
)
STARTUP_TIME = Property(
    "scan.startup.timestamp-millis",
    "With `'timestamp'`: each partition begins at its first message of that time or later, in milliseconds since 1970.",
    takes="a number",
    check=_check_number,
)
DISCOVERY = Property(
    "scan.topic-partition-discovery.interval",
    "How often new partitions, and new topics of a pattern, are looked for.",
    "10 seconds",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
TIMEOUT = Property(
    "timeout",
    "How long to wait for brokers that do not answer, at the start and later, before `run` stops with an error.",
    "1 minute",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
ON_LOST = Property(
    "on_lost",
    "When messages that were not read have gone (retention): `run` stops, or goes on with what is there, and "
    "`error_view` says what is missing. So it does then for a topic that was made anew, which 'on_replaced' is for.",
    "fail",
    ("fail", "skip"),
)
IDLE_AFTER = Property(
    "idle_after",
    "How long a partition may say nothing, by the clock, until the table's waterlines go on without it. Meanwhile they "
    "are the least of all partitions' own.",
    "1 minute",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)

OF_TOPICS = (
    TOPIC, PATTERN, SERVERS, PASSED_ON, STARTUP, STARTUP_OFFSETS, STARTUP_TIME, DISCOVERY, TIMEOUT, ON_LOST,
    ON_REPLACED,
)  # fmt: skip
PROPERTIES = (*OF_TOPICS, IDLE_AFTER, *messages.PROPERTIES)

# What the position of a step decides is not the client's to decide.
_OWN = {
    "auto.offset.reset": "'scan.startup.mode' says where reading begins",
    "enable.auto.commit": "a step's manifest keeps the position",
    "enable.auto.offset.store": "a step's manifest keeps the position",
    "enable.partition.eof": "it is always on",
}


def check_topics(table: Table) -> None:
    """SqlError for no topic or two ways to name it, no broker, and settings that contradict others."""
    found = [*_missing(table), *_contradictions(table)]
    if found:
        raise SqlError(found)


def _missing(table: Table) -> list[Diagnostic]:
    given = table.properties
    found = []
    if bool(topic_names(given.get(TOPIC.name, ""))) == (PATTERN.name in given):
        message = f"table {table.name}: the connector needs either 'topic' or 'topic-pattern'"
        found.append(Diagnostic("MISSING_PROPERTY", message, table.span, hint="'topic' = 'orders'"))
    if not servers_of(given):
        message = f"table {table.name}: the connector needs 'bootstrap.servers'"
        found.append(Diagnostic("MISSING_PROPERTY", message, table.span, hint="'bootstrap.servers' = 'localhost:9092'"))
    if STARTUP.value(table) == "group-offsets" and not given.get(GROUP):
        message = f"table {table.name}: '{STARTUP.name}' = 'group-offsets' needs '{GROUP}'"
        found.append(Diagnostic("MISSING_PROPERTY", message, table.span, hint=f"'{GROUP}' = 'the group'"))
    wanted = {"timestamp": STARTUP_TIME, "specific-offsets": STARTUP_OFFSETS}.get(STARTUP.value(table))
    if wanted is not None and wanted.name not in given:
        message = f"table {table.name}: '{STARTUP.name}' = '{STARTUP.value(table)}' needs '{wanted.name}'"
        found.append(Diagnostic("MISSING_PROPERTY", message, table.span, hint=f"it takes {wanted.takes}"))
    return found


def _contradictions(table: Table) -> list[Diagnostic]:
    own = [name for name in table.properties if name.removeprefix(PASSED) in _OWN and name.startswith(PASSED)]
    if STARTUP.value(table) == "group-offsets":
        own = [name for name in own if name != RESET]
    return [
        Diagnostic(
            "BAD_PROPERTY",
            f"table {table.name}: {name!r} is not for programs",
            name_place(table, name),
            hint=_OWN[name.removeprefix(PASSED)],
        )
        for name in own
    ]


def servers_of(properties: Mapping[str, str]) -> str:
    """The brokers to begin with; '' if none are named."""
    return properties.get(SERVERS.name) or properties.get(PASSED + SERVERS.name, "")


def topic_names(text: str) -> list[str]:
    """The topics that `'topic'` names."""
    return [name.strip() for name in text.replace(",", ";").split(";") if name.strip()]


def specific_offsets(text: str) -> dict[int, int]:
    """The offset of each partition that `scan.startup.specific-offsets` names."""
    return {int(partition): int(offset) for partition, offset in _OFFSETS.findall(text)}
