"""The error codes that the source can give, read from its syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# Calls whose arguments may hold a code: the diagnostic itself, and the binder's short forms of it.
_MAKERS = {"Diagnostic", "wrong", "unsupported", "mismatch"}
_CODE = re.compile(r"[A-Z][A-Z_]+")


def codes_of(source: Path) -> set[str]:
    """Every error code under a folder of Python files."""
    return {code for file in source.rglob("*.py") for code in _codes(ast.parse(file.read_text(encoding="utf-8")))}


def _codes(tree: ast.Module) -> Iterator[str]:
    named = dict(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in _MAKERS:
            given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "code")]
            yield from (text for argument in given for text in _texts(argument, named) if _CODE.fullmatch(text))


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The module's own names for strings."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text


def _texts(argument: ast.expr, named: dict[str, str]) -> Iterator[str]:
    """The string constants that an argument may be: itself, a name of one, or a branch of `a if … else b`."""
    match argument:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body, named)
            yield from _texts(other, named)
        case ast.Attribute(value=ast.Name(id="codes"), attr=name):  # a module whose names are their own texts
            yield name
        case ast.Name(id=name) if name in named:
            yield named[name]
        case _:
            return
