"""A query that stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.relational.saying import at
from penstock.relational.writing import named

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.pipeline.standing import StandingQuery
    from penstock.relational.home import Home


@dataclass(frozen=True)
class Emitting:
    """A query with EMIT, or one with STREAM: behind `Relation.emit` and `Relation.stream`; nothing more goes on it."""

    home: Home
    text: str

    @classmethod
    def checked(cls, home: Home, text: str, where: str) -> Emitting:
        """The query, if it can stand."""
        try:
            home.check_standing(text)
        except PenstockError as error:
            raise at(where, error) from None
        return cls(home, text)

    def sql(self) -> str:
        """The query as SQL, in the pipeline's dialect."""
        return self.text

    def subscribe(self, *, name: str | None = None, clock: datetime | str | None = None) -> StandingQuery:
        """Have the query stand, as `Pipeline.subscribe` does."""
        found: StandingQuery = self.home.subscribe(self.text, name=name, clock=clock)
        return found

    def explain(self, options: Sequence[str] = ()) -> str:
        """An account of when rows are shown, and how the query would be maintained."""
        return self.home.explain_query(self.text, options)

    def create_view(self, name: str) -> None:
        """Create a view of the query; what follows the view is shown what EMIT says."""
        self.home.execute(f"CREATE VIEW {named(name)} AS {self.text}")
