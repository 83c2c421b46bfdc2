"""Errors of expressions that Penstock has an engine raise in Spark's words: as text within the engine's own error.

    raise_error('{"penstock": "ARITHMETIC_OVERFLOW", "sqlstate": "22003", "fragment": "sum(`t.x`)", "message": …}')

Either engine hands the text on in the message of its exception; it is an object of JSON with the code, the SQLSTATE,
Spark's sentence, and the expression that Spark names with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

SUM_TOO_LONG = "long overflow. Use 'try_add' to tolerate overflow and return NULL instead."
SUM_TOO_WIDE = "Overflow in sum of decimals. Use 'try_sum' to tolerate overflow and return NULL instead."
OVERFLOW, OUT_OF_RANGE = "ARITHMETIC_OVERFLOW", "22003"
_MARK = '{"penstock": '


@dataclass(frozen=True, slots=True)
class Raised:
    """An error of an expression; `fragment` is the part that Spark names, and empty where it names none."""

    code: str
    sqlstate: str
    message: str
    fragment: str = ""

    @property
    def told(self) -> str:
        """The text that `diagnosed` finds in an exception."""
        return f'{self.head}, "message": {json.dumps(self.message)}}}'

    @property
    def head(self) -> str:
        """The same up to the message."""
        parts = {"penstock": self.code, "sqlstate": self.sqlstate, "fragment": self.fragment}
        return json.dumps(parts)[:-1]


def diagnosed(error: BaseException) -> Raised | None:
    """The error of an expression that an engine's exception is about; None for any other exception."""
    text = str(error)
    begin = text.find(_MARK)
    if begin < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text[begin:])
        return Raised(found["penstock"], found["sqlstate"], found["message"], found["fragment"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return None


def sum_too_long(fragment: str) -> Raised:
    """The error of a sum of whole numbers that no BIGINT holds; Spark says it without a place."""
    return Raised(OVERFLOW, OUT_OF_RANGE, SUM_TOO_LONG, fragment)


def sum_too_wide(fragment: str) -> Raised:
    """The error of a sum of DECIMALs that has more than 38 digits."""
    return Raised(OVERFLOW, OUT_OF_RANGE, SUM_TOO_WIDE, fragment)


def raising_on_spark(raised: Raised) -> str:
    """Spark SQL that raises it."""
    return "raise_error('" + raised.told.replace("\\", "\\\\").replace("'", "\\'") + "')"
