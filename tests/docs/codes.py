"""The error codes that the source can give, read from its syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Calls whose arguments may hold a code: the diagnostic itself. Functions that hand a parameter on to it are found.
_MAKER = {"Diagnostic": ("code", 0)}
_CODE = re.compile(r"[A-Z][A-Z_]+")
# What the command line writes by itself, for errors that are no diagnostics.
_WRITTEN = re.compile(r"error\[([A-Z_]+)\]")
Makers = dict[str, tuple[str, int]]
Function = ast.FunctionDef


def codes_of(source: Path) -> set[str]:
    """Every error code under a folder of Python files."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in source.rglob("*.py")]
    makers = _makers(trees)
    return {code for tree in trees for code in (*_codes(tree, makers), *_returned(tree), *_written(tree))}


def _makers(trees: list[ast.Module]) -> Makers:
    """The functions that make a diagnostic of a code they are given: the name and place of that parameter."""
    found: Makers = dict(_MAKER)
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    while True:
        more = {function.name: place for function in functions if (place := _handed_on(function, found))}
        if more.keys() <= found.keys():
            return found
        found = more | found


def _handed_on(function: Function, makers: Makers) -> tuple[str, int] | None:
    placed = [argument.arg for argument in function.args.args if argument.arg not in ("self", "cls")]
    names = [*placed, *(argument.arg for argument in function.args.kwonlyargs)]
    for call in _calls(function, makers):
        for given in _given(call, makers):
            if isinstance(given, ast.Name) and given.id in names:
                return given.id, names.index(given.id)
    return None


def _calls(tree: ast.AST, makers: Makers) -> Iterator[ast.Call]:
    yield from (call for call in _all_calls(tree) if _name(call.func) in makers)


@cache
def _all_calls(tree: ast.AST) -> tuple[ast.Call, ...]:
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _given(call: ast.Call, makers: Makers) -> Iterator[ast.expr]:
    """What a call gives as the code."""
    name, place = makers[_name(call.func)]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == name)
    yield from call.args[place : place + 1]


def _codes(tree: ast.Module, makers: Makers) -> Iterator[str]:
    named = dict(_constants(tree))
    for call in _calls(tree, makers):
        for given in _given(call, makers):
            yield from (text for text in _texts(given, named) if _CODE.fullmatch(text))


def _returned(tree: ast.Module) -> Iterator[str]:
    """What functions whose name ends in `_code` give back."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_code"):
            for given in (found.value for found in ast.walk(node) if isinstance(found, ast.Return) and found.value):
                yield from (text for text in _texts(given, {}) if _CODE.fullmatch(text))


def _written(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _WRITTEN.findall(node.value)


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
