"""The clause EMIT: it says at which moments a query that stands shows its rows, and in what form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from penstock.relational.writing import length

Length = str | timedelta


@dataclass(frozen=True)
class Emit:
    """The clause EMIT: parts, put together by `&`, and the form of the rows."""

    parts: tuple[str, ...] = ()
    form: str = ""

    @property
    def text(self) -> str:
        """The clause."""
        return " ".join(part for part in ("EMIT", self.form, " AND ".join(self.parts)) if part)

    def __and__(self, other: Emit) -> Emit:
        return replace(self, parts=self.parts + other.parts, form=self.form or other.form)

    def timeout(self, after: Length) -> Emit:
        """Show what waits once no row has come for so long."""
        return self & Emit((f"TIMEOUT {length(after)}",))

    def last(self, span: Length, *, processing_time: bool = False) -> Emit:
        """Only of the rows of the last so long."""
        return self & Emit((f"LAST {length(span)}{' ON PROCTIME' if processing_time else ''}",))


def after_watermark(*, delay: Length | None = None) -> Emit:
    """Each row once, when the waterline has passed it, or has passed it by `delay`."""
    return Emit(("AFTER WATERMARK" + ("" if delay is None else f" WITH DELAY {length(delay)}"),))


def after_delay(delay: Length) -> Emit:
    """A group that has changed, so long after its first change; `& after_watermark()` once more when it is final."""
    return Emit((f"AFTER DELAY {length(delay)}",))


def periodic(every: Length, *, repeat: bool = False) -> Emit:
    """The whole answer, every so long by the clock, if it has changed or with `repeat`."""
    return Emit((f"PERIODIC {length(every)}{' REPEAT' if repeat else ''}",))


def on_update(*, batch: Length | None = None) -> Emit:
    """The rows that a step has changed, or those of each `batch`."""
    return Emit((f"ON UPDATE{'' if batch is None else f' WITH BATCH {length(batch)}'}",))


def per_event() -> Emit:
    """The answer behind each row that comes."""
    return Emit(("PER EVENT",))


def changes() -> Emit:
    """All changes: +I, -U, +U, -D; alone, or `changes() & periodic('1s')`."""
    return Emit(form="CHANGES")
