"""Windows of rows: PARTITION BY, ORDER BY and the frame of OVER."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar

from penstock.relational.columns import Column, column_of
from penstock.relational.saying import refused
from penstock.relational.writing import length

BEFORE_ALL, BEHIND_ALL = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class WindowSpec:
    """A window of rows that has begun; each method gives another one. `Window` begins one."""

    keys: tuple[Column, ...] = ()
    order: tuple[Column, ...] = ()
    frame: str | None = None

    @property
    def text(self) -> str:
        """The window as SQL."""
        keys = f"PARTITION BY {', '.join(column.text for column in self.keys)}" if self.keys else ""
        order = f"ORDER BY {', '.join(column.ordered for column in self.order)}" if self.order else ""
        return " ".join(part for part in (keys, order, self.frame) if part)

    def partition_by(self, *keys: Any) -> WindowSpec:
        """The same by other keys."""
        return replace(self, keys=_columns(keys))

    def order_by(self, *order: Any) -> WindowSpec:
        """The same in another order."""
        return replace(self, order=_columns(order))

    def rows_between(self, start: int, end: int) -> WindowSpec:
        """The frame by numbers of rows, counted from the current one, negative before it."""
        return replace(self, frame=f"ROWS {_frame(start, end)}")

    def range_between(self, start: Any, end: Any) -> WindowSpec:
        """The frame by values of the order; a length of time reaches back at the start and ahead at the end."""
        return replace(self, frame=f"RANGE {_frame(start, end)}")

    partitionBy = partition_by  # noqa: N815 - PySpark's spelling
    orderBy = order_by  # noqa: N815 - PySpark's spelling
    rowsBetween = rows_between  # noqa: N815 - PySpark's spelling
    rangeBetween = range_between  # noqa: N815 - PySpark's spelling


class Window:
    """A window of rows begins here: `Window.partition_by("k").order_by("at").rows_between(-2, Window.current_row)`."""

    unbounded_preceding: ClassVar[int] = BEFORE_ALL
    unbounded_following: ClassVar[int] = BEHIND_ALL
    current_row: ClassVar[int] = 0
    unboundedPreceding: ClassVar[int] = BEFORE_ALL  # noqa: N815 - PySpark's spelling
    unboundedFollowing: ClassVar[int] = BEHIND_ALL  # noqa: N815 - PySpark's spelling
    currentRow: ClassVar[int] = 0  # noqa: N815 - PySpark's spelling

    @staticmethod
    def partition_by(*keys: Any) -> WindowSpec:
        """A window for each value of the keys."""
        return WindowSpec(_columns(keys))

    @staticmethod
    def order_by(*order: Any) -> WindowSpec:
        """One window over all rows, in an order."""
        return WindowSpec((), _columns(order))

    partitionBy = partition_by  # noqa: N815 - PySpark's spelling
    orderBy = order_by  # noqa: N815 - PySpark's spelling


def _columns(given: Any) -> tuple[Column, ...]:
    listed: Sequence[Any] = given if isinstance(given, list | tuple) else (given,)
    flat = [item for one in listed for item in (one if isinstance(one, list | tuple) else (one,))]
    return tuple(map(column_of, flat))


def _frame(start: Any, end: Any) -> str:
    return f"BETWEEN {_bound(start, 'PRECEDING')} AND {_bound(end, 'FOLLOWING')}"


def _bound(value: Any, side: str) -> str:
    if isinstance(value, str | timedelta):
        return f"{length(value)} {side}"
    if not isinstance(value, int):
        raise refused(
            message=f"{value!r} is no bound of a frame",
            hint="a number of rows, 0 for the current row, or a length of time",
        )
    if value <= BEFORE_ALL:
        return "UNBOUNDED PRECEDING"
    if value >= BEHIND_ALL:
        return "UNBOUNDED FOLLOWING"
    return "CURRENT ROW" if value == 0 else f"{abs(value)} {'PRECEDING' if value < 0 else 'FOLLOWING'}"
