"""The time of a job without its start: that of the same job over nothing is taken away, if that can be done.

A start of several seconds varies with what else the machine does. Where less is left than the runs differ by, the
figure is noise, and there is none: it is shown as "not measurable", and enters no ratio and no mean. This module
is read by Flink's Python too, which has none of Penstock's packages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NOT_MEASURABLE = "not measurable"
_SHARE = 0.05  # of the start: a few runs that happen to be alike do not make it more exact than that


@dataclass(frozen=True)
class Net:
    """The seconds that are left, None where they are less than the `noise`."""

    seconds: float | None
    noise: float

    def as_object(self) -> dict[str, float | None]:
        """The object that a job prints."""
        return {"seconds": self.seconds, "noise": self.noise}


def net(full: Sequence[float], empty: Sequence[float]) -> Net:
    """The quickest of some runs without the quickest start; the noise is by how much the runs of either differ."""
    noise = max(_spread(full), _spread(empty), _SHARE * min(empty))
    left = min(full) - min(empty)
    return Net(left if left > noise else None, noise)


def _spread(runs: Sequence[float]) -> float:
    return max(runs) - min(runs)
