"""A step's change as Arrow: rows that are added, or the row of each key and the keys that go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.rows import canonical_row
from penstock.catalog.reserved import WEIGHT
from penstock.steps.change import Change


@dataclass(frozen=True)
class Keyed:
    """The rows that a step gives to a table with a key, in the place of those of their keys, and the keys that go."""

    rows: pa.Table
    gone: pa.Table


def added(change: Change) -> pa.Table:
    """The rows that come, each as often as it does."""
    data = change.arrow()
    weights = data.column(WEIGHT).to_numpy()
    places = np.repeat(np.arange(data.num_rows), np.maximum(weights, 0))
    return data.drop_columns([WEIGHT]).take(pa.array(places))


def keyed(change: Change, key: Sequence[str]) -> Keyed:
    """The row that each key has now, and the keys that have none any more."""
    data = change.arrow()
    rows, before = (
        data.filter(wanted).drop_columns([WEIGHT])
        for wanted in (pc.greater(data.column(WEIGHT), 0), pc.less(data.column(WEIGHT), 0))
    )
    kept = set(_keys(rows, key))
    gone = [at for at, found in enumerate(_keys(before, key)) if found not in kept]
    return Keyed(rows, before.select(list(key)).take(pa.array(gone, pa.int64())))


def replaced(change: Change, key: Sequence[str]) -> pa.Table:
    """The keys whose rows go, whether or not others take their place."""
    data = change.arrow()
    return data.filter(pc.less(data.column(WEIGHT), 0)).select(list(key))


def _keys(rows: pa.Table, key: Sequence[str]) -> list[object]:
    columns = [rows.column(name).to_pylist() for name in key]
    return [canonical_row(values) for values in zip(*columns, strict=True)]
