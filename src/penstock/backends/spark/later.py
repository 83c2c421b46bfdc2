"""A session that does not have to be there yet, since it is known what it will be like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import Diagnostic, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class LaterSession:
    """A function that gives a SparkSession and is called when that is first needed, or never.

    Until then the session is taken to have Spark's own functions, and `conf` of the settings on which answers depend.
    One that turns out to be another is refused (`SESSION_DIFFERS`).
    """

    opened: Callable[[], SparkSession]
    conf: Mapping[str, str] = field(default_factory=dict)

    def __call__(self) -> SparkSession:
        """The session."""
        return self.opened()


def check_as_known(known: Mapping[str, str], found: Mapping[str, str], taken: Iterable[str]) -> None:
    """UnsupportedError for a session with other settings of meaning than known, or functions in place of Spark's."""
    for name in sorted(known.keys() | found.keys()):
        if known.get(name) != found.get(name):
            told = f"{_told(name, found)}; until then it was {_told(name, known)}"
            message = f"the SparkSession that was opened has {told}"
            raise UnsupportedError(Diagnostic("SESSION_DIFFERS", message, hint=f"say {name} in conf, or {_GIVEN}"))
    for name in sorted(taken):
        message = f"the SparkSession that was opened has a function {name}() of its own, in place of Spark's"
        raise UnsupportedError(Diagnostic("SESSION_DIFFERS", message, hint=_GIVEN))


_GIVEN = "give the session itself, as spark=, where it is there"


def _told(name: str, settings: Mapping[str, str]) -> str:
    return f"{name} = {settings[name][:60]!r}" if name in settings else f"{name} as Spark has it"
