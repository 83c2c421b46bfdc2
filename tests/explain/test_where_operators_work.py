"""EXPLAIN says where each operator would work, and what keeps one on Spark; nothing starts for it."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.cli.main import main
from penstock.engine.foreseeing import foreseen
from penstock.explain import explain, explain_json, explain_query
from penstock.pipeline.pipeline import Pipeline
from penstock.sql.parse import parse_query

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "engines.md"
PROGRAM = """CREATE TABLE t (k INT, x BIGINT, s STRING);
CREATE VIEW hashed AS
SELECT k, x + 1 AS x, xxhash64(s) AS h FROM t WHERE x > 1;
CREATE VIEW counted AS SELECT k, count(*) AS n, max(x) AS most FROM hashed GROUP BY k;
"""
UNTYPED = """CREATE TABLE t (k INT, s STRING);
CREATE VIEW v AS SELECT k, concat(soundex(s), 'x') AS sound FROM t;
"""
AGGREGATES = """CREATE TABLE t (k INT, x BIGINT);
CREATE VIEW v AS SELECT k, max(x) AS most,
  skewness(x) AS skewed FROM t GROUP BY k;
"""
WINDOWS = """CREATE TABLE t (k INT, x BIGINT, s STRING);
CREATE VIEW v AS SELECT k, sum(x) OVER (PARTITION BY k ORDER BY x) AS total,
  mode(s) OVER (PARTITION BY k) AS usual FROM t;
"""


def program(text=PROGRAM, engine="auto", *settings):
    return compile_program("".join(f"{item}; " for item in (f"SET engine = '{engine}'", *settings)) + text)


def circuit(compiled, view=None, placing=foreseen):
    """The lines of the circuit section, of one view or all."""
    return explain(compiled, view, ("circuit",), placing=placing).splitlines()


def on_spark(compiled):
    """The line of each operator that would work on Spark, and what is said below it."""
    lines = circuit(compiled)
    return [(lines[at - 1].strip(), line.strip()) for at, line in enumerate(lines) if line.strip().startswith("on ")]


def test_one_function_keeps_its_own_operator_on_spark():
    lines = circuit(program())
    ((operator, why),) = on_spark(program())
    assert operator.startswith("#1 Linear: Project k, x = x + 1, h = xxhash64(s) | Filter x > 1")
    assert why == "on Spark, for xxhash64(string) at 3:23"
    assert [line.strip() for line in lines].count("in the process") == 3
    assert lines.count("  circuit: engine = 'auto'") == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (UNTYPED, "on Spark, for soundex(string) at 2:28"),
        (AGGREGATES, "on Spark, for the aggregate skewness at 3:3"),
        (WINDOWS, "on Spark, for the aggregate mode at 3:3"),
    ],
)
def test_the_place_is_that_of_the_expression_that_is_not_proven(text, why):
    assert [said for _, said in on_spark(program(text))] == [why]


def where(compiled, view, placing=foreseen):
    """What the plain report says of a view's place."""
    told = explain(compiled, view, (), placing=placing)
    found = re.search(r"^  where: (.*?)^  state:", told, re.DOTALL | re.MULTILINE)
    return None if found is None else [line.strip() for line in found.group(1).splitlines()]


@pytest.mark.parametrize(
    ("text", "view", "said"),
    [
        (PROGRAM, "counted", ["in the process"]),
        (PROGRAM, "hashed", ["on Spark: Project, for xxhash64(string) at 3:23"]),
        (WINDOWS, "v", ["in the process", "on Spark: Window, for the aggregate mode at 3:3"]),
    ],
)
def test_the_plain_report_says_it_of_each_view(text, view, said):
    assert where(program(text), view) == said
    assert where(program(text, "native"), view) == said + ["which engine = 'native' refuses"] * ("Spark" in said[-1])
    assert where(program(text, "spark"), view) == ["on Spark, for engine = 'spark'"]
    assert where(program(text), view, partial(foreseen, local=False)) == [
        "on Spark, for a master that is not this machine"
    ]
    assert where(program(text), view, None) is None


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("SELECT k, max(xxhash64(s)) AS m, sum(x) AS n FROM t GROUP BY k", "process"),
        ("SELECT xxhash64(s) AS h, count(*) AS n FROM t GROUP BY xxhash64(s)", "process"),
        ("SELECT k, count(DISTINCT xxhash64(s)) AS n FROM t GROUP BY k", "process"),
        ("SELECT k, sum(x) FILTER (WHERE xxhash64(s) > 0) AS m FROM t GROUP BY k", "process"),
        ("SELECT k, max(xxhash64(s)) FILTER (WHERE x > 0) AS m FROM t GROUP BY k", "spark"),  # which may raise
        ("SELECT k, max(xxhash64(s)) AS m, skewness(x) AS n FROM t GROUP BY k", "spark"),
    ],
)
def test_what_is_not_proven_in_an_aggregation_is_computed_below_it(query, where):
    places = places_of(f"CREATE TABLE t (k INT, x BIGINT, s STRING); CREATE VIEW v AS {query};")
    assert [place for kind, place in places if kind in ("Additive", "Keyed")] == [where]
    assert "spark" in [place for _, place in places]


def places_of(text):
    """The class of each operator of the one view, and where it works; None for what the step feeds."""
    (view,) = explain_json(program(text), placing=foreseen)["views"]
    where = {item["operator"]: item["where"] for item in view["places"]}
    return [(line.split()[1].rstrip(":"), where.get(at)) for at, line in enumerate(view["circuit"])]


JOINED = "SELECT t.x, u.y FROM t {kind} JOIN u ON "


@pytest.mark.parametrize(
    ("query", "kind", "where"),
    [
        (JOINED.format(kind="") + "xxhash64(t.s) = u.h", "Bilinear", "process"),
        (JOINED.format(kind="LEFT") + "xxhash64(t.s) = u.h AND t.x > u.y", "Keyed", "process"),
        (JOINED.format(kind="FULL") + "xxhash64(t.s) = xxhash64(u.n)", "Keyed", "process"),
        (JOINED.format(kind="") + "t.k = u.k AND levenshtein(t.s, u.n) < 2", "Bilinear", "process"),
        (JOINED.format(kind="LEFT") + "t.k = u.k AND levenshtein(t.s, u.n) < 2", "Keyed", "spark"),  # for it may raise
        (JOINED.format(kind="") + "levenshtein(t.s, u.n) < 2", "Bilinear", "spark"),  # of all pairs, which few pass
        ("SELECT x FROM t WHERE xxhash64(s) IN (SELECT h FROM u)", "Keyed", "process"),
        ("SELECT k, x FROM t ORDER BY xxhash64(s) LIMIT 2", "Ranked", "process"),
        (
            "SELECT k, x FROM t QUALIFY row_number() OVER (PARTITION BY xxhash64(s) ORDER BY x DESC) <= 2",
            "Keyed",
            "process",
        ),
        ("SELECT k, lag(x) OVER (PARTITION BY k ORDER BY xxhash64(s), x) AS before FROM t", "Keyed", "process"),
        ("SELECT k, max(xxhash64(s)) OVER (PARTITION BY k) AS most FROM t", "Keyed", "process"),
        ("SELECT k, max(xxhash64(s)) FILTER (WHERE x > 0) OVER (PARTITION BY k) AS most FROM t", "Keyed", "spark"),
    ],
)
def test_what_is_not_proven_in_a_join_or_a_window_is_computed_beside_it(query, kind, where):
    tables = "CREATE TABLE t (k INT, x BIGINT, s STRING); CREATE TABLE u (k INT, y INT, h BIGINT, n STRING);"
    places = places_of(f"{tables} CREATE VIEW v AS {query};")
    assert [place for name, place in places if name == kind] == [where]
    assert "spark" in [place for _, place in places]


def test_with_spark_alone_it_is_said_once():
    lines = circuit(program(engine="spark"))
    assert lines.count("  circuit: all on Spark, for engine = 'spark'") == 2
    without = circuit(program(engine="spark"), placing=None)
    assert [line for line in lines if "circuit:" not in line] == [line for line in without if "circuit:" not in line]


def test_a_program_may_be_on_spark_whole():
    assert circuit(program(PROGRAM, "auto", "SET time zone 'Europe/Berlin'"), "counted")[1] == (
        "  circuit: all on Spark, for times in Europe/Berlin, which are not proven"
    )
    assert circuit(program(), "counted", partial(foreseen, local=False))[1] == (
        "  circuit: all on Spark, for a master that is not this machine"
    )


def test_native_says_that_it_refuses():
    compiled = program(engine="native")
    assert circuit(compiled, "hashed")[1] == "  circuit: engine = 'native', which refuses what is on Spark here"
    assert circuit(compiled, "counted")[1] == "  circuit: engine = 'native'"


def test_json_says_the_same():
    hashed, counted = explain_json(program(), placing=foreseen)["views"]
    assert (hashed["engine"], hashed["on_spark"]) == ("auto", None)
    why = {"not_proven": "xxhash64(string)", "line": 3, "column": 23}
    assert hashed["places"] == [{"operator": 1, "where": "spark", **why}]
    numbers = [item["operator"] for item in counted["places"]]
    assert numbers == [2, 3, 4]
    assert counted["places"] == [{"operator": at, "where": "process", "not_proven": None} for at in numbers]


def test_json_has_every_operator_on_spark():
    for view in explain_json(program(engine="spark"), placing=foreseen)["views"]:
        assert view["on_spark"] == "engine = 'spark'"
        assert view["places"]
        assert all((item["where"], item["not_proven"]) == ("spark", None) for item in view["places"])
    assert "places" not in explain_json(program())["views"][0]


def test_the_page_about_engines_shows_what_is_said():
    text = PAGE.read_text(encoding="utf-8")
    sql, shown = re.findall(r"```(?:sql)?\n(.*?)```", text, re.DOTALL)[:2]
    assert explain(compile_program(sql), None, ("circuit",), placing=foreseen) + "\n" == shown


def test_the_step_itself_feeds_sources():
    (view,) = explain_json(program(), "hashed", placing=foreseen)["views"]
    assert view["circuit"][0] == "#0 Source: Scan t"
    assert [item["operator"] for item in view["places"]] == [1]


def test_a_query_is_told_like_a_view():
    text, catalog = "SELECT k, xxhash64(s) AS h FROM t", program().catalog
    told = explain_query(bind_query(parse_query(text), catalog, text), catalog, ("circuit",), text, placing=foreseen)
    assert "on Spark, for xxhash64(string) at 1:11" in told


def test_a_pipeline_and_the_command_line_say_it():
    pipeline = Pipeline(PROGRAM, engine="auto")
    assert "on Spark, for xxhash64(string) at 3:23" in pipeline.explain("hashed", ["circuit"])
    assert json.loads(pipeline.explain("hashed", ["json"]))["views"][0]["places"][0]["where"] == "spark"
    arguments = ["explain", "-e", PROGRAM, "--stage", "circuit"]
    assert "on Spark, for xxhash64(string) at 3:23" in CliRunner().invoke(main, [*arguments, "--engine", "auto"]).stdout
    asked = CliRunner().invoke(main, arguments, env={"PENSTOCK_ENGINE": "spark"}).stdout
    assert asked.count("all on Spark, for engine = 'spark'") == 2
    plain = CliRunner().invoke(main, arguments[:3]).stdout
    assert "  where:      on Spark: Project, for xxhash64(string) at 3:23\n" in plain


def test_a_pipeline_of_a_cluster_says_it(monkeypatch):
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)  # else that session's master counts
    cluster = Pipeline(PROGRAM, engine="auto", master="spark://far:7077")
    assert "all on Spark, for a master that is not this machine" in cluster.explain("hashed", ["circuit"])
