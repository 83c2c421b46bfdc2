"""PARTITION BY behind FROM: a query over each value of its keys, as Timeplus has it.

Groups go by the keys too, sessions are those of a key, and what looks back over rows that have arrived looks at those
of the same key. A query that stands has a waterline for each value as well; an answer, or a view, is of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.nodes import SUBSTREAMS, TableFunction
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls


def with_substreams(select: exp.Select) -> exp.Select:
    """The SELECT, a copy where it has PARTITION BY, which says the same without."""
    if not select.args.get("partition_by"):
        return select
    found = select.copy()
    found.parent = select.parent
    take_substreams(found)
    return found


def take_substreams(select: exp.Select) -> None:
    """Have the keys of PARTITION BY, which is taken away, where what goes by them reads them."""
    keys = select.args.pop("partition_by", None) or []
    if not keys:
        return
    select.meta[SUBSTREAMS] = keys
    if select.args.get("group") is not None or any(next(aggregate_calls(item), None) for item in select.expressions):
        _group_by(select, keys)
    for table in select.find_all(TableFunction):
        if table.name == "SESSION" and not table.args.get("partition_by"):
            table.set("partition_by", [key.copy() for key in keys])


def _group_by(select: exp.Select, keys: Sequence[exp.Expression]) -> None:
    group = select.args.get("group") or exp.Group(expressions=[])
    present = {spark_sql(item) for item in group.expressions}
    for key in keys:
        if spark_sql(key) not in present:
            group.append("expressions", key.copy())
    select.set("group", group)
