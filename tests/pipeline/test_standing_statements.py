"""Standing statements at work: when they write, what tables make of it, and how they begin and end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock

TABLES = """CREATE STREAM s (k INT, v INT);
CREATE TABLE bag (k INT, v INT);
CREATE TABLE keyed (k INT PRIMARY KEY, v INT);
CREATE TABLE rows (k INT, v INT);
"""
Opened = Callable[..., penstock.Pipeline]


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Opened:
    @penstock.LaterSession
    def no_spark() -> Any:
        pytest.fail("Spark was asked for")

    def pipeline(text: str, dialect: str | None = None) -> penstock.Pipeline:
        found = penstock.Pipeline(TABLES + text, dialect=dialect, spark=no_spark)
        request.addfinalizer(found.close)
        return found

    return pipeline


def content(pipeline: penstock.Pipeline, name: str) -> list[Any]:
    return sorted(pipeline.content(name).rows)


def test_a_row_is_in_the_table_and_its_views_in_the_same_step(opened: Opened) -> None:
    p = opened(
        "CREATE VIEW n AS SELECT COUNT(*) AS n, SUM(v) AS v FROM bag;"
        "CREATE MATERIALIZED VIEW m INTO bag AS SELECT k, v * 2 AS v FROM s;"
    )
    assert sorted(p.step({"s": [(1, 1)], "bag": [(9, 9)]})["n"].rows) == [(1, (2, 11))]
    assert content(p, "bag") == content(p, "m") == [(1, 2), (9, 9)]
    assert sorted(p.execute("INSERT INTO s VALUES (2, 5)")["n"].rows) == [(-1, (2, 11)), (1, (3, 21))]
    assert "m" not in p.step({})


def test_own_rows_that_are_refused_refuse_the_step(opened: Opened) -> None:
    p = opened("CREATE MATERIALIZED VIEW m INTO bag AS SELECT k, v FROM s;")
    p.step({"s": [(1, 1)]})
    with pytest.raises(penstock.DataError, match="not there"):
        p.step({"s": [(2, 2)], "bag": [("-", (2, 2))]})
    assert content(p, "bag") == content(p, "s") == [(1, 1)]
    p.step({"bag": [("-", (1, 1))]})
    assert content(p, "bag") == []


def test_what_something_else_has_deleted_is_told(opened: Opened) -> None:
    p = opened("CREATE MATERIALIZED VIEW m INTO bag AS SELECT k, v FROM rows;")
    p.step({"rows": [(1, 1), (2, 2)]})
    p.execute("DELETE FROM bag WHERE k = 1")
    changes = p.step({"rows": [("-", (1, 1)), ("-", (2, 2))]})
    assert [row[1] for _, row in changes["error_view"].rows] == ["Row to delete not found"]
    assert content(p, "bag") == []


def test_a_key_ends_only_with_the_row_that_is_there(opened: Opened) -> None:
    p = opened(
        "CREATE MATERIALIZED VIEW a INTO keyed AS SELECT k, v FROM rows WHERE v < 10;"
        "CREATE MATERIALIZED VIEW b INTO keyed AS SELECT k, v FROM rows WHERE v >= 10;"
    )
    p.step({"rows": [(1, 1), (2, 20)]})
    p.step({"rows": [("-", (1, 1)), ("+", (1, 11)), ("-", (2, 20)), ("+", (2, 2))]})
    assert content(p, "keyed") == [(1, 11), (2, 2)]  # each key has gone from one statement to the other
    p.step({"keyed": [(1, 100)]})
    p.step({"rows": [("-", (1, 11)), ("-", (2, 2))]})
    assert content(p, "keyed") == [(1, 100)]


def test_own_rows_of_the_step_come_first(opened: Opened) -> None:
    p = opened("CREATE MATERIALIZED VIEW a INTO keyed AS SELECT k, v FROM rows;")
    p.step({"rows": [(1, 1)], "keyed": [(1, 5), (2, 5)]})
    assert content(p, "keyed") == [(1, 1), (2, 5)]
    p.step({"rows": [("-", (1, 1))], "keyed": [(1, 7)]})
    assert content(p, "keyed") == [(1, 7), (2, 5)]


def test_of_several_rows_of_a_key_the_last_stays(opened: Opened) -> None:
    p = opened("CREATE MATERIALIZED VIEW a INTO keyed AS SELECT k, v FROM s;")
    p.step({"s": [(1, 7), (1, None), (1, 3)]})
    assert content(p, "keyed") == [(1, 7)]
    p.step({"s": [(1, 2)]})
    assert content(p, "keyed") == [(1, 2)]


def test_conflicts(opened: Opened) -> None:
    p = opened(
        "CREATE TABLE first (k INT PRIMARY KEY, v INT);"
        "INSERT INTO keyed SELECT k, v FROM rows ON CONFLICT DO DEDUPLICATE;"
        "INSERT INTO first SELECT k, v FROM rows ON CONFLICT DO NOTHING;",
        "flink",
    )
    p.step({"rows": [(1, 1), (1, 5)]})
    assert (content(p, "keyed"), content(p, "first")) == ([(1, 5)], [(1, 1)])
    p.step({"rows": [("-", (1, 5)), (1, 0)]})
    assert (content(p, "keyed"), content(p, "first")) == ([(1, 1)], [(1, 1)])


def test_what_is_written_is_input_like_any_other(opened: Opened) -> None:
    p = opened(
        "CREATE TABLE t (at INT NOT NULL LATENESS 0, v INT, d INT DEFAULT 7) WITH ('append_only' = 'true');"
        "CREATE MATERIALIZED VIEW m INTO t AS SELECT k AS at, v FROM s;"
        "CREATE VIEW errors AS SELECT message, COUNT(*) AS n FROM error_view GROUP BY message;"
    )
    p.step({"s": [(5, 1)]})
    changes = p.step({"s": [(4, 2), (6, 3), (None, 4)]})
    assert content(p, "t") == [(5, 1, 7), (6, 3, 7)]
    assert sorted(changes["errors"].rows) == [(1, ("Bad row", 1)), (1, ("Late value", 1))]


def test_rows_are_written_when_their_window_closes(opened: Opened) -> None:
    p = opened(
        "CREATE TABLE e (at TIMESTAMP LATENESS INTERVAL 0 SECOND) WITH ('append_only' = 'true');"
        "CREATE STREAM t (w TIMESTAMP, n BIGINT); CREATE VIEW n AS SELECT SUM(n) AS n FROM t;"
        "INSERT INTO t SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(at), INTERVAL 10 SECONDS)) "
        "GROUP BY window_start, window_end EMIT AFTER WATERMARK;"
    )
    at = "2024-01-01 00:00:"
    p.step({"e": [(f"{at}01",), (f"{at}05",)]})
    assert content(p, "t") == []
    assert sorted(p.step({"e": [(f"{at}12",)]})["n"].rows) == [(-1, (None,)), (1, (2,))]
    assert sorted(p.end_of_input()["n"].rows) == [(-1, (2,)), (1, (3,))]


def test_streams_of_timeplus_write_what_comes_from_then_on(opened: Opened) -> None:
    p = opened(
        "CREATE STREAM t (k int, n int64);"
        "CREATE STREAM kv (k int, n int64) PRIMARY KEY k SETTINGS mode = 'versioned_kv';"
        "CREATE MATERIALIZED VIEW sums INTO t AS SELECT k, sum(v) AS n FROM s GROUP BY k;"
        "CREATE MATERIALIZED VIEW last INTO kv AS SELECT k, sum(v) AS n, _tp_delta FROM s GROUP BY k "
        "EMIT CHANGELOG ON UPDATE;",
        "timeplus",
    )
    for second, rows in enumerate([[(1, 1), (2, 5)], [], [], [(1, 2)]]):
        p.step({"s": rows}, clock=f"2024-01-01 00:00:0{second + 1}")
    assert sorted(row[:2] for row in p.content("t").rows) == [(1, 1), (2, 5)]
    assert sorted(row[:2] for row in p.content("kv").rows) == [(1, 3), (2, 5)]
    p.step({}, clock="2024-01-01 00:00:05")
    assert sorted(row[:2] for row in p.content("t").rows) == [(1, 1), (1, 3), (2, 5), (2, 5)]
    p.execute("CREATE STREAM later (k int); CREATE MATERIALIZED VIEW l INTO later AS SELECT k FROM s")
    p.step({"s": [(7, 1)]}, clock="2024-01-01 00:00:06")
    assert [row[0] for row in p.content("later").rows] == [7]


def test_a_statement_of_a_session_begins_and_ends(opened: Opened) -> None:
    p = opened("CREATE VIEW n AS SELECT COUNT(*) AS n FROM bag;")
    p.step({"s": [(1, 1)]})
    writes = p.subscribe("INSERT INTO bag SELECT k, v FROM s", name="copy")
    assert content(p, "bag") == []
    assert sorted(p.step({"s": [(2, 2)]})["n"].rows) == [(-1, (0,)), (1, (2,))]
    assert [query.name for query in p.queries] == ["copy"]
    with pytest.raises(penstock.SqlError, match="copy reads it"):
        p.execute("DROP TABLE s")
    writes.close()
    p.step({"s": [(3, 3)]})
    assert content(p, "bag") == [(1, 1), (2, 2)]
    assert (p.queries, dict(p.catalog.writers)) == ([], {})
    with pytest.raises(penstock.SqlError, match="a statement cannot begin to stand in a transaction"):
        p.step(sql="INSERT INTO bag SELECT k, v FROM s EMIT CHANGES")


def test_a_view_into_a_table_goes_and_comes(opened: Opened) -> None:
    p = opened("CREATE MATERIALIZED VIEW m INTO bag AS SELECT k, v FROM s;")
    p.step({"s": [(1, 1)]})
    p.execute("CREATE OR REPLACE MATERIALIZED VIEW m INTO bag AS SELECT k, -v AS v FROM s")
    p.step({"s": [(2, 2)]})
    assert content(p, "bag") == [(1, -1), (1, 1), (2, -2)]
    p.execute("DROP VIEW m")
    p.step({"s": [(3, 3)]})
    assert content(p, "bag") == [(1, -1), (1, 1), (2, -2)]


def test_columns_go_by_name_where_the_table_has_them(opened: Opened) -> None:
    p = opened(
        "CREATE MATERIALIZED VIEW named INTO bag AS SELECT v, k FROM s;"
        "CREATE MATERIALIZED VIEW placed INTO rows AS SELECT k AS a, v AS b FROM s;"
        "CREATE MATERIALIZED VIEW listed (v, k) INTO keyed AS SELECT k + 10, v FROM s;"
    )
    p.step({"s": [(1, 2)]})
    assert [content(p, name) for name in ("bag", "rows", "keyed")] == [[(1, 2)], [(1, 2)], [(2, 11)]]


def test_explain_tells_of_statements(opened: Opened) -> None:
    p = opened("CREATE MATERIALIZED VIEW m INTO keyed AS SELECT k, COUNT(*) AS v FROM s GROUP BY k;")
    assert p.explain("m").startswith("statement m (into keyed) at 5:33: incremental")
    assert p.explain().count("(into keyed)") == 1
    assert json.loads(p.explain("m", ["json"]))["views"][0]["kind"] == "statement"


def test_many_rows_are_written_at_once(opened: Opened) -> None:
    p = opened(
        "CREATE VIEW n AS SELECT COUNT(*) AS n, SUM(v) AS v FROM keyed; CREATE VIEW b AS SELECT COUNT(*) AS n FROM bag;"
        "CREATE MATERIALIZED VIEW sums INTO keyed AS SELECT k, CAST(SUM(v) AS INT) AS v FROM rows GROUP BY k;"
        "CREATE MATERIALIZED VIEW copy INTO bag AS SELECT k, v FROM rows;"
    )
    many = [(number % 700, number) for number in range(2000)]
    assert sorted(p.step({"rows": many})["n"].rows) == [(1, (700, 1999000))]
    p.step({"rows": many[:1000], "bag": [(1, 1)]})
    changes = p.step({"rows": [("-", row) for row in many[:1000] * 2], "bag": [("-", (1, 1))]})
    assert (1, (700, 1499500)) in changes["n"].rows
    assert sorted(changes["b"].rows) == [(-1, (3001,)), (1, (1000,))]


def test_a_row_for_which_a_view_raises_is_set_aside_where_it_is_written(interpreting: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [{"k": 1, "v": 1}, {"k": 2, "v": 0}, {"k": 3, "v": 4}]
    (folder / "a.json").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    program = f"""CREATE TABLE f (k INT, v INT) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json');
    CREATE TABLE bag (k INT, v INT); CREATE MATERIALIZED VIEW m INTO bag AS SELECT k, v FROM f;
    CREATE VIEW inverse AS SELECT k, 12 / v AS x FROM bag;"""
    with penstock.Pipeline(program, spark=interpreting) as p:
        p.run(once=True)
        assert content(p, "f") == [(1, 1), (2, 0), (3, 4)]
        assert content(p, "bag") == [(1, 1), (3, 4)]
        assert content(p, "inverse") == [(1, 12.0), (3, 3.0)]
        (row,) = p.query("SELECT * FROM error_view").rows
        assert row[:2] == ("inverse", "Evaluation error")
        assert "row 2 of m" in row[2]


def test_on_spark_it_is_the_same(interpreting: Any) -> None:
    text = """SET engine = 'spark'; CREATE VIEW n AS SELECT COUNT(*) AS n, SUM(v) AS v FROM keyed;
    CREATE MATERIALIZED VIEW sums INTO keyed AS SELECT k, CAST(SUM(v) AS INT) AS v FROM bag GROUP BY k;
    CREATE MATERIALIZED VIEW copy INTO bag AS SELECT k, v FROM rows;"""
    with penstock.Pipeline(TABLES + text, spark=interpreting) as p:
        assert sorted(p.step({"rows": [(1, 1), (2, 2), (1, 3)]})["n"].rows) == [(1, (2, 6))]
        changes = p.step({"rows": [("-", (2, 2)), (3, 1)], "bag": [(1, 1)]})
        assert sorted(changes["n"].rows) == [(-1, (2, 6)), (1, (2, 6))] or changes["n"].rows == []
        assert content(p, "keyed") == [(1, 5), (3, 1)]
        assert p.verify("n")
