"""The part of a pipeline that a relation needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Home(Protocol):
    """The pipeline in which a relation is asked."""

    @property
    def dialect(self) -> str:
        """The dialect of its SQL."""

    def columns_of(self, sql: str) -> tuple[str, ...]:
        """The columns of a query, which is bound and not asked; raises SqlError or UnsupportedError."""

    def check_standing(self, sql: str) -> None:
        """Raise SqlError or UnsupportedError for a query that cannot stand."""

    def query(self, sql: str) -> Any:
        """The answer of a query."""

    def subscribe(self, sql: str, *, name: str | None = None, clock: datetime | str | None = None) -> Any:
        """The query as it stands."""

    def explain_query(self, sql: str, options: Sequence[str] = ()) -> str:
        """An account of how the query would be maintained."""

    def execute(self, sql: str, *, clock: datetime | str | None = None) -> Mapping[str, Any]:
        """Run statements."""
