"""Queries of every kind of node, over two tables of all plain types."""

from __future__ import annotations

from dataclasses import replace

from tests.planning import aggregate, alias, join, scan, where

from penstock.plan.nodes import JoinKind, Plan

COLUMNS = (
    "k INT, n BIGINT, d DOUBLE, f FLOAT, s STRING, m DECIMAL(12,2), w DECIMAL(28,6), b BOOLEAN, "
    "day DATE, moment TIMESTAMP"
)
TABLES = f"CREATE TABLE l ({COLUMNS}); CREATE TABLE r ({COLUMNS});"
PLAIN = ("k", "n", "d", "f", "s", "m", "w", "b", "day", "moment")
_ALL = ", ".join(PLAIN)


def _joins() -> dict[str, str]:
    found = {}
    for kind in ("", "LEFT", "RIGHT", "FULL"):
        both = ", ".join([f"l.{name} AS l{name}" for name in "knds"] + [f"r.{name} AS r{name}" for name in "knds"])
        for name, on in {
            "equal": "l.k = r.k",
            "two": "l.k = r.k AND l.s = r.s",
            "residual": "l.k = r.k AND l.n < r.n",
            "safe": "l.k <=> r.k AND l.d > r.d",
            "float": "l.d = r.d",
            "range": "l.n < r.n AND l.k > 1",
        }.items():
            found[f"join {kind or 'INNER'} {name}"] = f"SELECT {both} FROM l {kind} JOIN r ON {on}"
    found["join CROSS"] = "SELECT l.k, r.s FROM l CROSS JOIN r"
    for kind in ("SEMI", "ANTI"):
        for name, on in {"equal": "l.k = r.k", "float": "l.d = r.d AND l.k <> r.k", "range": "l.n < r.n"}.items():
            found[f"join {kind} {name}"] = f"SELECT {_ALL} FROM l LEFT {kind} JOIN r ON {on}"
    found |= {
        "join of one row": (
            "SELECT k, (SELECT q.n FROM (SELECT k, max(n) AS n FROM r GROUP BY k) q WHERE q.k = 1) AS x FROM l"
        ),
        "join IN": "SELECT k, s FROM l WHERE k IN (SELECT k FROM r)",
        "join EXISTS": "SELECT k, s FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.n > l.n)",
        "join NOT IN": "SELECT k, s FROM l WHERE k NOT IN (SELECT k FROM r)",
        "join NOT IN present": "SELECT k, s FROM l WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL AND k > 1)",
        "join NOT IN nothing": "SELECT k, s FROM l WHERE k NOT IN (SELECT k FROM r WHERE n < 0 AND n > 0)",
        "join NOT IN correlated": "SELECT k, s FROM l WHERE k NOT IN (SELECT k FROM r WHERE r.s = l.s)",
        "join NOT IN residual": "SELECT k, s FROM l WHERE k NOT IN (SELECT k FROM r WHERE r.s = l.s AND r.n < l.n)",
    }
    for kind in ("", "LEFT"):
        for word in (">=", ">", "<=", "<"):
            for name, on in {"equal": " ON l.k = r.k", "safe": " ON l.d <=> r.d", "none": ""}.items():
                found[f"asof {kind}{word} {name}"] = (
                    f"SELECT l.k, l.n, l.s, r.n AS rn, r.s AS rs, r.d AS rd FROM l {kind} ASOF JOIN r "
                    f"MATCH_CONDITION (l.n {word} r.n){on}"
                )
    return found


AGGREGATES = (
    *("count(*)", "count(s)", "count(k, s)", "count(DISTINCT k)", "count(DISTINCT d)", "count(DISTINCT k, d)"),
    *("sum(k)", "sum(n)", "sum(d)", "sum(f)", "sum(m)", "sum(w)", "sum(DISTINCT k)", "sum(DISTINCT d)"),
    *("avg(k)", "avg(n)", "avg(d)", "avg(f)", "avg(m)", "avg(w)", "avg(DISTINCT m)", "mean(k)"),
    *(f"{function}({name})" for function in ("min", "max") for name in PLAIN),
    *("count_if(b)", "bool_and(b)", "bool_or(b)", "every(b)", "some(b)", "any(b)"),
    *("bit_and(k)", "bit_or(n)", "bit_xor(k)"),
    *("stddev(k)", "stddev_samp(m)", "stddev_pop(n)", "variance(k)", "var_samp(m)", "var_pop(n)", "std(k)"),
    *("first(s)", "last(s)", "any_value(d)", "first(n) IGNORE NULLS", "last_value(m) IGNORE NULLS"),
    *("max_by(s, n)", "min_by(s, n)", "max_by(k, d)", "min_by(n, day)", "max_by(d, moment)"),
    *("listagg(s, ',') WITHIN GROUP (ORDER BY n DESC)", "string_agg(s, '|')"),
    *(f"min_by({name}, {by})" for name, by in ("sd", "km", "ss", "db", "nw", "fs")),
    *(f"collect_list({name})" for name in PLAIN),
    *("array_agg(s)", "array_agg(d)", "size(collect_list(s))"),
    *(f"collect_set({name})" for name in PLAIN if name not in "df"),
    *("array_agg(DISTINCT s)", "array_agg(DISTINCT day)", "collect_list(DISTINCT m)"),
    *(f"mode({name})" for name in PLAIN if name not in "df"),
    *(f"try_sum({name})" for name in "kndfmw"),
    *(f"try_avg({name})" for name in "kndfmw"),
    *(f"median({name})" for name in "kndfm"),
    *("percentile(d, 0.25)", "percentile(f, 0.9)", "percentile(n, 0.3)", "percentile(d, 0)", "percentile(d, 1)"),
    *(
        f"{function}({share}) WITHIN GROUP (ORDER BY {name}{direction})"
        for function in ("percentile_cont", "percentile_disc")
        for share, name, direction in (
            (0.3, "d", ""),
            (0.5, "n", " DESC"),
            (0.9, "f", " DESC"),
            (0, "k", ""),
            (1, "d", ""),
        )
    ),
)
_FILTERED = ("count(*)", "sum(n)", "avg(m)", "max(d)", "first(s)", "count(DISTINCT s)", "max_by(s, n)", "bool_or(b)")
_FILTERED += ("collect_list(d)", "collect_set(s)", "mode(k)", "median(d)", "try_sum(n)", "min_by(s, d)")
_PER_QUERY = 9


def _aggregates() -> dict[str, str]:
    found = {}
    calls = [*AGGREGATES, *(f"{call} FILTER (WHERE k > 1)" for call in _FILTERED)]
    distinct = [call for call in calls if "DISTINCT" in call]
    plain = [call for call in calls if "DISTINCT" not in call]
    for part in (plain, distinct):
        for start in range(0, len(part), _PER_QUERY):
            listed = ", ".join(f"{call} AS c{place}" for place, call in enumerate(part[start : start + _PER_QUERY]))
            found[f"aggregate {part[start]}"] = f"SELECT k, {listed} FROM l GROUP BY k"
            found[f"aggregate all {part[start]}"] = f"SELECT {listed} FROM l"
    for name in PLAIN:
        found[f"group {name}"] = f"SELECT {name}, count(*) AS c, max(n) AS x FROM l GROUP BY {name}"
    found["aggregate listagg DISTINCT"] = (
        "SELECT k, listagg(DISTINCT s, ',') AS t, listagg(DISTINCT s) WITHIN GROUP (ORDER BY s DESC) AS u, "
        "listagg(s, '; ') WITHIN GROUP (ORDER BY n DESC) AS v, count(DISTINCT n) AS c FROM l GROUP BY k"
    )
    found["group of nothing"] = "SELECT count(*) AS c, sum(n) AS x, avg(m) AS a, max(s) AS y FROM l WHERE k > 100"
    found["group expression"] = "SELECT k + 1 AS n, sum(n) AS k FROM l GROUP BY k + 1"
    found["group having"] = "SELECT s FROM l GROUP BY s HAVING count(*) > 1"
    return found


ORDERS = ("k", "n DESC", "d", "d DESC NULLS FIRST", "s NULLS LAST", "m DESC", "f", "b", "day DESC", "moment")


def _tops() -> dict[str, str]:
    found = {}
    for place, order in enumerate(ORDERS):
        found[f"top {order}"] = f"SELECT {_ALL} FROM l ORDER BY {order} LIMIT {3 + place}"
        rank = ("row_number", "rank", "dense_rank")[place % 3]
        found[f"top {rank} {order}"] = (
            f"SELECT k, s, d, q FROM (SELECT *, {rank}() OVER (PARTITION BY k ORDER BY {order}) AS q FROM l) "
            "WHERE q <= 2"
        )
        found[f"top {rank} whole {order}"] = (
            f"SELECT k, s, d, q FROM (SELECT *, {rank}() OVER (ORDER BY {order}) AS q FROM l) WHERE q <= 4"
        )
    found["top offset"] = f"SELECT {_ALL} FROM l ORDER BY d DESC LIMIT 4 OFFSET 3"
    found["top by what may raise"] = (
        "SELECT k, s, q FROM (SELECT *, rank() OVER (PARTITION BY k % 3 ORDER BY k + 1 DESC) AS q FROM l) WHERE q <= 2"
    )
    found["top first by what may raise"] = f"SELECT {_ALL} FROM l ORDER BY k * 2, m + m DESC LIMIT 4"
    found["top by a double"] = (
        "SELECT d, s, q FROM (SELECT *, row_number() OVER (PARTITION BY d ORDER BY n) AS q FROM l) WHERE q = 1"
    )
    return found


WINDOWED = (
    *("row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)"),
    *("lag(s)", "lead(n, 2)", "lag(k, 1, 7)", "lag(s) IGNORE NULLS", "lead(d, 2) IGNORE NULLS"),
)
FRAMES = (
    *("", "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    *("RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING"),
)
_FRAMED = (
    *("sum(n)", "avg(m)", "min(d)", "max(s)", "count(k)", "first_value(s)", "last_value(n)", "nth_value(s, 2)"),
    *("first_value(s) IGNORE NULLS", "last_value(s) IGNORE NULLS", "bool_or(b)", "sum(d)", "stddev(k)"),
)


def _windows() -> dict[str, str]:
    found = {}
    for order in ("n", "d DESC", "s, k DESC", "day"):
        listed = ", ".join(
            f"{call} OVER (PARTITION BY k ORDER BY {order}) AS c{place}" for place, call in enumerate(WINDOWED)
        )
        found[f"window {order}"] = f"SELECT k, n, d, s, {listed} FROM l"
        for frame in FRAMES:
            calls = [call for call in _FRAMED if frame.startswith("ROWS") or "nth" not in call]
            listed = ", ".join(
                f"{call} OVER (PARTITION BY d ORDER BY {order} {frame}) AS c{place}" for place, call in enumerate(calls)
            )
            found[f"window {order} {frame}"] = f"SELECT k, n, d, s, {listed} FROM l"
    whole = ", ".join(
        f"{call} OVER (PARTITION BY k) AS c{place}" for place, call in enumerate(_FRAMED) if "nth" not in call
    )
    found["window whole"] = f"SELECT k, n, s, {whole} FROM l"
    found["window by what may raise"] = (
        "SELECT k, n, sum(n) OVER (PARTITION BY k % 3 ORDER BY k + 1, s DESC) AS t, lag(s) OVER (PARTITION BY k % 3 "
        "ORDER BY k + 1, s, n) AS b, rank() OVER (PARTITION BY k % 3, s ORDER BY m - 1 DESC) AS q FROM l"
    )
    found["window none"] = "SELECT k, s, row_number() OVER (ORDER BY s) AS q, sum(n) OVER () AS t FROM l"
    found["window range"] = (
        "SELECT k, moment, count(*) OVER (PARTITION BY k ORDER BY moment RANGE BETWEEN INTERVAL '1' HOUR PRECEDING "
        "AND INTERVAL '2' HOUR FOLLOWING) AS c, sum(n) OVER (PARTITION BY k ORDER BY moment DESC RANGE BETWEEN "
        "INTERVAL '2' HOUR PRECEDING AND CURRENT ROW) AS t FROM l"
    )
    found["window range of dates"] = (
        "SELECT k, day, count(*) OVER (PARTITION BY k ORDER BY day RANGE BETWEEN INTERVAL '1' DAY PRECEDING "
        "AND CURRENT ROW) AS c FROM l"
    )
    return found


_GENERATED = {
    "swapped names": "SELECT n AS k, k AS n, s AS d, d AS s FROM l WHERE k > 1 AND d > 0",
    "names of what is computed": "SELECT k + 1 AS k, k + 2 AS n, upper(s) AS s FROM l WHERE k > 0 AND s <> 'A'",
    "names of names": "SELECT n AS s, k FROM (SELECT k AS n, n AS k FROM l WHERE n > 0) WHERE k < 7 AND n > 0",
    "wide sums": "SELECT s, sum(q) AS c FROM (SELECT k, s, sum(w) AS q FROM l GROUP BY k, s) GROUP BY s",
    "wide sums of near ones": "SELECT sum(q) AS c FROM (SELECT sum(w) AS q FROM l WHERE w < 10 GROUP BY k)",
    "hop": ("SELECT k, window.start AS b, count(*) AS c FROM l GROUP BY k, window(moment, '1 hour', '20 minutes')"),
    "explode": "SELECT k, x FROM l LATERAL VIEW explode(array(k, 5)) t AS x",
    "explode OUTER": "SELECT n, x FROM l LATERAL VIEW OUTER explode(array(s, 'x')) t AS x",
    "posexplode": "SELECT k, p, x FROM l LATERAL VIEW posexplode(array(d, d, f)) t AS p, x",
    "sequence": "SELECT k, x FROM l LATERAL VIEW explode(sequence(1, 3)) t AS x",
    "stack": "SELECT d, x, y FROM l LATERAL VIEW stack(2, k, s, 7, 'y') t AS x, y",
    "unpivot": "SELECT s, c, x FROM l UNPIVOT (x FOR c IN (k, n))",
}
STATISTICS = (
    *(f"regr_{name}(n, k)" for name in ("count", "avgx", "avgy", "sxx", "syy", "sxy", "slope", "intercept", "r2")),
    *("covar_pop(k, n)", "covar_samp(m, n)", "median(k)", "median(m)", "percentile(n, 0.25)", "percentile(k, 1)"),
)


def _by_hand() -> dict[str, Plan]:
    """Plans with what the binder does not make, or knows no type of."""
    columns = dict(zip(PLAIN, [item.split()[1].lower() for item in COLUMNS.split(", ")], strict=True))
    left, right = scan("l", **columns), alias(scan("r", **columns), "r")
    calls = {f"c{place}": call for place, call in enumerate(STATISTICS)}
    plans: dict[str, Plan] = {
        "statistics": aggregate(left, "s", **calls),
        "statistics whole": aggregate(left, "", **calls, corr="corr(k, m)"),
    }
    some, none = where(right, "`r.k` > 1"), where(right, "`r.n` < 0 AND `r.n` > 0")
    for name, among in {"": right, " present": some, " nothing": none}.items():
        for on in ("`k` = `r.k`", "`k` = `r.k`, `s` = `r.s`"):
            plans[f"aware{name} {on}"] = replace(join(left, among, JoinKind.ANTI, on), null_aware=True)
        residual = join(left, among, JoinKind.ANTI, "`k` = `r.k`", "`n` < `r.n`")
        plans[f"aware{name} residual"] = replace(residual, null_aware=True)
    return plans


OTHERS = {
    "project": "SELECT s, n AS k, k AS n, k + 1 AS q FROM l",
    "filter": "SELECT k, d FROM l WHERE d > 0 OR s = 'a'",
    "values": "SELECT k, 1 AS one FROM l",
    "nothing": "SELECT 1 AS one, 'x' AS two",
    "union": f"SELECT {_ALL} FROM l UNION ALL SELECT {_ALL} FROM r",
    "union of columns": "SELECT k AS a, s AS b FROM l UNION ALL SELECT k, s FROM r WHERE k > 1",
    "distinct": "SELECT DISTINCT k, d, s FROM l",
    "distinct floats": "SELECT DISTINCT d, f FROM l",
    "union distinct": "SELECT d, s FROM l UNION SELECT d, s FROM r",
    **{
        f"set {words}": f"SELECT k, d, s FROM l {words} SELECT k, d, s FROM r"
        for words in ("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
    },
    "session": (
        "SELECT k, session_window(moment, INTERVAL '1' HOUR).start AS b, count(*) AS c FROM l "
        "GROUP BY k, session_window(moment, INTERVAL '1' HOUR)"
    ),
    "several": (
        "SELECT x.s, t.total FROM (SELECT k, sum(n) AS total FROM l GROUP BY k) t LEFT JOIN "
        "(SELECT DISTINCT k, s FROM r) x ON t.k = x.k WHERE t.total > 0"
    ),
}
SHAPES = {**OTHERS, **_GENERATED, **_joins(), **_aggregates(), **_tops(), **_windows()}
BY_HAND = _by_hand()
