"""The sessions of a query AFTER SESSION CLOSE at one step: which are closed, by rows or by the clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.gates import SessionsGate
from penstock.backends.weighted import Rows, parted
from penstock.emit.api import Moment, Promise
from penstock.plan.showing import OwnSessions


@dataclass(frozen=True)
class SessionsNow:
    """The sessions as a step leaves them: `before` its timers, and after these."""

    own: OwnSessions
    before: SessionsGate | None
    after: SessionsGate | None

    @property
    def timer(self) -> datetime | None:
        """The clock at which the next one closes by itself."""
        return None if self.after is None else self.after.timer()

    def closed(self, rows: Rows) -> pa.Array:
        """True for the rows of sessions that are closed."""
        still = pa.array([] if self.after is None else sorted(self.after.open_numbers()), pa.int64())
        return pc.invert(pc.is_in(rows.column(self.own.place), still)).combine_chunks()

    def wanted(self, due: Rows | None) -> Rows | None:
        """The rows without those of sessions that are not shown."""
        if due is None or self.after is None or not self.own.only_long:
            return due
        short = pa.array(sorted(self.after.short), pa.int64())
        return parted(due, pc.invert(pc.is_in(due.column(self.own.place), short)))[0]

    def promises(self) -> Iterator[Promise]:
        """Rows that follow do not come into sessions which the clock has closed."""
        if self.after is not None and self.after is not self.before:
            yield Promise(self.own.view, self.after)


def sessions_now(own: OwnSessions | None, moment: Moment) -> SessionsNow | None:
    """The sessions of a query, None for one that makes none."""
    if own is None:
        return None
    gate = moment.gates.get(own.view)
    if not isinstance(gate, SessionsGate):
        return SessionsNow(own, None, None)
    return SessionsNow(own, gate, gate.over(moment.clock, ended=moment.ended))
