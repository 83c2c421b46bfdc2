"""Values as a manifest keeps them: JSON from which the same values come again, whatever their type."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def exact(value: Any) -> Any:
    """A value that compares with a waterline, ready for JSON; TypeError for any other."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case time():
            return {"time": value.isoformat()}
        case timedelta():
            return {"microseconds": value // timedelta(microseconds=1)}
        case Decimal():
            return {"decimal": str(value)}
        case _:
            message = f"a manifest has no form for {value!r}"
            raise TypeError(message)


_READ: dict[str, Callable[[Any], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "microseconds": lambda count: timedelta(microseconds=count),
    "decimal": Decimal,
}


def from_exact(value: Any) -> Any:
    """The value that `exact` has written."""
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return _READ[kind](text)
