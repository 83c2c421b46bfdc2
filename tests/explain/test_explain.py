"""EXPLAIN's two renderings, and what it refuses."""

from __future__ import annotations

import json

import pytest

from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.errors import SqlError
from penstock.explain import OPTIONS, explain, explain_json, explain_query
from penstock.sql.parse import parse_query

PROGRAM = """CREATE TABLE t (id INT PRIMARY KEY, a INT, at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR);
CREATE VIEW last AS SELECT id, LEAD(a) OVER (ORDER BY at) AS p FROM t;
CREATE MATERIALIZED VIEW hours AS SELECT date_trunc('HOUR', at) AS h, COUNT(*) AS n FROM t GROUP BY 1;
"""


def test_json_has_every_fact():
    last, hours = json.loads(json.dumps(explain_json(compile_program(PROGRAM))))["views"]
    assert last["verdict"] == "recomputed"
    assert last["recomputed"] == [
        {
            "operator": "window",
            "reason": "without a key all rows belong together",
            "rewriting": "PARTITION BY",
            "line": 2,
            "column": 32,
        }
    ]
    assert (hours["name"], hours["kind"], hours["verdict"], hours["line"]) == (
        "hours",
        "materialized",
        "incremental",
        3,
    )
    assert hours["changes"]["kind"] == "retract"
    assert hours["keys"] == [["h"]]
    assert hours["waterlines"] == {"h": "date_trunc('HOUR', `t.at`)"}
    assert [fact["growth"] for fact in hours["state"]] == ["bounded"]
    assert hours["plan"]["columns"] == [{"name": "h", "type": "timestamp"}, {"name": "n", "type": "bigint"}]
    assert hours["circuit"][0] == "#0 Source: Scan t" or hours["circuit"]


def test_the_option_json_gives_the_same():
    program = compile_program(PROGRAM)
    assert json.loads(explain(program, "hours", ("json",))) == explain_json(program, "hours")


@pytest.mark.parametrize("option", [item for item in OPTIONS if item not in ("json", "verdict")])
def test_each_option_is_a_section(option):
    text = explain(compile_program(PROGRAM), "hours", (option,))
    assert text.startswith("materialized view hours at 3:")
    assert f"\n  {option}:" in text


def test_a_catalog_alone_has_no_places():
    assert " at 3:" not in explain(compile_program(PROGRAM).catalog, "hours")


def test_a_query():
    program = compile_program(PROGRAM)
    text = "SELECT h FROM hours WHERE n > 5"
    plan = bind_query(parse_query(text), program.catalog, text)
    told = explain_query(plan, program.catalog, source=text)
    assert told.startswith("query: incremental\n")
    assert "waterlines: h from date_trunc('HOUR', t.at)" in told
    assert json.loads(explain_query(plan, program.catalog, ("json",)))["kind"] == "query"


def test_an_unknown_view():
    with pytest.raises(SqlError) as refused:
        explain(compile_program(PROGRAM), "hour")
    assert (refused.value.code, refused.value.diagnostics[0].candidates) == ("UNKNOWN_VIEW", ("hours",))


def test_a_table():
    with pytest.raises(SqlError) as refused:
        explain(compile_program(PROGRAM), "t")
    assert refused.value.code == "NOT_A_VIEW"


def test_two_hundred_views_are_rewritten_at_once():
    views = "".join(
        f"CREATE VIEW v{number} AS SELECT a.id, b.a FROM {'t' if number % 9 == 0 else f'v{number - 1}'} a"
        f" JOIN t b ON a.id = b.id WHERE b.a > {number};\n"
        for number in range(200)
    )
    reports = explain_json(compile_program(PROGRAM + views))["views"]
    assert len(reports) == 202
    assert all(item["verdict"] == "incremental" for item in reports[2:])
    assert reports[-1]["keys"] == [["id"]]
