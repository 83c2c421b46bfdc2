"""SELECT STREAM: each row of the answer once, when nothing can change it; and what cannot be asked as a stream."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.cli.main import main
from penstock.testing.multisets import difference

START = datetime(2024, 1, 1, 10)  # noqa: DTZ001 - naive UTC, as all times here
PROGRAM = """
CREATE STREAM o (at TIMESTAMP NOT NULL LATENESS INTERVAL 20 SECONDS, k INT, x INT);
CREATE STREAM p (at TIMESTAMP NOT NULL LATENESS INTERVAL 5 SECONDS, k INT, y INT);
CREATE STREAM gone (at TIMESTAMP NOT NULL LATENESS INTERVAL 5 SECONDS, k INT) WITH ('history' = 'none');
CREATE TABLE t (k INT PRIMARY KEY, name STRING);
CREATE TABLE u (k INT, name STRING);
CREATE VIEW big AS SELECT STREAM at, k, x FROM o WHERE x > 2;
CREATE VIEW minutes AS SELECT TUMBLE_END(at, INTERVAL 1 MINUTE) AS until, k, COUNT(*) AS n
  FROM o GROUP BY TUMBLE(at, INTERVAL 1 MINUTE), k;
CREATE VIEW names_first AS SELECT t.name, o.x FROM t LEFT JOIN o ON o.k = t.k;
"""
QUERIES = (
    "* FROM o",
    "k, x + 1 AS y FROM big",
    "DISTINCT FLOOR(at TO MINUTE) AS m FROM o",
    "FLOOR(at TO MINUTE) AS m, k, SUM(x) AS total FROM o GROUP BY FLOOR(at TO MINUTE), k",
    "FLOOR(at TO MINUTE) AS m, AVG(x) AS mean FROM o WHERE x > 1 GROUP BY FLOOR(at TO MINUTE) HAVING COUNT(*) > 1",
    "TUMBLE_START(at, INTERVAL 30 SECONDS) AS a, MAX(x) AS x FROM big GROUP BY TUMBLE(at, INTERVAL 30 SECONDS)",
    (
        "HOP_END(at, INTERVAL 20 SECONDS, INTERVAL 40 SECONDS) AS b, k, COUNT(*) AS n FROM o "
        "GROUP BY HOP(at, INTERVAL 20 SECONDS, INTERVAL 40 SECONDS), k"
    ),
    "SESSION_START(at, INTERVAL 15 SECONDS) AS a, k, COUNT(*) AS n FROM o GROUP BY SESSION(at, INTERVAL 15 SECONDS), k",
    (
        "FLOOR(at TO MINUTE) AS m, k, COUNT(*) AS n FROM o "
        "GROUP BY GROUPING SETS ((FLOOR(at TO MINUTE), k), (FLOOR(at TO MINUTE)))"
    ),
    (
        "FLOOR(at TO MINUTE) AS m, -UNIX_SECONDS(at) AS s, k, COUNT(*) AS n FROM o "
        "GROUP BY GROUPING SETS ((FLOOR(at TO MINUTE), k), (-UNIX_SECONDS(at)))"
    ),
    "100 - FLOOR(s / 10) AS m, COUNT(*) AS n FROM (SELECT UNIX_SECONDS(at) AS s FROM o) GROUP BY 100 - FLOOR(s / 10)",
    (
        "TUMBLE_END(at, INTERVAL 1 MINUTE) AS m, k, COUNT(*) AS n FROM o "
        "GROUP BY GROUPING SETS ((TUMBLE(at, INTERVAL 1 MINUTE)), (TUMBLE(at, INTERVAL 1 MINUTE), k))"
    ),
    "* FROM minutes WHERE n > 1",
    "at, k, SUM(x) OVER (PARTITION BY k ORDER BY at RANGE INTERVAL 30 SECONDS PRECEDING) AS s FROM o",
    "k, COUNT(*) OVER (ORDER BY at ROWS 2 PRECEDING) AS n FROM o",
    "k, COUNT(*) OVER (PARTITION BY k ORDER BY at ROWS 2 PRECEDING) AS n FROM o",
    (
        "* FROM o MATCH_RECOGNIZE (PARTITION BY k ORDER BY at, x MEASURES FIRST(A.at) AS a, COUNT(*) AS n "
        "ONE ROW PER MATCH PATTERN (A B+) WITHIN INTERVAL '1' MINUTE DEFINE B AS B.x < PREV(B.x)) AS m"
    ),
    "at, x, SUM(x) OVER (PARTITION BY FLOOR(at TO MINUTE)) AS s FROM o",
    "at, COUNT(*) OVER (ORDER BY at RANGE BETWEEN CURRENT ROW AND INTERVAL 10 SECONDS FOLLOWING) AS n FROM o",
    "at, k, SUM(x) OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS s FROM o",
    "k, LEAD(x) OVER w AS n, SUM(x) OVER (w ROWS 2 PRECEDING) AS s FROM o WINDOW w AS (PARTITION BY k ORDER BY at)",
    "x, LEAD(x, 2) OVER (PARTITION BY FLOOR(at TO MINUTE) ORDER BY at) AS n FROM o",
    "x, LEAD(x) OVER (ORDER BY at) AS n, COUNT(*) OVER (ORDER BY at RANGE CURRENT ROW) AS c FROM o",
    "* FROM (SELECT at, k, ROW_NUMBER() OVER (PARTITION BY FLOOR(at TO MINUTE) ORDER BY x, k) AS r FROM o) WHERE r = 1",
    "o.at, o.x, p.y FROM o JOIN p ON o.k = p.k AND p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS",
    "o.at, o.x, p.y FROM o LEFT JOIN p ON o.k = p.k AND p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS",
    "o.at, p.at AS paid, o.x, p.y FROM o FULL JOIN p ON o.k = p.k AND p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS",
    "at, x, v.n FROM o JOIN (VALUES (1, 'a'), (2, 'b'), (2, 'c')) AS v (k, n) ON o.k = v.k",
    "at, x, v.n FROM o LEFT JOIN (SELECT 1 AS k, 'a' AS n) AS v ON o.k = v.k",
    (
        "h, s, v.n FROM (SELECT FLOOR(at TO MINUTE) AS h, k, SUM(x) AS s FROM o GROUP BY FLOOR(at TO MINUTE), k) AS g "
        "CROSS JOIN (VALUES ('a'), ('b')) AS v (n)"
    ),
    "o.at, o.x, p.y FROM o, p WHERE o.k = p.k AND o.x > 1 AND p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS",
    "o.at, o.x, p.y FROM o LEFT JOIN p USING (k) WHERE p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS",
    (
        "o.at, o.x, q.y FROM o, p, p AS q WHERE o.at BETWEEN p.at - INTERVAL 9 SECONDS AND p.at + INTERVAL 9 SECONDS "
        "AND p.at = q.at AND o.k = q.k"
    ),
    (
        "o.at, o.x, p.y, q.y AS z FROM o, p, p AS q WHERE p.at BETWEEN o.at AND o.at + INTERVAL 9 SECONDS "
        "AND q.at BETWEEN o.at AND o.at + INTERVAL 9 SECONDS AND o.k = p.k"
    ),
    "p.y, q.x FROM p, o, o AS q WHERE p.at = q.at AND o.at BETWEEN q.at - INTERVAL 9 SECONDS AND q.at AND o.x > 1",
    (
        "o.at, o.x, p.y, v.n FROM o, p, (VALUES (1, 'a'), (2, 'b')) AS v (k, n) "
        "WHERE p.at BETWEEN o.at AND o.at + INTERVAL 9 SECONDS AND v.k = o.k"
    ),
)
SEVERAL = ("SELECT STREAM k, at FROM o UNION ALL SELECT STREAM y, at FROM p",)
rows = st.lists(
    st.tuples(st.sampled_from("op"), st.integers(-25, 25), st.one_of(st.none(), st.integers(1, 3)), st.integers(0, 5)),
    max_size=6,
)


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(text=PROGRAM, **options):
    return penstock.Pipeline(text, spark=no_spark, **options)


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += emission
    return found


def stepped(pipeline, number, step):
    """A step whose rows are around its own time, some of them late."""
    now = START + timedelta(seconds=20 * number)
    inputs = {"o": [], "p": []}
    for table, offset, key, value in step:
        inputs[table].append((now + timedelta(seconds=offset), key, value))
    pipeline.step(inputs)


@pytest.mark.parametrize("text", [*(f"SELECT STREAM {query}" for query in QUERIES), *SEVERAL])
@examples(2, 8)
@given(steps=st.lists(rows, min_size=2, max_size=6))
def test_oracle_what_is_shown_by_the_end_is_what_the_query_answers(text, steps):
    with opened() as pipeline:
        query = pipeline.subscribe(text)
        shown = []
        for number, step in enumerate(steps):
            stepped(pipeline, number, step)
            now = read(query)
            answer = Counter(map(str, pipeline.query(text.replace(" STREAM", "")).rows))
            shown += now
            # Whatever has been shown stays a part of the answer: nothing that is accepted later takes it back.
            assert not Counter(map(str, shown)) - answer
        pipeline.end_of_input()
        shown += read(query)
        answer = pipeline.query(text.replace(" STREAM", "")).rows
        assert not difference([(1, row) for row in answer], [(1, row) for row in shown])


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("count", [1, 2])
@examples(3, 12)
@given(steps=st.lists(rows, min_size=2, max_size=6))
def test_oracle_a_row_is_shown_in_the_step_that_settles_the_rows_behind_it(key, count, steps):
    """Once so many rows of its partition lie behind it, below the waterline, and not before."""
    partition = "PARTITION BY k " if key else ""
    frame = f"({partition}ORDER BY at ROWS BETWEEN 1 PRECEDING AND {count} FOLLOWING)"
    with opened() as pipeline:
        query = pipeline.subscribe(f"SELECT STREAM at, k, x, SUM(x) OVER {frame} AS s FROM o")
        accepted, line, before = [], START - timedelta(days=1), Counter()
        for number, step in enumerate(steps):
            stepped(pipeline, number, step)
            now = START + timedelta(seconds=20 * number)
            came = [(now + timedelta(seconds=at), k, x) for table, at, k, x in step if table == "o"]
            accepted += [row for row in came if row[0] >= line]
            line = max([line, *(at - timedelta(seconds=20) for at, _, _ in came)])
            settled = Counter(summed_behind(accepted, count, line, key=key))
            assert Counter(read(query)) == settled - before
            before = settled


def summed_behind(accepted, count, line, *, key):
    """The rows whose last row of the frame is below the line, with the sum over the frame."""
    for value in {k for _, k, _ in accepted} if key else [None]:
        of_key = [row for row in accepted if not key or row[1] == value]
        ordered = sorted(of_key, key=lambda row: (row[0], row[1] is not None, row[1] or 0, row[2]))
        for place, row in enumerate(ordered[: len(ordered) - count]):
            if ordered[place + count][0] < line:
                yield (*row, sum(x for _, _, x in ordered[max(place - 1, 0) : place + count + 1]))


def test_a_match_that_is_over_stays_over():
    """The row behind WITHIN, which comes when the match has been shown, is not one that it looked at."""
    text = next(query for query in QUERIES if "MATCH_RECOGNIZE" in query)
    with opened() as pipeline:
        query = pipeline.subscribe(f"SELECT STREAM {text}")
        shown = []
        for rows_of_a_step in ([(11, 2, 4), (46, 2, 2)], [(95, 1, 4)], [(123, 2, 3)], [(300, 1, 1)]):
            pipeline.step({"o": [(START + timedelta(seconds=at), key, x) for at, key, x in rows_of_a_step]})
            shown += read(query)
        assert shown == [(2, START + timedelta(seconds=11), 2)]


@pytest.mark.parametrize("first", ["FLOOR(at TO MINUTE)", "-UNIX_SECONDS(at) DESC"])
@examples(3, 10)
@given(steps=st.lists(rows, min_size=2, max_size=5))
def test_sorted_rows_come_in_one_order_over_all_steps(first, steps):
    with opened() as pipeline:
        text = f"SELECT STREAM FLOOR(at TO MINUTE) AS m, x, k FROM o ORDER BY {first}, x DESC, k"
        query = pipeline.subscribe(text)
        shown = []
        for number, step in enumerate(steps):
            stepped(pipeline, number, step)
            shown += read(query)
        pipeline.end_of_input()
        shown += read(query)
        answer = pipeline.query(text.replace(" STREAM", "")).rows
        assert [tuple(row) for row in shown] == [tuple(row) for row in answer]


changes = st.lists(
    st.one_of(
        st.tuples(st.just("o"), st.integers(1, 3), st.integers(0, 5)),
        st.tuples(st.sampled_from("+-"), st.integers(1, 3), st.sampled_from("abc")),
    ),
    max_size=5,
)
MEETINGS = {
    "o.k, o.x, t.name FROM o JOIN t ON o.k = t.k": lambda k, x, t: [(k, x, t[k])] if k in t else [],
    "o.k, o.x, t.name FROM t, o WHERE o.k = t.k": lambda k, x, t: [(k, x, t[k])] if k in t else [],
    "o.k, o.x, t.name FROM o LEFT JOIN t ON o.k = t.k": lambda k, x, t: [(k, x, t.get(k))],
    "o.k, o.x, t.name FROM t RIGHT JOIN o ON o.k = t.k": lambda k, x, t: [(k, x, t.get(k))],
    # Rows of the table that have met none are filtered out again.
    "o.k, o.x, t.name FROM t FULL JOIN o ON o.k = t.k WHERE o.x > 0": lambda k, x, t: [(k, x, t.get(k))] * (x > 0),
    "o.k, o.x, t.name FROM t LEFT JOIN o ON o.k = t.k WHERE o.x > 0": lambda k, x, t: (
        [(k, x, t.get(k))] * (x > 0 and k in t)
    ),
    "o.k, o.x FROM o WHERE o.k IN (SELECT k FROM t)": lambda k, x, t: [(k, x)] if k in t else [],
    "o.k, o.x FROM o WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = o.k)": lambda k, x, t: [(k, x)] * (k not in t),
    "o.x, (SELECT COUNT(*) FROM t) AS n FROM o": lambda _, x, t: [(x, len(t))],
}


@pytest.mark.parametrize("text", MEETINGS)
@examples(3, 12)
@given(steps=st.lists(changes, min_size=1, max_size=6))
def test_oracle_a_row_meets_tables_as_they_are_when_it_comes(text, steps):
    with opened() as pipeline:
        query = pipeline.subscribe(f"SELECT STREAM {text}")
        table = {}
        for step in steps:
            inputs = {"o": [], "t": []}
            for kind, key, value in step:
                if kind == "o":
                    inputs["o"].append((START, key, value))
                else:
                    inputs["t"].append((kind, (key, str(value))))
                    table.pop(key, None)
                    table |= {key: str(value)} if kind == "+" else {}
            pipeline.step(inputs)
            expected = [row for kind, k, x in step if kind == "o" for row in MEETINGS[text](k, x, table)]
            assert Counter(read(query)) == Counter(expected)


def test_a_window_over_what_was_met_has_the_values_of_then():
    with opened() as pipeline:
        query = pipeline.subscribe(
            "SELECT STREAM FLOOR(at TO MINUTE) AS m, t.name, COUNT(*) AS n FROM o JOIN t ON o.k = t.k "
            "GROUP BY FLOOR(at TO MINUTE), t.name"
        )
        pipeline.step({"t": [(1, "old")], "o": [(START, 1, 1)]})
        pipeline.step({"t": [(1, "new")]})
        pipeline.step({"o": [(START, 1, 2), (START, 1, 3)]})
        assert read(query) == []
        pipeline.step({"o": [(START + timedelta(minutes=2), 1, 3)]})
        assert sorted(read(query)) == [(START, "new", 2), (START, "old", 1)]


def test_only_what_comes_after_the_start_is_shown():
    with opened() as pipeline:
        pipeline.step({"o": [(START, 1, 5), (START, 2, 1)]})
        queries = [pipeline.subscribe(f"SELECT STREAM k FROM {name}") for name in ("o", "big", "minutes")]
        pipeline.step({"o": [(START, 3, 5)]})
        pipeline.step({"o": [(START + timedelta(minutes=2), 4, 0)]})
        assert [read(query) for query in queries] == [[(3,), (4,)], [(3,)], [(3,)]]


def test_a_row_meets_constant_rows_as_it_comes():
    with opened() as pipeline:
        query = pipeline.subscribe("SELECT STREAM x, n FROM o LEFT JOIN (VALUES (1, 'a')) AS v (k, n) ON o.k = v.k")
        pipeline.step({"o": [(START, 1, 5), (START, 2, 1)]})
        assert sorted(read(query), key=repr) == [(1, None), (5, "a")]
        pipeline.step({"o": [(START, 1, 4)]})
        assert read(query) == [(4, "a")]


def test_limit_ends_a_stream():
    with opened() as pipeline:
        query = pipeline.subscribe("SELECT STREAM k FROM o LIMIT 2")
        pipeline.step({"o": [(START, 1, 0), (START, 2, 0), (START, 3, 0)]})
        assert (len(read(query)), query.has_ended) == (2, True)


ALONE = "rows of t that no row of the stream has met"
REFUSED = {
    "SELECT STREAM t.k, o.x FROM t LEFT JOIN o ON o.k = t.k": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM t.k, o.x FROM t LEFT JOIN o ON TRUE": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM t.k, o.x FROM o RIGHT JOIN t ON o.k = t.k": f"RIGHT JOIN gives {ALONE}",
    "SELECT STREAM t.k, o.x FROM o FULL JOIN t ON o.k = t.k": f"FULL JOIN gives {ALONE}",
    "SELECT STREAM k, o.x FROM t FULL JOIN o USING (k)": f"FULL JOIN gives {ALONE}",
    "SELECT STREAM t.k, o.x FROM t FULL JOIN o ON o.k = t.k WHERE t.k > 0": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM t.k FROM t LEFT ANTI JOIN o ON o.k = t.k": f"ANTI JOIN gives {ALONE}",
    "SELECT STREAM t.k FROM t LEFT SEMI JOIN o ON o.k = t.k": "SEMI JOIN gives a row of t once",
    "SELECT STREAM t.k, m.x FROM t LEFT JOIN (o JOIN u ON o.k = u.k) AS m ON m.x = t.k": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM t.k FROM o JOIN u ON o.k = u.k RIGHT JOIN t ON o.k = t.k": f"RIGHT JOIN gives {ALONE}",
    "SELECT STREAM o.k FROM o WHERE o.k IN (SELECT t.k FROM t LEFT JOIN p ON p.k = t.k)": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM o.k FROM o UNION ALL SELECT STREAM t.k FROM t LEFT JOIN p ON p.k = t.k": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM FLOOR(at TO DAY), MAX(x) FROM t LEFT JOIN o USING (k) GROUP BY FLOOR(at TO DAY)": "LEFT JOIN gives",
    "SELECT STREAM * FROM names_first": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM t.k, o.x FROM t LEFT JOIN o ON o.k = t.k EMIT STREAM": f"LEFT JOIN gives {ALONE}",
    "SELECT STREAM v.k, o.x FROM (VALUES (1)) AS v (k) LEFT JOIN (o JOIN t ON o.k = t.k) ON o.k = v.k": "of VALUES",
    "SELECT STREAM * FROM t": "Cannot convert table 't' to stream",
    "SELECT STREAM * FROM t AS e": "Cannot convert table 'e' to stream",
    "SELECT STREAM * FROM (SELECT * FROM t AS x) AS e": "Cannot convert table 'e' to stream",
    "WITH w AS (SELECT * FROM t) SELECT STREAM * FROM w": "Cannot convert table 'w' to stream",
    "SELECT STREAM * FROM (VALUES (1)) AS e": "Cannot convert table 'e' to stream",
    "SELECT STREAM * FROM (VALUES (1))": "Cannot stream VALUES",
    "SELECT STREAM * FROM t JOIN u ON t.k = u.k": "no streaming inputs: 't, u'. At least one",
    "SELECT STREAM 1": "Cannot stream results of a query with no streaming inputs",
    "SELECT k FROM t UNION ALL SELECT STREAM k FROM o": "Set operator cannot combine",
    "SELECT STREAM k FROM o UNION ALL SELECT k FROM p": "Set operator cannot combine",
    "SELECT STREAM COUNT(*) FROM o": "at least one monotonic expression in GROUP BY",
    "SELECT STREAM k, COUNT(*) FROM o GROUP BY k": "at least one monotonic expression in GROUP BY",
    "SELECT STREAM k, COUNT(*) FROM o GROUP BY GROUPING SETS ((FLOOR(at TO HOUR), k), (k))": "monotonic expression",
    "SELECT STREAM MONTH(at), COUNT(*) FROM o GROUP BY MONTH(at)": "at least one monotonic expression",
    "SELECT STREAM * FROM (SELECT k, COUNT(*) AS n FROM o GROUP BY k)": "at least one monotonic expression",
    "SELECT STREAM * FROM o ORDER BY k, at": "Streaming ORDER BY must start with monotonic expression",
    "SELECT STREAM * FROM o ORDER BY at DESC": "Streaming ORDER BY must start with monotonic expression",
    "SELECT STREAM * FROM o ORDER BY -UNIX_SECONDS(at)": "Streaming ORDER BY must start with monotonic expression",
    "SELECT STREAM k, at FROM o UNION ALL SELECT STREAM k, at FROM p ORDER BY k": "Streaming ORDER BY must start",
    "SELECT STREAM SUM(x) OVER (ORDER BY k) FROM o": "can change for ever: Window",
    "SELECT STREAM o.x, p.y FROM o JOIN p ON o.k = p.k": "is not bounded",
    "SELECT STREAM DISTINCT k FROM o": "is not bounded",
    "SELECT STREAM * FROM o MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES COUNT(*) AS n PATTERN (A B+) "
    "DEFINE B AS B.x < PREV(B.x))": "is not bounded",
    "SELECT STREAM n FROM (SELECT FLOOR(at TO HOUR) AS h, COUNT(*) AS n FROM o GROUP BY FLOOR(at TO HOUR)) JOIN t "
    "ON n = k": "rows that meet a table may still change",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_asked_as_a_stream(text):
    with opened() as pipeline, pytest.raises(penstock.SqlError) as error:
        pipeline.subscribe(text)
    assert REFUSED[text] in str(error.value)
    assert error.value.diagnostics[0].span is not None
    assert error.value.diagnostics[0].hint


@pytest.mark.parametrize("dialect", ["calcite", "flink", "timeplus"])
def test_a_table_is_not_kept_beside_a_stream_in_any_dialect(dialect):
    text = """
    CREATE STREAM o (at TIMESTAMP NOT NULL LATENESS INTERVAL '0' SECOND, k INT);
    CREATE TABLE t (k INT);
    SET unbounded_state = 'allow';
    """
    refused = pytest.raises(penstock.SqlError, match="LEFT JOIN gives rows of t that no row of the stream has met")
    with opened(text, dialect=dialect) as pipeline, refused:
        pipeline.subscribe("SELECT STREAM t.k, o.at FROM t LEFT JOIN o ON o.k = t.k")


def test_a_statement_that_stands_writes_no_rows_of_a_table_that_have_met_none():
    program = f"{PROGRAM} INSERT INTO u SELECT STREAM t.k, t.name FROM t LEFT JOIN o ON o.k = t.k;"
    with pytest.raises(penstock.SqlError, match="LEFT JOIN gives"), opened(program) as pipeline:
        pipeline.step({"t": [(1, "a")]})


def test_state_that_grows_can_be_allowed():
    with opened(PROGRAM + "SET unbounded_state = 'allow';") as pipeline:
        query = pipeline.subscribe("SELECT STREAM DISTINCT k FROM o")
        pipeline.step({"o": [(START, 1, 1), (START, 1, 2)]})
        pipeline.step({"o": [(START, 1, 1), (START, 2, 2)]})
        assert read(query) == [(1,), (2,)]


def test_a_stream_is_a_relation_as_far_as_it_keeps_its_rows():
    with opened() as pipeline:
        pipeline.step({"o": [(START, 1, 1)]})
        assert pipeline.query("SELECT k FROM o").rows == [(1,)]
        for text in ("SELECT * FROM gone", "SELECT * FROM o JOIN gone AS g ON o.k = g.k"):
            with pytest.raises(penstock.SqlError, match=r"Cannot convert stream '(gone|g)' to relation"):
                pipeline.query(text)
        with pytest.raises(penstock.SqlError, match="a query with STREAM stands"):
            pipeline.query("SELECT STREAM * FROM o")


def test_messages_have_the_names_of_the_dialect():
    expected = pytest.raises(penstock.SqlError, match="Cannot convert table 'EMP' to stream")
    with opened("CREATE TABLE emp (no INT);", dialect="calcite") as pipeline, expected:
        pipeline.subscribe("select stream * from emp")


EXPLAINED = {
    "SELECT STREAM k FROM o": "waits for nothing: a row that comes is never taken back",
    "SELECT STREAM k FROM o ORDER BY at": "the waterline of o.at to pass the first value that its rows are sorted by",
    "SELECT STREAM COUNT(*) FROM o GROUP BY FLOOR(at TO HOUR)": "waits for the waterline of o.at to pass",
    "SELECT STREAM COUNT(*) FROM o GROUP BY -UNIX_SECONDS(at)": "to pass a key that goes down as it goes up",
}


@pytest.mark.parametrize("text", EXPLAINED)
def test_explain_says_what_a_stream_waits_for(text):
    done = CliRunner().invoke(main, ["sql", "-e", f"{PROGRAM} EXPLAIN {text};"])
    assert EXPLAINED[text] in done.stdout
    assert "emission:   SELECT STREAM" in done.stdout


def test_check_knows_which_streams_never_end():
    right, wrong = "SELECT STREAM at FROM o;", "SELECT STREAM k, COUNT(*) FROM o GROUP BY k;"
    assert CliRunner().invoke(main, ["check", "-e", f"{PROGRAM} {right}"]).exit_code == 0
    done = CliRunner().invoke(main, ["check", "-e", f"{PROGRAM} {right} {wrong}"])
    assert "Streaming aggregation requires at least one monotonic expression" in done.stderr
    wrong = "SELECT STREAM t.k FROM t LEFT JOIN o ON o.k = t.k EMIT STREAM;"
    done = CliRunner().invoke(main, ["check", "-e", f"{PROGRAM} {right} {wrong}"])
    assert "LEFT JOIN gives rows of t" in done.stderr


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [text if "t.name FROM o LEFT" in text else pytest.param(text, marks=pytest.mark.extended) for text in MEETINGS],
)
def test_rows_meet_tables_on_spark_too(spark, text):
    with penstock.Pipeline(PROGRAM, spark=spark, engine="spark") as pipeline:
        query = pipeline.subscribe(f"SELECT STREAM {text}")
        table = {1: "a"}
        pipeline.step({"t": [(1, "a")], "o": [(START, 1, 5), (START, 1, 5), (START, 2, 0), (START, None, 1)]})
        rows = [(1, 5), (1, 5), (2, 0), (None, 1)]
        assert Counter(read(query)) == Counter(row for k, x in rows for row in MEETINGS[text](k, x, table))
        pipeline.step({"t": [(1, "b"), (2, "c")]})
        assert read(query) == []
        pipeline.step({"o": [(START, 2, 4)]})
        assert read(query) == MEETINGS[text](2, 4, {1: "b", 2: "c"})
