"""All SQL that the project shows: statements of the documentation, of the cases and of the examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.sql.dialects import rules_of
from penstock.sql.lexer import statements, tokenize
from penstock.testing.documents import parse_yaml

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
_DIALECTS = ("feldera", "calcite", "flink", "timeplus")


@dataclass(frozen=True)
class Text:
    """One statement with the dialect in which it is written; `place` is the file."""

    sql: str
    dialect: str
    place: str


@cache
def corpus() -> tuple[Text, ...]:
    """Every statement that is written somewhere, each once."""
    found = {}
    for program, dialect, place in (*_documented(), *_cases(), *_examples()):
        for sql, spoken in _statements(program, dialect):
            found.setdefault((sql, spoken), Text(sql, spoken, place))
    return tuple(found.values())


def _documented() -> Iterator[tuple[str, str, str]]:
    for page in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]):
        dialect = page.stem if page.stem in _DIALECTS else "penstock"
        for block in _FENCED.findall(page.read_text(encoding="utf-8")):
            yield block, dialect, str(page.relative_to(ROOT))


def _examples() -> Iterator[tuple[str, str, str]]:
    for file in sorted(ROOT.glob("examples/**/*.sql")):
        yield file.read_text(encoding="utf-8"), "penstock", str(file.relative_to(ROOT))


def _cases() -> Iterator[tuple[str, str, str]]:
    for file in sorted([*ROOT.glob("tests/cases/*.yaml"), *ROOT.glob("tests/acceptance/cases/*.yaml")]):
        content = parse_yaml(file.read_text(encoding="utf-8"), file.name).value()
        for case in content["cases"]:
            dialect = case.get("dialect", content.get("dialect", "penstock"))
            for sql in _texts(case):
                yield sql, dialect, str(file.relative_to(ROOT))


def _texts(case: dict[str, Any]) -> Iterator[str]:
    for part in (case, *(case.get("steps") or ())):
        if isinstance(part.get("sql"), str):
            yield part["sql"]
        for key in ("query", "start"):
            yield from (sql for sql in (part.get(key) or {}).values() if isinstance(sql, str))


def _statements(program: str, dialect: str) -> Iterator[tuple[str, str]]:
    """The statements of a program; `SET dialect` in it holds from there on."""
    try:
        tokens = tokenize(program, rules_of(dialect))
    except PenstockError:
        return
    for chunk in statements(tokens):
        sql = program[chunk[0].start : chunk[-1].end + 1]
        words = [token.text.lower() for token in chunk]
        if words[:3] == ["set", "dialect", "="]:
            dialect = words[3] if words[3] in (*_DIALECTS, "penstock") else dialect
        yield sql, dialect
