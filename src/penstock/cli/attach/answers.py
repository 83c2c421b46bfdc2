"""Answers to a shell that has attached: rendered here, where the rows are; nothing that is asked changes anything."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from penstock.cli.interpreter import Interpreter, Results
from penstock.errors import DataError, Diagnostic, PenstockError, Span, SqlError
from penstock.sql import statements as sql
from penstock.sql.parse import parse
from penstock.sql.text import span_of
from penstock.sql.trees import call_name, function_calls
from penstock.steps.failures import translated

if TYPE_CHECKING:
    from penstock.catalog.model import Catalog
    from penstock.pipeline.pipeline import Pipeline
    from penstock.steps.filling import FillingFacts

    Send = Callable[[Mapping[str, Any]], None]

# So many rows come to the driver of a process that has other work to do.
MOST_ROWS = 100_000
_READING = (sql.Query, sql.Explain, sql.Show, sql.Describe)
_RUNS_CODE = frozenset({"reflect", "java_method", "try_reflect"})


def answer(pipeline: Pipeline, question: Mapping[str, Any], send: Send) -> None:
    """Send all that a question is answered with, errors too, and that this is the end."""
    try:
        if question.get("catalog"):
            send({"relations": relations(pipeline.catalog)})
        elif "deploy" in question:
            _deploy(pipeline, str(question["deploy"]), go=question.get("go") is True, send=send)
        else:
            _run(pipeline, question, send)
    except PenstockError as error:
        send(_failed(error, question))
    except OSError:
        raise  # nobody is there to be told
    except Exception as error:  # noqa: BLE001 - the run goes on, whatever becomes of a question
        known = translated(error, pipeline.catalog)
        send(_failed(known, question) if isinstance(known, PenstockError) else _bug(error))
    send({"end": True})


def _run(pipeline: Pipeline, question: Mapping[str, Any], send: Send) -> None:
    text = str(question.get("sql", ""))
    try:
        statements = parse(text, pipeline.dialect, pipeline.catalog.types, pipeline.catalog.nesting)
        refuse_changes(statements)
    except PenstockError as error:
        raise error.with_source(text) from error.__cause__
    for statement in statements:
        out = io.StringIO()
        results = Results(_style(question), layout=_layout(question), stream=out, most_rows=MOST_ROWS)
        # A query is planned between two steps and reads what was there then; the others look at what is there now.
        with nullcontext() if isinstance(statement, sql.Query) else pipeline.between_steps():
            Interpreter(pipeline, results).run(statement, text)
        send({"out": out.getvalue()})


def _deploy(pipeline: Pipeline, program: str, *, go: bool, send: Send) -> None:
    """Send the difference to a program, or have it take the place of the one that runs."""
    if not go:
        send({"deployment": pipeline.deployment(program).to_json()})
        return
    send(deployed(pipeline, program, lambda facts: send({"deploying": str(facts)})))


def deployed(pipeline: Pipeline, program: str, told: Callable[[FillingFacts], object] | None = None) -> dict[str, Any]:
    """Have a program take the place of the one at work: the step that did it, and the changed rows of each view."""
    changes = pipeline.deploy(program, told=told)
    changed = {name: len(change.rows) for name, change in changes.items() if change.delta is not None}
    return {"step": pipeline.steps, "changed": changed}


def refuse_changes(statements: tuple[sql.Statement, ...]) -> None:
    """Raise SqlError for the first statement that does more than read."""
    for statement in statements:
        if not isinstance(statement, _READING) and not (isinstance(statement, sql.Set) and statement.value is None):
            word = statement.text.split(None, 1)[0]
            place = Span(statement.span.start, statement.span.start + len(word))
            message = f"{word.upper()} is refused: whoever attaches to a running pipeline can read, and change nothing"
            hint = "SELECT, SHOW, DESCRIBE and EXPLAIN are answered; rows come in through the program's sources"
            raise SqlError(Diagnostic("READ_ONLY", message, place, hint=hint))
        _refuse_code(statement)


def _refuse_code(statement: sql.Statement) -> None:
    """Raise SqlError for a query that calls code by its name: it runs with the rights of the pipeline's process."""
    tree = getattr(statement, "tree", None) or getattr(statement, "query", None)
    for node in () if tree is None else function_calls(tree):
        name = call_name(node)
        if name in _RUNS_CODE:
            message = f"{name} is refused: it runs code of the process in which the pipeline works"
            hint = "whoever attaches may ask for what tables and views have"
            raise SqlError(Diagnostic("READ_ONLY", message, span_of(node), hint=hint))


def relations(catalog: Catalog) -> list[dict[str, Any]]:
    """The names of all tables and views with their columns, for completion."""
    kinds = {name: view.kind for name, view in catalog.views.items()}
    return [
        {
            "name": item.name,
            "kind": kinds.get(item.name.lower(), "table"),
            "columns": [[column.name, column.type] for column in item.columns],
        }
        for item in catalog.relations()
    ]


def _style(question: Mapping[str, Any]) -> str:
    style = question.get("format", "text")
    if style not in ("text", "json", "csv"):
        raise DataError(Diagnostic("UNKNOWN_FORMAT", f"{str(style)[:40]!r} is no format", hint="text, json or csv"))
    return str(style)


def _layout(question: Mapping[str, Any]) -> str | int:
    layout = question.get("layout", "table")
    return layout if isinstance(layout, int) else str(layout)


def _failed(error: PenstockError, question: Mapping[str, Any]) -> dict[str, Any]:
    """The error, and whether its places are in the text that was given: the other side knows that text's files."""
    given = error.source is not None and error.source == question.get("sql", question.get("deploy"))
    return {"error": error.render(), "diagnostics": error.to_json(), "given": given}


def _bug(error: Exception) -> dict[str, Any]:
    message = f"{type(error).__name__}: {str(error).strip().split(chr(10), 1)[0][:500]}"
    return _failed(DataError(Diagnostic("INTERNAL", message)), {})
