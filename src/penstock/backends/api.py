"""An operator at work, as the engine knows it, wherever that is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from penstock.analysis.derived import Derived, SourceColumn
from penstock.catalog.types import Type

# The change of a relation, as a backend has it.
Change = TypeVar("Change")
# The waterline of a derived column as an expression of the backend's SQL: a constant, or, where each substream has its
# own, a query for that of the keys which the row around it has.
LineText = Callable[[Derived], str]


@dataclass(frozen=True)
class KeyedLines:
    """The waterlines of substreams: their keys, each with the value of its column, and the types of all of these."""

    kinds: tuple[Type, ...]
    rows: tuple[tuple[tuple[Any, ...], Any], ...]


class Lines(Protocol):
    """The waterlines of all sources as Spark SQL."""

    def __call__(self, derived: Derived) -> str:
        """A waterline as an expression."""

    def of_keys(self, source: SourceColumn) -> KeyedLines:
        """The waterlines that substreams have of a column."""


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
    def merge(self, lines: Lines | None = None) -> None:
        """Between steps: have the state take less room where that is due, without what has expired by `lines`."""

    @abstractmethod
    def compact(self, lines: Lines | None = None) -> None:
        """The same for all of the state, due or not."""

    @abstractmethod
    def state(self) -> Iterator[tuple[int, int]]:
        """Rows and bytes of each trace."""
