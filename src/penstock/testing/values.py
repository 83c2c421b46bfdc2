"""Values of result rows: one plain form for all of them, and when two count as equal.

Case files are YAML, results come from Arrow or Python tuples. `plain` brings both to text, numbers, booleans, None,
lists and dicts; `matches` compares leniently: '*' is anything, floats within 1e-9, timestamps as UTC text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

ANYTHING = "*"
RELATIVE = 1e-9
_TIME_TEXT = re.compile(r"^\d{4,}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?$")


def plain(value: Any) -> Any:
    """The value in the form that is compared and printed: temporal values as UTC text, structs and maps as dicts."""
    if isinstance(value, datetime):
        return _timestamp_text(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex().upper()
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if hasattr(value, "asDict"):
        return plain(value.asDict())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        return plain(value.item())
    return value


def _timestamp_text(value: datetime) -> str:
    moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(sep=" ")


def folding(kind: str | None) -> Callable[[Any], Any] | None:
    """A function that brings equal texts of a collated type to one form; None for other types."""
    words = (kind or "").upper().partition("STRING COLLATE ")[2].split("_")
    if not words[0]:
        return None

    def fold(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = unicodedata.normalize("NFD", value) if words[0] != "UTF8" else value
        if "AI" in words:
            text = "".join(letter for letter in text if not unicodedata.combining(letter))
        if "LCASE" in words or "CI" in words:
            text = text.lower().replace("\u03c2", "\u03c3")
        return text.rstrip(" ") if "RTRIM" in words else text

    return fold


def identity(value: Any) -> Hashable:
    """A key that makes two plain values the same row value: 1 and 1.0 agree, NaN equals NaN, -0.0 equals 0.0."""
    if isinstance(value, bool) or value is None:
        return ("literal", value)
    if isinstance(value, int | float | Decimal):
        return "NaN" if value != value else ("number", value)  # noqa: PLR0124 - only NaN differs from itself
    if isinstance(value, Mapping):
        return ("map", frozenset((str(key), identity(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return tuple(identity(item) for item in value)
    return ("text", str(value))


def matches(expected: Any, actual: Any, absolute: float = 0.0) -> bool:
    """True if a plain value is what was expected; `absolute` widens the tolerance of floats."""
    if isinstance(expected, str) and expected == ANYTHING:
        return True
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return _same_boolean(expected, actual)
    if isinstance(expected, Mapping) or isinstance(actual, Mapping):
        return _same_fields(expected, actual, absolute)
    if isinstance(expected, list | tuple) or isinstance(actual, list | tuple):
        return _same_items(expected, actual, absolute)
    if isinstance(expected, str) and isinstance(actual, str):
        return expected == actual or _same_moment(expected, actual)
    return _same_number(expected, actual, absolute)


def _same_boolean(expected: Any, actual: Any) -> bool:
    return isinstance(expected, bool) and isinstance(actual, bool) and expected == actual


def _same_fields(expected: Any, actual: Any, absolute: float) -> bool:
    if isinstance(expected, list | tuple) and isinstance(actual, Mapping):
        return _same_items(expected, list(actual.values()), absolute)
    if isinstance(actual, list | tuple) and isinstance(expected, Mapping):
        return _same_entries(expected, actual, absolute)
    if not (isinstance(expected, Mapping) and isinstance(actual, Mapping)) or len(expected) != len(actual):
        return False
    given = {str(key): item for key, item in actual.items()}
    return all(str(key) in given and matches(item, given[str(key)], absolute) for key, item in expected.items())


def _same_entries(expected: Mapping[Any, Any], actual: list[Any] | tuple[Any, ...], absolute: float) -> bool:
    """A map against the list of pairs in which Arrow delivers it."""
    pairs = all(isinstance(item, list | tuple) and len(item) == 2 for item in actual)  # noqa: PLR2004 - a pair
    return pairs and _same_fields(expected, {str(key): item for key, item in actual}, absolute)


def _same_items(expected: Any, actual: Any, absolute: float) -> bool:
    if not (isinstance(expected, list | tuple) and isinstance(actual, list | tuple)):
        return False
    return len(expected) == len(actual) and all(
        matches(one, other, absolute) for one, other in zip(expected, actual, strict=True)
    )


def _same_moment(expected: str, actual: str) -> bool:
    """True if both are the same date or timestamp, however many digits are written."""
    if not (_TIME_TEXT.match(expected) and _TIME_TEXT.match(actual)):
        return False
    try:
        return _moment(expected) == _moment(actual)
    except ValueError:
        return False


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def _same_number(expected: Any, actual: Any, absolute: float) -> bool:
    left, right = _number(expected), _number(actual)
    if left is None or right is None:
        return False
    if not isinstance(left, float) and not isinstance(right, float):
        return left == right
    one, other = float(left), float(right)
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= max(RELATIVE * max(abs(one), abs(other)), absolute)


def _number(value: Any) -> int | float | Decimal | None:
    if isinstance(value, int | float | Decimal):
        return value
    try:
        found = Decimal(value)
    except (InvalidOperation, TypeError, ValueError):
        return None
    return found if found.is_finite() else float(found)
