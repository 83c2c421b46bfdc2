"""An operator at work, as the engine knows it, wherever that is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from penstock.analysis.derived import Derived

# The change of a relation, as a backend has it.
Change = TypeVar("Change")
# The waterline of a derived column as a constant in the backend's SQL.
LineText = Callable[[Derived], str]


class Runner(ABC, Generic[Change]):
    """One operator at work. It takes the changes of its inputs and gives its own.

    What it will remember is only proposed until `commit`; `discard` forgets the proposal, so a step that fails anywhere
    has changed nothing.
    """

    @abstractmethod
    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        """The change of the output; None stands for no change. `first` in the operator's first step."""

    def wants_step(self) -> bool:
        """True if the operator must run although none of its inputs has changed."""
        return False

    @abstractmethod
    def commit(self) -> None:
        """Make what was proposed the state."""

    @abstractmethod
    def discard(self) -> None:
        """Forget what was proposed."""

    @abstractmethod
    def merge(self, lines: LineText | None = None) -> None:
        """Between steps: have the state take less room where that is due, without what has expired by `lines`."""

    @abstractmethod
    def compact(self, lines: LineText | None = None) -> None:
        """The same for all of the state, due or not."""

    @abstractmethod
    def state(self) -> Iterator[tuple[int, int]]:
        """Rows and bytes of each trace."""
