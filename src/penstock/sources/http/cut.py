"""A body as messages, each as it was written: an object, the elements of an array, lines, records of CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


class BadBodyError(ValueError):
    """A body that cannot be cut; the message says where."""


def cut(body: bytes, style: str, options: Mapping[str, Any]) -> list[bytes]:
    """The messages of a body; `options` are those of CSV."""
    if style == "raw":
        return [body]
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"it is not UTF-8 at byte {error.start}"
        raise BadBodyError(message) from None
    found = _records(text, options) if style == "csv" else _values(text)
    return [item.encode() for item in found]


def _values(text: str) -> list[str]:
    """The elements of an array, or the values that stand one after the other, as lines do."""
    start = _after_space(text, 0)
    if text[start : start + 1] == "[":
        return list(_elements(text, start + 1))
    found = []
    while start < len(text):
        end = _value(text, start)
        found.append(text[start:end])
        start = _after_space(text, end)
    return found


def _elements(text: str, at: int) -> Iterator[str]:
    at = _after_space(text, at)
    if text[at : at + 1] == "]":
        _nothing_behind(text, at + 1)
        return
    while True:
        end = _value(text, at)
        yield text[at:end]
        at = _after_space(text, end)
        mark = text[at : at + 1]
        at = _after_space(text, at + 1)
        if mark == "]":
            _nothing_behind(text, at)
            return
        if mark != ",":
            message = f"expected , or ] behind an element of the array, at character {end}"
            raise BadBodyError(message)


def _nothing_behind(text: str, at: int) -> None:
    if text[at:].strip(_SPACE):
        message = f"there is more behind the array, at character {at}"
        raise BadBodyError(message)


def _value(text: str, at: int) -> int:
    """The place behind a value of JSON."""
    try:
        return _DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError) as error:
        message = f"it is no JSON: {error}"
        raise BadBodyError(message) from None


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _records(text: str, options: Mapping[str, Any]) -> list[str]:
    """The records of CSV, those of several lines whole."""
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines, **options)
    found, start = [], 0
    try:
        for fields in reader:
            record = "".join(lines[start : reader.line_num])
            start = reader.line_num
            if fields:
                found.append(record)
    except csv.Error as error:
        message = f"it is no CSV, at line {reader.line_num}: {error}"
        raise BadBodyError(message) from None
    return found
