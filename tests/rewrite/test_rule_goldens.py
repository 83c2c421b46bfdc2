"""A golden for each rule, under the rule's name: a lesson of what it does, and that it changes no answer.

Written by hand are the intent, the tables with their rows, and the query. Below stand the part of the query's plan on
which the rule fires first, as it is in the whole of the rewriting; what the rule makes of it; and the rows of both,
which DuckDB is asked for, so that no engine of ours judges the rule. `make goldens` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from penstock.backends.render import Renderer
from penstock.backends.spark.dialect import SparkDialect
from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.explain.plans import plan_text
from penstock.plan.nodes import Scan
from penstock.rewrite import STAGES, rewrite
from penstock.sql.parse import parse_query
from penstock.testing.fuzz.duck import translated, translated_type

GOLDENS = Path(__file__).with_name("goldens")
RULES = sorted({rule.__name__ for stage in STAGES for rule in stage.rules})
BEFORE, AFTER, ROWS = "\n== before\n", "\n\n== after\n", "\n\n== rows of both, says DuckDB\n"
NOW = "TIMESTAMP '2024-05-01 12:00:00'"


def told(rule, lesson):
    """The lesson with the plans and rows of today."""
    written = lesson.partition(BEFORE)[0].rstrip("\n")
    *statements, query = written.split(";\n")
    catalog = compile_program(";\n".join(item for item in statements if not begins(item, "INSERT")) + ";").catalog
    before, after = fired(rule, catalog, query)
    connection = filled(catalog, [item for item in statements if begins(item, "INSERT")])
    rows = answer(connection, catalog, before)
    assert rows == answer(connection, catalog, after), f"{rule} changes the answer"
    return f"{written}\n{BEFORE}{plan_text(before)}{AFTER}{plan_text(after)}{ROWS}{rows}\n"


def begins(statement, word):
    return statement.rpartition("\n-- ")[2].lstrip().startswith(word)


def fired(rule, catalog, query):
    """The first node on which the rule fires, and what it makes of it."""
    trace = []
    rewrite(bind_query(parse_query(query), catalog, query), trace)
    assert rule in {item.rule for item in trace}, f"{rule} does not fire; these do: {[item.rule for item in trace]}"
    return next((item.before, item.after) for item in trace if item.rule == rule)


def filled(catalog, inserts):
    """A DuckDB with the tables of the catalog and these rows."""
    connection = duckdb.connect()
    for table in catalog.tables.values():
        columns = ", ".join(f"{item.name} {untied(translated_type(item.type))}" for item in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
    for text in inserts:
        connection.execute(untied(translated(text)))
    return connection


def answer(connection, catalog, plan):
    """The rows of a plan, in no order of its own: a line each, below the names of the columns."""
    assert any(isinstance(node, Scan) for node in plan.walk())
    text = Renderer(SparkDialect(), {name: name for name in catalog.tables}).sql(plan)
    rows = connection.execute(untied(translated(text.replace("now()", NOW)))).fetchall()
    return "\n".join([" | ".join(plan.names), *sorted(" | ".join(map(shown, row)) for row in rows)])


def untied(text):
    """DuckDB's words without time zones, for which it wants an extension."""
    return text.replace("TIMESTAMPTZ", "TIMESTAMP")


def shown(value):
    return "NULL" if value is None else str(value)


@pytest.mark.parametrize("rule", RULES)
def test_golden(rule):
    path = GOLDENS / f"{rule}.txt"
    lesson = path.read_text(encoding="utf-8")
    found = told(rule, lesson)
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_each_rule_has_a_golden_and_each_golden_a_rule():
    assert sorted(path.stem for path in GOLDENS.iterdir()) == RULES
