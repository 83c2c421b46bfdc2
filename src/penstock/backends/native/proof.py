"""An expression in DuckDB's SQL, and the refusal of one that is not proven to mean there what it means on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Never

from penstock.catalog.types import Type
from penstock.errors import Span


@dataclass(frozen=True, slots=True)
class Proven:
    """DuckDB's SQL for an expression, and the type that Spark gives it; with `raises` it can fail for some values.

    `bounds` are the least and the largest whole number that it can be, where that is less than its type has.
    """

    text: str
    type: Type
    raises: bool = False
    bounds: tuple[int, int] | None = None


class NotProvenError(Exception):
    """Something that is left to Spark: `what` names the function, operator or type, and says what is missing."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        """`span` is where that stands in the SQL, if it is known where it is found out."""
        super().__init__(what)
        self.what = what
        self.span = span


def not_proven(what: str) -> Never:
    """Leave it to Spark."""
    raise NotProvenError(what)


def is_proven(work: Callable[[], object]) -> bool:
    """True if the work leaves nothing to Spark."""
    try:
        work()
    except NotProvenError:
        return False
    return True


@contextmanager
def standing_at(span: Span | None) -> Iterator[None]:
    """Have what is not proven of an expression know where it stands."""
    try:
        yield
    except NotProvenError as error:
        error.span = error.span or span
        raise


def quoted(name: str) -> str:
    """A name as DuckDB reads it whatever it contains."""
    return '"' + name.replace('"', '""') + '"'
