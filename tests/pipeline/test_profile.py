"""`SET profile = 'on'`: what operators are said to have done is what they have done, and it changes no answer."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from penstock.circuit.operators import Additive, Bilinear, Iterated, Ranked, Source
from penstock.cli.interpreter import Interpreter, Results
from penstock.cli.main import main
from penstock.errors import DataError, SqlError
from penstock.pipeline.pipeline import Pipeline
from penstock.sql.parse import parse
from penstock.steps.events import StepDone

PROGRAM = """
CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING);
CREATE TABLE orders (customer BIGINT, amount BIGINT);
CREATE VIEW sales AS SELECT c.name, o.amount FROM orders o JOIN customers c ON o.customer = c.id;
CREATE VIEW totals AS SELECT name, SUM(amount) AS total FROM sales GROUP BY name;
CREATE VIEW best AS SELECT * FROM totals ORDER BY total DESC, name LIMIT 3;
"""
LARGE = 60_000  # more than stays on the driver


def large_steps(spark):
    """Three steps: all orders and some customers, one customer more, and a changed name."""
    orders = spark.range(LARGE).selectExpr("id % 50 AS customer", "id AS amount")
    yield {"orders": orders, "customers": [(number, f"c{number % 7}") for number in range(40)]}
    yield {"customers": [(40, "new")]}
    yield {"customers": [(1, "other")]}


def the(operators, kind):
    (found,) = [item for item in operators if isinstance(item.operator, kind)]
    return found


def done(pipeline):
    """What steps have done; merging goes on between them."""
    profile = pipeline.profile()
    return profile.steps, profile.seconds, [(item.steps, item.total, item.last) for item in profile.operators]


def entries(changes):
    return {view: sorted(change.rows) for view, change in changes.items() if change.rows}


def test_numbers_are_those_of_the_changes_and_of_the_state(spark):
    events, steps = [], []
    with Pipeline(PROGRAM, spark=spark, profile=True, on_event=events.append) as pipeline:
        steps = [entries(pipeline.step(inputs)) for inputs in large_steps(spark)]
        profile = pipeline.profile()
        assert all(pipeline.verify(view) for view in ("sales", "totals", "best"))
        state = [(item.rows, item.bytes) for item in pipeline.state()]
        shown = pipeline.explain("best", ["analyze"])
    (measured,) = profile.circuits
    operators = measured.operators
    for view, number in measured.circuit.outputs.items():
        assert operators[number].total.rows_out == sum(len(step.get(view, ())) for step in steps), view
        last = operators[number].last
        assert (0 if last is None else last.rows_out) == len(steps[-1].get(view, ())), view
    sources = {item.operator.relation: item for item in profile.operators if isinstance(item.operator, Source)}
    assert sources["orders"].total.rows_out == LARGE
    assert (sources["orders"].steps, sources["orders"].last) == (1, None)
    assert sources["customers"].total.rows_out == 40 + 1 + 2
    for item in profile.operators:
        if not isinstance(item.operator, Source):
            assert item.total.rows_in == sum(operators[number].total.rows_out for number in item.operator.inputs)
    kept = [item for item in profile.operators if isinstance(item.operator, Bilinear | Additive | Ranked)]
    assert [(item.state_rows, item.state_bytes) for item in kept] == state
    assert re.match(r"view best at \d+:\d+: ", shown)
    assert "profile of 3 steps (1 to 3)" in shown
    assert f"rows {LARGE + 43:,} in" in shown


def test_what_is_read_and_what_spark_did(spark):
    events = []
    with Pipeline(PROGRAM, spark=spark, profile=True, engine="spark", on_event=events.append) as pipeline:
        for inputs in large_steps(spark):
            pipeline.step(inputs)
        profile = pipeline.profile()
    first, second, third = [event for event in events if isinstance(event, StepDone)]
    join = the(first.measured, Bilinear).last
    # The first step has only its own customers to meet; the second meets all orders, which are on the executors.
    assert (join.rows_in, join.scanned_rows) == (LARGE + 40, 40)
    assert join.jobs > 0
    join = the(second.measured, Bilinear).last
    assert (join.rows_in, join.rows_out, join.scanned_rows, join.scanned_layers) == (1, LARGE // 50, LARGE, 1)
    assert join.jobs > 0
    assert the(third.measured, Bilinear).last.rows_in == 2
    best = the(third.measured, Ranked)
    assert best.last.scanned_rows >= 3
    for event in (first, second, third):
        assert 0 < sum(item.last.seconds for item in event.measured if item.last) <= event.seconds
    times = [event.seconds for event in (first, second, third)]
    assert (profile.steps, profile.first, profile.last) == (3, 1, 3)
    assert (profile.seconds, profile.last_seconds) == (pytest.approx(sum(times)), times[-1])
    assert sum(item.total.jobs for item in profile.operators) == sum(
        item.last.jobs for event in (first, second, third) for item in event.measured if item.last
    )


def test_it_can_be_switched_on_and_off_and_changes_no_answer(spark):
    events = []
    with Pipeline(PROGRAM, spark=spark, on_event=events.append) as plain, Pipeline(PROGRAM, spark=spark) as pipeline:
        pipeline.step({"orders": [(1, 5), (2, 7)]})
        plain.step({"orders": [(1, 5), (2, 7)]})
        with pytest.raises(DataError, match="profile is off"):
            pipeline.explain("best", ["analyze"])
        pipeline.execute("SET profile = on")
        with pytest.raises(DataError, match="no step has been measured yet"):
            pipeline.explain("best", ["analyze"])
        rows = {"customers": [(1, "ann"), (2, "bob")]}
        assert entries(pipeline.step(rows)) == entries(plain.step(rows))
        pipeline.execute("RESET profile")
        assert entries(pipeline.step({"orders": [(2, 1)]})) == entries(plain.step({"orders": [(2, 1)]}))
        profile = pipeline.profile()
        assert (profile.steps, profile.first, profile.last) == (1, 2, 2)
        assert the(profile.operators, Bilinear).total.rows_in == 2
        assert "profile of 1 step (2)" in pipeline.explain("best", ["analyze"])
        with pytest.raises(SqlError, match="expected 'on' or 'off'"):
            pipeline.execute("SET profile = 'perhaps'")
        assert plain.profile().steps == 0
        assert all(not event.measured for event in events if isinstance(event, StepDone))


def test_a_step_that_fails_is_not_measured(spark):
    program = "CREATE TABLE t (a BIGINT); CREATE VIEW v AS SELECT a, 100 DIV a AS share FROM t;"
    with Pipeline(program, spark=spark, profile=True) as pipeline:
        pipeline.step({"t": [(1,), (2,)]})
        before = done(pipeline)
        with pytest.raises(DataError, match="ivi"):
            pipeline.step({"t": [(3,), (0,)]})
        assert done(pipeline) == before
        assert entries(pipeline.step({"t": [(50,)]})) == {"v": [(1, (50, 2))]}
        assert [item.total.rows_out for item in pipeline.profile().operators] == [3, 3]


def test_a_recursion_is_one_operator(spark):
    program = """CREATE TABLE edges (a INT, b INT);
    CREATE VIEW reached AS WITH RECURSIVE r AS (
      SELECT 1 AS node UNION SELECT e.b FROM r JOIN edges e ON r.node = e.a
    ) SELECT node FROM r;"""
    with Pipeline(program, spark=spark, profile=True) as pipeline:
        pipeline.step({"edges": [(1, 2), (2, 3), (3, 4), (9, 1)]})
        changes = pipeline.step({"edges": [(4, 5), (5, 6)]})
        found = the(pipeline.profile().operators, Iterated)
        assert pipeline.verify("reached")
        assert (found.steps, found.last.rows_in, found.last.rows_out) == (2, 2, len(changes["reached"].rows))
        # Each round reads the edges again.
        assert found.last.scanned_rows > found.state_rows


def test_views_that_came_later_have_a_circuit_of_their_own(spark):
    with Pipeline("CREATE TABLE t (a BIGINT);", spark=spark, profile=True) as pipeline:
        pipeline.execute("CREATE VIEW one AS SELECT COUNT(*) AS n FROM t; INSERT INTO t VALUES (1), (2)")
        pipeline.execute("CREATE VIEW two AS SELECT SUM(a) AS s FROM t")
        with pytest.raises(DataError, match="two has not had a measured step"):
            pipeline.explain("two", ["analyze"])
        pipeline.execute("INSERT INTO t VALUES (3)")
        one, two = pipeline.profile().circuits
        assert (the(one.operators.values(), Additive).steps, the(two.operators.values(), Additive).steps) == (2, 1)
        assert the(two.operators.values(), Source).total.rows_out == 3
        assert "profile of 2 steps" in pipeline.explain("two", ["analyze"])
        pipeline.execute("DROP VIEW one")
        (left,) = pipeline.profile().circuits
        assert set(left.circuit.outputs) == {"two"}


def test_the_statement_in_a_shell(spark, capsys):
    with Pipeline(PROGRAM, spark=spark) as pipeline:
        interpreter = Interpreter(pipeline, Results())
        text = """SET profile = 'on';
        INSERT INTO customers VALUES (1, 'ann');
        INSERT INTO orders VALUES (1, 10), (1, 20);
        EXPLAIN ANALYZE totals;
        EXPLAIN (ANALYZE, JSON) totals;"""
        for statement in parse(text):
            interpreter.run(statement, text)
        shown, _, values = capsys.readouterr().out.partition("{")
        assert shown.startswith("view totals")
        assert "profile of 2 steps (1 to 2)" in shown
        assert "rows 3 in, 2 out" in shown  # the join: a customer and two orders
        (view,) = json.loads("{" + values)["views"]
        assert [item["class"] for item in view["profile"]["operators"]].count("Additive") == 1
        for wrong, code in (("EXPLAIN ANALYZE totls", "UNKNOWN_VIEW"), ("EXPLAIN ANALYZE orders", "NOT_A_VIEW")):
            with pytest.raises(SqlError) as refused:
                interpreter.run(parse(wrong)[0], wrong)
            assert refused.value.code == code
        with pytest.raises(DataError) as unmeasured:
            interpreter.run(parse("EXPLAIN ANALYZE SELECT 1")[0], "EXPLAIN ANALYZE SELECT 1")
        assert unmeasured.value.code == "NOT_MEASURED"


def test_run_with_a_profile(spark, tmp_path):
    del spark  # the command adopts the running session
    program = f"{PROGRAM} INSERT INTO customers VALUES (1, 'ann'); INSERT INTO orders VALUES (1, 10), (1, 20);"
    lines = tmp_path / "profile.jsonl"
    arguments = ["run", "-e", program, "--once", "--engine", "spark", "--format", "json", "--profile"]
    arguments += ["--profile-json", str(lines)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.stderr
    written = [json.loads(line) for line in done.stdout.splitlines()]
    assert all({"view", "__step", "__weight"} <= set(row) for row in written)
    assert "profile: 2 steps in " in done.stderr
    assert "Bilinear: Join inner on " in done.stderr
    measured = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert {row["step"] for row in measured} == {1, 2}
    (sales,) = [row for row in measured if row["class"] == "Bilinear" and row["step"] == 2]
    assert (sales["rows_in"], sales["rows_out"], sales["state_rows"], sales["state_rows_read"]) == (2, 2, 3, 1)
    assert sales["seconds"] <= sales["step_seconds"]
    without = CliRunner().invoke(main, ["run", "-e", program, "--once"])
    assert "profile" not in without.stderr
