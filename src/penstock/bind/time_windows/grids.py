"""The grid on which windows of time begin: at 1970-01-01 00:00 of a time zone, and every step from there.

In a zone that has kept its distance from UTC since 1970 that is all. Where clocks change,

    a step that divides an hour         begins by the clock; an hour that the clock shows twice has two
    whole hours that divide a day,      begin when the clock shows their beginning, the first time if it does twice;
      or whole days, months, years      so a day has 23, 24 or 25 hours
    any other step                      is counted in elapsed time from 1970-01-01 00:00 on

An offset moves all of that. Times before 1970 are in windows like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from sqlglot import exp

from penstock.catalog.zones import clocks_change, origin_offset
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import call
from penstock.types.durations import Duration, later, long, month_start, timestamp

HOUR, DAY = 3_600_000_000, 86_400_000_000
Ends = tuple[exp.Expression, exp.Expression]


class _Rule(Enum):
    ELAPSED = "elapsed"
    HOURLY = "hourly"  # by the clock, in elapsed time
    LOCAL = "local"  # by the clock, from one reading of it to the next


@dataclass(frozen=True)
class Exploded:
    """The windows of a row as an array of times, and the ends of one as expressions over an element of it.

    `last` is the last element, and `first` the first one where that is a moment. Of all windows those that end behind a
    time have elements from the `first` of that time on, and rows from `earliest` on are in some of them.
    """

    array: exp.Expression
    ends: Callable[[exp.Expression], Ends]
    last: exp.Expression
    first: exp.Expression | None = None
    earliest: exp.Expression | None = None


@dataclass(frozen=True)
class Grid:
    """A time zone and an offset: microseconds, or a moment at which a window begins.

    `session` is the pipeline's zone, in which Spark adds days to a time.
    """

    zone: str = "UTC"
    session: str = "UTC"
    offset: int = 0
    moment: exp.Expression | None = None

    def tumbling(self, time: exp.Expression, size: Duration, place: exp.Expression) -> Ends:
        """The window of that size in which a time lies."""
        if size.months:
            self._refuse_months(size, place)
            start = month_start(time, size.months)
            return start, later(start, size)
        rule = self._rule(size.micros, place)
        begun = self._floor(rule, time, size.micros)
        start = self._moment(rule, begun)
        return start, self._plus(rule, begun, start, size)

    def hopping(self, time: exp.Expression, slide: Duration, size: Duration, place: exp.Expression) -> Exploded:
        """All windows of a size, one beginning at every slide, in which a time lies."""
        if slide.months or size.months:
            message = "HOP needs lengths in days, hours, minutes or seconds"
            raise wrong(code="NOT_AN_INTERVAL", message=message, place=place)
        rule = self._rule(slide.micros, place, size.micros)
        last = self._floor(rule, time, slide.micros)
        element = call("timestamp_micros", last.copy())
        open_from = call("timestamp_micros", self._first_start(time, slide, size)) if rule is _Rule.ELAPSED else None
        if rule is _Rule.ELAPSED and size.micros % slide.micros:
            starts = call("sequence", self._first_start(time, slide, size), last, long(slide.micros))
            variable = exp.Identifier(this="start", quoted=False)
            ends = partial(self._ends, rule, size=size)
            return Exploded(_as_times(starts, variable), ends, element, open_from, open_from)
        count = -(-size.micros // slide.micros)
        first = exp.Sub(this=last.copy(), expression=long((count - 1) * slide.micros))
        starts = call("sequence", first, last, long(slide.micros))
        variable = exp.Identifier(this="start", quoted=False)
        inside = exp.GT(this=exp.Add(this=variable, expression=long(size.micros)), expression=self._read(rule, time))
        kept = call("filter", starts, exp.Lambda(this=inside, expressions=[variable.copy()]))
        return Exploded(_as_times(kept, variable), partial(self._ends, rule, size=size), element, open_from, open_from)

    def _first_start(self, time: exp.Expression, slide: Duration, size: Duration) -> exp.Expression:
        """The first start of a window that ends behind a time: the next slide after that time less a window's size."""
        begun = exp.Paren(this=exp.Sub(this=self._read(_Rule.ELAPSED, time), expression=long(size.micros)))
        origin = self._origin(_Rule.ELAPSED)
        counted = begun.copy() if origin is None else exp.Sub(this=begun.copy(), expression=origin)
        past = call("pmod", counted, long(slide.micros))
        return exp.Add(this=exp.Paren(this=exp.Sub(this=begun, expression=past)), expression=long(slide.micros))

    def cumulating(self, time: exp.Expression, step: Duration, size: Duration, place: exp.Expression) -> Exploded:
        """All windows that begin together at every size and grow by a step, in which a time lies."""
        if step.months or size.months or size.micros % step.micros:
            message = "CUMULATE needs a size that is a multiple of its step"
            raise wrong(code="NOT_AN_INTERVAL", message=message, place=place)
        rule = self._rule(size.micros, place, step.micros)
        start = self._floor(rule, time, size.micros)
        read = self._read(rule, time)
        past = call("pmod", exp.Sub(this=read, expression=start.copy()), long(step.micros))
        begun = exp.Paren(this=exp.Sub(this=read.copy(), expression=past))
        first = exp.Add(this=begun, expression=long(step.micros))
        last = exp.Add(this=start.copy(), expression=long(size.micros))
        variable = exp.Identifier(this="ending", quoted=False)
        ends = _as_times(call("sequence", first, last, long(step.micros)), variable)
        element, begin = call("timestamp_micros", last.copy()), self._moment(rule, start)
        least = None if rule is _Rule.LOCAL else call("timestamp_micros", first.copy())
        return Exploded(ends, lambda end: (begin.copy(), self._instant(rule, end)), element, least, begin)

    def _rule(self, step: int, place: exp.Expression, *others: int) -> _Rule:
        """The rule by which windows that begin every `step` follow the clock."""
        if not clocks_change(self.zone) or self.moment is not None:
            return _Rule.ELAPSED
        if HOUR % step == 0:
            return _Rule.HOURLY
        if step % HOUR or (step % DAY and DAY % step):
            return _Rule.ELAPSED
        if self.offset % HOUR or any(item % HOUR for item in others):
            message = f"windows by the clock of {self.zone}, which changes, that do not begin and end at whole hours"
            hint = "take whole hours for the offset and for both lengths, or another time zone"
            raise unsupported(code="WINDOW_ZONE", message=message, place=place, hint=hint)
        return _Rule.LOCAL

    def _refuse_months(self, size: Duration, place: exp.Expression) -> None:
        if self.offset or self.moment is not None:
            raise wrong(code="NOT_AN_INTERVAL", message="a window of months or years has no offset", place=place)
        if self.zone != self.session:
            message = f"windows of {size.months} months in another time zone than the pipeline's"
            hint = f"SET TIME ZONE '{self.zone}'"
            raise unsupported(code="WINDOW_ZONE", message=message, place=place, hint=hint)

    def _read(self, rule: _Rule, time: exp.Expression) -> exp.Expression:
        """A time in the microseconds in which the rule counts."""
        return self._local(time) if rule is _Rule.LOCAL else call("unix_micros", timestamp(time))

    def _local(self, time: exp.Expression) -> exp.Expression:
        return call("unix_micros", call("from_utc_timestamp", timestamp(time), exp.Literal.string(self.zone)))

    def _floor(self, rule: _Rule, time: exp.Expression, step: int) -> exp.Expression:
        read = self._read(rule, time)
        counted = read.copy() if rule is _Rule.ELAPSED else self._local(time)
        origin = self._origin(rule)
        if origin is not None:
            counted = exp.Sub(this=counted, expression=origin)
        past = call("pmod", counted, long(step))
        return exp.Paren(this=exp.Sub(this=read, expression=past))

    def _origin(self, rule: _Rule) -> exp.Expression | None:
        """The moment at which counting begins, None for 0."""
        if self.moment is not None:
            return call("unix_micros", timestamp(self.moment))
        micros = self.offset - (origin_offset(self.zone) if rule is _Rule.ELAPSED else 0)
        return long(micros) if micros else None

    def _moment(self, rule: _Rule, micros: exp.Expression) -> exp.Expression:
        return self._instant(rule, call("timestamp_micros", micros.copy()))

    def _instant(self, rule: _Rule, time: exp.Expression) -> exp.Expression:
        """The moment for a time that was read by the rule."""
        if rule is not _Rule.LOCAL:
            return time
        return call("to_utc_timestamp", time.copy(), exp.Literal.string(self.zone))

    def _ends(self, rule: _Rule, start: exp.Expression, size: Duration) -> Ends:
        return self._instant(rule, start), self._plus(rule, call("unix_micros", start.copy()), start, size)

    def _plus(self, rule: _Rule, micros: exp.Expression, start: exp.Expression, size: Duration) -> exp.Expression:
        """The end of a window; Spark adds days by the clock of its own zone, which is another matter."""
        if rule is _Rule.LOCAL or clocks_change(self.session):
            return self._moment(rule, exp.Add(this=micros.copy(), expression=long(size.micros)))
        return later(start, size)


def _as_times(array: exp.Expression, variable: exp.Identifier) -> exp.Expression:
    turned = exp.Lambda(this=call("timestamp_micros", variable.copy()), expressions=[variable.copy()])
    return call("transform", array, turned)
