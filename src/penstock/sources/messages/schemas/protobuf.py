"""Messages of Protobuf as rows: fields by name, nested messages as structs, enums as the names of their values.

A field that keeps track of its presence and is not set is NULL; others have their default. The well-known types
Timestamp, Duration, Date and the wrappers are what they stand for. The package comes with the extra `formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic, did_you_mean
from penstock.sources.formats.rows import refuse_record
from penstock.sources.messages.keys import Tell
from penstock.sources.messages.schemas.framed import unframed
from penstock.sources.messages.schemas.registry import Found, Registry, UnknownSchemaError
from penstock.sources.packages import package
from penstock.steps.rows.new_columns import BIGINT, BOOLEAN, DOUBLE, STRING
from penstock.steps.rows.values import Unreadable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WRAPPERS = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_WRAPPED = {f"google.protobuf.{name}Value" for name in _WRAPPERS}


# The types of columns that fields become in a table that lacks them; anything else is STRING, as JSON if it has parts.
_KINDS = {
    **dict.fromkeys(("INT32", "INT64", "SINT32", "SINT64", "SFIXED32", "SFIXED64", "UINT32", "FIXED32"), BIGINT),
    **dict.fromkeys(("FLOAT", "DOUBLE"), DOUBLE),
    "BOOL": BOOLEAN,
    "BYTES": "BINARY",
}
_KINDS_OF_MESSAGES = {"google.protobuf.Timestamp": "TIMESTAMP", "google.type.Date": "DATE"}


class BadDescriptorError(ValueError):
    """Descriptors that are none, or lack what they import; the message says why."""


@dataclass
class ProtobufMessages:
    """Reads the messages of one table: all of one kind, or of those that a registry numbers.

    `tell` is told of the types of fields that the table lacks, before a message that has them.
    """

    table: Table
    kind: Any = None
    registry: Registry | None = None
    tell: Tell | None = None
    _known: dict[int, Any] = field(default_factory=dict)
    _beyond: dict[int, tuple[Any, Mapping[str, str]]] = field(default_factory=dict)

    def __call__(self, data: bytes, place: str) -> Mapping[str, Any]:
        """The fields of a message; DataError for bytes that are none."""
        if self.kind is not None:
            return self._fields(self.kind, data, place)
        number, framed = unframed(self.table, data, place)
        path, value = self._path(framed, place)
        return self._fields(self._kind(number, path, place), value, place)

    def _fields(self, kind: Any, data: bytes, place: str) -> Mapping[str, Any]:
        errors = package("google.protobuf.message", "the format protobuf", "formats")
        if self.tell is not None:
            self._told(kind.DESCRIPTOR, self.tell)
        try:
            return dict(_fields(kind.FromString(data)))
        except errors.DecodeError as error:
            refuse_record(self.table, place, f"no {kind.DESCRIPTOR.full_name}: {error}")

    def _told(self, kind: Any, tell: Tell) -> None:
        """Tell of the fields of a kind of message that the table lacks, which are found once for each kind."""
        if id(kind) not in self._beyond:
            kinds = {item.name: kind_of_field(item) for item in kind.fields if self.table.column(item.name) is None}
            self._beyond[id(kind)] = kind, kinds
        if beyond := self._beyond[id(kind)][1]:
            tell(beyond)

    def _path(self, data: bytes, place: str) -> tuple[tuple[int, ...], bytes]:
        """The place of the message's kind in its file, kind within kind, and the message itself."""
        try:
            count, at = _zigzag(data, 0)
            if count == 0:
                return (0,), data[at:]
            path = []
            for _ in range(count):
                index, at = _zigzag(data, at)
                path.append(index)
        except IndexError:
            refuse_record(self.table, place, "it ends within the numbers that say which message of its schema it is")
        return tuple(path), data[at:]

    def _kind(self, number: int, path: tuple[int, ...], place: str) -> Any:
        file = self._file(number, place)
        try:
            found = list(file.message_types_by_name.values())[path[0]]
            for index in path[1:]:
                found = found.nested_types[index]
        except IndexError:
            refuse_record(self.table, place, f"schema {number} has no message {'.'.join(map(str, path))}")
        return _class_of(found)

    def _file(self, number: int, place: str) -> Any:
        if number not in self._known:
            assert self.registry is not None  # noqa: S101 - without a kind there is one
            try:
                self._known[number] = _loaded(self.registry.protobuf(number), self.registry.imported)
            except UnknownSchemaError as error:
                refuse_record(self.table, place, f"its schema is {number}, and {error}")
            except BadDescriptorError as error:
                self._known[number] = f"its schema is {number}: {error}"
        known = self._known[number]
        if isinstance(known, str):
            refuse_record(self.table, place, known)
        return known


def kind_in_file(table: Table, path: str, name: str) -> Any:
    """The class of a message that a file of descriptors has; DataError if it has none of that name."""
    try:
        pool, _ = _pool(Found(Path(path).read_bytes()), lambda reference: Found(b"", (reference,)))
        return _class_of(pool.FindMessageTypeByName(name))
    except OSError as error:
        message = f"table {table.name}: the file {path[:200]} cannot be read: {error.strerror or error}"
        raise DataError(Diagnostic("CANNOT_READ", message, table.span)) from None
    except BadDescriptorError as error:
        message = f"table {table.name}: {path[:200]}: {error}"
        raise DataError(Diagnostic("CANNOT_READ", message, table.span)) from None
    except KeyError:
        names = _names(Path(path).read_bytes())
        message = f"table {table.name}: {path[:200]} has no message {name[:100]!r}"
        hint = f"it has {', '.join(names[:20])}"
        raise DataError(Diagnostic("BAD_PROPERTY", message, table.span, did_you_mean(name, names), hint)) from None


def _names(data: bytes) -> list[str]:
    found = []
    for file in _files(data):
        found += [".".join(filter(None, (file.package, item.name))) for item in file.message_type]
    return found


def _class_of(descriptor: Any) -> Any:
    return package("google.protobuf.message_factory", "the format protobuf", "formats").GetMessageClass(descriptor)


def _loaded(found: Found, imported: Callable[[Mapping[str, Any]], Found]) -> Any:
    """The file that a schema is, with all that it imports."""
    pool, name = _pool(found, imported)
    return pool.FindFileByName(name)


def _pool(found: Found, imported: Callable[[Mapping[str, Any]], Found]) -> tuple[Any, str]:
    """The descriptors of a schema by name, and the name of its own file: the last."""
    pool = package("google.protobuf.descriptor_pool", "the format protobuf", "formats").DescriptorPool()
    waiting = {file.name: file for file in _files(_bytes(found))}
    if not waiting:
        message = "there is no descriptor of a file in it"
        raise BadDescriptorError(message)
    own = list(waiting)[-1]
    for reference in found.references:
        below = imported(reference)
        for file in _files(_bytes(below)):
            file.name = str(reference.get("name") or file.name)
            waiting.setdefault(file.name, file)
    _add_with_imports(pool, own, waiting, ())
    for name in waiting:
        _add_with_imports(pool, name, waiting, ())
    return pool, own


def _bytes(found: Found) -> bytes:
    return found.text if isinstance(found.text, bytes) else found.text.encode()


def _add_with_imports(pool: Any, name: str, waiting: Mapping[str, Any], within: tuple[str, ...]) -> None:
    """Add a file behind those that it imports; the well-known ones are the package's own."""
    try:
        pool.FindFileByName(name)
    except KeyError:
        file = waiting.get(name) or _well_known(name)
        if file is None or name in within:
            message = f"{within[-1] if within else 'it'} imports {name}, which is not there"
            raise BadDescriptorError(message) from None
        for below in file.dependency:
            _add_with_imports(pool, below, waiting, (*within, name))
        try:
            pool.Add(file)
            pool.FindFileByName(name)
        except (TypeError, KeyError) as error:
            message = f"{name} cannot be used: {str(error)[:200]}"
            raise BadDescriptorError(message) from None


def _well_known(name: str) -> Any:
    """The descriptor of a file that comes with Protobuf; None if it is none."""
    if not name.startswith("google/protobuf/"):
        return None
    for module in ("any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers", "descriptor"):
        package(f"google.protobuf.{module}_pb2", "the format protobuf", "formats")
    pool = package("google.protobuf.descriptor_pool", "the format protobuf", "formats").Default()
    descriptors = package("google.protobuf.descriptor_pb2", "the format protobuf", "formats")
    try:
        found = descriptors.FileDescriptorProto()
        pool.FindFileByName(name).CopyToProto(found)
    except KeyError:
        return None
    return found


def _files(data: bytes) -> list[Any]:
    """The descriptors of files in the bytes of a set of them."""
    descriptors = package("google.protobuf.descriptor_pb2", "the format protobuf", "formats")
    errors = package("google.protobuf.message", "the format protobuf", "formats")
    try:
        return list(descriptors.FileDescriptorSet.FromString(data).file)
    except errors.DecodeError as error:
        message = f"it is no set of descriptors: {error}"
        raise BadDescriptorError(message) from None


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    """A number as Confluent writes those of messages, and the place behind it; IndexError at the end."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at


def kind_of_field(item: Any) -> str:
    """The type of a column that has the values of a field."""
    if item.is_repeated:
        return STRING
    if item.message_type is None:
        return next((kind for name, kind in _KINDS.items() if item.type == getattr(item, f"TYPE_{name}")), STRING)
    name = item.message_type.full_name
    return (
        kind_of_field(item.message_type.fields_by_name["value"])
        if name in _WRAPPED
        else _KINDS_OF_MESSAGES.get(name, STRING)
    )


def _fields(message: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a message, by name."""
    for item in message.DESCRIPTOR.fields:
        if item.has_presence and not message.HasField(item.name):
            yield item.name, None
        else:
            yield item.name, _value(item, getattr(message, item.name))


def _value(item: Any, value: Any) -> Any:
    if item.message_type is not None and item.message_type.GetOptions().map_entry:
        of_value = item.message_type.fields_by_name["value"]
        return {key: _single(of_value, value[key]) for key in value}
    if item.is_repeated:
        return [_single(item, one) for one in value]
    return _single(item, value)


def _single(item: Any, value: Any) -> Any:
    if item.enum_type is not None:
        named = item.enum_type.values_by_number.get(value)
        return str(value) if named is None else named.name
    return value if item.message_type is None else _message(value)


def _message(value: Any) -> Any:
    name = value.DESCRIPTOR.full_name
    if name == "google.protobuf.Timestamp":
        return _timestamp(value)
    if name == "google.protobuf.Duration":
        return timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    if name == "google.type.Date" and value.year and value.month and value.day:
        return date(value.year, value.month, value.day)
    if name in _WRAPPED:
        return value.value
    return dict(_fields(value))


def _timestamp(value: Any) -> Any:
    try:
        return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    except OverflowError:
        return Unreadable(f"found the time {value.seconds} from 1970, which is none of the years 1 to 9999")
