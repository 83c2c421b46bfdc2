"""The waterlines that are inferred: every kind of expression and operator, judged by the analysis itself.

`page()` is docs/reference/waterlines.md. Each row is a query whose column `w` has a waterline, or has none; a row that has
none says either what it should be one day, or why there cannot be one.
"""

# ruff: noqa: E501 - one example on one line

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.analysis.waterline import waterlines
from penstock.bind.program.queries import bind_query
from penstock.catalog.model import Catalog
from penstock.explain.plans import readable
from penstock.rewrite import rewrite
from penstock.sql.parse import parse, parse_query
from penstock.sql.statements import CreateTable

_TABLES = """
CREATE STREAM clicks (
  at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR,
  day DATE LATENESS INTERVAL 1 DAY,
  n BIGINT LATENESS 10,
  seen TIMESTAMP LATENESS INTERVAL 1 HOUR,
  who INT, page STRING, items ARRAY<INT>, until TIMESTAMP
);
CREATE TABLE orders (at TIMESTAMP LATENESS INTERVAL 2 HOURS, who INT, n BIGINT, due TIMESTAMP);
CREATE TABLE people (who INT PRIMARY KEY, since TIMESTAMP);
CREATE STREAM marks (hour TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR, who INT);
CREATE TABLE visits (id INT PRIMARY KEY, at TIMESTAMP LATENESS INTERVAL 1 HOUR, n BIGINT);
"""


@dataclass(frozen=True)
class Example:
    """One row: an expression, or a query with the column `w`; `should` and `why` if it has no waterline."""

    text: str
    should: str | None = None
    why: str | None = None

    @property
    def query(self) -> str:
        """The query that is judged."""
        return self.text if self.text.startswith(("SELECT", "WITH")) else f"SELECT {self.text} AS w FROM clicks"


@dataclass(frozen=True)
class Section:
    """Rows under one heading."""

    title: str
    intro: str
    examples: tuple[Example, ...]


def _examples(*texts: str) -> tuple[Example, ...]:
    return tuple(Example(text) for text in texts)


def _none(why: str, *texts: str) -> tuple[Example, ...]:
    return tuple(Example(text, why=why) for text in texts)


def _should(what: str, *texts: str) -> tuple[Example, ...]:
    return tuple(Example(text, should=what) for text in texts)


_STARTS_AGAIN = "it starts again at its end"
_FALLS = "it goes down as the column goes up"
_JOINED = "FROM clicks c JOIN orders o ON"

SECTIONS = (
    Section(
        "Expressions that go up",
        "An expression has a waterline where it never goes down as its columns go up: the expression over theirs.",
        _examples(
            "at", "at + INTERVAL 1 HOUR", "at - INTERVAL 1 DAY", "at + INTERVAL 1 MONTH", "n + 5", "n - 5", "5 + n", "+n", "-(-n)",
            "n + year(at)", "n * 2", "2 * n", "n / 2", "n DIV 10", "n - n % 10", "n - pmod(n, 10)", "-n * -2", "shiftright(n, 3)",
            "date_trunc('HOUR', at)", "date_trunc('MONTH', at)", "trunc(at, 'MONTH')", "trunc(day, 'YEAR')", "FLOOR(at TO HOUR)", "CEIL(at TO DAY)",
            "last_day(at)", "next_day(day, 'MON')", "date_add(day, 7)", "date_sub(day, 7)", "day + 1", "add_months(day, 3)",
            "dateadd(HOUR, 5, at)", "timestampadd(MINUTE, 5, at)", "year(at)", "extract(YEAR FROM at)", "extract(YEAROFWEEK FROM at)", "date_part('YEAR', at)",
            "to_date(at)", "date(at)", "CAST(at AS DATE)", "CAST(CAST(at AS DATE) AS TIMESTAMP)", "CAST(day AS TIMESTAMP)", "at::DATE", "to_timestamp(day)",
            "CAST(at AS TIMESTAMP_NTZ)", "unix_timestamp(at)", "to_unix_timestamp(at)", "unix_seconds(at)", "unix_millis(at)", "unix_micros(at)", "unix_date(day)",
            "timestamp_seconds(n)", "timestamp_millis(n)", "timestamp_micros(n)", "date_from_unix_date(CAST(n AS INT))",
            "datediff(day, DATE '2024-01-01')", "date_diff(day, DATE '2024-01-01')", "datediff(HOUR, TIMESTAMP '2024-01-01', at)", "timestampdiff(MINUTE, TIMESTAMP '2024-01-01', at)",
            "CAST(n AS INT)", "CAST(n AS DECIMAL(20, 2))", "CAST(n AS DOUBLE)", "TRY_CAST(n AS INT)", "bigint(n)", "double(n)",
            "floor(n / 10)", "ceil(n / 10)", "round(n, -1)", "bround(n, -1)", "rint(n)", "sign(n)", "sqrt(n)", "cbrt(n)", "ln(n)", "log10(n)", "log2(n)", "log1p(n)", "exp(n)", "expm1(n)", "atan(n)",
        ),
    ),
    Section(
        "Expressions that choose",
        "Where one of several values is taken, the waterline is the least of theirs. GREATEST needs only one, if that is never NULL.",
        _examples(
            "least(at, seen)", "greatest(at, seen)", "greatest(at, until)", "coalesce(at, until)", "coalesce(seen, at)", "ifnull(seen, at)", "nvl(seen, at)", "nvl2(page, at, seen)",
            "if(who > 1, at, seen)", "nullif(seen, until)", "CASE WHEN who > 1 THEN at ELSE seen - INTERVAL 1 HOUR END", "CASE page WHEN 'a' THEN at END",
        )
        + _none("NULL may come at any time, and then it is the other value", "greatest(seen, until)", "coalesce(seen, until)")
        + _none("the other value may be any", "least(at, until)", "if(who > 1, at, until)", "CASE WHEN who > 1 THEN at ELSE TIMESTAMP '2024-01-01' END"),
    ),
    Section(
        "Expressions without a waterline",
        "Constants make no progress. What may go down, or follows a column without a waterline, has none.",
        _none("a constant makes no progress", "5", "DATE '2024-01-01'")
        + _none("the column has no waterline", "until", "who + n")
        + _none(_FALLS, "-n", "100 - n", "n * -1", "n / -2", "datediff(DATE '2024-01-01', day)", "1 / n")
        + _none(_STARTS_AGAIN, "month(at)", "day(at)", "dayofmonth(at)", "dayofweek(at)", "weekday(at)", "dayofyear(at)", "weekofyear(at)", "quarter(at)", "hour(at)", "minute(at)", "second(at)",
                "extract(MONTH FROM at)", "date_part('DAY', at)", "n % 10", "pmod(n, 10)", "sin(n)")
        + _none("it goes up or down, as the other value says", "n * who", "n - unix_seconds(at)", "pow(n, 2)", "abs(n)")
        + _none("a text does not go by the size of what it writes", "CAST(n AS STRING)", "date_format(at, 'yyyy-MM-dd')", "from_unixtime(n)", "hex(n)")
        + _none("bits can overflow into the sign", "shiftleft(n, 3)", "~n", "n & 7")
        + _should("months_between(at, …): it is counted in two ways", "months_between(at, TIMESTAMP '2024-01-01')")
        + _should("log(2, n)", "log(2, n)")
        + _should("try_add(n, 5), NULL where it overflows", "try_add(n, 5)"),
    ),
    Section(
        "Rows",
        "",
        _examples(
            "SELECT at AS w FROM clicks WHERE page = 'a'",
            "SELECT until AS w FROM clicks WHERE until >= at",
            "SELECT until AS w FROM clicks WHERE until BETWEEN at - INTERVAL 1 DAY AND at",
            "SELECT until AS w FROM clicks WHERE until = at",
            "SELECT n AS w FROM clicks WHERE n >= year(at)",
            "SELECT DISTINCT at AS w, who FROM clicks",
            "SELECT at AS w FROM clicks UNION ALL SELECT at FROM orders",
            "SELECT at AS w FROM clicks UNION SELECT at FROM orders",
            "SELECT at AS w FROM clicks INTERSECT SELECT at FROM orders",
            "SELECT at AS w FROM clicks EXCEPT ALL SELECT at FROM orders",
            "SELECT at AS w FROM clicks UNION ALL SELECT TIMESTAMP '2024-01-01'",
            "SELECT at AS w, item FROM clicks LATERAL VIEW explode(items) AS item",
            "SELECT c.at AS w, item FROM clicks c, LATERAL explode(c.items) AS t(item)",
            "SELECT hour AS w FROM clicks LATERAL VIEW explode(sequence(at, at + INTERVAL 3 HOURS, INTERVAL 1 HOUR)) AS hour",
            "SELECT at AS w FROM clicks WHERE at >= now() - INTERVAL 1 DAY",
            "SELECT at AS w FROM clicks WHERE at <= now()",
        )
        + _none("a row with any value of it may still come", "SELECT until AS w FROM clicks WHERE until < at")
        + _none("the column has none on one side", "SELECT at AS w FROM clicks UNION ALL SELECT since FROM people")
        + _none("the clock makes rows that no input brings", "SELECT at AS w FROM clicks UNION ALL SELECT now() - INTERVAL 10 DAYS")
        + _none("constant rows never change, and make no progress", "SELECT TIMESTAMP '2024-01-01' AS w"),
    ),
    Section(
        "Joins",
        "A later row of one side meets rows of the other as old as the condition allows.",
        _examples(
            f"SELECT c.at AS w {_JOINED} c.at = o.at", f"SELECT o.at AS w {_JOINED} c.at = o.at",
            "SELECT at AS w FROM clicks JOIN orders USING (at)",
            f"SELECT c.at AS w {_JOINED} c.who = o.who AND c.at = o.at",
            f"SELECT c.at AS w {_JOINED} c.at BETWEEN o.at - INTERVAL 1 HOUR AND o.at + INTERVAL 5 MINUTES",
            f"SELECT o.at AS w {_JOINED} c.at BETWEEN o.at - INTERVAL 1 HOUR AND o.at + INTERVAL 5 MINUTES",
            f"SELECT c.at AS w {_JOINED} c.who = o.who AND c.at >= o.at",
            "SELECT c.at AS w FROM clicks c JOIN marks m ON date_trunc('HOUR', c.at) = m.hour",
            "SELECT c.at AS w FROM clicks c LEFT JOIN orders o ON c.at = o.at",
            "SELECT o.at AS w FROM clicks c FULL JOIN orders o ON c.at = o.at",
            "SELECT c.at AS w FROM clicks c LEFT JOIN orders o ON c.who = o.who AND o.at BETWEEN c.at - INTERVAL 1 HOUR AND c.at",
            "SELECT c.at AS w FROM clicks c LEFT SEMI JOIN orders o ON c.at = o.at",
            "SELECT at AS w FROM clicks c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.who = c.who AND o.at <= c.at)",
            "SELECT at AS w FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.at = c.at)",
            "SELECT at AS w FROM clicks WHERE at IN (SELECT at FROM orders)",
            "SELECT c.at AS w FROM clicks c CROSS JOIN (VALUES (1), (2)) AS v(x)",
            "SELECT c.at AS w FROM clicks c LEFT ASOF JOIN orders o MATCH_CONDITION (c.at >= o.at) ON c.who = o.who",
            "SELECT c.at AS w FROM clicks c ASOF JOIN orders o MATCH_CONDITION (c.at > o.at)",
            "SELECT o.at AS w FROM clicks c ASOF JOIN orders o MATCH_CONDITION (c.until >= o.due) ON c.at = o.at",
            "SELECT o.at AS w FROM clicks c ASOF JOIN orders o MATCH_CONDITION (c.at < o.at) ON c.who = o.who",
            "SELECT at AS w FROM clicks c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.at <= c.at)",
            f"SELECT c.until AS w {_JOINED} c.who = o.who AND o.at BETWEEN c.at AND c.until",
            "SELECT c.until AS w FROM clicks c, orders o WHERE c.who = o.who AND c.at <= o.at AND o.at < c.until",
        )
        + _none("a new row of the other side meets rows of any age", f"SELECT c.at AS w {_JOINED} c.who = o.who", f"SELECT o.at AS w {_JOINED} c.at >= o.at",
                "SELECT c.at AS w FROM clicks c JOIN people p ON c.who = p.who", f"SELECT c.at AS w {_JOINED} c.at = o.due", "SELECT at AS w FROM clicks WHERE who IN (SELECT who FROM orders)")
        + _none("a row of the same side that comes later may have any value of it", f"SELECT c.until AS w {_JOINED} c.who = o.who AND o.at <= c.until",
                "SELECT c.until AS w FROM clicks c LEFT JOIN orders o ON c.who = o.who AND o.at BETWEEN c.at AND c.until")
        + _none("the clock brings rows of any age into it, unless WHERE compares with it", "SELECT c.at AS w FROM clicks c JOIN (SELECT now() AS now) ON c.at <= now - INTERVAL 10 DAYS")
        + _none("one NULL among the others takes every row away", "SELECT at AS w FROM clicks WHERE at NOT IN (SELECT at FROM orders)")
        + _none("a better match may take any row back", "SELECT o.at AS w FROM clicks c LEFT ASOF JOIN orders o MATCH_CONDITION (c.at >= o.at) ON c.who = o.who",
                "SELECT o.at AS w FROM clicks c ASOF JOIN orders o MATCH_CONDITION (c.at >= o.at) ON date_trunc('HOUR', c.at) = date_trunc('HOUR', o.at)",
                "SELECT o.at AS w FROM (VALUES (TIMESTAMP '2030-01-01')) AS v(h) ASOF JOIN orders o MATCH_CONDITION (v.h >= o.at)",
                "SELECT o.at AS w FROM clicks c ASOF JOIN orders o MATCH_CONDITION (c.at <= date_trunc('HOUR', o.at))"),
    ),
    Section(
        "Groups and windows of time",
        "",
        _examples(
            "SELECT at AS w, COUNT(*) AS c FROM clicks GROUP BY at",
            "SELECT date_trunc('HOUR', at) AS w, COUNT(*) AS c FROM clicks GROUP BY date_trunc('HOUR', at)",
            "SELECT at AS w, COUNT(*) AS c FROM clicks GROUP BY at HAVING COUNT(*) > 1",
            "SELECT window_start AS w, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL 1 HOUR)) GROUP BY window_start, window_end",
            "SELECT window_end AS w, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL 1 HOUR)) GROUP BY window_start, window_end",
            "SELECT window_start AS w FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(at), INTERVAL 1 HOUR, INTERVAL 2 HOURS))",
            "SELECT window_end AS w FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(at), INTERVAL 1 HOUR, INTERVAL 2 HOURS))",
            "SELECT window_start AS w FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(at), INTERVAL 1 HOUR, INTERVAL 2 HOURS))",
            "SELECT window_end AS w FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(at), INTERVAL 1 HOUR, INTERVAL 2 HOURS))",
            "SELECT window_end AS w FROM TABLE(SESSION(TABLE clicks PARTITION BY who, DESCRIPTOR(at), INTERVAL 1 HOUR))",
            "SELECT window_end AS w, COUNT(*) AS c FROM TABLE(SESSION(TABLE clicks PARTITION BY who, DESCRIPTOR(at), INTERVAL 1 HOUR)) GROUP BY who, window_end",
            "SELECT TUMBLE_START(at, INTERVAL 1 HOUR) AS w, COUNT(*) AS c FROM clicks GROUP BY TUMBLE(at, INTERVAL 1 HOUR)",
            "SELECT TUMBLE_END(at, INTERVAL 1 HOUR) AS w, COUNT(*) AS c FROM clicks GROUP BY TUMBLE(at, INTERVAL 1 HOUR)",
            "SELECT HOP_END(at, INTERVAL 1 HOUR, INTERVAL 2 HOURS) AS w, COUNT(*) AS c FROM clicks GROUP BY HOP(at, INTERVAL 1 HOUR, INTERVAL 2 HOURS)",
        )
        + _none("a session that a new row goes on with may have begun at any time", "SELECT window_start AS w FROM TABLE(SESSION(TABLE clicks PARTITION BY who, DESCRIPTOR(at), INTERVAL 1 HOUR))",
                "SELECT at AS w, window_start FROM TABLE(SESSION(TABLE clicks PARTITION BY who, DESCRIPTOR(at), INTERVAL 1 HOUR))")
        + _none("the result of any group may still change", "SELECT who, MIN(at) AS w FROM clicks GROUP BY who", "SELECT who, COUNT(*) AS w FROM clicks GROUP BY who")
        + _should("MAX of all rows of a stream, which only goes up, as long as nobody uses ADVANCE", "SELECT MAX(at) AS w FROM clicks"),
    ),
    Section(
        "Order",
        "A new row changes what is computed beside the rows that look at it.",
        _examples(
            "SELECT at AS w, LAG(n) OVER (PARTITION BY who ORDER BY at) AS p FROM clicks",
            "SELECT at AS w, ROW_NUMBER() OVER (PARTITION BY who ORDER BY at) AS p FROM clicks",
            "SELECT at AS w, SUM(n) OVER (ORDER BY at) AS s FROM clicks",
            "SELECT at AS w, SUM(n) OVER (ORDER BY at ROWS 3 PRECEDING) AS s FROM clicks",
            "SELECT at AS w, SUM(n) OVER (PARTITION BY who ORDER BY at RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW) AS s FROM clicks",
            "SELECT at AS w, SUM(n) OVER (PARTITION BY who ORDER BY at RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND INTERVAL 1 HOUR FOLLOWING) AS s FROM clicks",
            "SELECT seen AS w, LAG(n) OVER (ORDER BY seen NULLS LAST) AS p FROM clicks",
            "SELECT day AS w, RANK() OVER (PARTITION BY day ORDER BY n) AS r FROM clicks",
            "SELECT day AS w, n FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY day ORDER BY n DESC) <= 3",
            "SELECT at AS w FROM clicks ORDER BY at LIMIT 10",
            "SELECT at AS w, n FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY n DESC) = 1",
            "SELECT at AS w, SUM(n) OVER (PARTITION BY id) AS s FROM visits",
        )
        + _none("rows without a time come first and change all that follow", "SELECT seen AS w, LAG(n) OVER (ORDER BY seen) AS p FROM clicks")
        + _none("the row before a new one changes, however old it is", "SELECT at AS w, LEAD(n) OVER (PARTITION BY who ORDER BY at) AS p FROM clicks",
                "SELECT at AS w, LAG(n) OVER (PARTITION BY who ORDER BY at DESC) AS p FROM clicks")
        + _none("a new row pushes the oldest one out", "SELECT at AS w FROM clicks ORDER BY at DESC LIMIT 10"),
    ),
    Section(
        "Recursion",
        "",
        _none("any row may follow from a new one", "WITH RECURSIVE r(w) AS (SELECT at FROM clicks UNION SELECT w + INTERVAL 1 DAY FROM r WHERE w < TIMESTAMP '2024-01-01') SELECT w FROM r"),
    ),
)  # fmt: skip


def inferred(example: Example) -> str | None:
    """The waterline of the example's column, None if it has none."""
    catalog = Catalog()
    for statement in parse(_TABLES):
        if isinstance(statement, CreateTable):
            catalog = catalog.with_table(statement.table)
    plan = rewrite(bind_query(parse_query(example.query), catalog, example.query))
    derived = waterlines(plan, catalog).get("w")
    return None if derived is None else readable(derived.shown)


def page() -> str:
    """docs/reference/waterlines.md."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield from _HEAD.format(tables=_TABLES.strip()).strip().split("\n")
    for section in SECTIONS:
        yield from ("", f"## {section.title}", "")
        if section.intro:
            yield from (section.intro, "")
        kept = [item for item in section.examples if not item.why and not item.should]
        if kept:
            yield from ("| column `w` | its waterline |", "| --- | --- |")
            yield from (f"| {_shown(item)} | {_code(inferred(item) or 'none')} |" for item in kept)
            yield ""
        lost = [item for item in section.examples if item.why]
        if lost:
            yield from ("| no waterline | because |", "| --- | --- |")
            yield from (f"| {_shown(item)} | {item.why} |" for item in lost)
            yield ""
        missing = [item for item in section.examples if item.should]
        if missing:
            yield from ("| not inferred yet | should be |", "| --- | --- |")
            yield from (f"| {_shown(item)} | {item.should} |" for item in missing)
            yield ""


def _shown(example: Example) -> str:
    return _code(example.text)


def _code(text: str) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`"


_HEAD = """
# Which waterlines are inferred

<!-- written by `make docs` from src/penstock/explain/waterlines.py -->

A waterline of a column promises that no later accepted input inserts or deletes a row with a smaller value in it. It
begins at the columns with [LATENESS](sql.md#lateness), goes through views, and is what lets operators forget and
`emit_final` decide. `penstock explain` shows the waterlines of your views and what follows from them; `SHOW WATERLINES`
has their values.

The tables below are complete for what is inferred: what is not in them has no waterline. Their examples read

```sql
{tables}
```

A waterline is written over those of the tables' columns. What Spark counts by the calendar can come out earlier for a
later time, by little, and its waterline is lower by that:

* A month after 30 and 31 January is the last of February, at the time of day of either: `TIMESTAMP` and `TIMESTAMP_NTZ`
  with months lose a day. Months of a `DATE` lose nothing.
* Where the clocks of the session's time zone are put back, local time does not follow time. Sums of a `TIMESTAMP` and a
  day or more (`at + INTERVAL 1 DAY`, 24 hours too), and casts between `TIMESTAMP` and `TIMESTAMP_NTZ`, lose three times
  what the clock is moved by, with months five days. Hours below a day, and days of a `DATE` or `TIMESTAMP_NTZ`, lose
  nothing.
* So do filters on the clock: `at >= now() - INTERVAL 7 DAYS` keeps its rows three hours longer in `Europe/Zurich`.
* Two such steps in one expression, the difference of two `TIMESTAMP`s and comparisons of a `TIMESTAMP` with a
  `TIMESTAMP_NTZ` have no waterline in such a zone; in one whose clocks were put back over midnight (`America/St_Johns`,
  to 2011) dates of a `TIMESTAMP` have none.
"""
