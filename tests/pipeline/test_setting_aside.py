"""Rows for which an expression of a view raises: `run` goes on without them, in the same step."""

from __future__ import annotations

import json
import os
import time

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.cli.rejected import RejectionReport
from penstock.pipeline.run import RunOptions

LARGE = 2**62


def table(folder, name, columns, extra=""):
    (folder / name).mkdir(exist_ok=True)
    source = f"'connector' = 'files', 'path' = '{folder}/{name}', 'format' = 'json'{extra}"
    return f"CREATE TABLE {name} ({columns}) WITH ({source});"


def put(folder, name, rows, file="1.json"):
    path = folder / name / file
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(path, (time.time() - 10, time.time() - 10))


def rows_of(pipeline, query):
    return sorted(tuple(row) for row in pipeline.query(query).rows)


def aside(pipeline):
    """The view, the line and the row of what was set aside."""
    found = []
    for view, kind, metadata in rows_of(pipeline, "SELECT * FROM error_view"):
        assert kind == "Evaluation error"
        said = json.loads(metadata)
        found.append(
            (view, int(said["place"].rpartition(":")[2]) if "place" in said else None, json.loads(said["row"]))
        )
    return sorted(found, key=str)


def verified(pipeline):
    return all(pipeline.verify(view) for view in pipeline.catalog.views)


def test_three_of_three_thousand_are_one_step_and_are_said_once(spark, tmp_path):
    program = table(tmp_path, "orders", "id INT, amount BIGINT")
    program += "CREATE VIEW shares AS SELECT id, 100 / amount AS share FROM orders WHERE id >= 0;"
    program += "CREATE VIEW n AS SELECT COUNT(*) AS n FROM orders;"
    bad = (5, 1700, 2999)
    put(tmp_path, "orders", [{"id": at, "amount": 0 if at in bad else at + 1} for at in range(3000)])
    said = []
    with penstock.Pipeline(program, spark=spark) as pipeline:
        assert pipeline.steps == 0
        engine = pipeline._execution.stepper.engine
        attempt, attempts = engine.attempt, []
        engine.attempt = lambda *given: (attempts.append(given), attempt(*given))
        pipeline.run(once=True, outputs=[RejectionReport(said.append)])
        assert pipeline.steps == 1
        assert len(attempts) <= 5
        assert [(view, line) for view, line, _ in aside(pipeline)] == [
            ("shares", at + 1) for at in sorted(bad, key=str)
        ]
        assert rows_of(pipeline, "SELECT * FROM n") == [(2997,)]
        assert verified(pipeline)
    assert len(said) == 2
    assert said[0].startswith("rejected for view shares: Evaluation error: 3 rows (")
    assert said[0].count("Division by zero") == 1
    assert said[1] == "shares: 3 rows rejected (3 Evaluation error); error_view has them"


def test_each_row_has_its_own_message_and_rows_of_several_expressions_are_found(spark, tmp_path):
    program = table(tmp_path, "t", "id INT, a STRING, b INT")
    program += "CREATE VIEW v AS SELECT id, CAST(a AS INT) AS a, 10 % b AS b FROM t;"
    program += "CREATE VIEW w AS SELECT id FROM t WHERE CAST(b AS TINYINT) > 0;"
    put(tmp_path, "t", [
        {"id": 1, "a": "1", "b": 1}, {"id": 2, "a": "x", "b": 1}, {"id": 3, "a": "y", "b": 1},
        {"id": 4, "a": "1", "b": 0}, {"id": 5, "a": "1", "b": 1000},
    ])  # fmt: skip
    with penstock.Pipeline(program, spark=spark) as pipeline:
        pipeline.run(once=True)
        assert pipeline.steps == 1
        assert [(view, line) for view, line, _ in aside(pipeline)] == [("v", 2), ("v", 3), ("v", 4), ("w", 5)]
        said = [json.loads(row[2])["error"] for row in rows_of(pipeline, "SELECT * FROM error_view")]
        assert all(any(text in error for error in said) for text in ("'x'", "'y'", "Remainder by zero", "1000"))
        assert rows_of(pipeline, "SELECT * FROM v") == [(1, 1, 0)]
        assert verified(pipeline)


def test_of_a_sum_that_overflows_the_rows_of_its_key_go_unless_one_is_at_fault(spark, tmp_path):
    program = table(tmp_path, "t", "k STRING, n BIGINT")
    program += "CREATE VIEW sums AS SELECT k, SUM(n) AS n FROM t GROUP BY k;"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        put(tmp_path, "t", [{"k": "a", "n": LARGE}, {"k": "b", "n": 1}], "1.json")
        pipeline.run(once=True)
        together = [{"k": "b", "n": LARGE}, {"k": "b", "n": LARGE - 1}, {"k": "b", "n": 5}]
        put(tmp_path, "t", [{"k": "a", "n": 7}, *together, {"k": "a", "n": LARGE}, {"k": "c", "n": 9}], "2.json")
        pipeline.run(once=True)
        assert pipeline.steps == 2
        assert sorted(row["n"] for _, _, row in aside(pipeline)) == [5, LARGE - 1, LARGE, LARGE]
        assert rows_of(pipeline, "SELECT * FROM sums") == [("a", LARGE + 7), ("b", 1), ("c", 9)]
        assert verified(pipeline)


def test_what_another_row_of_the_step_makes_good_stays(spark, tmp_path):
    program = table(tmp_path, "t", "n BIGINT") + "CREATE VIEW total AS SELECT SUM(n) AS n FROM t;"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        put(tmp_path, "t", [{"n": LARGE}], "1.json")
        pipeline.run(once=True)
        put(tmp_path, "t", [{"n": -5}, {"n": LARGE}, {"n": 2**63 - 1}], "2.json")
        pipeline.run(once=True)
        assert [row for _, _, row in aside(pipeline)] == [{"n": 2**63 - 1}]
        assert rows_of(pipeline, "SELECT * FROM total") == [(2 * LARGE - 5,)]
        assert verified(pipeline)


def test_a_bad_cast_behind_a_view_over_an_aggregate_and_a_join(spark, tmp_path):
    program = table(tmp_path, "facts", "id INT, k STRING, x STRING")
    program += table(tmp_path, "names", "k STRING PRIMARY KEY, name STRING")
    program += """CREATE VIEW named AS SELECT f.id, f.x, n.name FROM facts f JOIN names n ON f.k = n.k;
    CREATE VIEW last AS SELECT name, max(x) AS x, count(*) AS n FROM named GROUP BY name;
    CREATE VIEW numbers AS SELECT name, CAST(x AS INT) AS x, n FROM last;"""
    put(tmp_path, "names", [{"k": "a", "name": "A"}, {"k": "b", "name": "B"}])
    facts = [(1, "a", "1"), (2, "a", "2x"), (3, "b", "3"), (4, "b", "4"), (5, "c", "zz"), (6, "a", "11")]
    put(tmp_path, "facts", [{"id": id_, "k": k, "x": x} for id_, k, x in facts])
    with penstock.Pipeline(program, spark=spark) as pipeline:
        pipeline.run(once=True)
        assert pipeline.steps == 1
        assert [(line, row["id"]) for _, line, row in aside(pipeline)] == [(2, 2)]
        assert rows_of(pipeline, "SELECT * FROM numbers") == [("A", 11, 2), ("B", 4, 2)]
        assert verified(pipeline)


def test_in_a_join_the_side_that_the_expression_reads_is_at_fault(spark, tmp_path):
    program = table(tmp_path, "facts", "id INT, k INT, x INT")
    program += table(tmp_path, "rates", "k INT PRIMARY KEY, rate INT")
    program += """CREATE VIEW met AS SELECT f.id, r.rate FROM facts f JOIN rates r ON f.k = r.k AND 10 / f.x > r.rate;
    CREATE VIEW shares AS SELECT f.id, f.x % r.rate AS share FROM facts f JOIN rates r ON f.k = r.k;"""
    put(tmp_path, "rates", [{"k": 1, "rate": 2}, {"k": 2, "rate": 0}, {"k": 3, "rate": 3}])
    facts = [(1, 1, 1), (2, 1, 0), (3, 2, 1), (4, 2, 4), (5, 3, 0), (6, 3, 1)]
    put(tmp_path, "facts", [{"id": id_, "k": k, "x": x} for id_, k, x in facts])
    with penstock.Pipeline(program, spark=spark) as pipeline:
        pipeline.run(once=True)
        assert pipeline.steps == 1
        assert [row for _, _, row in aside(pipeline)] == [
            {"id": 2, "k": 1, "x": 0},
            {"id": 5, "k": 3, "x": 0},
            {"k": 2, "rate": 0},
        ]
        assert rows_of(pipeline, "SELECT id FROM shares") == [(1,), (6,)]
        put(
            tmp_path,
            "facts",
            [{"id": 7, "k": 3, "x": 0}, {"id": 8, "k": 9, "x": 0}, {"id": 9, "k": 1, "x": 9}],
            "2.json",
        )
        pipeline.run(once=True)
        assert rows_of(pipeline, "SELECT id FROM facts") == [(1,), (3,), (4,), (6,), (8,), (9,)]
        assert verified(pipeline)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, sum(10 / x) OVER (PARTITION BY k ORDER BY id) AS s FROM t",
        "SELECT k, sum(10 / x) FILTER (WHERE k > 0) AS s FROM t GROUP BY k",
        pytest.param(
            "SELECT k, max(id) AS id FROM t GROUP BY k HAVING max(10 / x) >= 0",
            marks=pytest.mark.extended,
        ),
        pytest.param(
            "SELECT DISTINCT 10 / x AS d FROM t",
            marks=pytest.mark.extended,
        ),
        "SELECT id FROM t ORDER BY 10 / x LIMIT 100",
        "SELECT id, p FROM t LATERAL VIEW explode(sequence(0, 10 DIV x)) AS p",
        "SELECT a.id, b.id AS other FROM t a LEFT JOIN t b ON a.k = b.k AND 10 / b.x > a.id",
        pytest.param(
            "SELECT id FROM t WHERE 10 / x > (SELECT count(*) FROM t WHERE k = 0)",
            marks=pytest.mark.extended,
        ),
        pytest.param(
            "SELECT id, sum(x) OVER (ORDER BY id) AS s, 10 / x AS y FROM t",
            marks=pytest.mark.extended,
        ),
        "WITH RECURSIVE r(n) AS (SELECT 10 DIV x FROM t UNION SELECT n - 1 FROM r WHERE n > 0) SELECT * FROM r",
    ],
)
def test_whatever_the_operator_the_row_is_found(interpreting, tmp_path, query):
    program = table(tmp_path, "t", "id INT, k INT, x INT") + f"CREATE VIEW v AS {query};"
    put(tmp_path, "t", [{"id": at, "k": 1 + at % 2, "x": at % 5} for at in (1, 2, 3, 4)], "1.json")
    with penstock.Pipeline(program, spark=interpreting) as pipeline:
        pipeline.run(once=True)
        put(tmp_path, "t", [{"id": at, "k": 1 + at % 2, "x": at % 5} for at in range(7, 14)], "2.json")
        pipeline.run(once=True)
        assert pipeline.steps == 2
        assert [row["id"] for _, _, row in aside(pipeline)] == [10]
        assert verified(pipeline)


def test_of_operations_on_a_key_the_one_that_raises_goes(spark, tmp_path):
    program = table(tmp_path, "t", "id INT PRIMARY KEY, x INT, y INT")
    program += "CREATE VIEW v AS SELECT id, 10 DIV x AS d FROM t;"
    program += "CREATE VIEW n AS SELECT 6 DIV count(*) AS n FROM t;"
    put(tmp_path, "t", [{"id": at, "x": at, "y": 0} for at in (1, 2, 3)], "1.json")
    with penstock.Pipeline(program, spark=spark) as pipeline:
        put(tmp_path, "t", [{"id": at, "x": at, "y": 0} for at in (1, 2, 3)], "1.json")
        pipeline.run(once=True)
        put(tmp_path, "t", [
            {"update": {"id": 1, "y": 7}}, {"update": {"id": 1, "x": 0}}, {"update": {"id": 2, "x": 0}},
            {"update": {"id": 2, "x": 5}}, {"id": 4, "x": 0, "y": 1}, {"id": 5, "x": 2, "y": 1},
        ], "2.json")  # fmt: skip
        pipeline.run(once=True)
        assert pipeline.steps == 2
        assert [(line, row["id"]) for _, line, row in aside(pipeline)] == [(2, 1), (5, 4)]
        assert rows_of(pipeline, "SELECT * FROM t") == [(1, 1, 7), (2, 5, 0), (3, 3, 0), (5, 2, 1)]
        put(tmp_path, "t", [{"delete": {"id": at}} for at in (1, 2, 3, 5)], "3.json")
        pipeline.run(once=True)
        assert rows_of(pipeline, "SELECT id FROM t") == [(1,), (2,), (3,), (5,)]
        assert verified(pipeline)


def test_what_is_late_does_not_depend_on_it(spark, tmp_path):
    columns = "id INT, at TIMESTAMP LATENESS INTERVAL 1 HOUR, x INT"
    rows = [(1, "12:00"), (2, "09:00"), (3, "15:00"), (4, "08:00"), (5, "11:00")]
    late = [(6, "13:59"), (7, "14:00")]

    def kept(folder, divisor):
        folder.mkdir()
        program = table(folder, "t", columns) + f"CREATE VIEW v AS SELECT id, 10 / {divisor} AS d FROM t;"
        with penstock.Pipeline(program, spark=spark) as pipeline:
            for file, part in (("1.json", rows), ("2.json", late)):
                found = [{"id": id_, "at": f"2024-01-01 {at}:00", "x": id_ % 3} for id_, at in part]
                put(folder, "t", found, file)
                pipeline.run(once=True)
            assert verified(pipeline)
            return rows_of(pipeline, "SELECT id FROM t"), pipeline.rejected()

    assert kept(tmp_path / "whole", "id") == ([(1,), (2,), (3,), (4,), (5,), (7,)], {("t", "Late value"): 1})
    assert kept(tmp_path / "part", "x") == (
        [(1,), (2,), (4,), (5,), (7,)],
        {("t", "Late value"): 1, ("v", "Evaluation error"): 1},
    )


def test_a_row_that_watermark_holds_is_set_aside_when_it_is_released(spark, tmp_path):
    program = table(tmp_path, "t", "id INT, n INT WATERMARK 10, x INT")
    program += "CREATE VIEW v AS SELECT id, 10 / x AS d FROM t;"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        put(tmp_path, "t", [{"id": 1, "n": 0, "x": 0}, {"id": 2, "n": 1, "x": 1}, {"id": 3, "n": 11, "x": 0}], "1.json")
        pipeline.run(once=True, options=RunOptions(first_rows=1, quick_seconds=0))
        assert aside(pipeline) == [("v", None, {"id": 1, "n": 0, "x": 0}), ("v", None, {"id": 3, "n": 11, "x": 0})]
        assert rows_of(pipeline, "SELECT id FROM t") == [(2,)]
        assert verified(pipeline)


def test_fail_stops_before_the_step_and_python_refuses_it_whole(spark, tmp_path):
    view = "CREATE VIEW v AS SELECT id, 10 / x AS d FROM t;"
    put_all = [{"id": 1, "x": 1}, {"id": 2, "x": 0}]
    for extra, options in ((", 'on_error' = 'fail'", RunOptions()), ("", RunOptions(on_error="fail"))):
        program = table(tmp_path, "t", "id INT, x INT", extra) + view
        put(tmp_path, "t", put_all)
        with penstock.Pipeline(program, spark=spark) as pipeline:
            with pytest.raises(penstock.DataError, match="view v: Division by zero") as refused:
                pipeline.run(once=True, options=options)
            assert "10 / x" in refused.value.render()
            assert pipeline.steps == 0
            with pytest.raises(penstock.DataError, match="view v: Division by zero"):
                pipeline.step({"t": [(1, 1), (2, 0)]})
            assert pipeline.steps == 0
            assert pipeline.rejected() == {}


def test_an_error_that_no_row_of_the_step_is_at_fault_for_ends_the_run(spark, tmp_path):
    program = table(tmp_path, "t", "id INT") + table(tmp_path, "u", "id INT")
    program += "CREATE VIEW v AS SELECT 10 / count(*) AS d FROM u;"
    put(tmp_path, "t", [{"id": 1}])
    with penstock.Pipeline(program, spark=spark) as pipeline:
        with pytest.raises(penstock.DataError, match="view v: Division by zero"):
            pipeline.run(once=True)
        assert pipeline.steps == 0


def test_steps_again_from_the_log_give_the_same_answers(spark, tmp_path):
    """The manifests name the accepted rows alone: stepped again in their order they raise nothing."""
    columns = "id INT PRIMARY KEY, k INT, x INT"
    views = "CREATE VIEW v AS SELECT id, 10 DIV x AS d FROM t;"
    views += "CREATE VIEW w AS SELECT k, sum(d) AS d FROM v JOIN t USING (id) GROUP BY k;"
    steps = []
    with penstock.Pipeline(table(tmp_path, "t", columns) + views, spark=spark, directory=tmp_path / "dir") as pipeline:
        for file, start in (("1.json", 0), ("2.json", 4)):
            put(
                tmp_path,
                "t",
                [{"id": at, "k": at % 2, "x": at % 4 + start % 3} for at in range(start, start + 9)],
                file,
            )
            pipeline.run(once=True)
        answers = rows_of(pipeline, "SELECT * FROM w"), rows_of(pipeline, "SELECT * FROM v")
        assert pipeline.rejected()[("v", "Evaluation error")] > 0
        assert verified(pipeline)
    for manifest in sorted((tmp_path / "dir" / "log" / "steps").iterdir()):
        found = json.loads(manifest.read_text())["tables"]
        steps.append(pq.read_table(tmp_path / "dir" / "log" / found["t"]["file"]).to_pylist())
        assert "error_view" in found or len(steps) > 1
    with penstock.Pipeline(f"CREATE TABLE t ({columns}); {views}", spark=spark) as again:
        for rows in steps:
            rows.sort(key=lambda row: row["__weight"])
            changes = [("+" if row["__weight"] > 0 else "-", (row["id"], row["k"], row["x"])) for row in rows]
            again.step({"t": changes})
        assert (rows_of(again, "SELECT * FROM w"), rows_of(again, "SELECT * FROM v")) == answers


ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.sampled_from(["1", "2", "0", "x", "40000"])), max_size=9
)


@examples(3, 6)
@given(st.lists(ROWS, min_size=1, max_size=2), st.booleans())
def test_oracle_the_views_are_those_of_the_rows_that_raise_nothing(interpreting, tmp_path_factory, parts, keyed):
    """A row raises for its `x` alone, whatever it meets: that is what is set aside, and all views are right."""
    folder = tmp_path_factory.mktemp("rows")
    views = """CREATE VIEW a AS SELECT id, k, CAST(x AS SMALLINT) AS x FROM t;
    CREATE VIEW b AS SELECT k, sum(12 DIV x) AS s, count(*) AS n FROM a GROUP BY k;
    CREATE VIEW c AS SELECT a.id, b.n FROM a JOIN b ON a.k = b.k;"""
    program = table(folder, "t", "id INT PRIMARY KEY, k INT, x STRING" if keyed else "id INT, k INT, x STRING") + views
    good = {"1", "2"}
    expected, bad = {}, 0
    with penstock.Pipeline(program, spark=interpreting) as pipeline:
        for at, rows in enumerate(parts):
            put(folder, "t", [{"id": id_, "k": k, "x": x} for id_, k, x in rows], f"{at}.json")
            before = pipeline.steps
            pipeline.run(once=True)
            assert pipeline.steps <= before + 2
            for place, row in enumerate(rows):
                superseded = keyed and any(later[0] == row[0] and later[2] in good for later in rows[place + 1 :])
                if row[2] in good:
                    expected[row[0] if keyed else (at, place)] = row
                elif not superseded:
                    bad += 1
        assert rows_of(pipeline, "SELECT * FROM t") == sorted(expected.values())
        assert sum(pipeline.rejected().values()) == bad
        assert verified(pipeline)
