"""The oracle's reading of frames in GROUPS: an inner query numbers the groups, and the frame goes by their numbers."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.timed import cannot_say


def rewrite_group_frames(select: exp.Select) -> None:
    """Replace the GROUPS frames of a query over one relation, in place."""
    calls = [
        node for node in select.find_all(exp.Window) if _in_groups(node) and node.find_ancestor(exp.Select) is select
    ]
    if not calls:
        return
    beside = any(select.args.get(key) for key in ("joins", "laterals", "group", "having", "windows"))
    if beside or any(item.find(exp.Star) for item in select.expressions if not item.find(exp.Window)):
        cannot_say("a frame in GROUPS beside joins, GROUP BY, WINDOW or a star")
    relation = select.args["from_"].this
    numbers = []
    for index, node in enumerate(calls):
        partition = ", ".join(spark_sql(item) for item in node.args.get("partition_by") or [])
        over = f"{f'PARTITION BY {partition} ' if partition else ''}{spark_sql(node.args['order'])}"
        numbers.append(f"dense_rank() OVER ({over}) AS __group{index}")
        by_number = exp.Ordered(this=exp.column(f"__group{index}"), nulls_first=True)
        node.set("order", exp.Order(expressions=[by_number]))
        node.args["spec"].set("kind", "RANGE")
    where = select.args.get("where")
    condition = "" if where is None else f" WHERE {spark_sql(where.this)}"
    inner = f"SELECT *, {', '.join(numbers)} FROM {spark_sql(relation)}{condition}"
    select.set("where", None)
    select.set("from_", parse_query(f"SELECT 1 FROM ({inner}) AS {relation.alias_or_name}").args["from_"])


def _in_groups(node: exp.Window) -> bool:
    spec = node.args.get("spec")
    return spec is not None and str(spec.args.get("kind") or "").upper() == "GROUPS"
