"""The clause EMIT as a value: when a query's rows are shown, and in what form. None stands for what is not said.

EMIT STREAM AFTER WATERMARK WITH DELAY 90s  →  EmitClause('STREAM', WindowClose(), delay=timedelta(seconds=90))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from itertools import dropwhile

from penstock.errors import Span


class Content(Enum):
    """The part of a query's rows that is shown."""

    FINAL = "final"
    FULL = "full"
    CHANGED = "changed"
    CHANGES = "changes"
    DELTA = "delta"


@dataclass(frozen=True, slots=True)
class WindowClose:
    """AFTER WINDOW CLOSE, which is AFTER WATERMARK."""

    def __str__(self) -> str:
        return "AFTER WINDOW CLOSE"


@dataclass(frozen=True, slots=True)
class Tick:
    """PERIODIC i [REPEAT]."""

    every: timedelta
    repeat: bool = False

    def __str__(self) -> str:
        return f"PERIODIC {length(self.every)}{' REPEAT' if self.repeat else ''}"


@dataclass(frozen=True, slots=True)
class Batch:
    """ON UPDATE [WITH BATCH i], which is PERIODIC i ON UPDATE; or after so many rows of a result, by `update_rate`."""

    every: timedelta | None = None
    rows: int = 1

    def __str__(self) -> str:
        if self.rows > 1:
            return f"UPDATE RATE {self.rows} ROWS"
        return "ON UPDATE" if self.every is None else f"ON UPDATE WITH BATCH {length(self.every)}"


@dataclass(frozen=True, slots=True)
class Row:
    """PER EVENT."""

    def __str__(self) -> str:
        return "PER EVENT"


@dataclass(frozen=True, slots=True)
class GroupDelay:
    """AFTER DELAY i [AND AFTER WATERMARK]."""

    delay: timedelta
    and_watermark: bool = False

    def __str__(self) -> str:
        return f"AFTER DELAY {length(self.delay)}{' AND AFTER WATERMARK' if self.and_watermark else ''}"


Bound = str | bool  # the name of a column, or a constant


@dataclass(frozen=True, slots=True)
class SessionClose:
    """AFTER SESSION CLOSE [IDENTIFIED BY time | (time, start, end)] WITH [ONLY] MAXSPAN i.

    `time` is the name of a column; `start` and `end`, which are said together or not at all, are names or constants.
    """

    maxspan: timedelta
    only: bool = False
    time: str | None = None
    start: Bound | None = None
    end: Bound | None = None

    def __str__(self) -> str:
        identified = "" if self.time is None else f" IDENTIFIED BY {self._columns(self.time)}"
        return f"AFTER SESSION CLOSE{identified} WITH {'ONLY ' if self.only else ''}MAXSPAN {length(self.maxspan, 'm')}"

    def _columns(self, time: str) -> str:
        if self.start is None or self.end is None:
            return _named(time)
        return f"({_named(time)}, {_named(self.start)}, {_named(self.end)})"


@dataclass(frozen=True, slots=True)
class Refine:
    """The results of a window in time: all are distances from its end, negative ones before it.

    The `first` result, then one for each `rate` (None: each step that changes it, or with the one that brings so many
    `rows`), the `complete` one, and until the `last` one those that late rows make, where it `updates`. With `stated`
    each row says which it is.
    """

    first: timedelta
    complete: timedelta
    last: timedelta
    rate: timedelta | None = None
    updates: bool = False
    stated: bool = False
    rows: int = 1

    def __str__(self) -> str:
        counted = f"{self.rows} ROW{'S' if self.rows > 1 else ''}"
        parts = [
            f"FIRST RESULT {signed(self.first)}",
            f"UPDATE RATE {counted if self.rate is None else length(self.rate)}",
            f"COMPLETE RESULT {signed(self.complete)}",
            *([f"LATE UPDATES UNTIL {signed(self.last)}"] if self.updates else []),
            *(["RESULT STATE"] if self.stated else []),
        ]
        return ", ".join(parts)


Trigger = WindowClose | Tick | Batch | Row | GroupDelay | SessionClose | Refine


@dataclass(frozen=True, slots=True)
class Last:
    """LAST i [ON PROCTIME]."""

    interval: timedelta
    on_proctime: bool = False

    def __str__(self) -> str:
        return f"LAST {length(self.interval)}{' ON PROCTIME' if self.on_proctime else ''}"


@dataclass(frozen=True, slots=True)
class EmitClause:
    """The clause as written, in its normal form; what it does not say, the kind of the query decides.

    `word` is 'STREAM', 'CHANGES' (also for CHANGELOG) or 'DELTA'. `span` is its place in the program.
    """

    word: str | None = None
    trigger: Trigger | None = None
    delay: timedelta | None = None
    timeout: timedelta | None = None
    last: Last | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def text(self) -> str:
        """The normal form, such as `EMIT CHANGELOG PERIODIC 1s WITH DELAY 1s`."""
        return " ".join(("EMIT", *self._words(), *self._parts()))

    def _words(self) -> tuple[str, ...]:
        return () if self.word is None else ("CHANGELOG" if self.word == "CHANGES" else self.word,)

    def _parts(self) -> Iterator[str]:
        if self.trigger is not None:
            yield str(self.trigger)
        if self.delay is not None:
            yield f"WITH DELAY {length(self.delay)}"
        begun = self.trigger is not None or self.delay is not None
        if self.timeout is not None:
            yield f"{'AND ' if begun else ''}TIMEOUT {length(self.timeout)}"
        if self.last is not None:
            yield f"{'AND ' if begun or self.timeout is not None else ''}{self.last}"


_UNITS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1))
_PLAIN_NAME = re.compile(r"(?!(?:true|false|with|and)\Z)[^\W\d]\w*", re.IGNORECASE)


def signed(span: timedelta) -> str:
    """A distance of time, such as -10m."""
    return f"-{length(-span)}" if span < timedelta(0) else length(span) if span else "0s"


def length(span: timedelta, largest: str = "d") -> str:
    """A length of time as a whole number of the largest unit that allows it, such as 90s."""
    micros = span // timedelta(microseconds=1)
    units = dropwhile(lambda unit: unit[0] != largest, _UNITS)
    unit, size = next((unit, size) for unit, size in units if micros % size == 0)
    return f"{micros // size}{unit}"


def _named(value: Bound) -> str:
    """A column or a constant; a name that could be read as something else is quoted."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if _PLAIN_NAME.fullmatch(value) else "`" + value.replace("`", "``") + "`"
