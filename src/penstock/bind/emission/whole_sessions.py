"""GROUP BY window_start of a session, which is by its end as well.

The sessions of a key do not overlap, so their starts tell them apart: the groups are the same, and close by their end.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.emission.window_columns import END, START
from penstock.sql.nodes import TableFunction
from penstock.sql.text import spark_sql


def by_whole_sessions(select: exp.Select) -> None:
    """Add the end of a session to what a query over sessions groups by, if the start is there with all their keys."""
    sessions, group = _sessions(select), select.args.get("group")
    if sessions is None or group is None or any(group.args.get(name) for name in group.args if name != "expressions"):
        return
    keys = [_meant(item, select) for item in group.expressions]
    present = {spark_sql(key) for key in keys}
    start = next((key for key in keys if _is_bound(key, START)), None)
    if start is None or not {spark_sql(key) for key in sessions.args.get("partition_by") or []} <= present:
        return
    if not any(_is_bound(key, END) for key in keys):
        group.append("expressions", exp.column(END, table=start.args.get("table")))


def _sessions(select: exp.Select) -> TableFunction | None:
    """The sessions that a query is over, and over nothing else."""
    source = select.args.get("from_")
    alone = source is not None and not any(select.args.get(name) for name in ("joins", "laterals"))
    found = source.this if source is not None and alone else None
    return found if isinstance(found, TableFunction) and found.name == "SESSION" else None


def _meant(key: exp.Expression, select: exp.Select) -> exp.Expression:
    """The item of the SELECT list that a name or a number in GROUP BY stands for, or the expression itself."""
    items = select.expressions
    if isinstance(key, exp.Literal) and key.name.isdigit() and 0 < int(key.name) <= len(items):
        return _plain(items[int(key.name) - 1])
    named = isinstance(key, exp.Column) and not key.table
    aliases = [item.this for item in items if named and isinstance(item, exp.Alias) and item.alias == key.name]
    return aliases[0] if aliases else key


def _plain(item: exp.Expression) -> exp.Expression:
    return item.this if isinstance(item, exp.Alias) else item


def _is_bound(key: exp.Expression, name: str) -> bool:
    return isinstance(key, exp.Column) and key.name == name
