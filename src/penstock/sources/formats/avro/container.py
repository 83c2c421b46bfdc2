"""An Avro object container file: a header with its schema, then blocks, each with the file's mark at its end.

header    'Obj' 1, {avro.schema, avro.codec, …}, mark (16 bytes)
block     number of records, number of bytes, the records, compressed together, mark
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from penstock.sources.formats.avro.schema import AvroSchema, BadSchemaError, avro_schema
from penstock.sources.formats.legacy_calendar import calendars_of
from penstock.sources.packages import package
from penstock.sources.transport import BrokenStreamError

MAGIC = b"Obj\x01"
MARK = 16
LONGEST = 256 << 20
_HEADER = {
    "type": "record",
    "name": "header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": len(MAGIC)}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "mark", "type": {"type": "fixed", "name": "mark", "size": MARK}},
    ],
}
_CHECKSUM = 4  # bytes behind what snappy has compressed
_CONTINUES, _SEVEN, _LONGEST_NUMBER = 0x80, 7, 10


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file: its length, its schema, how its blocks are compressed, and its mark."""

    length: int
    schema: AvroSchema
    codec: str
    mark: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """One block: how many records it holds, its compressed bytes, and how long it is with its frame."""

    records: int
    data: bytes
    length: int


def header_of(text: bytes) -> Header | None:
    """The header that a file begins with; None if it is not whole, BrokenStreamError if it is none."""
    if not MAGIC.startswith(text[: len(MAGIC)]):
        message = "not an Avro container file"
        raise BrokenStreamError(message)
    read, stream = package("fastavro", "the format avro", "formats").schemaless_reader, io.BytesIO(text)
    try:
        found = read(stream, _HEADER, None)
    except (EOFError, IndexError):
        return None
    meta = found["meta"]
    codec = meta.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in _CODECS:
        message = f"it is compressed by {codec[:40]}; {', '.join(_CODECS)} can be read"
        raise BrokenStreamError(message)
    try:
        said = {name: value.decode("utf-8", "replace") for name, value in meta.items() if name.startswith("org.apache")}
        schema = avro_schema(meta.get("avro.schema", b""), calendars_of(said).datetime)
    except BadSchemaError as error:
        raise BrokenStreamError(str(error)) from error
    return Header(stream.tell(), schema, codec, found["mark"])


def block_at(text: bytes, start: int, mark: bytes) -> Block | int | None:
    """The block that begins there; how many bytes it takes if they are not all there, None if it is broken.

    What is not known yet is taken to be one byte more than there is.
    """
    numbers = _numbers(text, start)
    if numbers is None:
        return len(text) - start + 1 if len(text) - start < 2 * _LONGEST_NUMBER else None
    records, size, data = numbers
    if records < 0 or not 0 <= size <= LONGEST:
        return None
    end = data + size + MARK
    if end > len(text):
        return end - start
    return Block(records, text[data : data + size], end - start) if text[end - MARK : end] == mark else None


def _numbers(text: bytes, start: int) -> tuple[int, int, int] | None:
    """Two numbers and what comes behind them."""
    first = _number(text, start)
    second = None if first is None else _number(text, first[1])
    return None if first is None or second is None else (first[0], *second)


def _number(text: bytes, at: int) -> tuple[int, int] | None:
    """A number as Avro writes it, seven bits to a byte with its sign in the lowest; None if it does not end."""
    found = 0
    for index, byte in enumerate(text[at : at + _LONGEST_NUMBER]):
        found |= (byte & (_CONTINUES - 1)) << (_SEVEN * index)
        if byte < _CONTINUES:
            return (found >> 1) ^ -(found & 1), at + index + 1
    return None


def unpacked(data: bytes, codec: str) -> bytes:
    """The records of a block, one after the other; ValueError if the data are broken."""
    try:
        return _CODECS[codec](data)
    except Exception as error:  # each library has errors of its own
        message = f"its {codec} data are broken: {str(error) or type(error).__name__}"
        raise ValueError(message) from error


def _snappy(data: bytes) -> bytes:
    packed, checksum = data[:-_CHECKSUM], int.from_bytes(data[-_CHECKSUM:], "big")
    length = shift = 0
    for byte in packed[:5]:  # the length stands before the rest, as in a number without a sign
        length |= (byte & (_CONTINUES - 1)) << shift
        shift += _SEVEN
        if byte < _CONTINUES:
            break
    if length > LONGEST:
        message = "too long"
        raise ValueError(message)
    found = pa.Codec("snappy").decompress(packed, length, asbytes=True)
    if zlib.crc32(found) != checksum:
        message = "the checksum is another"
        raise ValueError(message)
    return bytes(found)


def _zstandard(data: bytes) -> bytes:
    return bytes(pa.input_stream(pa.py_buffer(data), compression="zstd").read())


_CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": lambda data: zlib.decompress(data, -15),
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}
