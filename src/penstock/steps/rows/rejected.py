"""Rows that did not make it into their table: what `error_view` shows.

`error_view(table_or_view_name, message, metadata)` is a relation like any other: views and queries may read it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from penstock.backends import judging
from penstock.catalog.model import ERROR_VIEW
from penstock.catalog.reserved import COMPUTED, ENDED, HIDDEN, ORDER, WEIGHT
from penstock.steps.rows.interval_texts import day_time_text

LATE = judging.LATE
LATE_VERSION = "Late version"
FUTURE = judging.FUTURE
INFINITE = judging.INFINITE
BAD_ROW = "Bad row"
BAD_FILE = "Bad file"
EVALUATION = "Evaluation error"


@dataclass(frozen=True, slots=True)
class Rejected:
    """One row of `error_view`."""

    relation: str
    message: str
    metadata: str


@dataclass
class Rejections:
    """The rejected rows of a step; with `tolerant` bad rows are collected, else they refuse the step."""

    tolerant: bool = False
    rows: list[Rejected] = field(default_factory=list)

    def add(self, relation: str, message: str, metadata: str) -> None:
        """Keep one rejected row; half of a surrogate pair, which no text can hold, is written as its escape."""
        if not metadata.isascii():
            metadata = metadata.encode("utf-8", "backslashreplace").decode()
        self.rows.append(Rejected(relation, message, metadata))

    def change(self) -> pa.Table:
        """The rows as a change of `error_view`."""
        columns = [[getattr(row, name) for row in self.rows] for name in ("relation", "message", "metadata")]
        names = [column.name for column in ERROR_VIEW.columns]
        found = {name: pa.array(values, pa.string()) for name, values in zip(names, columns, strict=True)}
        return pa.table({**found, WEIGHT: pa.array([1] * len(self.rows), pa.int64())})


def row_json(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON, without what is hidden of it."""
    told = {name.removeprefix(COMPUTED): value for name, value in row.items() if name not in HIDDEN | {ORDER, ENDED}}
    return json_text(told)


def json_text(value: Any) -> str:
    """JSON that every reader takes, as Spark's to_json writes it: NaN and infinities as text, BINARY in base64."""
    try:
        return json.dumps(value, default=_text, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(_plain(value), default=_text, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value whose floats are finite, and whose keys are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _key(key: Any) -> Any:
    """A key of a MAP, of which JSON takes texts, and makes them of numbers."""
    if isinstance(key, tuple):
        return json_text(key)
    return key if isinstance(key, str | int | float | bool | None) else _text(key)


def _text(value: Any) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, timedelta):
        return day_time_text(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def counts(rows: Iterable[Rejected]) -> dict[tuple[str, str], int]:
    """The number of rejected rows, for each relation and message."""
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        found[row.relation, row.message] = found.get((row.relation, row.message), 0) + 1
    return found
