"""Rows that lie beside those of operators: the contents of views, the rows of tables by key. Each is one trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from penstock.backends.spark.change import Delta
from penstock.backends.spark.trace import Trace

if TYPE_CHECKING:
    from penstock.backends.spark.workspace import Workspace


class Kept(ABC):
    """A trace, None before there are any rows, and the one that a step has proposed in its place.

    The proposed trace is made when it is proposed, where the step can still fail: a commit evaluates nothing.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.trace: Trace | None = None
        self.proposed: Trace | None = None

    @abstractmethod
    def with_change(self, delta: Delta) -> Trace:
        """The trace with a change."""

    def add(self, delta: Delta) -> None:
        """Have the trace hold a change that no step brings."""
        self.trace = self.with_change(delta)

    def commit(self) -> None:
        """The step has happened."""
        if self.proposed is not None:
            self.trace, self.proposed = self.proposed, None

    def discard(self) -> None:
        """The step has not happened."""
        self.proposed = None

    def maintain(self) -> None:
        """Between steps: merge layers, where that is due."""
        if self.trace is not None:
            self.trace = self.trace.merged()
