"""A chain of calls and the SQL that a person would write have the same plan, whatever the chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock import F, Window, col, cumulate, hop, session, tumble
from penstock.bind.program.queries import bind_query
from penstock.plan.nodes import Plan
from penstock.relational.relation import Relation
from penstock.rewrite import rewrite
from penstock.sql.parse import parse_query

PROGRAM = """
CREATE TABLE t (a INT, b INT, k STRING, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE TABLE u (k STRING, c INT, d INT);
"""


@dataclass(frozen=True)
class Query:
    """A query as calls, and as the clauses of one SELECT."""

    calls: Callable[[penstock.Pipeline], Relation]
    source: str = "t"
    where: tuple[str, ...] = ()
    items: str = "*"
    tail: str = ""

    @property
    def sql(self) -> str:
        """The SELECT."""
        several = [f"({item})" if " OR " in item and len(self.where) > 1 else item for item in self.where]
        where = f" WHERE {' AND '.join(several)}" if self.where else ""
        return f"SELECT {self.items} FROM {self.source}{where}{self.tail}"

    def then(self, call: Callable[[Any], Any], **clauses: Any) -> Query:
        """The query with one more call."""
        return replace(self, calls=lambda p: call(self.calls(p)), **clauses)


CONDITIONS: tuple[tuple[Any, str], ...] = (
    (col("a") > 3, "a > 3"),
    ("a > 3 OR b < 2", "a > 3 OR b < 2"),
    (~((col("a") + 1) * 2 == col("b")), "NOT ((a + 1) * 2 = b)"),
    (col("a").is_null() | (col("b") % 2 == 0), "a IS NULL OR b % 2 = 0"),
    (F.coalesce("b", "a") >= 5, "coalesce(b, a) >= 5"),
    (col("a").between(1, 7) & ~col("b").isin(4, 5), "a BETWEEN 1 AND 7 AND NOT (b IN (4, 5))"),
    (F.upper("k") == "X'Y", "upper(k) = 'X\\'Y'"),
    (1 - col("a") < col("b") / 2, "1 - a < b / 2"),
)
AGGREGATES: tuple[tuple[Any, str], ...] = (
    (F.sum("a").alias("total"), "sum(a) AS total"),
    (F.count().alias("n"), "count(*) AS n"),
    (F.avg(col("a") + col("b")).alias("mean"), "avg(a + b) AS mean"),
    (F.max("b").alias("most"), "max(b) AS most"),
    (F.count_distinct("b").alias("different"), "count(DISTINCT b) AS different"),
    (F.sum("b").filter(col("a") > 1).alias("some"), "sum(b) FILTER (WHERE a > 1) AS some"),
)
WINDOWS: tuple[tuple[Any, str], ...] = (
    (tumble("at", "1 hour"), "TUMBLE({0}, DESCRIPTOR(at), INTERVAL 1 HOUR)"),
    (hop("at", "30 minutes", "1 hour"), "HOP({0}, DESCRIPTOR(at), INTERVAL 30 MINUTES, INTERVAL 1 HOUR)"),
    (cumulate("at", "1h", "1 day"), "CUMULATE({0}, DESCRIPTOR(at), INTERVAL 1 HOUR, INTERVAL 1 DAY)"),
    (session("at", "90s"), "SESSION({0}, DESCRIPTOR(at), INTERVAL 90 SECONDS)"),
)
ITEMS: tuple[tuple[tuple[Any, ...], str], ...] = (
    (("a", "k"), "a, k"),
    ((col("b").alias("x"), (-col("a")).alias("y")), "b AS x, -a AS y"),
    (
        (F.when(col("a") > 2, "big").otherwise("small").alias("size"), "k"),
        "CASE WHEN a > 2 THEN 'big' ELSE 'small' END AS size, k",
    ),
    (
        ("k", F.sum("a").over(Window.partition_by("k").order_by(F.desc("b")).rows_between(-1, 0)).alias("s")),
        "k, sum(a) OVER (PARTITION BY k ORDER BY b DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s",
    ),
    (
        (F.date_trunc("hour", "at").alias("h"), F.concat_ws("-", "k", "k").alias("kk")),
        "date_trunc('hour', at) AS h, concat_ws('-', k, k) AS kk",
    ),
)
KINDS = (
    ("inner", "JOIN"),
    ("left", "LEFT JOIN"),
    ("full_outer", "FULL JOIN"),
    ("leftsemi", "LEFT SEMI JOIN"),
    ("anti", "LEFT ANTI JOIN"),
)


def filtered(query: Query, condition: tuple[Any, str]) -> Query:
    """With a condition more."""
    return query.then(lambda r: r.filter(condition[0]), where=(*query.where, condition[1]))


def joined(query: Query, kind: tuple[str, str]) -> Query:
    """Joined with the other table."""
    return query.then(
        lambda r: r.join(r.home.pipeline.table("u"), on="k", how=kind[0]), source=f"t {kind[1]} u USING (k)"
    )


def grouped(query: Query, aggregates: list[tuple[Any, str]]) -> Query:
    """Aggregates of each key."""
    items = ", ".join(("k", *(text for _, text in aggregates)))
    return query.then(lambda r: r.group_by("k").agg(*(call for call, _ in aggregates)), items=items, tail=" GROUP BY k")


def windowed(query: Query, aggregates: list[tuple[Any, str]], window: tuple[Any, str], *, behind: bool) -> Query:
    """Aggregates of each key and window, which may be said before or behind them."""

    def call(relation: Relation) -> Relation:
        calls = [call for call, _ in aggregates]
        if behind:
            return relation.group_by("k").agg(*calls).window(window[0])
        return relation.window(window[0]).group_by("window_start", "window_end", "k").agg(*calls)

    items = ", ".join(("window_start", "window_end", "k", *(text for _, text in aggregates)))
    inner = "TABLE t" if not query.where else f"({query.sql})"
    source = f"TABLE({window[1].format(inner)})" + (" AS t" if query.where else "")
    return query.then(call, source=source, where=(), items=items, tail=" GROUP BY window_start, window_end, k")


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """A chain: perhaps a join, conditions, and then columns or groups."""
    query = Query(lambda p: p.table("t"))
    shape = draw(st.sampled_from(("plain", "join", "group", "window")))
    if shape == "join":
        query = joined(query, draw(st.sampled_from(KINDS)))
    for condition in draw(st.lists(st.sampled_from(CONDITIONS), max_size=3, unique_by=lambda item: item[1])):
        query = filtered(query, condition)
    aggregates = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique_by=lambda item: item[1]))
    if shape == "window":
        return windowed(query, aggregates, draw(st.sampled_from(WINDOWS)), behind=draw(st.booleans()))
    if shape == "group":
        return grouped(query, aggregates)
    calls, items = draw(st.sampled_from(ITEMS))
    query = query.then(lambda r: r.select(*calls), items=items)
    if draw(st.booleans()):
        query = query.then(lambda r: r.distinct(), items=f"DISTINCT {query.items}")
    return query


@pytest.fixture(scope="module")
def pipeline() -> Any:
    """Both tables, empty."""
    with penstock.Pipeline(PROGRAM, engine="native") as found:
        yield found


def plan_of(pipeline: penstock.Pipeline, sql: str) -> Plan:
    """The plan of a query, rewritten."""
    found: Plan = rewrite(bind_query(parse_query(sql), pipeline.catalog, sql, keep_order=False))
    return found


@settings(max_examples=60, deadline=None)
@given(query=queries())
def test_a_chain_of_calls_has_the_plan_of_its_sql(pipeline: penstock.Pipeline, query: Query) -> None:
    """Equal plans, whatever the text that the calls have written."""
    assert plan_of(pipeline, query.calls(pipeline).sql()) == plan_of(pipeline, query.sql)
