"""Lessons: a program, and what EXPLAIN says of it. `make goldens` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.engine.foreseeing import foreseen
from penstock.explain import OPTIONS, explain
from programs import compiled

LESSONS = sorted((Path(__file__).parent / "goldens").glob("*.txt"))
MARK = "== "


def told(lesson: str) -> str:
    """The lesson with what EXPLAIN says now."""
    program, _, rest = lesson.partition(f"\n{MARK}")
    options = tuple(item.strip() for item in rest.split("\n", 1)[0].split(","))
    assert set(options) <= set(OPTIONS)
    text = explain(compiled(program), options=options, source=program, placing=foreseen)
    return f"{program}\n{MARK}{', '.join(options)}\n{text}\n"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_golden(path):
    lesson = path.read_text(encoding="utf-8")
    found = told(lesson)
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")
