"""The values of an enclosing query that a subquery is bound over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.plan.nodes import Field, Scan


class NeedDomain(Exception):  # noqa: N818 - a signal: bind the subquery again, over the enclosing query's values
    """The subquery reads the enclosing query where no join key can carry it.

    `outers` tells which subquery is meant; None for the one that is being bound.
    """

    def __init__(self, outers: dict[str, exp.Expression] | None = None) -> None:
        super().__init__()
        self.outers = outers

    def concerns(self, outers: dict[str, exp.Expression]) -> bool:
        """True if the subquery is meant that collects its outer values there."""
        return self.outers is None or self.outers is outers


@dataclass(frozen=True)
class Domain:
    """The enclosing query's values that a subquery is bound over: expression text → field of the leaf `relation`."""

    relation: str
    fields: Mapping[str, str]
    types: tuple[Field, ...]

    @property
    def leaf(self) -> Scan:
        """The relation of all distinct values; the enclosing query puts its own plan in its place."""
        return Scan(self.relation, self.types)
