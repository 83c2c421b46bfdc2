"""The page of Python's names: signatures, attributes and docstrings as the modules have them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

INTRODUCTION = Path(__file__).with_suffix(".md")
RELATIONS = Path(__file__).with_name("relations.md")
_WIDTH = 110


def python_page() -> str:
    """All names that a program in Python uses, in the order in which it meets them."""
    lines = [INTRODUCTION.read_text(encoding="utf-8")]
    for title, about, items in _sections():
        lines += [f"## {title}", "", *([about, ""] if about else [])]
        for item in items:
            lines += _class(item)
    return "\n".join(lines).rstrip() + "\n"


def relations_page() -> str:
    """All names that make queries in Python."""
    from penstock.relational import columns, emission, functions, grouped, ordering, relation, time_windows
    from penstock.relational.emitting import Emitting

    lines = [RELATIONS.read_text(encoding="utf-8")]
    for item in (relation.Relation, grouped.Grouped, Emitting, columns.Column, functions.Functions):
        lines += _class(item)
    for item in (ordering.Window, ordering.WindowSpec):
        lines += _class(item)
    lines += [*_functions("Windows of time", time_windows), *_functions("When rows are shown", emission)]
    return "\n".join([*lines, *_class(emission.Emit)]).rstrip() + "\n"


def _functions(title: str, module: ModuleType) -> Iterator[str]:
    """The public functions of a module."""
    yield from (f"### {title}", "")
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_"):
            yield from ("```python", *_signature(name, function), "```", "", _doc(function), "")


def _sections() -> Iterator[tuple[str, str, tuple[type, ...]]]:
    import penstock
    from penstock.circuit.measured import Profile
    from penstock.outputs.lines import FolderOutput, StreamOutput
    from penstock.pipeline.deployment import Deployment, Difference
    from penstock.pipeline.run import RunOptions
    from penstock.pipeline.standing import Emission, StandingQuery
    from penstock.pipeline.subscription import Subscription
    from penstock.pipeline.supervisor import Status
    from penstock.pipeline.verification import Verification
    from penstock.sources.api import Output, TableSource
    from penstock.steps import events, facts
    from penstock.steps.phases import Phase
    from penstock.watching.endpoint import Endpoint
    from penstock.watching.traces import StepTraces
    from penstock.watching.watched import OutputProgress, PipelineFacts

    told = (events.StepDone, Phase, events.StepRefused, events.OutputFailed, events.OutputsDone)
    running = (events.RunStarted, events.RunProgress, events.SourceLag, events.RunFinished)
    errors = (penstock.PenstockError, penstock.SqlError, penstock.UnsupportedError, penstock.DataError)
    yield "Pipeline", "", (penstock.Pipeline, penstock.LaterSession)
    yield "What it answers", "", (penstock.Change, Subscription, StandingQuery, Emission, Verification, Status)
    said = (facts.WaterlineFact, facts.OperatorState, Profile, PipelineFacts, OutputProgress)
    yield "What it says of itself", "", said
    yield "Running", "", (RunOptions,)
    yield "Outputs", "What `run()` and `start()` write to.", (Output, StreamOutput, FolderOutput)
    yield "Events", "What `on_event` is told.", (*told, *running)
    yield "Changing the program", "See [deploying.md](deploying.md).", (Deployment, Difference)
    yield "Watching", "See [operating.md](operating.md).", (Endpoint, StepTraces)
    written = "[Contributing](../../CONTRIBUTING.md#a-source-that-reads-a-tcp-socket) shows how one is written."
    yield "Sources", f"What a connector gives for each table. {written}", (TableSource,)
    codes = "[Codes](errors.md) are listed on a page of their own."
    yield "Errors", codes, (*errors, penstock.InternalError, penstock.Diagnostic)


def _class(found: type) -> Iterator[str]:
    import penstock

    top = found.__name__ in penstock.__all__
    module = "penstock" if top else found.__module__
    yield from (f"### {found.__name__}", "", "```python", f"from {module} import {found.__name__}", "```", "")
    yield from (_doc(found), "")
    if _is_made_by_users(found):
        yield from ("```python", *_signature(found.__name__, found.__init__), "```", "")
    yield from _table(list(_attributes(found)))
    for name, method in _methods(found):
        yield from (f"#### {found.__name__}.{name}", "", "```python", *_signature(name, method), "```", "")
        yield from (_doc(method), "")


def _table(attributes: list[tuple[str, str, str]]) -> Iterator[str]:
    if attributes:
        told = any(about for _, _, about in attributes)
        yield from (
            ("| attribute | type | |", "| --- | --- | --- |") if told else ("| attribute | type |", "| --- | --- |")
        )
        for name, kind, about in attributes:
            yield f"| `{name}` | {_cell(kind)} |" + (f" {_cell_text(about)} |" if told else "")
        yield ""


# What the methods of others give; nobody makes one.
_GIVEN = {
    "Column",
    "Emit",
    "Emitting",
    "Functions",
    "Grouped",
    "Relation",
    "Window",
    "WindowSpec",
    "Change",
    "Subscription",
    "StandingQuery",
    "Emission",
    "Verification",
    "Status",
    "WaterlineFact",
    "OperatorState",
    "Profile",
    "Output",
    "TableSource",
}

# What other parts of Penstock call, and nobody else.
_INSIDE = {
    ("Column", "direction"),
    ("Column", "item"),
    ("Column", "level"),
    ("Column", "ordered"),
    ("Column", "within"),
    ("Emitting", "checked"),
    ("Emitting", "home"),
    ("Emitting", "text"),
    ("Grouped", "keys"),
    ("Grouped", "relation"),
    ("Relation", "aggregates"),
    ("Relation", "block"),
    ("Relation", "grouped"),
    ("Relation", "home"),
    ("WindowSpec", "frame"),
    ("WindowSpec", "keys"),
    ("WindowSpec", "order"),
    ("Change", "delta"),
    ("Subscription", "offer"),
    ("Subscription", "fail"),
    ("Subscription", "end"),
    ("StandingQuery", "offer"),
    ("StandingQuery", "fail"),
    ("StandingQuery", "end"),
    ("PenstockError", "with_source"),
    ("Profile", "followed"),
    ("Profile", "circuits"),
}


def _is_made_by_users(found: type) -> bool:
    given = found.__name__ in _GIVEN or found.__module__.endswith("events") or issubclass(found, Exception)
    return not given


def _doc(found: Any) -> str:
    """A docstring, whose lines are those of Markdown."""
    text = inspect.cleandoc(found.__doc__ or "")
    if not text:
        message = f"{found.__qualname__} has no docstring"
        raise ValueError(message)
    return text


def _cell(kind: str) -> str:
    return _cell_text(f"`{kind}`") if kind else ""


def _cell_text(text: str) -> str:
    return text.replace("|", "\\|")


def _signature(name: str, method: Any) -> list[str]:
    """The signature as it is written, without `self`; one parameter a line if it is long."""
    signature = inspect.signature(method)
    texts: list[str] = []
    for item in signature.parameters.values():
        if item.kind is item.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        if item.name != "self":
            texts.append(_parameter(item))
    returns = signature.return_annotation
    end = "" if returns in (inspect.Signature.empty, "None", None) else f" -> {returns}"
    line = f"{name}({', '.join(texts)}){end}"
    return [line] if len(line) <= _WIDTH else [f"{name}(", *(f"    {text}," for text in texts), f"){end}"]


def _parameter(item: inspect.Parameter) -> str:
    kind = "" if item.annotation is item.empty else f": {item.annotation}"
    if item.kind is item.VAR_POSITIONAL:
        return f"*{item.name}{kind}"
    return f"{item.name}{kind}" if item.default is item.empty else f"{item.name}{kind} = {item.default!r}"


def _methods(found: type) -> Iterator[tuple[str, Any]]:
    for owner in reversed(_own_bases(found)):
        for name, method in vars(owner).items():
            own = method.__name__ == name if inspect.isfunction(method) else False  # other spellings are not repeated
            if not name.startswith("_") and own and (found.__name__, name) not in _INSIDE:
                yield name, method


def _own_bases(found: type) -> list[type]:
    """The class, and those that it inherits from among ours that have no entry of their own."""
    return [
        item for item in found.__mro__ if item.__module__.startswith("penstock") and not _is_base_error(item, found)
    ]


def _is_base_error(item: type, found: type) -> bool:
    return item is not found and issubclass(item, Exception)


def _attributes(found: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of each public attribute; those that are set stand in the class's docstring."""
    for owner in reversed(_own_bases(found)):
        set_here = _fields(owner, found) if dataclasses.is_dataclass(owner) else _assigned(owner)
        yield from ((name, kind, "") for name, kind in set_here if (found.__name__, name) not in _INSIDE)
        for name, item in vars(owner).items():
            getter = item.fget if isinstance(item, property) else getattr(item, "func", None)
            shown = not name.startswith("_") and (found.__name__, name) not in _INSIDE
            if shown and inspect.isfunction(getter):
                yield name, str(inspect.signature(getter).return_annotation), " ".join(_doc(getter).split())


def _fields(owner: type, found: type) -> Iterator[tuple[str, str]]:
    """The fields of a dataclass, where they are not shown as its parameters."""
    if not _is_made_by_users(found):
        yield from ((name, str(kind)) for name, kind in inspect.get_annotations(owner).items())


def _assigned(owner: type) -> Iterator[tuple[str, str]]:
    """The public attributes that `__init__` sets, with their types or those of the parameters that they are."""
    if "__init__" not in vars(owner):
        return
    made = owner.__dict__["__init__"]
    kinds = {item.name: str(item.annotation) for item in inspect.signature(made).parameters.values()}
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(made)))):
        match node:
            case ast.AnnAssign(target=ast.Attribute(attr=name), annotation=kind) if not name.startswith("_"):
                yield name, ast.unparse(kind)
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Name(id=given)) if not name.startswith("_"):
                yield name, kinds[given]
