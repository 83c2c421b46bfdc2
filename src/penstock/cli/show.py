"""SHOW and DESCRIBE: tables of what the catalog and the pipeline know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.catalog.model import SYSTEM_TABLES, Catalog, Column, View
from penstock.catalog.model import Table as Declared
from penstock.cli.definitions import definition
from penstock.cli.results import Table
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.sql import statements as sql

if TYPE_CHECKING:
    from penstock.pipeline.outlets import OutputFact
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.source_facts import SourceFact
    from penstock.steps.facts import OperatorState
    from penstock.watching.watched import PipelineFacts


def shown(statement: sql.Show, pipeline: Pipeline) -> Table:
    """The answer of SHOW."""
    found = _all_shown(statement, pipeline)
    if statement.like is None:
        return found
    signs = {"%": ".*", "_": "."}
    pattern = re.compile("".join(signs.get(sign, re.escape(sign)) for sign in statement.like), re.IGNORECASE)
    return Table(found.columns, [row for row in found.rows if pattern.fullmatch(str(row[0]))])


def _all_shown(statement: sql.Show, pipeline: Pipeline) -> Table:
    catalog = pipeline.catalog
    match statement.what:
        case "tables":
            return Table(("table", "key", "kind"), [_table_row(table) for table in catalog.tables.values()])
        case "views":
            return Table(("view", "kind"), [(view.name, view.kind) for view in catalog.named_views()])
        case "columns":
            named = catalog.relations() if statement.name is None else [_relation(catalog, statement.name, statement)]
            return Table(("table", *_COLUMN), [(item.name, *row) for item in named for row in _columns(item)])
        case "functions":
            return Table(("function", "definition"), [(item.name, item.text) for item in catalog.functions.values()])
        case "settings":
            return Table(("setting", "value"), sorted(catalog.settings.items()))
        case "waterlines":
            columns = ("column", "waterline", "largest seen", "late rows", "held rows", "moves with")
            facts = pipeline.waterline_facts()
            facts += pipeline.inferred_waterlines()
            rows = [(item.name, item.waterline, item.seen, item.late, item.held, item.waits_for) for item in facts]
            return Table(columns, rows)
        case "queries":
            return Table(_QUERIES, list(_queries(pipeline)))
        case "sources":
            return Table(_SOURCES, [_source_row(item) for item in pipeline.sources()])
        case "outputs":
            return Table(_OUTPUTS, [_output_row(item) for item in pipeline.outputs()])
        case "pipeline":
            return Table(("what", "is"), list(_pipeline_rows(pipeline.facts())))
        case "positions":
            return Table(_POSITIONS, [(item.name, item.step, item.clock) for item in pipeline.positions])
        case "state":
            return Table(_STATE, [_state_row(item) for item in pipeline.state()])
        case _:
            return Table(("definition",), [(definition(_declared(catalog, statement)),)])


def _pipeline_rows(facts: PipelineFacts) -> Iterator[tuple[str, object]]:
    yield "state", facts.state
    if facts.error:
        yield "error", facts.error
    if facts.deploying:
        yield "deploying", facts.deploying
    yield "step", facts.step
    yield "clock", facts.clock
    yield "uptime", str(timedelta(seconds=round(facts.uptime)))
    yield "sources", ", ".join(facts.sources)
    yield "outputs", ", ".join(facts.outputs)
    yield "memory of the process", f"{facts.memory / 1e6:,.1f} MB"
    yield "state of operators", f"{facts.state_bytes / 1e6:,.1f} MB"
    yield "state in files", f"{facts.spilled_bytes / 1e6:,.1f} MB"


def _queries(pipeline: Pipeline) -> Iterator[tuple[str, object, str, str]]:
    """The standing queries and statements: what each has shown, or where it writes, and whose it is."""
    writers = pipeline.catalog.writers
    for item in pipeline.queries:
        writer = writers.get(item.name.lower())
        shown = item.shown if writer is None else f"into {writer.writing.target}"
        yield item.name, shown, "session", item.text.strip()
    for writer in writers.values():
        if not writer.session:
            yield writer.name, f"into {writer.writing.target}", "program", writer.text.strip()


_QUERIES = ("query", "rows shown", "of", "text")
_SOURCES = (
    *("table", "source", "state", "position", "rows waiting", "bytes waiting", "seconds behind"),
    *("rows", "rows per second", "idle since", "last error"),
)
_OUTPUTS = ("output", "target", "form", "key", "takes a step", "step", "steps waiting", "state", "last error")
_POSITIONS = ("position", "behind step", "clock")
_COLUMN = ("column", "type", "facts")
_STATE = ("operator", "for", "works", "rows", "bytes", "grows", "because", "to bound it")


def _where(item: OperatorState) -> str:
    """The place in which an operator works, and what keeps it from the process."""
    if item.where == "process":
        return "in the process"
    return f"on Spark, for {item.not_proven}" if item.not_proven else "on Spark"


def _state_row(item: OperatorState) -> tuple[object, ...]:
    grows = {"bounded": "no", "content": "with its tables", "unbounded": "yes"}[item.growth]
    because = item.because.replace("`", "")
    return (
        item.operator,
        ", ".join(item.views),
        _where(item),
        item.rows,
        item.bytes,
        grows,
        because,
        (item.fix or "").replace("`", ""),
    )


def _source_row(item: SourceFact) -> tuple[object, ...]:
    lag = item.lag
    seconds = None if lag.seconds is None else round(lag.seconds, 1)
    error = f"{item.error_at}: {item.error}" if item.error else ""
    return (
        *(item.table, item.source, item.state, item.position_text, lag.rows, lag.bytes, seconds),
        *(item.rows, round(item.rows_per_second, 1), item.idle_since, error),
    )


def _output_row(item: OutputFact) -> tuple[object, ...]:
    key = ", ".join(item.key)
    return (
        *(item.name, item.target, item.form, key, item.guarantee),
        *(item.step, item.waiting, item.state, item.error or ""),
    )


def _table_row(table: Declared) -> tuple[str, str, str]:
    kind = "append only" if table.append_only else "keyed" if table.key else "multiset"
    return table.name, ", ".join(table.key), kind


def described(statement: sql.Describe, catalog: Catalog) -> Table:
    """The columns of a table or view."""
    return Table(_COLUMN, _columns(_relation(catalog, statement.name, statement)))


def _columns(relation: Declared | View) -> list[tuple[str, str, str]]:
    key = {name.lower() for name in relation.key} if isinstance(relation, Declared) else set()
    found = [
        (column.label, column.type or "not known before Spark is up", _facts(column, key))
        for column in relation.columns
        if not column.hidden
    ]
    for item in reversed(relation.computed if isinstance(relation, Declared) else ()):
        late = "" if item.lateness is None else f", LATENESS {item.lateness.bound}"
        found.insert(item.place, (item.name, "computed", f"AS {item.text}{late}"))
    return found


def _facts(column: Column, key: set[str]) -> str:
    facts = ["PRIMARY KEY"] if column.name.lower() in key else []
    facts += [] if column.nullable else ["NOT NULL"]
    facts += [f"DEFAULT {column.default}"] if column.default else []
    facts += [f"LATENESS {column.lateness.bound}"] if column.lateness else []
    facts += [f"WATERMARK {column.watermark}"] if column.watermark else []
    return ", ".join(facts)


def _declared(catalog: Catalog, statement: sql.Show) -> Declared | View:
    """The table or view of SHOW CREATE; SqlError for what nobody has declared."""
    name = statement.name or ""
    if name.lower() in SYSTEM_TABLES:
        message = f"{name} is a system relation, which nobody declares"
        raise SqlError(Diagnostic("WRONG_KIND", message, statement.name_span, hint=f"DESCRIBE {name} has its columns"))
    return _relation(catalog, name, statement)


def _relation(catalog: Catalog, name: str, statement: sql.Show | sql.Describe) -> Declared | View:
    found = catalog.relation(name)
    if found is None:
        message = f"there is no table or view {name[:100]}"
        near = did_you_mean(name, catalog.relation_names())
        raise SqlError(Diagnostic("UNKNOWN_RELATION", message, statement.name_span, near))
    return found
