"""Properties by the names that Flink's and Spark's connectors have for them, as ours; or refused, with what to write.

    'json.ignore-parse-errors' = 'true'     'on_bad_value' = 'null'
    'csv.field-delimiter' = ';'             'delimiter' = ';'
    'subscribe' = 'orders'                  'topic' = 'orders'

Flink writes the name of the format, and `key.` or `value.`, before the names of what is the format's. A name that is
neither ours nor a peer's is left to whoever checks names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.catalog.properties import CONNECTOR
from penstock.errors import Diagnostic, Span, SqlError
from penstock.sql.properties import Properties

Given = Mapping[str, str]
# Gives the properties that are meant by the value of one; none if it means what holds anyhow.
Meaning = Callable[[str], Given]


class _RefusedError(ValueError):
    """A value that says what cannot be done; the message is what to write instead."""


def _as(name: str, **values: str) -> Meaning:
    """The property of ours with that meaning, whose values are called otherwise as `values` says."""
    return lambda value: {name: values.get(value.lower().replace("-", "_"), value)}


def _only(*values: str, instead: str) -> Meaning:
    """Values that say what holds anyhow; what to write in the place of others."""

    def meaning(value: str) -> Given:
        if value.lower() not in values:
            raise _RefusedError(instead)
        return {}

    return meaning


def _refused(instead: str) -> Meaning:
    return _only(instead=instead)


def _any(_value: str) -> Given:
    """No meaning here: it says how work is done, not what is read or written."""
    return {}


def _ignore_errors(value: str) -> Given:
    if value.lower() not in ("true", "false"):
        message = "'true' or 'false'"
        raise _RefusedError(message)
    return {"on_bad_value": "null"} if value.lower() == "true" else {"on_error": "fail"}


def _missing(value: str) -> Given:
    return {"missing_columns": "reject" if value.lower() == "true" else "null"}


def _unquoted(value: str) -> Given:
    return {"quote": ""} if value.lower() == "true" else {}


def _mode(value: str) -> Given:
    modes: dict[str, Given] = {
        "permissive": {"on_bad_value": "null"},
        "dropmalformed": {"on_error": "skip"},
        "failfast": {"on_error": "fail"},
    }
    if value.lower() not in modes:
        message = "'PERMISSIVE', 'DROPMALFORMED' or 'FAILFAST'"
        raise _RefusedError(message)
    return modes[value.lower()]


def _starting_offsets(value: str) -> Given:
    """`earliest`, `latest`, or Spark's JSON of one topic's offsets, of which −2 and −1 cannot be said one by one."""
    if value.lower() in ("earliest", "latest"):
        return {"scan.startup.mode": f"{value.lower()}-offset"}
    try:
        topics = json.loads(value)
        ((_, offsets),) = topics.items()
        places = {int(partition): int(offset) for partition, offset in offsets.items()}
    except (ValueError, AttributeError, TypeError):
        message = """'earliest', 'latest', or the offsets of one topic: '{"orders": {"0": 23, "1": 7}}'"""
        raise _RefusedError(message) from None
    if any(offset < 0 for offset in places.values()):
        message = "'scan.startup.mode' = 'specific-offsets', with the offset of each partition; -2 and -1 are not taken"
        raise _RefusedError(message)
    text = ";".join(f"partition:{partition},offset:{offset}" for partition, offset in sorted(places.items()))
    return {"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": text}


def _idle(value: str) -> Given:
    """A duration as Flink writes it, as in `5 s` and `30000ms`."""
    parts = re.fullmatch(r"(\d+)\s*(ms|s|sec|min|m|h|d)", value.strip().lower())
    units = {"ms": "milliseconds", "s": "seconds", "sec": "seconds", "min": "minutes", "m": "minutes", "h": "hours"}
    return {"idle_after": value if parts is None else f"{parts[1]} {units.get(parts[2], 'days')}"}


def _servers(value: str) -> Given:
    return {"bootstrap.servers": value}


_ERRORS = "rows that do not fit are in error_view, with their text and place"
_BY_SPARK = "Spark's own reader takes it: 'connector' = 'spark', 'format' = …, 'path' = …, 'option.{}' = …"
_IN_A_VIEW = (
    "declare the column as STRING, and write to_date(c, '…') or to_timestamp(c, '…') in a view or a computed column"
)
_BOUNDED = "penstock run --once reads what is there and ends"
_AS_TEXT = "it is written as text, of which every reader makes the number"

# Beneath the name of a format of Flink's: `json.ignore-parse-errors`, `debezium-json.schema-include` …
_OF_FORMATS: Mapping[str, Meaning] = {
    "ignore-parse-errors": _ignore_errors,
    "fail-on-missing-field": _missing,
    "timestamp-format.standard": _only("sql", "iso-8601", instead="'SQL' or 'ISO-8601', both of which are read"),
    "schema-include": _only("true", "false", instead="'true' or 'false'; a schema is read where there is one"),
    "decode.json-parser.enabled": _any,
    "map-null-key.mode": _only("fail", instead="leave it out: a key that is NULL is refused"),
    "map-null-key.literal": _refused("leave it out: a key that is NULL is refused"),
    "encode.decimal-as-plain-number": _only("false", instead=f"leave it out: {_AS_TEXT}"),
    "encode.ignore-null-fields": _only("false", instead="leave it out: NULL is written, and read as NULL"),
    "database.include": _refused("a WHERE in a view over a column METADATA, or one topic for each table"),
    "table.include": _refused("a WHERE in a view over a column METADATA, or one topic for each table"),
    "field-delimiter": _as("delimiter"),
    "disable-quote-character": _unquoted,
    "quote-character": _as("quote"),
    "escape-character": _as("escape"),
    "null-literal": _as("null_text"),
    "allow-comments": _only("false", instead="files without lines of comments"),
    "array-element-delimiter": _refused('arrays as JSON: "[1, 2]"'),
    "write-bigdecimal-in-scientific-notation": _any,
    "url": _as("schema.registry.url"),
    "basic-auth.user-info": _as("schema.registry.basic-auth.user-info"),
    "schema": _refused("'schema.registry.url' gives the schema, or 'avro.schema' with 'format' = 'avro'"),
    "subject": _any,
}  # fmt: skip
_FORMATS = (
    "json", "csv", "debezium-json", "debezium-avro-confluent", "canal-json", "maxwell-json", "ogg-json",
    "avro-confluent", "raw",
)  # fmt: skip
_PREFIX = re.compile(rf"(?:value\.|key\.)?(?:{'|'.join(_FORMATS)})\.(.+)")

_OF_KAFKA: Mapping[str, Meaning] = {
    "scan.bounded.mode": _only("unbounded", instead=_BOUNDED),
    "scan.bounded.specific-offsets": _refused(_BOUNDED),
    "scan.bounded.timestamp-millis": _refused(_BOUNDED),
    "scan.watermark.idle-timeout": _idle,
    "scan.watermark.emit.strategy": _any,
    "scan.watermark.alignment.group": _any,
    "scan.watermark.alignment.max-drift": _any,
    "scan.watermark.alignment.update-interval": _any,
    "scan.parallelism": _any,
    "key.fields-prefix": _only("", instead="columns that are named as the key's fields are"),
    "sink.partitioner": _only("default", instead="'default': a row goes to the partition of its key"),
    "sink.parallelism": _any,
    "sink.transactional-id-prefix": _any,
    "sink.buffer-flush.max-rows": _any,
    "sink.buffer-flush.interval": _any,
    "kafka.bootstrap.servers": _servers,
    "subscribe": lambda value: {"topic": value.replace(",", ";")},
    "subscribepattern": _as("topic-pattern"),
    "assign": _refused("'subscribe' = 'orders': all partitions of a topic are read"),
    "startingoffsets": _starting_offsets,
    "startingoffsetsbytimestamp": _refused("'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '…'"),
    "startingoffsetsbytimestampstrategy": _any,
    "startingtimestamp": lambda value: {
        "scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": value
    },
    "endingoffsets": _only("latest", instead=_BOUNDED),
    "endingtimestamp": _refused(_BOUNDED),
    "endingoffsetsbytimestamp": _refused(_BOUNDED),
    "failondataloss": lambda value: {"on_lost": "skip" if value.lower() == "false" else "fail"},
    "maxoffsetspertrigger": _as("rows_per_step"),
    "minoffsetspertrigger": _any,
    "maxtriggerdelay": _any,
    "minpartitions": _any,
    "maxrecordsperpartition": _any,
    "groupidprefix": _any,
    "fetchoffset.numretries": _any,
    "fetchoffset.retryintervalms": _any,
    "kafkaconsumer.polltimeoutms": _any,
    "includeheaders": _only("false", instead="a column h MAP<STRING, BINARY> METADATA FROM 'headers'"),
}  # fmt: skip

_SPARKS_TEXTS = (
    "encoding", "charset", "linesep", "locale", "timezone", "emptyvalue", "nanvalue", "positiveinf",
    "negativeinf", "chartoescapequoteescaping", "unescapedquotehandling", "columnpruning", "singlevariantcolumn",
    "allowcomments", "allowunquotedfieldnames", "allowsinglequotes", "allownumericleadingzeros",
    "allowbackslashescapinganycharacter", "allowunquotedcontrolchars",
)  # fmt: skip
_SPARKS_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "encoding": ("utf-8", "utf8"), "charset": ("utf-8", "utf8"), "locale": ("en-us",), "emptyvalue": ("",),
    "nanvalue": ("nan",), "timezone": ("utc", "z"), "chartoescapequoteescaping": ("\\",),
    "linesep": ("\n", "\r\n"), "allowsinglequotes": ("false",), "allownumericleadingzeros": ("false",),
    "allowcomments": ("false",), "allowunquotedfieldnames": ("false",), "allowunquotedcontrolchars": ("false",),
    "allowbackslashescapinganycharacter": ("false",), "columnpruning": ("true",),
    "unescapedquotehandling": (), "singlevariantcolumn": (), "positiveinf": ("inf", "infinity"),
    "negativeinf": ("-inf", "-infinity"),
}  # fmt: skip

_OF_FILES: Mapping[str, Meaning] = {
    "sep": _as("delimiter"),
    "nullvalue": _as("null_text"),
    "pathglobfilter": _as("pattern"),
    "mode": _mode,
    "columnnameofcorruptrecord": _refused(f"leave it out: {_ERRORS}"),
    "badrecordspath": _refused(f"leave it out: {_ERRORS}"),
    "ignorecorruptfiles": _any,
    "ignoremissingfiles": _any,
    "dateformat": _only("yyyy-mm-dd", instead=_IN_A_VIEW),
    "timestampformat": _refused(_IN_A_VIEW),
    "timestampntzformat": _refused(_IN_A_VIEW),
    "enabledatetimeparsingfallback": _any,
    "ignoreleadingwhitespace": _only("false", instead="ltrim(c) in a view"),
    "ignoretrailingwhitespace": _only("false", instead="rtrim(c) in a view"),
    "inferschema": _any,
    "prefersdate": _any,
    "primitivesasstring": _any,
    "prefersdecimal": _any,
    "samplingratio": _any,
    "enforceschema": _any,
    "mergeschema": _any,
    "maxcolumns": _any,
    "maxcharspercolumn": _any,
    "dropfieldifallnull": _any,
    "allownonnumericnumbers": _any,
    "compression": _any,
    "recursivefilelookup": _only("true", instead="'path' = 'in/*' reads the files of one folder"),
    "modifiedbefore": _refused("'pattern' names the files that are read"),
    "modifiedafter": _refused("'pattern' names the files that are read"),
    "datetimerebasemode": _only("corrected", "exception", instead="leave it out: a file's metadata says its calendar"),
    "int96rebasemode": _only("corrected", "exception", instead="leave it out: a file's metadata says its calendar"),
    "maxfilespertrigger": _refused("'rows_per_step' = '100000'"),
    "maxbytespertrigger": _refused("'rows_per_step' = '100000'"),
    "latestfirst": _only("false", instead="leave it out: files are read oldest first"),
    "maxfileage": _any,
    "cleansource": _only("off", instead="a job of your own that removes what has been read"),
    **{
        name: _only(*_SPARKS_DEFAULTS[name], instead=_BY_SPARK.format(name))
        for name in _SPARKS_TEXTS
    },
}  # fmt: skip
_BY_CONNECTOR: Mapping[str, Mapping[str, Meaning]] = {
    "files": _OF_FILES,
    "kafka": _OF_KAFKA,
    "upsert-kafka": _OF_KAFKA,
}


@dataclass(frozen=True, slots=True)
class _Word:
    """A property as it is written, with its place."""

    name: str
    value: str
    span: Span | None


def is_known(connector: str, name: str) -> bool:
    """True for a name of a peer's that means something to a connector, or is refused."""
    return _meaning(name, connector, {}) not in (None, _any)


def in_our_words(properties: Properties) -> None:
    """Replace a connector's properties by those of ours that they mean. SqlError for those that cannot be had."""
    connector = properties.values.get(CONNECTOR, "").lower()
    found: list[Diagnostic] = []
    for name in list(properties.values):
        meaning = _meaning(name, connector, properties.values)
        if meaning is None:
            continue
        word = _Word(name, properties.values[name], properties.spans.get(name))
        try:
            _replace(properties, word, meaning(word.value))
        except _RefusedError as error:
            found.append(_refusal(word, str(error)))
    if found:
        raise SqlError(found)


def _meaning(name: str, connector: str, given: Given) -> Meaning | None:
    """The meaning of a peer's name; None for any other."""
    if (of_format := _PREFIX.fullmatch(name)) is not None:
        return _OF_FORMATS.get(of_format[1])
    if name == "multiline" and connector == "files":
        plain = given.get("format", "json").lower() != "json"
        return (
            _only("true", "false", instead="'true' or 'false'")
            if plain
            else _only("false", instead=_BY_SPARK.format("multiLine"))
        )
    return _BY_CONNECTOR.get(connector, {}).get(name)


def _replace(properties: Properties, word: _Word, meant: Given) -> None:
    value_span = properties.value_spans.pop(word.name, None)
    del properties.values[word.name]
    properties.spans.pop(word.name, None)
    for name, value in meant.items():
        if properties.values.get(name, value) != value:
            message = f"the property {word.name} means {name!r} = {value!r}, which is set otherwise"
            raise SqlError(Diagnostic("DUPLICATE_PROPERTY", message, word.span))
        properties.values[name] = value
        if word.span is not None:
            properties.spans[name], properties.value_spans[name] = word.span, value_span or word.span


def _refusal(word: _Word, instead: str) -> Diagnostic:
    message = f"{word.name!r} = {word.value[:60]!r} is not supported"
    return Diagnostic("BAD_PROPERTY", message, word.span, hint=instead)
