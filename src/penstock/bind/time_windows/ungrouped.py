"""An aggregate over windows of time that does not tell the windows apart: refused where Timeplus refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.time_windows.times import END, START
from penstock.sql.complaints import wrong
from penstock.sql.nodes import WINDOW_FUNCTIONS, TableFunction


def refuse_ungrouped_windows(select: exp.Select, keys: Iterable[exp.Expression], level: Level) -> None:
    """In dialect timeplus an aggregate over tumble, hop or session groups by window_start or window_end."""
    found = next(_windows(select), None)
    if found is None or level.context.catalog.settings.get("dialect") != "timeplus":
        return
    names = {column.name.rpartition(".")[2] for key in keys for column in key.find_all(exp.Column)}
    if names.isdisjoint((START, END)):
        message = f"an aggregate over {found.name.lower()} that groups neither by {START} nor by {END}"
        hint = f"add one of them to GROUP BY; to aggregate over all windows, read {found.name.lower()}(…) in a subquery"
        raise wrong(code="WINDOW_NOT_GROUPED", message=message, place=found, hint=hint)


def _windows(select: exp.Select) -> Iterator[TableFunction]:
    clause = select.args.get("from_")
    if clause is None:
        return
    joins = [*(clause.this.args.get("joins") or []), *(select.args.get("joins") or [])]
    for item in (clause.this, *(join.this for join in joins)):
        if isinstance(item, TableFunction) and item.name in WINDOW_FUNCTIONS:
            yield item
