"""Spark's own clauses of CREATE TABLE: USING, OPTIONS, LOCATION, PARTITIONED BY, TBLPROPERTIES and the others.

    CREATE TABLE t (…) USING csv OPTIONS (header true) LOCATION 'in/t'    a folder of files
    CREATE TABLE t (…) USING parquet                                      a plain table
    CREATE TABLE t (…) USING orc LOCATION 'in/t'                          what Spark reads there

A clause that has no meaning here is a warning of the table, which goes on without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.catalog.properties import (
    COMMENT,
    CONNECTOR,
    CONNECTORS,
    FORMAT,
    PARTITIONED_BY,
    ROWS_PER_STEP,
    TABLE,
    is_among,
)
from penstock.errors import Diagnostic, Span, SqlError, UnsupportedError, did_you_mean
from penstock.sql.cursor import Cursor
from penstock.sql.partitions import PartitionedBy, read_partitions
from penstock.sql.peer_properties import is_known
from penstock.sql.properties import Properties, read_options

FILES = ("parquet", "json", "csv", "avro")
_LAKES = ("delta", "iceberg")
# Formats in which Spark stores tables of its catalog: without a location such a table is plain.
_CATALOGED = (
    "orc",
    "text",
    "xml",
    "binaryfile",
    "hive",
    "hudi",
    "paimon",
    "lance",
    "textfile",
    "sequencefile",
    "rcfile",
)
_STREAMS = ("rate", "rate-micro-batch", "socket")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_STORED = {"parquet": "parquet", "jsonfile": "json"}
# Connectors that USING names, and whose properties are the options; jdbc is asked by a column that grows.
_CONNECTED = {**{name: name for name in CONNECTORS if name not in ("files", *_LAKES)}, "jdbc": "sql"}
# Spark's names for options that the connector has under another.
_SAME = {
    "sep": "delimiter",
    "nullvalue": "null_text",
    "pathglobfilter": "pattern",
    "startingversion": "starting_version",
}
_SAME_OF_KAFKA = {
    "subscribe": "topic",
    "subscribepattern": "topic-pattern",
    "kafka.bootstrap.servers": "bootstrap.servers",
    "maxoffsetspertrigger": "rows_per_step",
    "startingtimestamp": "scan.startup.timestamp-millis",
}
_SAME_OF_SQL = {"dbtable": "table", "partitioncolumn": "column"}


@dataclass
class SparkClauses:
    """The content of Spark's clauses, while they are read; `idle` are those that do nothing here."""

    format: str | None = None
    format_span: Span | None = None
    location: str | None = None
    location_span: Span | None = None
    partitions: PartitionedBy = field(default_factory=PartitionedBy)
    comment: str | None = None
    options: Properties = field(default_factory=Properties)
    properties: Properties = field(default_factory=Properties)
    idle: list[Diagnostic] = field(default_factory=list)


# Whether a clause has been read, by its first word.
_ONCE: dict[str, Callable[[SparkClauses], bool]] = {
    "USING": lambda found: found.format is not None,
    "STORED": lambda found: found.format is not None,
    "LOCATION": lambda found: found.location is not None,
    "COMMENT": lambda found: found.comment is not None,
    "PARTITIONED": lambda found: found.partitions.span is not None,
}


def read_clauses(cursor: Cursor, found: SparkClauses) -> None:
    """All of Spark's clauses that stand here, in any order; each once, but for those that do nothing here."""
    while (word := cursor.peek()) and not (word in _ONCE and _ONCE[word](found)) and _clause(cursor, found):
        pass
    if word in _ONCE and _ONCE[word](found):
        cursor.fail(f"the table has two clauses {word}", code="DUPLICATE_CLAUSE")


def _clause(cursor: Cursor, found: SparkClauses) -> bool:
    match cursor.peek():
        case "USING":
            _using(cursor, found)
        case "OPTIONS":
            cursor.move()
            read_options(cursor, found.options)
        case "TBLPROPERTIES":
            cursor.move()
            read_options(cursor, found.properties)
        case "LOCATION":
            cursor.move()
            found.location_span = cursor.here()
            found.location = _plain(cursor.string("the location"))
        case "COMMENT":
            cursor.move()
            found.comment = cursor.string("the comment")
        case "PARTITIONED":
            read_partitions(cursor, found.partitions)
        case "STORED" if cursor.peek(1) == "AS" and cursor.peek(2) not in {"INPUTFORMAT", "DIRECTORIES"}:
            _stored(cursor, found)
        case _:
            return _idle_clause(cursor, found)
    return True


def _using(cursor: Cursor, found: SparkClauses) -> None:
    cursor.move()
    start = cursor.index
    names = [cursor.name("a format")[0]]
    while cursor.accept("."):
        names.append(cursor.name("a format")[0])
    known = (*FILES, *_LAKES, *_CATALOGED, *_STREAMS, *_CONNECTED)
    name = names[-1].lower() if names[-1].lower() in known else ".".join(names)  # a class has its case
    found.format, found.format_span = name, cursor.since(start)


def _stored(cursor: Cursor, found: SparkClauses) -> None:
    start = cursor.index
    cursor.expect("STORED", "AS")
    name = cursor.name("a format")[0].lower()
    found.format, found.format_span = _STORED.get(name, name), cursor.since(start)


def _plain(location: str) -> str:
    """A path of this machine without its scheme."""
    return "/" + location.removeprefix("file:").lstrip("/") if location.startswith("file:/") else location


def _idle_clause(cursor: Cursor, found: SparkClauses) -> bool:
    start = cursor.index
    match cursor.peek(), cursor.peek(1):
        case "CLUSTER BY", _:  # one token, as ORDER BY is
            cursor.move()
            if cursor.accept_any("AUTO", "NONE") is None:
                _parentheses(cursor)
        case "CLUSTERED", "BY":
            _clustered(cursor)
        case "DISTRIBUTED", "BY" | "INTO":
            cursor.move()
            if cursor.accept("BY"):
                cursor.accept_any("HASH", "RANGE")
                _parentheses(cursor)
            if cursor.accept("INTO"):
                cursor.move()
                cursor.expect("BUCKETS")
        case "SKEWED", "BY":
            _skewed(cursor)
        case ("STORED", "AS" | "BY") | ("ROW", "FORMAT"):
            _to_the_next_clause(cursor)
        case "DEFAULT", "COLLATION":
            cursor.move(2)
            cursor.name("a collation")
        case _:
            return False
    found.idle.append(idle(cursor, start))
    return True


def _clustered(cursor: Cursor) -> None:
    cursor.move(2)
    _parentheses(cursor)
    if cursor.accept("SORTED", "BY"):
        _parentheses(cursor)
    cursor.expect("INTO")
    cursor.move()
    cursor.expect("BUCKETS")


def _skewed(cursor: Cursor) -> None:
    cursor.move(2)
    _parentheses(cursor)
    cursor.expect("ON")
    _parentheses(cursor)
    cursor.accept("STORED", "AS", "DIRECTORIES")


_CLAUSES = frozenset(
    {"USING", "OPTIONS", "TBLPROPERTIES", "LOCATION", "COMMENT", "PARTITIONED", "STORED", "CLUSTER BY", "CLUSTERED"}
)


def _to_the_next_clause(cursor: Cursor) -> None:
    """Step over a clause of Hive's, whose end only the next one shows."""
    cursor.move(2)
    while cursor.token is not None and cursor.peek() not in _CLAUSES:
        cursor.move()


def _parentheses(cursor: Cursor) -> None:
    """Step over what stands in parentheses."""
    cursor.expect("(")
    depth = 1
    while depth:
        if cursor.token is None:
            cursor.fail()
        depth += {"(": 1, ")": -1}.get(cursor.peek(), 0)
        cursor.move()


def idle(cursor: Cursor, start: int, why: str = "") -> Diagnostic:
    """The warning for a clause, from its first token on, that does nothing here."""
    span = cursor.since(start)
    text = " ".join(cursor.source[span.start : span.end].split())
    return no_meaning(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…", span, why)


_SHOWN = 60
_WITH = "WITH says how the files are read"


def no_meaning(what: str, span: Span | None, why: str = "") -> Diagnostic:
    """The warning for what does nothing here."""
    return Diagnostic("NO_MEANING", f"{what} has no meaning here", span, hint=why or None, severity="warning")


def generated(cursor: Cursor) -> Diagnostic:
    """`GENERATED ALWAYS | BY DEFAULT AS (e) | IDENTITY […]`, which computes nothing here."""
    start = cursor.index
    cursor.expect("GENERATED")
    if not cursor.accept("BY", "DEFAULT"):
        cursor.expect("ALWAYS")
    cursor.expect("AS")
    cursor.accept("IDENTITY")
    if cursor.peek() == "(":
        _parentheses(cursor)
    return idle(cursor, start, "the column is as it comes in; compute it in a view over the table")


def compressed(cursor: Cursor) -> Diagnostic:
    """`CODEC(ZSTD(1))`, which says how values lie in the storage of Timeplus."""
    start = cursor.index
    cursor.expect("CODEC")
    _parentheses(cursor)
    return idle(cursor, start, "values are compressed as their storage does it")


def described(found: SparkClauses, *, connected: bool) -> tuple[Properties, list[Diagnostic]]:
    """The properties of the table that the clauses state, and the warnings for what they say in vain.

    `connected`: WITH says that the table is a folder of files.

    Raises SqlError or UnsupportedError for files of a format that cannot be read.
    """
    warnings = list(found.idle)
    result = _own_properties(found, warnings)
    if found.comment is not None:
        result.values[COMMENT] = found.comment
    location = found.location or found.options.values.get("path")
    if location is not None and found.format in _LAKES:
        return _of_a_lake(found, location, result, warnings)
    if found.format in _CONNECTED:
        return _of_a_connector(found, result, warnings)
    if _is_sparks(found.format, location):
        return _of_spark(found, location, result, warnings)
    if location is None and not connected:
        warnings += _of_a_plain_table(found)
        return result, warnings
    _partitions(found, result)
    if location is None:  # a folder of files, as WITH says
        warnings += [no_meaning(f"the option {name[:60]!r}", span, _WITH) for name, span in found.options.spans.items()]
        warnings += [no_meaning(f"USING {found.format}", found.format_span, _WITH)] if found.format else []
    if location is not None:
        result.values |= {CONNECTOR: "files", "path": location, FORMAT: found.format or "parquet"}
        warnings += _options(found, result)
    return result, warnings


def _is_sparks(kind: str | None, location: str | None) -> bool:
    """True for rows that only Spark can reach: files in a store that Hadoop knows, and formats of other packages."""
    if kind in (*FILES, *_LAKES, None):
        return location is not None and kind not in _LAKES and _SCHEME.match(location) is not None
    return location is not None or kind not in _CATALOGED


def _of_a_lake(
    found: SparkClauses, location: str, result: Properties, warnings: list[Diagnostic]
) -> tuple[Properties, list[Diagnostic]]:
    """A table that lies at a location, with its own log, which knows its partitions."""
    result.values |= {CONNECTOR: str(found.format), "path": location}
    warnings += _options(found, result)
    if found.partitions.span is not None:
        warnings.append(no_meaning("PARTITIONED BY", found.partitions.span, "the table's log has its partitions"))
    return result, warnings


def _of_spark(
    found: SparkClauses, location: str | None, result: Properties, warnings: list[Diagnostic]
) -> tuple[Properties, list[Diagnostic]]:
    """A table that Spark reads, with its options as they are; SqlError for what looks like a mistyped format."""
    near = did_you_mean(str(found.format), [*FILES, *_LAKES, *_CATALOGED, *_STREAMS], cutoff=0.8)
    if near and found.format not in (*FILES, *_CATALOGED, *_STREAMS, None):
        hint = f"one that Spark knows by this name: WITH ('connector' = 'spark', 'format' = '{found.format}')"
        message = f"there is no format {found.format} here"
        raise SqlError(Diagnostic("UNKNOWN_FORMAT", message, found.format_span, near, hint))
    result.values |= {CONNECTOR: "spark", FORMAT: found.format or "parquet"}
    if location is not None:
        result.values["path"] = location
    for name, value in found.options.values.items():
        ours = "checkpoint" if name == "checkpointlocation" else f"option.{name}"
        if name != "path":
            result.take(ours, value, found.options, name)
    if found.partitions.span is not None:
        warnings.append(no_meaning("PARTITIONED BY", found.partitions.span, "Spark finds folders that name columns"))
    return result, warnings


def _of_a_connector(
    found: SparkClauses, result: Properties, warnings: list[Diagnostic]
) -> tuple[Properties, list[Diagnostic]]:
    """A table whose rows lie in another system, by the options of Spark's connector or of ours."""
    name = _CONNECTED[str(found.format)]
    result.values[CONNECTOR] = name
    for option, value in found.options.values.items():
        ours = _in_our_words(name, option, value)
        known = (*CONNECTORS[name], ROWS_PER_STEP)
        for word, meant in ours.items():
            if is_among(word, known) or is_known(name, word):
                result.take(word, meant, found.options, option)
            else:
                warnings.append(no_meaning(f"the option {option[:60]!r}", found.options.spans[option]))
    for clause, span in (("PARTITIONED BY", found.partitions.span), ("LOCATION", found.location_span)):
        if span is not None:
            warnings.append(no_meaning(clause, span, "its rows lie in another system"))
    return result, warnings


def _in_our_words(connector: str, option: str, value: str) -> dict[str, str]:
    """The meaning of an option of Spark's connector, as properties."""
    match connector, option:
        case (("kafka" | "upsert-kafka"), "startingoffsets") if value.lower() in ("earliest", "latest"):
            return {"scan.startup.mode": f"{value.lower()}-offset"}
        case (("kafka" | "upsert-kafka"), "failondataloss"):
            return {"on_lost": "skip" if value.lower() == "false" else "fail"}
        case (("kafka" | "upsert-kafka"), "startingtimestamp"):
            return {"scan.startup.mode": "timestamp", _SAME_OF_KAFKA[option]: value}
        case (("kafka" | "upsert-kafka"), _) if option in _SAME_OF_KAFKA:
            return {_SAME_OF_KAFKA[option]: value}
        case (("kafka" | "upsert-kafka"), _) if option.startswith("kafka."):
            return {f"properties.{option.removeprefix('kafka.')}": value}
        case "sql", "url":
            return {"url": value.removeprefix("jdbc:")}
        case "sql", _ if option in _SAME_OF_SQL:
            return {_SAME_OF_SQL[option]: value}
        case _:
            return {option: value}


def _partitions(found: SparkClauses, result: Properties) -> None:
    """Add the columns that folders name, as the connector has them; UnsupportedError for a transform."""
    clause = found.partitions
    if clause.transform is not None:
        message = "folders named by an expression are not supported"
        hint = "PARTITIONED BY names columns, as in d=2024-01-01/h=7"
        raise UnsupportedError(Diagnostic("UNSUPPORTED", message, clause.transform, hint=hint))
    if clause.span is not None:
        result.add(PARTITIONED_BY, ", ".join(name for name, _ in clause.names), clause.span)


def _own_properties(found: SparkClauses, warnings: list[Diagnostic]) -> Properties:
    """TBLPROPERTIES: those that are ours; Spark and its libraries have many that are not."""
    result, known = Properties(), [item.name for item in TABLE]
    for name, value in found.properties.values.items():
        span = found.properties.spans[name]
        if name in known:
            result.add(name, value, span, found.properties.value_spans[name])
            continue
        near = did_you_mean(name, known, cutoff=0.8)
        if near:
            raise SqlError(Diagnostic("UNKNOWN_PROPERTY", f"a table has no property {name[:60]!r}", span, near))
        warnings.append(no_meaning(f"the property {name[:60]!r}", span))
    return result


def _of_a_plain_table(found: SparkClauses) -> list[Diagnostic]:
    warnings = [no_meaning(f"the option {name[:60]!r}", span) for name, span in found.options.spans.items()]
    if found.partitions.span is not None:
        warnings.append(no_meaning("PARTITIONED BY", found.partitions.span))
    if found.format not in (*FILES, None):
        hint = "this is a plain table, which begins without rows"
        warnings.append(no_meaning(f"the format {found.format}", found.format_span, hint))
    return warnings


def _options(found: SparkClauses, result: Properties) -> list[Diagnostic]:
    """Spark's options as properties of the connector; the warnings for those that it lacks."""
    known, warnings = CONNECTORS[result.values[CONNECTOR]], []
    if result.values.get(FORMAT) == "csv":
        result.values["header"] = found.options.values.get("header", "false")  # as Spark reads CSV
    for name, value in found.options.values.items():
        ours = _SAME.get(name, name)
        if is_known("files", name) and result.values[CONNECTOR] == "files":
            result.take(name, value, found.options, name)
        elif ours in known and ours != FORMAT:
            result.take(ours, value, found.options, name)
        elif name != "path":
            warnings.append(no_meaning(f"the option {name[:60]!r}", found.options.spans[name]))
    return warnings
