"""The keys that a step touches, and the remembered rows of those keys."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.native.comparing import key
from penstock.backends.native.operators.operator import Changes
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns
from penstock.backends.thresholds import LARGE_STATE_ROWS
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal
from penstock.plan.scalar import Scalar

NULL_SAFE = "IS NOT DISTINCT FROM"


def equality(store: Store, keys: str, names: Sequence[str]) -> str:
    """The sign by which rows have the keys of a relation: that of plain equality where none of them is NULL.

    A join by it passes over a large table in half of the time.
    """
    missing = " OR ".join(f"{name} IS NULL" for name in names)
    return NULL_SAFE if store.value(f"SELECT bool_or({missing}) FROM {keys}") else "="


class Keys:
    """The key expressions of each input; none means that all rows belong together."""

    def __init__(self, store: Store, keys: Sequence[Sequence[Scalar]], inputs: Sequence[Columns]) -> None:
        self._store = store
        found = [
            [proven(scalar.form, dict(columns)) for scalar in scalars]
            for scalars, columns in zip(keys, inputs, strict=True)
        ]
        for alike in zip(*found, strict=True):
            if len({_family(item.type) for item in alike}) > 1:
                raise NotProvenError(what=f"keys of the types {' and '.join(item.type for item in alike)}")
        self.texts = [[key(item) for item in side] for side in found]
        self.any = bool(self.texts[0])
        self._table = store.name()
        self._same = NULL_SAFE

    def touched(self, changes: Changes, known: int = 0) -> str:
        """A relation of the keys that changes have, `__touched0`, …, which are looked for among `known` rows."""
        parts = [
            f"SELECT {self.listed(side)} FROM {rows.name}" for side, rows in enumerate(changes) if rows is not None
        ]
        self._store.made(self._table, f"SELECT DISTINCT {self.names} FROM ({' UNION ALL '.join(parts)})")
        self._same = NULL_SAFE
        if known >= LARGE_STATE_ROWS:
            self._same = equality(self._store, self._table, self._columns)
        return self._table

    def among(self, side: int, relation: str, touched: str) -> str:
        """The rows of a relation, of one side, that have one of the touched keys, for FROM."""
        return self.having(self.texts[side], relation, touched)

    def having(self, values: Sequence[str], relation: str, touched: str) -> str:
        """The same of any relation, whose keys are such values."""
        if not self.any:
            return relation
        return f"(SELECT __r.* FROM {relation} __r SEMI JOIN {touched} __t ON {self._matching(values)})"

    @property
    def names(self) -> str:
        """The keys as a SELECT lists them."""
        return ", ".join(self._columns)

    @property
    def _columns(self) -> list[str]:
        return [f"__touched{place}" for place in range(len(self.texts[0]))]

    def listed(self, side: int) -> str:
        """The keys of the rows of one side, under their names."""
        return ", ".join(f"{text} AS __touched{place}" for place, text in enumerate(self.texts[side]))

    def matching(self, side: int) -> str:
        """The condition by which a row of one side has the key of a touched one, `__t`."""
        return self._matching(self.texts[side])

    def _matching(self, values: Sequence[str]) -> str:
        return " AND ".join(f"({text}) {self._same} __t.__touched{place}" for place, text in enumerate(values))

    def alike(self, one: str, other: str) -> str:
        """The condition by which rows of two relations have the same key."""
        places = range(len(self.texts[0]))
        return " AND ".join(f"{one}.__touched{at} {NULL_SAFE} {other}.__touched{at}" for at in places)


def _family(kind: Type) -> str:
    """Types whose values DuckDB compares as Spark does, although they are not the same."""
    if kind in INTEGRAL:
        return "whole"
    return "fraction" if kind in FRACTIONAL else "decimal" if is_decimal(kind) else kind
