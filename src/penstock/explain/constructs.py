"""The constructs that are incremental, and those that are not: each is judged by the circuit that it gives.

`page()` is docs/reference/incremental.md. Each row of its table is a query that is bound, rewritten and built; what
the table says of it is what the operators of its circuit say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.bind.program.queries import bind_query
from penstock.catalog.model import Catalog
from penstock.catalog.settings import AUTO, ENGINE
from penstock.circuit.operators import rank_of
from penstock.circuit.places import SPARK, Placing
from penstock.explain.plans import readable
from penstock.explain.report import Report, query_report
from penstock.sql.parse import parse, parse_query
from penstock.sql.statements import CreateTable

_TABLES = """
CREATE TABLE orders (id INT, customer INT, amount DECIMAL(10,2), price DOUBLE, at TIMESTAMP);
CREATE TABLE posts (id INT, tags ARRAY<STRING>);
CREATE TABLE customers (id INT NOT NULL PRIMARY KEY, name STRING, boss INT, since TIMESTAMP);
CREATE TABLE rates (customer INT PRIMARY KEY, rate INT, since TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE STREAM clicks (customer INT, page STRING, at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR);
"""


@dataclass(frozen=True)
class Construct:
    """One row of the table: how the construct is called, and a query that has it."""

    name: str
    query: str


@dataclass(frozen=True)
class Section:
    """Rows under one heading."""

    title: str
    constructs: tuple[Construct, ...]


SECTIONS = (
    Section(
        "Rows",
        (
            Construct("`SELECT` of expressions", "SELECT id, amount * 2 AS twice FROM orders"),
            Construct("`WHERE`", "SELECT id, amount FROM orders WHERE amount > 10"),
            Construct("`WHERE` with the clock", "SELECT id, at FROM orders WHERE at > now() - INTERVAL 1 DAY"),
            Construct("the clock in `SELECT`", "SELECT id, now() AS seen FROM orders"),
            Construct("`UNION ALL`", "SELECT id FROM orders UNION ALL SELECT id FROM customers"),
            Construct("`LATERAL VIEW explode`", "SELECT id, tag FROM posts LATERAL VIEW explode(tags) AS tag"),
            Construct("`UNNEST`", "SELECT id, tag FROM posts CROSS JOIN UNNEST(tags) AS x(tag)"),
            Construct("a generator in `SELECT`", "SELECT id, explode(tags) AS tag FROM posts"),
            Construct("`VALUES`", "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, s)"),
        ),
    ),
    Section(
        "Joins",
        (
            Construct(
                "inner join with an equality", "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id"
            ),
            Construct(
                "inner join with an inequality", "SELECT o.id, c.name FROM orders o JOIN customers c ON o.at < c.since"
            ),
            Construct("cross join", "SELECT o.id, c.name FROM orders o CROSS JOIN customers c"),
            Construct(
                "left, right, full join with an equality",
                "SELECT o.id, c.name FROM orders o FULL JOIN customers c ON o.customer = c.id",
            ),
            Construct(
                "outer join without an equality",
                "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.at < c.since",
            ),
            Construct(
                "`LEFT SEMI` and `LEFT ANTI JOIN`, `EXISTS`, `IN`",
                "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer)",
            ),
            Construct(
                "join with `USING`, `NATURAL JOIN`",
                "SELECT customer, page, id FROM orders JOIN clicks USING (customer)",
            ),
            Construct(
                "`LEFT SEMI` and `LEFT ANTI JOIN`, `EXISTS` without an equality",
                "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.since < o.at)",
            ),
            Construct(
                "`ASOF JOIN`",
                "SELECT o.id, c.page FROM orders o LEFT ASOF JOIN clicks c MATCH_CONDITION (o.at >= c.at)"
                " ON o.customer = c.customer",
            ),
            Construct(
                "`JOIN … FOR SYSTEM_TIME AS OF`",
                "SELECT c.page, r.rate FROM clicks c JOIN rates FOR SYSTEM_TIME AS OF c.at AS r"
                " ON c.customer = r.customer",
            ),
            Construct(
                "`FOR SYSTEM_TIME AS OF` a time",
                "SELECT customer, rate FROM rates FOR SYSTEM_TIME AS OF TIMESTAMP '2024-05-01 10:00:00'",
            ),
            Construct(
                "`MATCH_RECOGNIZE`",
                "SELECT customer, n FROM orders MATCH_RECOGNIZE (PARTITION BY customer ORDER BY at"
                " MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS amount > LAST(amount, 1)) AS m",
            ),
            Construct("`NOT IN`", "SELECT id FROM orders WHERE customer NOT IN (SELECT boss FROM customers)"),
            Construct(
                "`NOT IN` with several columns",
                "SELECT id FROM orders WHERE (id, customer) NOT IN (SELECT id, boss FROM customers)",
            ),
        ),
    ),
    Section(
        "Groups",
        (
            Construct(
                "`COUNT`, `SUM`, `AVG` of whole numbers and decimals",
                "SELECT customer, COUNT(*) AS n, SUM(amount) AS s FROM orders GROUP BY customer",
            ),
            Construct(
                "`SUM`, `AVG` of `FLOAT` and `DOUBLE`", "SELECT customer, SUM(price) AS s FROM orders GROUP BY customer"
            ),
            Construct("`MIN`, `MAX`", "SELECT customer, MAX(amount) AS m FROM orders GROUP BY customer"),
            Construct(
                "`MIN`, `MAX` of an append-only table", "SELECT customer, MAX(at) AS m FROM clicks GROUP BY customer"
            ),
            Construct("every other aggregate", "SELECT customer, skewness(price) AS p FROM orders GROUP BY customer"),
            Construct(
                "`hll_…`, `kll_…`, `approx_top_k…`, `histogram_numeric`",
                "SELECT page, hll_sketch_agg(customer) AS h FROM clicks GROUP BY page",
            ),
            Construct(
                "`COUNT(DISTINCT …)`", "SELECT customer, COUNT(DISTINCT amount) AS n FROM orders GROUP BY customer"
            ),
            Construct("sums without `GROUP BY`", "SELECT COUNT(*) AS n, SUM(amount) AS s FROM orders"),
            Construct(
                "`COUNT(DISTINCT …)` beside others",
                "SELECT customer, COUNT(DISTINCT amount) AS n, COUNT(*) AS c FROM orders GROUP BY customer",
            ),
            Construct("`MIN`, `MAX` without `GROUP BY`", "SELECT MAX(amount) AS m FROM orders"),
            Construct(
                "an aggregate with `FILTER`",
                "SELECT customer, SUM(amount) FILTER (WHERE id > 1) AS s FROM orders GROUP BY customer",
            ),
            Construct(
                "`SUM(DISTINCT …)` and others",
                "SELECT customer, SUM(DISTINCT amount) AS s FROM orders GROUP BY customer",
            ),
            Construct("every other aggregate without `GROUP BY`", "SELECT skewness(price) AS p FROM orders"),
            Construct("`HAVING`", "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer HAVING COUNT(*) > 1"),
            Construct(
                "`GROUPING SETS`, `CUBE`, `ROLLUP`",
                "SELECT customer, id, COUNT(*) AS n FROM orders GROUP BY ROLLUP (customer, id)",
            ),
            Construct(
                "`PIVOT`",
                "SELECT * FROM (SELECT id, customer, amount FROM orders) PIVOT (SUM(amount) FOR customer IN (1, 2))",
            ),
            Construct(
                "`UNPIVOT`",
                "SELECT * FROM (SELECT id, customer, amount FROM orders) UNPIVOT (v FOR n IN (customer, amount))",
            ),
            Construct("`DISTINCT`", "SELECT DISTINCT customer FROM orders"),
            Construct("`UNION`", "SELECT customer FROM orders UNION SELECT id FROM customers"),
            Construct(
                "`INTERSECT`, `EXCEPT`, with and without `ALL`",
                "SELECT customer FROM orders EXCEPT ALL SELECT id FROM customers",
            ),
        ),
    ),
    Section(
        "Subqueries",
        (
            Construct("scalar subquery", "SELECT id, amount - (SELECT SUM(amount) FROM orders) AS d FROM orders"),
            Construct(
                "correlated scalar subquery",
                "SELECT c.id, (SELECT COUNT(*) FROM orders o WHERE o.customer = c.id) AS n FROM customers c",
            ),
            Construct(
                "scalar subquery correlated by an inequality",
                "SELECT c.id, (SELECT COUNT(*) FROM orders o WHERE o.at > c.since) AS n FROM customers c",
            ),
            Construct("`IN` as a value", "SELECT id, customer IN (SELECT id FROM customers) AS known FROM orders"),
            Construct(
                "correlated `NOT IN`",
                "SELECT id FROM orders o WHERE amount NOT IN (SELECT id FROM customers c WHERE c.boss = o.customer)",
            ),
            Construct(
                "comparison with `ANY`, `SOME`, `ALL` of a query",
                "SELECT id FROM orders WHERE amount > ALL (SELECT id FROM customers)",
            ),
            Construct(
                "correlated comparison with `ANY`, `SOME`, `ALL`",
                "SELECT id FROM orders o WHERE amount > ALL (SELECT id FROM customers c WHERE c.boss = o.customer)",
            ),
            Construct(
                "subquery in `ON` of an outer, semi or anti join",
                "SELECT o.id, c.since FROM orders o LEFT JOIN customers c"
                " ON c.id = o.customer AND c.id IN (SELECT boss FROM customers)",
            ),
            Construct(
                "`LATERAL` subquery",
                "SELECT o.id, x.n FROM orders o,"
                " LATERAL (SELECT COUNT(*) AS n FROM customers c WHERE c.id = o.customer) x",
            ),
            Construct(
                "`WITH RECURSIVE`",
                "WITH RECURSIVE r AS (SELECT id, boss FROM customers UNION ALL"
                " SELECT r.id, c.boss FROM r JOIN customers c ON r.boss = c.id) SELECT id, boss FROM r",
            ),
            Construct(
                "recursion to a set (`UNION`, `DECLARE RECURSIVE VIEW`)",
                "WITH RECURSIVE r AS (SELECT id, boss FROM customers UNION"
                " SELECT r.id, c.boss FROM r JOIN customers c ON r.boss = c.id) SELECT id, boss FROM r",
            ),
            Construct(
                "recursion with an aggregate inside",
                "WITH RECURSIVE r AS (SELECT id, boss FROM customers UNION"
                " SELECT MAX(r.id), c.boss FROM r JOIN customers c ON r.boss = c.id GROUP BY c.boss)"
                " SELECT id, boss FROM r",
            ),
            Construct(
                "`WITH`", "WITH big AS (SELECT * FROM orders WHERE amount > 10) SELECT customer FROM big WHERE id > 1"
            ),
        ),
    ),
    Section(
        "Windows of time",
        (
            Construct(
                "`TUMBLE`",
                "SELECT window_start, COUNT(*) AS n"
                " FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL 5 MINUTES)) GROUP BY window_start",
            ),
            Construct(
                "`HOP`, `CUMULATE`",
                "SELECT window_start, COUNT(*) AS n FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(at), INTERVAL 5 MINUTES,"
                " INTERVAL 10 MINUTES)) GROUP BY window_start",
            ),
            Construct(
                "`SESSION`",
                "SELECT customer, window_start, window_end"
                " FROM TABLE(SESSION(TABLE clicks PARTITION BY customer, DESCRIPTOR(at), INTERVAL 5 MINUTES))",
            ),
            Construct(
                "`SESSION` with a longest length, or rows that begin and end it",
                "SELECT customer, window_start, window_end FROM session(clicks PARTITION BY customer, at, 5m, 1h)",
            ),
        ),
    ),
    Section(
        "Order",
        (
            Construct("`ORDER BY … LIMIT`", "SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 10"),
            Construct("`ORDER BY … LIMIT … OFFSET`", "SELECT id FROM orders ORDER BY amount DESC LIMIT 10 OFFSET 5"),
            Construct(
                "`ROW_NUMBER`, `RANK`, `DENSE_RANK` `<= k`",
                "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC) AS rn"
                " FROM orders) WHERE rn <= 3",
            ),
            Construct(
                "`QUALIFY`",
                "SELECT id FROM orders QUALIFY SUM(amount) OVER (PARTITION BY customer ORDER BY at) > 100",
            ),
            Construct(
                "`OVER (PARTITION BY …)`",
                "SELECT id, SUM(amount) OVER (PARTITION BY customer ORDER BY at) AS s FROM orders",
            ),
            Construct(
                "ranking and offset functions `OVER (PARTITION BY …)`",
                "SELECT id, ntile(4) OVER (PARTITION BY customer ORDER BY at) AS q,"
                " LAG(amount) OVER (PARTITION BY customer ORDER BY at) AS p FROM orders",
            ),
            Construct(
                "frames by `GROUPS`",
                "SELECT id, SUM(amount) OVER (PARTITION BY customer ORDER BY at GROUPS 1 PRECEDING) AS s FROM orders",
            ),
            Construct(
                "frames by `ROWS` and `RANGE`",
                "SELECT id, SUM(amount) OVER (PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL 1 HOUR PRECEDING"
                " AND CURRENT ROW) AS s FROM orders",
            ),
            Construct("`OVER` without `PARTITION BY`", "SELECT id, LAG(amount) OVER (ORDER BY at) AS p FROM orders"),
        ),
    ),
)


def page(placing: Placing) -> str:
    """The page, in Markdown; `placing` is the engine's, which says where operators would work."""
    return "\n".join(_lines(placing)) + "\n"


def judged(construct: Construct, placing: Placing | None = None) -> Report:
    """The report on the construct's query."""
    plan = bind_query(parse_query(construct.query), _catalog(), construct.query)
    return query_report(plan, _catalog(), placing=placing)


def _catalog() -> Catalog:
    found = Catalog().with_setting(ENGINE, AUTO)
    for statement in parse(_TABLES):
        if isinstance(statement, CreateTable):
            found = found.with_table(statement.table)
    return found


def _lines(placing: Placing) -> Iterator[str]:
    yield from _HEAD.strip().split("\n")
    for section in SECTIONS:
        yield from ("", f"## {section.title}", "")
        yield from (
            "| construct | incremental or recomputed | state kept | cost of a step | in the process |",
            "| --- | --- | --- | --- | --- |",
        )
        for construct in section.constructs:
            yield _row(construct.name, judged(construct, placing))
    yield from _TAIL.rstrip().split("\n")


def _row(name: str, report: Report) -> str:
    kept = [item for item in report.verdict.operators if item.stateful]
    how = "incremental" if report.verdict.incremental else f"recomputed: {_why(report)}"
    state = "; ".join(dict.fromkeys(item.cost.state for item in kept)) or "none"
    step = max(kept, key=rank_of).cost.step if kept else "the change"
    return f"| {name} | {how} | {state} | {step} | {in_the_process(report)} |"


def in_the_process(report: Report) -> str:
    """'yes' if all operators of a report would work there, or what keeps some on Spark."""
    places = {} if report.placed is None else report.placed.places
    found = [places[item.number] for item in report.verdict.operators if item.number in places]
    reasons = dict.fromkeys(readable(place.not_proven) for place in found if place.where == SPARK)
    return f"no: {'; '.join(reasons)}".replace("|", "\\|") if reasons else "yes"


def _why(report: Report) -> str:
    return "; ".join(dict.fromkeys(item.reason for item in report.verdict.recomputed))


_HEAD = """
# What is incremental

<!-- written by `make docs` from src/penstock/explain/constructs.py -->

Every query that Spark can run is a legal view. Most are **incremental**: a step costs as much as what changed. The
others are **recomputed**: a step in which their input changed runs the query anew and compares the answers. Both
give the same, exact result. `penstock explain` says it of your views, operator by operator, with the place in the
SQL.

A view is as incremental as its least incremental operator; views over views are judged one by one. State is what an
operator has to remember; [LATENESS](sql.md#lateness) lets it forget. That of an operator in the process lies in memory
up to `SET memory_limit` ([engines.md](engines.md#memory-in-the-process)). That of one on Spark lies in the memory of
the executors, on one machine in a little more than half of `spark.driver.memory`. What does not fit is written to disk
and read from there at each step that touches it, which is exact and slow.

The last column says whether the operators of the example [work in the process](engines.md) with `SET engine = 'auto'`,
or what keeps one of them on Spark. It goes by the types and functions of the example as well: [What is
proven](proven.md) has these.
"""

_TAIL = """
## What else decides

* `MIN` and `MAX` need the rows of a group only where rows can be taken back. A stream, or a table with `'append_only' =
  'true'`, takes nothing back, and neither does a view that only filters, projects, joins (inner) or unions such
  tables.
* The table is that of the default, `SET engine = 'auto'` on one machine. In the process, `MIN`, `MAX` and their like
  without `GROUP BY` go through all rows, which is cheap there; with `SET engine = 'spark'`, or on a cluster, these are
  kept in buckets, and such an aggregate is incremental.
* Sums of `FLOAT` and `DOUBLE` are kept as partial sums only over append-only input: a number taken out again would
  leave its rounding behind.
* A recursion is followed round by round, from the first round that the change touches. That needs a body that treats
  the rows of the recursive view one by one: with filters, projections, joins, UNION, and IN or EXISTS. An aggregate
  or a limit over the recursive view, or a negation of it, is recomputed, and so is a set of texts with a collation; a
  window function over it is refused. Outer joins with other relations, NOT IN and NOT EXISTS of them, and EXCEPT them
  are no hindrance.
* An equality in `WHERE` between two relations of `FROM` counts as one in `ON`.
* A condition on one side of a join is applied before the join, and columns that nobody reads are not kept.
* Whatever cannot be bound to operators, and a query that Penstock's parser cannot read, is handed to Spark whole and
  recomputed.
"""
