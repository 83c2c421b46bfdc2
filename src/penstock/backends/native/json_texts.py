r"""Values within texts of JSON, as Spark's `get_json_object` gives them.

    penstock_json('$.a[0]', '{"a": [1.50, "x"]}')      1.5
    penstock_json('$.a', '{"a": [1.50, "x"]}')         [1.5,"x"]

Spark reads by Jackson, which takes control characters within texts, and texts in single quotes; the first value of a
text is all that it reads. Of names that are there twice the first counts under which something other than null stands.
Numbers are written anew, an object and an array without blanks, and in these what is beyond 16 bits as two escapes.
Python reads the same, but for single quotes, for limits of Jackson's, and for DOUBLEs that each Java writes in its own
way: such texts are asked for (`native.asked`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Never

from penstock.backends.native.asked import Ask, answers

if TYPE_CHECKING:
    import pyarrow as pa

JSON = "penstock_json"
_STEP = re.compile(r"\.([^\s.\[\]*'][^.\[\]*']*)|\['([^\s*'][^*']*)'\]|\[([0-9]{1,9})\]")
_KNOWN_PATHS, _KNOWN_TEXTS, _SHORT_TEXT = 1_000, 4_096, 1_000
_NOTHING = object()
_BLANKS = " \t\n\r"
# Far below what Jackson takes, so that a text is asked for before its limits are met.
_DIGITS, _NAME, _DEPTH, _LETTERS = 900, 20_000, 200, 10_000_000
_MANY_DIGITS = re.compile(rf"[0-9.eE+-]{{{_DIGITS}}}")
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile('["\\\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Between these every Java writes the fewest digits, which are Python's (`expressions.fractions`).
_LEAST, _MOST = 2.2250738585072014e-308, float(1 << 53)
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7

Steps = tuple[str | int, ...]


class _OpenError(Exception):
    """Only Spark can tell."""


class _ConstantError(Exception):
    """NaN or an infinity, which is JSON to Python alone."""


@lru_cache(_KNOWN_PATHS)
def steps(path: str) -> Steps | None:
    """The names and places of a path, `('a', 0)` for `$.a[0]`; None for one that has anything else in it."""
    found: list[str | int] = []
    place = 1
    while place < len(path):
        match = _STEP.match(path, place)
        if match is None:
            return None
        found.append(int(match[3]) if match[3] else match[1] or match[2])
        place = match.end()
    return tuple(found) if path.startswith("$") else None


def in_arrow(ask: Ask) -> Callable[[pa.ChunkedArray, pa.ChunkedArray], pa.Array]:
    """The function over columns of Arrow: of a path, which is one and the same, and of texts."""

    def found(paths: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.Array:
        import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait

        if not len(texts):
            return pa.array([], pa.string())
        path = paths[0].as_py()
        return pa.array(_values(path, texts.to_pylist(), ask), pa.string())

    return found


def _values(path: str, texts: Sequence[str | None], ask: Ask) -> list[str | None]:
    known = steps(path) or ()
    values: list[str | None] = []
    left: dict[int, str] = {}
    for place, text in enumerate(texts):
        value = None
        if text:
            try:
                value = value_at(known, text)
            except (_OpenError, RecursionError):
                left[place] = text
        values.append(value)
    for place, answer in zip(left, answers(ask, path, list(left.values())), strict=True):
        values[place] = answer
    return values


def value_at(known: Steps, text: str) -> str | None:
    """The text of the value at a path, None if there is none.

    _OpenError, or RecursionError, where only Spark can tell.
    """
    begin = 0 if text[0] in "{[" else len(text) - len(text.lstrip(_BLANKS))
    if known and text[begin : begin + 1] != ("{" if isinstance(known[0], str) else "["):
        return None  # another value, or no JSON
    value, end = _read(text, begin) if len(text) > _SHORT_TEXT else _read_before(text, begin)
    if not known and isinstance(value, int | float | None) and text[end : end + 1].strip(_BLANKS):
        raise _OpenError  # the word or number may go on
    found = _found(value, known, 0)
    if found is _NOTHING:
        return None
    return _whole(found) if isinstance(found, str) else _copied(found)


def _read(text: str, begin: int) -> tuple[Any, int]:
    """The value that begins there, and its end; `_NOTHING` where there is no JSON."""
    if len(text) > _DIGITS and (len(text) > _LETTERS or _MANY_DIGITS.search(text)):
        raise _OpenError
    try:
        value, end = _READER.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        return _broken(text, error.pos)
    except _ConstantError:
        return _NOTHING, begin
    if len(text) > _DEPTH and _is_large(text, value):
        raise _OpenError
    return value, end


def _broken(text: str, place: int) -> tuple[Any, int]:
    """No JSON from a place on, where Jackson goes on only with a single quote, by itself or behind a backslash."""
    if "'" in text[place : place + 2]:
        raise _OpenError
    return _NOTHING, place


_read_before = lru_cache(_KNOWN_TEXTS)(_read)  # a query asks the same rows for one path after the other


def _refused(constant: str) -> Never:
    raise _ConstantError(constant)


# Objects are tuples of pairs.
_READER = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_refused, strict=False)


def _is_large(text: str, value: object) -> bool:
    """True for deep values, and for those with very long names."""
    if len(text) <= _NAME and text.count("[") + text.count("{") <= _DEPTH:
        return False
    level, depth = [value], 0
    while level:
        depth += 1
        objects = [item for item in level if isinstance(item, tuple)]
        if depth > _DEPTH or any(len(name) > _NAME for item in objects for name, _ in item):
            return True
        lists = [item for item in level if isinstance(item, list)]
        level = [part for item in lists for part in item] + [part for item in objects for _, part in item]
    return False


def _found(value: Any, known: Steps, place: int) -> Any:
    """The value that stands there from a step on, `_NOTHING` if there is none."""
    if place == len(known):
        return value
    step = known[place]
    if isinstance(step, int):
        there = isinstance(value, list) and step < len(value)
        return _found(value[step], known, place + 1) if there else _NOTHING
    if isinstance(value, tuple):
        for name, part in value:
            if name == step and part is not None:
                found = _found(part, known, place + 1)
                if found is not _NOTHING:
                    return found
    return _NOTHING


def _whole(value: str) -> str:
    """A text by itself, which has no escapes."""
    if not value.isascii() and _HALF.search(value):
        raise _OpenError
    return value


def _copied(value: Any) -> str:
    """A value as Jackson writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _double(value)
        case str():
            return _quoted(value)
        case list():
            return "[" + ",".join(map(_copied, value)) + "]"
        case _:
            return "{" + ",".join(f"{_quoted(name)}:{_copied(part)}" for name, part in value) + "}"


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    """One letter, as one or two escapes."""
    letter = match[0]
    halves = letter.encode("utf-16-be", "surrogatepass")
    return _SHORT.get(letter) or "".join(f"\\u{halves[at : at + 2].hex().upper()}" for at in range(0, len(halves), 2))


def _double(number: float) -> str:
    """A DOUBLE as Java writes it."""
    size = abs(number)
    if size and not _LEAST <= size < _MOST:
        raise _OpenError
    if not size or _PLAIN_FROM <= size < _PLAIN_TO:
        return repr(number)
    shown = Decimal(repr(number)).normalize().as_tuple()
    first, *others = map(str, shown.digits)
    power = int(shown.exponent) + len(others)
    return f"{'-' if shown.sign else ''}{first}.{''.join(others) or '0'}E{power}"
