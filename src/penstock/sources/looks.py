"""Asking again and again what has come: each look in a thread of its own, so that a slow answer holds up no step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.patience import Patience
from penstock.sources.properties import Property, duration
from penstock.sources.secrets import masked

Found = TypeVar("Found")


class AwayError(Exception):
    """It does not answer, or not now; `pause` are the seconds after which it wants to be asked again."""

    def __init__(self, why: str, pause: float = 1.0) -> None:
        super().__init__(why)
        self.pause = pause


class RefusedError(Exception):
    """It answers, and not with rows; `hint` says what would help, where that is known."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Look(Generic[Found]):
    """One question, and what came of it once it is `done`."""

    def __init__(self, ask: Callable[[], Found | None]) -> None:
        self._ask = ask
        self._found: Found | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()
        threading.Thread(target=self._run, daemon=True, name="penstock-look").start()

    def _run(self) -> None:
        try:
            self._found = self._ask()
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            self._error = error
        self.done.set()

    def answer(self) -> Found | None:
        """The answer; raises what asking has raised."""
        if self._error is not None:
            raise self._error
        return self._found


@dataclass
class Looks(Generic[Found]):
    """The looks of one table's source, which is `where` people name it."""

    table: Table
    where: Callable[[], str]
    patience: Patience
    secrets: frozenset[str] = frozenset()
    _look: Look[Found] | None = field(default=None, repr=False)

    WAIT: ClassVar[float] = 0.02  # seconds that a step waits for an answer, which most come in

    @classmethod
    def of(  # noqa: PLR0917 - a table, what it says of its looks, and who asks
        cls,
        table: Table,
        where: Callable[[], str],
        every: Property,
        timeout: Property,
        secrets: frozenset[str] = frozenset(),
        now: Callable[[], float] = time.monotonic,
    ) -> Looks[Found]:
        """Looks as often as a table says, at something that may be away for as long as it says."""
        rest, away = (duration(item.value(table)).total_seconds() for item in (every, timeout))
        return cls(table, where, Patience(rest, away, now), secrets)

    def found(self, ask: Callable[[], Found | None], *, ended: bool) -> Found | None:
        """The answer to a question; None if it has nothing new, does not come yet, or it is not time to ask.

        DataError for what refuses, and for what has not answered for too long.
        """
        if self._look is None:
            if not self.patience.is_due(ended=ended):
                return None
            self._look = Look(ask)
        if not self._look.done.wait(self.WAIT):
            return None
        look, self._look = self._look, None
        try:
            answer = look.answer()
        except AwayError as error:
            if self.patience.is_over(masked(str(error), self.secrets), error.pause):
                raise self._failed(error) from None
            return None
        except RefusedError as error:
            raise self._failed(error) from None
        self.patience.answered()
        if answer is None:
            self.patience.rest()
        return answer

    def _failed(self, error: AwayError | RefusedError) -> DataError:
        away = isinstance(error, AwayError)
        code, what = ("SOURCE_UNREACHABLE", "does not answer") if away else ("SOURCE_REFUSED", "refuses")
        hint = "the run goes on where it was once it is started again" if isinstance(error, AwayError) else error.hint
        message = f"table {self.table.name}: {self.where()} {what}: {masked(str(error), self.secrets)}"
        return DataError(Diagnostic(code, message, self.table.span, hint=hint))

    @property
    def is_awaited(self) -> bool:
        """True while an answer is to come: there may be more."""
        return self._look is not None or self.patience.is_away

    def end(self) -> None:
        """Wait a little for a question that is being asked: what it is asked over is let go of."""
        if self._look is not None:
            self._look.done.wait(1.0)


class LookedSource(Generic[Found]):
    """All that sources have in common which are looked at again and again."""

    _looks: Looks[Found]

    def waiting(self) -> tuple[int, int]:
        """Nothing that is known."""
        return 0, 0

    @property
    def is_awaited(self) -> bool:
        """True while an answer is to come: there may be more."""
        return self._looks.is_awaited

    def trouble(self) -> str:
        """The reason for which it does not answer, while it does not."""
        return self._looks.patience.said
