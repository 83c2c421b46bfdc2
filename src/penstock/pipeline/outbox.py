"""The steps that outputs have still to be given: one is in here from its commit until the output has taken it.

An output that fails is given the same step again, and later steps only behind it; the others do not wait for it. The
outbox outlives a run, so that one that is started again goes on where an output had stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.sources.api import Output
from penstock.steps.change import Change


@dataclass(frozen=True, slots=True)
class Parcel:
    """The changes of one step for one output."""

    output: Output
    changes: Mapping[str, Change]


@dataclass
class Outbox:
    """The parcels that have not been taken, oldest first."""

    _waiting: list[Parcel] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """True if all has been taken."""
        return not self._waiting

    @property
    def waiting(self) -> int:
        """The number of parcels that have not been taken."""
        return len(self._waiting)

    def put(self, outputs: Sequence[Output], changes: Mapping[str, Change]) -> None:
        """Add what a step has changed, for each of the outputs."""
        self._waiting += [Parcel(output, changes) for output in outputs]

    def opened_again(self, outputs: Sequence[Output]) -> None:
        """Have the outputs of a new run take what those of the same name had not taken."""
        by_name = {output.describe(): output for output in outputs}
        self._waiting = [
            Parcel(by_name.get(parcel.output.describe(), parcel.output), parcel.changes) for parcel in self._waiting
        ]

    def deliver(self) -> list[tuple[Output, Exception]]:
        """Give each output what waits for it, in the order of the steps; which have failed, with what they raised."""
        waiting, self._waiting = self._waiting, []
        failed: dict[int, tuple[Output, Exception]] = {}
        while waiting:
            parcel = waiting[0]
            if id(parcel.output) in failed:
                self._waiting.append(parcel)
            else:
                try:
                    parcel.output.write(parcel.changes)
                except Exception as error:  # noqa: BLE001 - it is told, and the step given again
                    failed[id(parcel.output)] = parcel.output, error
                    self._waiting.append(parcel)
                except BaseException:
                    self._waiting += waiting
                    raise
            del waiting[0]
        return list(failed.values())
