"""Windows of time: tumble, hop, cumulate and session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from penstock.relational.columns import Column, column_of
from penstock.relational.saying import refused
from penstock.relational.writing import length

Length = str | timedelta


@dataclass(frozen=True)
class TimeWindow:
    """A window of time over the rows of a relation; it brings the columns `window_start` and `window_end`."""

    function: str
    time: str
    lengths: tuple[tuple[str, str], ...]
    keys: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The call in Python, for messages."""
        return f"{self.function.lower()}({self.time})"

    def over(self, relation: str) -> str:
        """The window over a relation, as an item of FROM."""
        keys = f" PARTITION BY {', '.join(self.keys)}" if self.keys else ""
        lengths = ", ".join(f"{name} => {value}" for name, value in self.lengths)
        return f"TABLE({self.function}(DATA => {relation}{keys}, TIMECOL => DESCRIPTOR({self.time}), {lengths}))"


def tumble(time: str | Column, size: Length, *, offset: Length | None = None) -> TimeWindow:
    """Windows of one size, side by side: `tumble("at", "1 hour")`."""
    return TimeWindow("TUMBLE", _time(time), (("SIZE", length(size)), *_offset(offset)))


def hop(time: str | Column, slide: Length, size: Length, *, offset: Length | None = None) -> TimeWindow:
    """Windows of one size, of which one begins after each `slide`."""
    return TimeWindow("HOP", _time(time), (("SLIDE", length(slide)), ("SIZE", length(size)), *_offset(offset)))


def cumulate(time: str | Column, step: Length, size: Length, *, offset: Length | None = None) -> TimeWindow:
    """Windows that grow by a step up to their size, and begin again."""
    return TimeWindow("CUMULATE", _time(time), (("STEP", length(step)), ("SIZE", length(size)), *_offset(offset)))


def session(time: str | Column, gap: Length, *, by: str | Column | list[str] | tuple[str, ...] = ()) -> TimeWindow:
    """Windows of rows with no gap of `gap` between them; each value of the columns `by` has sessions of its own."""
    keys = by if isinstance(by, list | tuple) else (by,)
    return TimeWindow("SESSION", _time(time), (("GAP", length(gap)),), tuple(column_of(key).text for key in keys))


def _time(time: str | Column) -> str:
    found = column_of(time).text
    if not isinstance(time, str | Column) or "(" in found or " " in found.strip("`"):
        raise refused(
            message=f"{found} is not a column of time", hint="give the column a name before: with_column('at', …)"
        )
    return found


def _offset(offset: Length | None) -> tuple[tuple[str, str], ...]:
    return () if offset is None else (("OFFSET", length(offset)),)
