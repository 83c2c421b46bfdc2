"""EXPLAIN STREAM: by what each relation is sorted, by what it can be and at what delay, and its progress (C17).

stream:
  stream orders at 1:15
    sorted:   no
    sortable: by at, INTERVAL '1' HOUR behind; keeps the rows of that time
    progress: at
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.analysis.sorting import Behind, Order, Sorting
from penstock.bind.emission.falling import FALLING
from penstock.bind.emission.streamed import CLOSING
from penstock.errors import Span
from penstock.explain.plans import readable
from penstock.explain.report import Report
from penstock.source_text import location_of, short_place


def streams_text(report: Report, source: str | None) -> Iterator[str]:
    """The lines of the section."""
    yield "stream:"
    for item in report.relations():
        yield f"  {f'{item.kind} {item.name}'.strip()}{_at(item.span, source)}"
        orders = _shown(item)
        yield f"    sorted:   {'; '.join(_by(order) for order in orders if order.there) or 'no'}"
        for order in orders:
            if not order.there:
                yield f"    sortable: {_by(order)}, {_delay(order)}; keeps {_kept(order)}"
        yield f"    progress: {', '.join(map(_named, orders)) or _none(item, source)}"


def streams_json(report: Report, source: str | None) -> dict[str, Any]:
    """The same as values: under `stream`, the relation itself and then those that it reads."""
    return {"stream": [_value(item, source) for item in report.relations()]}


def _value(item: Sorting, source: str | None) -> dict[str, Any]:
    orders, none = _shown(item), item.none
    found: dict[str, Any] = {"relation": item.name, "kind": item.kind, **_place(item.span, source)}
    found["sorted"] = [_column(order) for order in orders if order.there]
    found["sortable"] = [
        _column(order) | {"delay": _delay(order), "state": _kept(order), "sources": list(map(_source, order.behind))}
        for order in orders
        if not order.there
    ]
    found["progress"] = {_named(order): order.line.text for order in orders}
    if none is not None:
        found["no_progress"] = {"because": readable(none.reason), **_place(none.span, source)}
    return found


def _shown(item: Sorting) -> list[Order]:
    """The orders by columns that the program knows."""
    return [order for order in item.orders if not order.column.startswith(FALLING)]


def _column(order: Order) -> dict[str, Any]:
    return {"column": _named(order), "descending": order.falls}


def _source(behind: Behind) -> dict[str, Any]:
    far = {"interval": behind.bound} if behind.rows is None else {"rows": behind.rows}
    return {"column": behind.source.name, **far}


def _by(order: Order) -> str:
    return f"by {_named(order)}{' DESC' if order.falls else ''}"


def _named(order: Order) -> str:
    """The column as the program knows it: one that is carried beside the query's own by that which it comes of."""
    if not order.column.startswith(CLOSING):
        return order.column
    return f"{' and '.join(item.source.name for item in order.behind)}, which is not selected"


def _delay(order: Order) -> str:
    """The time, or the rows, that a row waits for those that may come before it."""
    if order.plain:
        return f"{_far(order.behind[0])} behind"
    passed = "its negative" if order.falls else "it"
    behind = [f"{item.source.name} is {_far(item)} behind" for item in order.behind if not item.is_nothing]
    return f"once {readable(order.line.shown)} has passed {passed}{''.join(f', where {item}' for item in behind)}"


def _kept(order: Order) -> str:
    """The rows that are kept for sorting."""
    rows = order.behind[0].rows if order.plain else None
    return "the rows from there on" if rows is None else f"{_rows(rows + 1)}, and those that equal the last of them"


def _far(behind: Behind) -> str:
    return behind.bound if behind.rows is None else _rows(behind.rows)


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _none(item: Sorting, source: str | None) -> str:
    assert item.none is not None or item.orders  # noqa: S101 - one or the other
    return "none" if item.none is None else f"none{_at(item.none.span, source)}: {readable(item.none.reason)}"


def _at(span: Span | None, source: str | None) -> str:
    if span is None or source is None:
        return ""
    return f" at {short_place(source, span.start)}"


def _place(span: Span | None, source: str | None) -> dict[str, Any]:
    if span is None or source is None:
        return {}
    return location_of(source, span.start).to_json()
