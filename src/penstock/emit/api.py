"""A policy of emission stands behind a view and says what each step shows of the view's changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from penstock.analysis.derived import Derived
from penstock.backends.spark.change import Delta


class Emission(Protocol):
    """A policy at work behind one view: what waits to be shown is a part of it.

    It is a value. A step that is refused has changed nothing, so `after` gives the emission that a step leaves.
    """

    @property
    def goes_by(self) -> tuple[Derived, ...]:
        """The waterlines that it has to know."""

    def after(self, change: Delta | None, waterlines: Sequence[Any], clock: datetime) -> Emitted:
        """The emission of a step in which the view has changed by `change` (None: not at all).

        It is asked in each step, whether or not the view has changed. `waterlines` has the values of `goes_by` at the
        step's end, None for one that is not known yet; a DATE or TIMESTAMP is a naive `datetime` in UTC.
        """


@dataclass(frozen=True, slots=True)
class Emitted:
    """The rows that a step shows, the emission after it, and the clock at which the next step is due without input."""

    shown: Delta | None
    then: Emission
    timer: datetime | None = None
