"""Generated rows as a source: how many are due by the clock, and which ones a manifest names.

    {"connector": "datagen", "read": [{"rules": "9f86d0…", "began": [0, 1717243200.0], "from": …, "to": {"row": 500}}]}

`began` is the row and the time at which this run began to make them, from which the times of the others follow.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.datagen import declared
from penstock.sources.datagen.making import Maker, Rows, width_of
from penstock.sources.datagen.rules import Ruled, Sequence, rules_of
from penstock.sources.properties import check_properties
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.batch import Batch, RowReader
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.values import STRICT

_MICROS = 1_000_000
_MOST_BYTES = 64 << 20
_FOR_EVER = 1 << 53  # rows; at a million a second they last 285 years


@dataclass(frozen=True, slots=True)
class _Began:
    """The row that was due at a time."""

    row: int
    at: float


@dataclass(frozen=True, slots=True)
class _Range:
    """Rows from one to another, and where the run began that made them."""

    began: _Began
    start: int
    end: int


@dataclass
class Generated:
    """The rows of one table: `rate` a second, `total` at most (None: for ever)."""

    table: Table
    rules: tuple[Ruled, ...]
    reader: RowReader
    seed: int
    rate: int
    total: int | None
    now: Callable[[], float] = time.time
    _began: _Began | None = None
    _at: int = 0
    _read: list[_Range] = field(default_factory=list)
    _again: list[_Range] = field(default_factory=list)

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """Up to `rows` rows that are due, or those that `seek` has named; all of them are due with `ended`."""
        ranges = self._again or self._next(rows, ended=ended)
        self._read += ranges
        if not ranges:
            return None
        self._at = ranges[-1].end
        data = pa.concat_tables([self._made(item) for item in ranges])
        numbers = [number for item in ranges for number in range(item.start, item.end)]
        return self.reader.read_arrow(data, rejections, lambda index: f"generated row {numbers[index] + 1}")

    def _next(self, rows: int, *, ended: bool) -> list[_Range]:
        began = self._began = self._began or _Began(self._at, self.now())
        width = sum(width_of(ruled) for ruled in self.rules) or 1
        due = self._due(began, ended=ended)
        end = min(due, self._at + rows, self._at + max(1, _MOST_BYTES // width))
        return [_Range(began, self._at, end)] if end > self._at else []

    def _due(self, began: _Began, *, ended: bool) -> int:
        """The number of rows that are due in all."""
        if ended:
            if self.total is None:
                raise self._endless()
            return self.total
        by_now = began.row + math.floor((self.now() - began.at) * self.rate) + 1
        return by_now if self.total is None else min(by_now, self.total)

    def _endless(self) -> DataError:
        message = f"table {self.table.name}: its rows do not end, so that a run to their end would not either"
        hint = "'number-of-rows' says how many there are; or let it run until it is stopped, without --once"
        return DataError(Diagnostic("ENDLESS_SOURCE", message, self.table.span, hint=hint))

    def _made(self, item: _Range) -> pa.Table:
        numbers = np.arange(item.start, item.end, dtype=np.int64)
        due = int(item.began.at * _MICROS) + (numbers - item.began.row) * _MICROS // self.rate
        rows, maker = Rows(numbers.view(np.uint64), due), Maker(self.seed)
        return pa.table([maker.values(ruled, rows) for ruled in self.rules], names=self._names())

    def _names(self) -> list[str]:
        """The names of the columns that are made."""
        made = {ruled.path for ruled in self.rules}
        return [column.name for column in self.table.required if column.name.lower() in made]

    @property
    def _digest(self) -> str:
        """Tells these rules from others."""
        return hashlib.sha256(f"{self.seed}\n{self.rate}\n{self.rules!r}".encode()).hexdigest()[:16]

    def taken(self) -> dict[str, Any]:
        """The rows read since the last commit."""
        read = [
            {
                "rules": self._digest,
                "began": [item.began.row, item.began.at],
                "from": {"row": item.start},
                "to": {"row": item.end},
            }
            for item in self._read
        ]
        return {"connector": "datagen", "read": read} if read else {}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Make next the rows that a manifest names; DataError if the rules have changed since."""
        for item in taken.get("read", ()):
            if item["rules"] != self._digest:
                message = f"table {self.table.name}: the rules have changed by which a step's rows were generated"
                raise DataError(Diagnostic("CANNOT_READ_AGAIN", message, self.table.span))
        self._again = [_range(item) for item in taken.get("read", ())]

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind the rows that a manifest names; they come at the rate from now on."""
        for item in taken.get("read", ()):
            self._at, self._began = item["to"]["row"], None

    def commit(self) -> None:
        """Take note that what has been read is part of a step."""
        if self._again:
            self._began = None
        self._read.clear()
        self._again.clear()

    def rewind(self) -> None:
        """Make again what was made since the last commit."""
        if self._read:
            self._at = self._read[0].start
        self._read.clear()

    def waiting(self) -> tuple[int, int]:
        """No bytes: what is not made yet waits nowhere."""
        return 0, 0

    def describe(self) -> str:
        """The source as its user names it."""
        many = "rows" if self.total is None else f"{self.total} rows"
        return f"{self.table.name} from datagen ({many}, {self.rate} a second)"


def _range(item: Mapping[str, Any]) -> _Range:
    return _Range(_Began(*item["began"]), item["from"]["row"], item["to"]["row"])


def generated(table: Table, readers: MakeReader, zone: tzinfo) -> Generated:
    """The source that a table's properties describe; SqlError if they do not."""
    check_properties(table, declared.PROPERTIES)
    rules = rules_of(table, zone)
    return Generated(
        table,
        rules,
        readers(table, STRICT),
        int(declared.SEED.value(table)),
        int(declared.RATE.value(table)),
        _total(table, rules),
    )


def _total(table: Table, rules: tuple[Ruled, ...]) -> int | None:
    """The number of rows: as many as the table says, and as the shortest sequence has whose end it says."""
    said = declared.ROWS.value(table)
    ends = [rule.rule.end - rule.rule.start + 1 for rule in rules if isinstance(rule.rule, Sequence)]
    least = min([*([int(said)] if said else []), *ends], default=_FOR_EVER)
    return None if least >= _FOR_EVER else least
