"""A view without a policy: what has changed is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.analysis.derived import Derived
from penstock.backends.spark.change import Delta
from penstock.emit.api import Emitted


@dataclass(frozen=True, slots=True)
class Plain:
    """Shows each change in its step; nothing waits."""

    goes_by: tuple[Derived, ...] = ()

    def after(self, change: Delta | None, _waterlines: Sequence[Any], _clock: datetime) -> Emitted:
        """The change itself."""
        return Emitted(change, self)


PLAIN = Plain()
