"""The rows that windows over windows of one key may forget: those that later rows do not look back on (B9).

All windows of the chain have to look back by one time column. Of the rows below the line that the furthest of them
reaches only those stay that LAG, or a frame of so many rows, counts off from the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from penstock.analysis.derived import least
from penstock.analysis.reach import Reach, further, reach_of
from penstock.analysis.waterline import Reader
from penstock.catalog.model import Catalog
from penstock.circuit.forgetting import Best, Expiry, by_closing, by_partition
from penstock.circuit.window_chains import Link
from penstock.plan.forms import Form, Reference, references
from penstock.plan.nodes import Filter, Project, Window
from penstock.plan.scalar import quoted, scalar_of


def windows_expire(chain: tuple[Link, ...], lowest: Window, reader: Reader, catalog: Catalog) -> tuple[Expiry, ...]:
    """Rows of windows over windows of one key (`chain`, the top first) that later rows do not look back on."""
    by_key = by_partition(lowest, reader)
    return by_key or (*by_closing(lowest, reader, catalog), *_looked_back_on(chain, lowest, reader))


def _looked_back_on(chain: tuple[Link, ...], lowest: Window, reader: Reader) -> tuple[Expiry, ...]:
    looks = _looks(chain, lowest)
    if looks is None:
        return ()
    known, types = reader.of(lowest.input), {item.name: item.type for item in lowest.input.fields}
    derived = least(reader.bound(tree, known, types) for tree in looks.lines)
    if derived is None:
        return ()
    partition = tuple(scalar.text for scalar in lowest.partition)
    keep = tuple(Best(partition, order, looks.rows, ranking) for order, ranking in looks.orders)
    return (Expiry(0, quoted(looks.time), derived, keep=keep, shown=quoted(looks.time)),)


_Order = tuple[tuple[str, ...], str]


@dataclass(frozen=True)
class _Looks:
    """The reach of all windows of a chain, back by one time column: to `lines`, and `rows` further."""

    time: str
    lines: tuple[Form, ...]
    rows: int = 0
    orders: tuple[_Order, ...] = ()


@dataclass(frozen=True)
class _Level:
    """A place in a chain: what its columns are called in the chain's input, whether rows are missing."""

    names: Mapping[str, str]
    filtered: bool = False

    def above(self, node: Link) -> _Level:
        """The level above a projection, a filter or a window."""
        match node:
            case Project():
                read = {name: self.names.get(scalar.column or "") for name, scalar in node.items}
                return replace(self, names={name: found for name, found in read.items() if found is not None})
            case Filter():
                return replace(self, filtered=True)
            case Window():
                return self
            case _:
                assert_never(node)


def _looks(chain: tuple[Link, ...], lowest: Window) -> _Looks | None:
    looks: _Looks | None = None
    level = _Level({name: name for name in lowest.input.names})
    for node in reversed(chain):
        if isinstance(node, Window):
            looks = _looking_further(looks, node, lowest, level)
            if looks is None:
                return None
        level = level.above(node)
    return looks


def _looking_further(before: _Looks | None, node: Window, lowest: Window, level: _Level) -> _Looks | None:
    """The windows that its input has gone through, and a window on top of them; None where they differ in time."""
    found = [reach_of(call, node.input) for _, call in node.calls]
    reaches = [item for item in found if item is not None]
    key = reaches[0].key if reaches else None
    time = level.names.get(key.name) if isinstance(key, Reference) else None
    if len(reaches) < len(found) or time is None or any(item.key != key for item in reaches):
        return None
    if before is not None and before.time != time:
        return None
    # A row below the line that a later one follows is computed anew by all calls, whichever of them looks ahead.
    following = max(item.following for item in reaches)
    rows = following + max(item.rows - item.following for item in reaches)
    if following and any(item.distances for item in reaches):
        return None
    lines = (Reference(time),) if before is None else before.lines
    partition = {scalar.renamed(level.names).text for scalar in node.partition}
    split = partition != {scalar.text for scalar in lowest.partition}
    # The rows before a line are counted as they come in: none may have been left out, or counted by another key,
    # and below a window that looks back by time they would be needed for each row that it reaches.
    if rows and (level.filtered or split or any(not isinstance(line, Reference) for line in lines)):
        return None
    lines = tuple(further(line, item.distances) for line in lines for item in reaches)
    orders = [_nearest(item, level) for item in reaches if item.rows]
    if before is not None:
        rows, orders = rows + before.rows, [*before.orders, *orders]
    return _Looks(time, tuple(dict.fromkeys(lines)), rows, tuple(dict.fromkeys(orders)))


def _nearest(reach: Reach, level: _Level) -> _Order:
    """The rows below a line from the nearest on: the window's own order, or that backwards.

    Where the order is by what the chain computes, rows of one time count as one.
    """
    backwards = not reach.order[0].descending
    found: list[str] = []
    for item in reach.order:
        if not references(item) <= set(level.names):
            return (found[0],), "rank"
        down, nulls = ("ASC" if item.descending is backwards else "DESC"), item.nulls_first is not backwards
        text = scalar_of(item.value).renamed(level.names).text
        found.append(f"{text} {down} NULLS {'FIRST' if nulls else 'LAST'}")
    return tuple(found), "row_number"
