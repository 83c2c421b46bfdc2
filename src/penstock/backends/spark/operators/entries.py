"""The entries of a state by group, as Spark SQL.

The trace has one entry for each group and change, with the partials that the change contributed. A step joins the
touched groups' entries with the change's own in one GROUP BY; its result holds, for each touched group, the partials
before (`__o_…`), of the change (`__n_…`) and after (`__t_…`).

Of a partial that is a total, an entry has the value after its change, and `__at`, which goes up from each entry of a
group to its next: how many rows the group then has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.backends.spark.sums import AT
from penstock.catalog.reserved import KEY
from penstock.circuit.partials import PRESENT, Partial
from penstock.plan.scalar import quoted

_SIDE = "__side"
OF_CHANGE = f"max({_SIDE}) = 1"  # of a group, over `sides`: the change has rows of it


@dataclass(frozen=True)
class Entries:
    """The columns of entries with these groups and partials, and what is added up from several of them."""

    groups: tuple[str, ...]
    partials: tuple[Partial, ...]

    @cached_property
    def listed(self) -> str:
        """The key and the groups, as a list of columns."""
        return ", ".join(quoted(name) for name in (KEY, *self.groups))

    @cached_property
    def totals(self) -> bool:
        """True if an entry has the value of some partial after its change."""
        return any(item.total for item in self.partials)

    @cached_property
    def appended(self) -> dict[str, str]:
        """The columns of an entry after its groups, and where they are among the three states."""
        columns = {item.name: ("__t_" if item.total else "__n_") + item.name for item in self.partials}
        return {**columns, AT: "__t_" + PRESENT} if self.totals else columns

    def added(self) -> str:
        """The partials of a change, from those of its rows."""
        return ", ".join(f"{item.merge}({quoted(item.name)}) AS {quoted(item.name)}" for item in self.partials)

    def merged(self) -> str:
        """The columns of one entry, from those of several."""
        merged = [f"{_merged(item)} AS {quoted(item.name)}" for item in self.partials]
        return ", ".join([*merged, f"max({AT}) AS {AT}"] if self.totals else merged)

    def vanished(self, prefix: str | None = None) -> str:
        """The condition of a group without rows, over its entries or over its partials with a prefix."""
        if not self.groups or any(item.merge != "sum" for item in self.partials):
            return ""
        names = [quoted((prefix or "") + item.name) for item in self.partials]
        sums = names if prefix is not None else [f"sum({name})" for name in names]
        return " AND ".join(f"coalesce({total}, 0) = 0" for total in sums)

    def states(self, *wanted: str) -> str:
        """The partials in the wanted ones of the three states, from the entries of `sides`."""
        return ", ".join(
            f"{_in_state(item, at)} AS {quoted(at + item.name)}" for at in wanted for item in self.partials
        )

    def sides(self, old: str | None, change: str) -> str:
        """State and change in one relation, told apart by `__side`."""
        at = f"CAST(NULL AS BIGINT) AS {AT}, " if self.totals else ""
        sides = [f"SELECT *, {at}1 AS {_SIDE} FROM ({change})"]
        if old is not None:
            sides.insert(0, f"SELECT *, 0 AS {_SIDE} FROM {old}")
        return " UNION ALL ".join(sides)


def _merged(item: Partial) -> str:
    """A partial of one entry, from those of several."""
    return f"max_by({quoted(item.name)}, {AT})" if item.total else f"{item.merge}({quoted(item.name)})"


def _in_state(item: Partial, state: str) -> str:
    """A partial in one of the three states, from entries of state and change told apart by `__side`."""
    added = f"{item.merge}({quoted(item.name)})"
    before, of_change = f"{_merged(item)} FILTER (WHERE {_SIDE} = 0)", f"{added} FILTER (WHERE {_SIDE} = 1)"
    if state == "__t_":
        return f"coalesce({before} + {of_change}, {before}, {of_change})" if item.total else added
    return before if state == "__o_" else of_change
