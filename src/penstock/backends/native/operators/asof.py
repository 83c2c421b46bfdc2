"""ASOF JOIN: key by key, from the first time on that a step changes.

A left row finds the closest right row before it, so a change at some time changes nothing for left rows before that
time, and what they find is not asked for. Of the right rows before it one alone matters, the last. A step that brings
what is new costs what is new, however many rows a key has had.
"""

from __future__ import annotations

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.operators.keyed import KeyedOperator
from penstock.backends.native.operators.operator import Changes
from penstock.backends.native.store import Store
from penstock.circuit.operators import Keyed
from penstock.plan.nodes import AsofJoin

_SINCE, _FIRST = "__since", "__first"


class AsofOperator(KeyedOperator):
    """An ASOF join with a key, of each left row with the closest right one before it."""

    def __init__(self, store: Store, operator: Keyed) -> None:
        super().__init__(store, operator)
        assert isinstance(operator.node, AsofJoin)  # noqa: S101 - it is chosen for that
        left, right = NativeDialect().asof_sides(operator.node)
        self._times = (left[-1], right[-1])
        self._table, self._bounds = store.name(), store.name()

    def _touched(self, inputs: Changes) -> str:
        """The touched keys, each with the first time that changes and the last right time before that, if any."""
        names = self.keys.names
        parts = [
            f"SELECT {self.keys.listed(side)}, {self._times[side]} AS {_SINCE} FROM {rows.name}"
            for side, rows in enumerate(inputs)
            if rows is not None
        ]
        since = f"SELECT {names}, min({_SINCE}) AS {_SINCE} FROM ({' UNION ALL '.join(parts)}) GROUP BY {names}"
        self.store.made(self._table, since)
        before = f"SELECT {self.keys.listed(1)}, {self._times[1]} AS {_FIRST} FROM {self.traces[1].table}"
        on = f"{self.keys.alike('__t', '__r')} AND __r.{_FIRST} < __t.{_SINCE}"
        listed = ", ".join(f"__t.{name}" for name in (*names.split(", "), _SINCE))
        last = f"SELECT {listed}, max(__r.{_FIRST}) AS {_FIRST} FROM {self._table} __t LEFT JOIN ({before}) __r ON {on}"
        self.store.made(self._bounds, f"{last} GROUP BY {listed}")
        return self._bounds

    def _among(self, side: int, relation: str, touched: str) -> str:
        """The rows of the touched keys that a step needs; those without a time find nothing, and are few."""
        time = self._times[side]
        bound = f"__t.{_SINCE}" if side == 0 else f"coalesce(__t.{_FIRST}, __t.{_SINCE})"
        if side == 1 and not self.traces[1].append_only:
            return super()._among(side, relation, touched)  # the last one before may have gone
        on = self.keys.matching(side)
        return (
            f"(SELECT __r.* FROM {relation} __r JOIN {touched} __t ON {on} WHERE {time} >= {bound} OR {time} IS NULL)"
        )
