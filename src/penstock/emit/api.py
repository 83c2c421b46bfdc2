"""A policy of emission stands behind a view and says what each step shows of the view's changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa

from penstock.analysis.derived import Derived
from penstock.backends.api import Delta
from penstock.backends.gates import Gate

_NO_GATES: Mapping[str, Gate | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Moment:
    """All of a step that a policy may go by.

    `waterlines` has the values of its `goes_by` at the step's end, None for one that is not known yet; a DATE or
    TIMESTAMP is a naive `datetime` in UTC. `clock` is the step's, `arrived` names the tables that rows have come for,
    in lower case, and `gates` are the filters of views with LATENESS, as the step leaves them. With `ended` no input
    will follow.
    """

    waterlines: Sequence[Any]
    clock: datetime
    arrived: frozenset[str] = frozenset()
    ended: bool = False
    gates: Mapping[str, Gate | None] = field(default_factory=lambda: _NO_GATES)


class Emission(Protocol):
    """A policy at work behind one view: what waits to be shown is a part of it.

    It is a value. A step that is refused has changed nothing, so `after` gives the emission that a step leaves.
    """

    @property
    def goes_by(self) -> tuple[Derived, ...]:
        """The waterlines that it has to know."""

    @property
    def waits(self) -> bool:
        """True if the end of the input would show something more."""

    def after(self, change: Delta | None, moment: Moment) -> Emitted:
        """The emission of a step in which the view has changed by `change` (None: not at all).

        It is asked in each step, whether or not the view has changed.
        """


@dataclass(frozen=True, slots=True)
class Promise:
    """Another filter stands behind a view with LATENESS: what has been shown of it, later rows do not change."""

    view: str
    gate: Gate


@dataclass(frozen=True, slots=True)
class Emitted:
    """The rows that a step shows, the emission after it, and the clock at which the next step is due without input.

    Rows that the policy has dressed are an Arrow table, with the weight as the last column.
    `promises` move waterlines with the step. An emission that has `finished` shows nothing any more.
    """

    shown: Delta | pa.Table | None
    then: Emission
    timer: datetime | None = None
    promises: tuple[Promise, ...] = ()
    finished: bool = False
