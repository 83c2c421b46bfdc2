"""SHOW WATERLINES and SHOW STATE: how far time has got, what is kept, and what would bound it."""

from penstock.cli.show import shown
from penstock.pipeline.pipeline import Pipeline
from penstock.sql.parse import parse

PROGRAM = """
CREATE TABLE a (t BIGINT LATENESS 6, k INT, x INT);
CREATE VIEW sums AS SELECT t + 1 AS u, SUM(x) AS s FROM a GROUP BY t + 1;
CREATE VIEW keys AS SELECT k, COUNT(*) AS n FROM a GROUP BY k;
"""


def asked(text, pipeline):
    (statement,) = parse(text)
    table = shown(statement, pipeline)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_waterlines_and_state(spark):
    events = []
    with Pipeline(PROGRAM, spark=spark, engine="spark", on_event=events.append) as pipeline:
        pipeline.step({"a": [(10, 1, 1), (20, 2, 1)]})
        pipeline.step({"a": [(3, 1, 1), (21, 1, 1)]})
        table, view = asked("SHOW WATERLINES;", pipeline)
        assert (table["column"], table["waterline"], table["largest seen"], table["late rows"]) == ("a.t", 15, 21, 1)
        assert table["moves with"] == "a value more than 6 above it"
        assert (view["column"], view["waterline"], view["moves with"]) == ("sums.u", 16, "follows a.t + 1")
        sums, keys = sorted(asked("SHOW STATE;", pipeline), key=lambda row: row["for"], reverse=True)
        assert (sums["operator"], sums["for"], sums["rows"], sums["grows"]) == ("Aggregate", "sums", 3, "no")
        assert sums["because"] == "rows are dropped once a.t + 1 is below the waterline a.t + 1"
        assert sums["works"] == "on Spark"
        assert (keys["for"], keys["grows"]) == ("keys", "yes")
        assert keys["to bound it"] == "use a column with LATENESS in GROUP BY: a.t"
        assert keys["bytes"] > 0
        assert {item.views: item.rows for item in events[-1].state} == {("sums",): 3, ("keys",): keys["rows"]}
        pipeline.compact()
        assert {item.views: item.rows for item in pipeline.state()} == {("sums",): 2, ("keys",): 2}


def test_names_that_are_like_a_pattern():
    with Pipeline(PROGRAM, engine="native") as pipeline:
        assert [row["view"] for row in asked("SHOW VIEWS LIKE 's%';", pipeline)] == ["sums"]
        assert [row["view"] for row in asked("SHOW VIEWS LIKE 'KEY_';", pipeline)] == ["keys"]
        assert asked("SHOW TABLES LIKE 'b';", pipeline) == []
