"""A docstring says what a thing is, returns or does; it does not open with a question word."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(find_spec("penstock").origin).parent
MODULES = sorted(ROOT.rglob("*.py"))
QUESTIONS = {"What", "Whether", "How", "Which", "Who", "Why"}


def title(module):
    return module.relative_to(ROOT).as_posix()


def openings(text):
    """The line and the first word of each docstring, those of fields and constants included."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(said))) if said.split():
                yield node.lineno, said.split()[0]


@pytest.mark.parametrize("module", MODULES, ids=title)
def test_no_docstring_opens_with_a_question_word(module):
    found = openings(module.read_text(encoding="utf-8"))
    assert [(line, word) for line, word in found if word in QUESTIONS] == []


EXAMPLE = '''"""One."""
class A:
    """Two."""
    x = 1
    """Three."""
    def f(self):
        """Whether four."""
'''


def test_docstrings_of_all_kinds_are_seen():
    assert list(openings(EXAMPLE)) == [(1, "One."), (3, "Two."), (5, "Three."), (7, "Whether")]
