"""The oracle's reading of frames in GROUPS: an inner query numbers the groups, and the frame goes by their numbers.

The inner query has what stands in FROM and WHERE, the whole row first, so that the order of rows stays what it was;
the outer one reads every column under a new name.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.oracle.row_order import inline_windows
from penstock.testing.oracle.time_windows import cannot_say

_READ = ("from_", "joins", "laterals", "where")
_SHOWN = ("expressions", "qualify", "order")


def rewrite_group_frames(select: exp.Select) -> None:
    """Replace the GROUPS frames of a query, in place."""
    if not any(_in_groups(node) for node in _windows(select)):
        return
    inline_windows(select)
    _check(select)
    calls = [node for node in _windows(select) if _in_groups(node)]
    numbers = [f"{_number(node)} AS __group{index}" for index, node in enumerate(calls)]
    columns: dict[str, str] = {}
    aliases = {item.alias.lower(): item for item in select.expressions if isinstance(item, exp.Alias)}
    for part in _SHOWN:
        _rename(select, part, aliases, columns)
    for index, node in enumerate(calls):
        by_number = exp.Ordered(this=exp.column(f"__group{index}"), nulls_first=True)
        node.set("order", exp.Order(expressions=[by_number]))
        node.args["spec"].set("kind", "RANGE")
    items = ["struct(*) AS __row", *(f"{text} AS {name}" for text, name in columns.items()), *numbers]
    inner = exp.Select(**{key: select.args[key] for key in _READ if select.args.get(key)})
    inner.set("expressions", parse_query(f"SELECT {', '.join(items)}").expressions)
    for key in _READ:
        select.set(key, None)
    alias = exp.TableAlias(this=exp.to_identifier("__numbered"))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))


def _windows(select: exp.Select) -> list[exp.Window]:
    return [node for node in select.find_all(exp.Window) if node.find_ancestor(exp.Select) is select]


def _in_groups(node: exp.Window) -> bool:
    spec = node.args.get("spec")
    return spec is not None and str(spec.args.get("kind") or "").upper() == "GROUPS"


def _check(select: exp.Select) -> None:
    shown = [item for part in _SHOWN for item in _parts(select, part)]
    starred = any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in select.expressions)
    if starred or any(select.args.get(key) for key in ("group", "having")):
        cannot_say("a frame in GROUPS beside GROUP BY or a star")
    if any(item.find(exp.Query) for item in shown):
        cannot_say("a frame in GROUPS beside a subquery in the SELECT list")


def _number(node: exp.Window) -> str:
    """The number of each row's group."""
    partition = ", ".join(spark_sql(item) for item in node.args.get("partition_by") or [])
    order = spark_sql(node.args["order"])
    return f"dense_rank() OVER ({f'PARTITION BY {partition} ' if partition else ''}{order})"


def _parts(select: exp.Select, part: str) -> list[exp.Expression]:
    found = select.args.get(part)
    return list(found) if isinstance(found, list) else [] if found is None else [found]


def _rename(select: exp.Select, part: str, aliases: dict[str, exp.Alias], columns: dict[str, str]) -> None:
    """Every column in a part of the query under its name in the inner one; QUALIFY and ORDER BY read aliases first."""
    for item in _parts(select, part):
        for node in list(item.find_all(exp.Column)):
            meant = None if part == "expressions" or node.table else aliases.get(node.name.lower())
            if meant is not None:
                if part == "qualify" and meant.this.find(exp.Window) is None:
                    node.replace(exp.Paren(this=meant.this.copy()))
                continue
            new = exp.column(columns.setdefault(spark_sql(node), f"__c{len(columns)}"))
            node.replace(exp.alias_(new, node.name, quoted=True) if node in select.expressions else new)
