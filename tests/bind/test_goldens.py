"""Lessons: what a query is bound to, and what a mistake is answered with. `PENSTOCK_GOLDENS=write` writes them anew.

A lesson is a program for the tables, then one part for each query: `-- intent`, the SQL, and below `=>` the answer.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.bind.program.compile import Program, compile_program, declare
from penstock.bind.program.queries import bind_query
from penstock.errors import PenstockError
from penstock.explain.plans import plan_text
from penstock.sql.parse import parse
from penstock.sql.statements import Query

LESSONS = sorted((Path(__file__).parent / "goldens").glob("*.txt"))
PART = "\n\n-- "
ANSWER = "\n=>\n"


def told(lesson: str) -> str:
    """The lesson with the answers of today."""
    tables, *parts = lesson.rstrip("\n").split(PART)
    program = compile_program(tables)
    return PART.join([tables, *(answered(program, part.partition(ANSWER)[0]) for part in parts)]) + "\n"


def answered(program: Program, part: str) -> str:
    intent, _, text = part.partition("\n")
    try:
        answer = "\n".join(bound(program, text))
    except PenstockError as error:
        answer = error.render()
    return f"{intent}\n{text}{ANSWER}{answer}"


def bound(program: Program, text: str) -> list[str]:
    catalog, answers = program.catalog, []
    for statement in parse(text):
        if isinstance(statement, Query):
            plan = bind_query(statement.tree, catalog, text)
            shown = ", ".join(
                f"{item.name} {item.type or '?'}{'' if item.nullable else ' NOT NULL'}" for item in plan.fields
            )
            answers += [plan_text(plan), f"columns: {shown}"]
        else:
            catalog = declare(catalog, statement, text)
    fresh = [view for name, view in catalog.views.items() if program.catalog.views.get(name) is not view]
    return answers + [f"{view.name}:\n{plan_text(view.plan, '  ')}" for view in fresh if view.plan is not None]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_golden(path):
    lesson = path.read_text(encoding="utf-8")
    found = told(lesson)
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")
