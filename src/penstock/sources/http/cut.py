"""A body as messages, each as it was written: an object, the elements of an array, lines, records of CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator

from penstock.sources.formats.cutting import Cutting

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


class BadBodyError(ValueError):
    """A body that cannot be cut; the message says where."""


def cut(body: bytes, style: str, records: Cutting | None = None) -> list[bytes]:
    """The messages of a body; `records` are those of CSV."""
    if style == "raw":
        return [body]
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"it is not UTF-8 at byte {error.start}"
        raise BadBodyError(message) from None
    if records is not None:
        return [record for record in records.records(body) if record.strip(b"\r\n")]
    return [item.encode() for item in _values(text)]


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
