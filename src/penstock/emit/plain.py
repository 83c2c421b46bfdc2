"""A view without a policy: what has changed is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.analysis.derived import Derived
from penstock.backends.api import Delta
from penstock.emit.api import Emitted, Moment


@dataclass(frozen=True, slots=True)
class Plain:
    """Shows each change in its step; nothing waits."""

    goes_by: tuple[Derived, ...] = ()

    waits: ClassVar[bool] = False

    def after(self, change: Delta | None, _moment: Moment) -> Emitted:
        """The change itself."""
        return Emitted(change, self)


PLAIN = Plain()
