"""LATENESS of a view, as the engine knows it: a gate behind the view, given by whoever knows the declaration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self, runtime_checkable

import pyarrow as pa

from penstock.backends.api import Delta
from penstock.plan.showing import OwnWaterline


class Gate(Protocol):
    """The memory of a view's LATENESS; a value, so that a step that is discarded has changed nothing."""

    def parted(self, delta: Delta) -> Parted:
        """The change of a step without its late rows, and without rows that come and go in it."""

    def line(self, key: object) -> Any:
        """The waterline of the rows with a key, where each has its own; None if there is none."""

    def seen(self, own: OwnWaterline) -> Any:
        """The greatest time that has come; None if there is none, or each key has its own."""

    def closed(self, own: OwnWaterline) -> Gate:
        """The filter for which all windows that have rows are over."""


@runtime_checkable
class SessionsGate(Gate, Protocol):
    """One that numbers the rows by the session that they are in, and lets those pass that are in one."""

    def over(self, clock: datetime, *, ended: bool) -> Self:
        """The same when the sessions are closed that the clock closes, or all of them."""

    def open_numbers(self) -> frozenset[int]:
        """The numbers of the sessions that are open."""

    @property
    def short(self) -> frozenset[int]:
        """The numbers of those that have closed in this step before they had their greatest length."""

    def timer(self) -> datetime | None:
        """The clock at which the next one closes by itself."""


@dataclass(frozen=True)
class Parted:
    """The rows that pass, those for `error_view` (a change of it, or None), and the gate after the step."""

    passed: Delta
    late: pa.Table | None
    after: Gate
