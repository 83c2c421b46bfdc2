"""EXPLAIN CHANGELOG: the kind of change at each operator, its place, and why."""

from __future__ import annotations

import json

import pytest

from penstock.analysis.kinds import Kind
from penstock.analysis.waterline import has_waterline
from penstock.bind.emission.standing import bind_standing
from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.errors import SqlError
from penstock.explain import explain, explain_query, explain_standing
from penstock.pipeline.pipeline import Pipeline
from penstock.sql.parse import parse

TABLES = """CREATE STREAM clicks (who INT, page STRING, at TIMESTAMP LATENESS INTERVAL 0 SECONDS);
CREATE TABLE people (who INT PRIMARY KEY, name STRING);
CREATE TABLE notes (who INT, text STRING);
"""


def kinds(query):
    """Each operator's name, kind and key, and the reason of the first."""
    program = compile_program(f"{TABLES}CREATE VIEW v AS {query};")
    found = json.loads(explain(program, "v", ("json",)))["views"][0]["changelog"]
    shown = [(item["operator"].split()[0].rstrip(":"), item["kind"], item.get("key")) for item in found]
    return shown, found[0]["because"]


@pytest.mark.parametrize(
    ("query", "first", "because"),
    [
        ("SELECT DISTINCT page FROM clicks", ("Distinct", "append-only", None), "the first row of its kind stays"),
        (
            "SELECT who, COUNT(*) AS n FROM clicks GROUP BY who",
            ("Project", "update by key", ["who"]),
            "passes on what Aggregate takes back",
        ),
        (
            "SELECT COUNT(*) AS n FROM clicks",
            ("Project", "update by key", []),
            "passes on what Aggregate takes back",
        ),
        ("SELECT text FROM notes WHERE who > 1", ("Project", "retract", None), "passes on what Scan takes back"),
        (
            "SELECT * FROM people",
            ("Scan", "update by key", ["who"]),
            "table people takes deletions; append_only would forbid them",
        ),
        (
            "SELECT * FROM clicks ORDER BY who LIMIT 3",
            ("TopK", "retract", None),
            "a better row pushes another one out",
        ),
        (
            "SELECT who FROM clicks WHERE at > now() - INTERVAL 1 HOUR",
            ("Project", "retract", None),
            "passes on what Filter takes back",
        ),
        ("SELECT c.page FROM clicks c LEFT SEMI JOIN clicks d ON c.who = d.who", None, None),
    ],
)
def test_the_kind_of_the_result_and_why(query, first, because):
    shown, why = kinds(query)
    if first is None:
        assert {kind for _, kind, _ in shown} == {Kind.APPEND}
    else:
        assert (shown[0], why) == (first, because)


def test_the_operator_that_takes_back_stands_at_its_place_in_the_text():
    text = "SELECT p.name, c.n FROM (SELECT who, COUNT(*) AS n FROM clicks GROUP BY who) c JOIN people p USING (who)"
    with Pipeline(f"{TABLES}CREATE VIEW v AS {text};") as pipeline:
        said = pipeline.explain("v", ["changelog"])
    assert "update by key" in said
    line, *_ = [item for item in said.splitlines() if item.lstrip().startswith("Aggregate")]
    place = text.index("COUNT") + len("CREATE VIEW v AS ") + 1
    assert line.endswith(f"at 4:{place}")


def standing(text):
    catalog = compile_program(TABLES).catalog
    (statement,) = parse(text, "penstock")
    found = bind_standing(statement.query, catalog, text, "query", has_waterline)
    return explain_standing(found, catalog, statement.options, text)


def test_what_a_policy_shows_has_a_kind_of_its_own():
    grouped = "SELECT who, COUNT(*) AS n FROM clicks GROUP BY who"
    assert "EMIT: update by key who: what is taken back" in standing(f"EXPLAIN CHANGELOG {grouped} EMIT CHANGES")
    assert "EMIT: append-only" in standing(f"EXPLAIN CHANGELOG {grouped} EMIT ON UPDATE")
    hourly = "SELECT STREAM FLOOR(at TO HOUR) AS h, COUNT(*) AS n FROM clicks GROUP BY FLOOR(at TO HOUR)"
    said = standing(f"EXPLAIN CHANGELOG {hourly}")
    assert "EMIT: append-only: each row once" in said
    assert "update by key h" in said


def test_the_words_and_a_view_called_changelog():
    (asked,) = parse("EXPLAIN CHANGELOG v", "penstock")
    assert (asked.options, asked.target) == (("changelog",), "v")
    (asked,) = parse("EXPLAIN CHANGELOG_MODE SELECT 1", "flink")
    assert asked.options == ("changelog",)
    (asked,) = parse("EXPLAIN changelog", "penstock")
    assert (asked.options, asked.target) == ((), "changelog")
    (asked,) = parse("EXPLAIN (CHANGELOG, JSON) v", "penstock")
    assert asked.options == ("changelog", "json")
    with pytest.raises(SqlError, match="EXPLAIN has no option CHANGELOGS"):
        parse("EXPLAIN (CHANGELOGS) v", "penstock")


def test_a_query_is_explained_as_a_view_is():
    catalog = compile_program(TABLES).catalog
    (statement,) = parse("EXPLAIN CHANGELOG SELECT page FROM clicks", "penstock")

    plan = bind_query(statement.query, catalog, "")
    assert "append-only: each row that comes gives rows" in explain_query(plan, catalog, statement.options)
