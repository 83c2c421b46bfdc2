"""Every dispatch on plan nodes or operators names all of them and ends in `assert_never`, so that mypy finds a new one.

A rule that matches one shape, and else has nothing to say, is no dispatch: it names few classes.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import penstock
from penstock.circuit.operators import OPERATORS, Operator
from penstock.plan.nodes import Node, Plan

SOURCE = Path(penstock.__file__).parent
FAMILIES = {
    "plan nodes": ({kind.__name__ for kind in get_args(Node)}, "penstock.plan."),
    "operators": ({kind.__name__ for kind in OPERATORS}, "penstock.circuit.operators"),
}
MATCH = re.compile(r"^ *match ", re.MULTILINE)
MANY = 5  # classes that one match tells apart


def subclasses(kind):
    return {found for own in kind.__subclasses__() for found in (own, *subclasses(own))}


def names_of(pattern):
    """The classes that an arm is for, those within its attributes left out."""
    match pattern:
        case ast.MatchOr():
            return {name for item in pattern.patterns for name in names_of(item)}
        case ast.MatchAs() if pattern.pattern is not None:
            return names_of(pattern.pattern)
        case ast.MatchClass():
            return {ast.unparse(pattern.cls).rpartition(".")[2]}
        case _:
            return set()


def imported(tree, package):
    """The names that a module, or a part of it, has from the package."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {item.name for node in found if f"{node.module}.".startswith(package) for item in node.names}


def ends_in_assert_never(match):
    last = match.cases[-1].body[-1]
    return isinstance(last, ast.Expr) and ast.unparse(last).startswith("assert_never(")


def open_dispatches(text, family):
    """The lines of the matches that tell many classes apart and have an answer for those that they do not name."""
    kinds, package = FAMILIES[family]
    tree = ast.parse(text)
    known = kinds & imported(tree, package)
    for match in ast.walk(tree):
        if isinstance(match, ast.Match) and not ends_in_assert_never(match):
            named = {name for case in match.cases for name in names_of(case.pattern)}
            if len(named & known) >= MANY:
                yield match.lineno


@pytest.mark.parametrize("family", FAMILIES)
def test_every_dispatch_ends_in_assert_never(family):
    texts = {str(file.relative_to(SOURCE)): file.read_text() for file in sorted(SOURCE.rglob("*.py"))}
    found = {file: list(open_dispatches(text, family)) for file, text in texts.items() if MATCH.search(text)}
    assert {file: lines for file, lines in found.items() if lines} == {}


def test_an_open_dispatch_is_found():
    arms = "".join(
        f"        case {name}():\n            pass\n" for name in ("Scan", "Values", "Filter", "Join", "TopK")
    )
    module = f"from penstock.plan.nodes import Filter, Join, Scan, TopK, Values\ndef f(p):\n    match p:\n{arms}"
    assert list(open_dispatches(f"{module}        case _:\n            return None\n", "plan nodes")) == [3]
    assert list(open_dispatches(f"{module}        case _:\n            assert_never(p)\n", "plan nodes")) == []


def test_the_unions_have_all_classes():
    assert {kind for kind in subclasses(Plan) if kind.__module__.startswith("penstock.")} == set(get_args(Node))
    assert {kind for kind in subclasses(Operator) if kind.__module__.startswith("penstock.")} == set(OPERATORS)
