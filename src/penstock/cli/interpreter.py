"""A program at the command line: its declarations make a pipeline, its other statements run one after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

import click

from penstock.bind.emission.standing import relations_named, shows_changelog, stands
from penstock.bind.program.compile import compile_program
from penstock.bind.program.other_dialects import naming_dialects
from penstock.bind.program.writers import stands_as_statement
from penstock.bind.query_settings import warnings_of
from penstock.cli.emissions import Emissions
from penstock.cli.options import EngineOptions
from penstock.cli.programs import only, without
from penstock.cli.reporting import note, warn
from penstock.cli.results import Table, table_of, write_table
from penstock.cli.results import write_answer as write_whole
from penstock.cli.show import described, shown
from penstock.cli.starting import leave_pandas
from penstock.errors import DataError, Diagnostic, PenstockError, Span, SqlError, did_you_mean
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.relations import explained_query
from penstock.pipeline.supported import has_sources, reads_sources
from penstock.plan.showing import KIND
from penstock.sql import statements as sql
from penstock.sql.parse import parse
from penstock.steps.failures import translated

if TYPE_CHECKING:
    from penstock.catalog.model import Catalog
    from penstock.pipeline.standing import StandingQuery
    from penstock.steps.change import Change
    from penstock.steps.events import Event

    Changes = Mapping[str, Change]

_CHANGING = (
    sql.Insert, sql.Update, sql.Delete, sql.Advance, sql.Begin, sql.Commit, sql.Rollback,
    sql.SavePosition, sql.DropPosition,
)  # fmt: skip
_RUN_LATER = (
    *_CHANGING,
    sql.Query, sql.Explain, sql.Show, sql.Describe, sql.KillQuery,
)  # fmt: skip


def _ignored(_: Any) -> None:
    """Show nothing."""


@dataclass
class Results:
    """The ways of a program's results: the format and layout of answers, and who is told of changes and events.

    Answers go to `stream`, or without one to what is stdout then; one of more than `most_rows` is refused.
    """

    style: str = "text"
    on_changes: Callable[[Changes], None] = _ignored
    on_event: Callable[[Event], None] = _ignored
    layout: str | int = "auto"
    stream: TextIO | None = None
    most_rows: int | None = None


class Interpreter:
    """A pipeline, and what is done with the results of its statements."""

    def __init__(self, pipeline: Pipeline, results: Results) -> None:
        self.pipeline = pipeline
        self.results = results
        self._standing: list[StandingQuery] = []
        self.lasting = False  # while the program's statements run: its queries go on when it is started again
        self.emissions = Emissions(lambda: self._standing, results.style, results.stream)

    @property
    def catalog(self) -> Catalog:
        """Everything that is declared now."""
        return self.pipeline.catalog

    @property
    def in_transaction(self) -> bool:
        """True between BEGIN and its end."""
        return self.pipeline.in_transaction

    def run_program(self, statements: Sequence[sql.Statement], source: str) -> None:
        """Run the program's statements; those that change something not again, where a directory has their steps."""
        self.lasting = True
        done = self.pipeline.program_statements
        for statement in statements:
            if not self._changes_something(statement):
                self.run(statement, source)
            elif self.pipeline.was_deployed:
                continue
            elif done:
                done -= 1
            else:
                with self.pipeline.counted():
                    self.run(statement, source)
        self.lasting = False
        self.pipeline.leave_other_queries()

    def _changes_something(self, statement: sql.Statement) -> bool:
        if isinstance(statement, sql.Insert) and stands_as_statement(statement, self.pipeline.catalog):
            return False
        return isinstance(statement, _CHANGING)

    def run_text(self, text: str) -> None:
        """Run each statement of a text; the first that is refused ends it."""
        try:
            statements = parse(text, self.pipeline.dialect, self.pipeline.catalog.types, self.pipeline.catalog.nesting)
        except PenstockError as error:
            raise naming_dialects(error, text, self.pipeline.catalog) from None
        for statement in statements:
            self.run(statement, text)

    def run(self, statement: sql.Statement, source: str) -> None:
        """Run one statement of the source and show what it gives."""
        try:
            self._run(statement, only(source, statement.span))
        except PenstockError as error:
            raise error.with_source(source) from error.__cause__

    def _run(self, statement: sql.Statement, text: str) -> None:
        warn(statement.warnings, text)
        match statement:
            case sql.Query() if stands(statement.tree, self.pipeline.catalog):
                warn(warnings_of(statement.tree), text)
                self._stand(text)
            case sql.Insert() if stands_as_statement(statement, self.pipeline.catalog):
                self._write(statement, text)
            case sql.Query() if shows_changelog(statement.tree, self.pipeline.catalog) and not self.in_transaction:
                self._changelog(statement, text)
            case sql.Query():
                write_answer(self.pipeline, text, self.results)
            case sql.KillQuery():
                self._kill(statement)
            case sql.Explain():
                click.echo(self._explained(statement, text), file=self.results.stream)
            case sql.Show():
                self._shown(shown(statement, self.pipeline), statement)
            case sql.Describe():
                self._table(described(statement, self.pipeline.catalog))
            case sql.Set(value=None):
                self._table(shown(sql.Show(text=text, span=statement.span, what="settings"), self.pipeline))
            case _:
                self.results.on_changes(self.pipeline.execute(text))
                self.emissions.show()
                if isinstance(statement, sql.CreateTable):
                    warn(statement.table.warnings, text)

    def _stand(self, text: str) -> None:
        """Have a query stand. Where there are sources they are followed until Ctrl-C, or all that it shows is shown.

        Where they are followed in the background, it is shown what that brings.
        """
        query = self.pipeline.subscribe(text, lasting=self.lasting)
        if query.has_ended:
            note(f"{query.name} has ended already: as many rows as its LIMIT says have been shown")
            return
        if not has_sources(self.pipeline.catalog) or self.pipeline.status.state == "running":
            self._standing.append(query)
            note(f"{query.name} stands: its rows are shown as they come; KILL QUERY {query.name} ends it")
            return
        follow(self.pipeline, query, self.results.style, self.results.stream, once=not sys.stdin.isatty())

    def _changelog(self, statement: sql.Query, text: str) -> None:
        """Show the changes of a query until its sources end; where it has none, its rows as they are now."""
        if reads_sources(relations_named(statement.tree), self.pipeline.catalog):
            self._stand(f"{text}\nEMIT CHANGES")
        elif self.results.style in ("arrow", "parquet"):
            write_answer(self.pipeline, text, self.results)
        else:
            span = Span(len(text) - len(text.lstrip()), len(text.rstrip()))
            with said_of_spark(self.pipeline.catalog, span, text):
                answer = self.pipeline.query(text)
                rows = answer.rows
            columns, inserted = (KIND, *answer.columns), (("+I", *row) for row in rows)
            self.emissions.write_rows("query", self.pipeline.steps, columns, inserted)

    def _write(self, statement: sql.Insert, text: str) -> None:
        """Have an INSERT stand."""
        query = self.pipeline.subscribe(text, lasting=self.lasting)
        note(f"{query.name} stands: it writes into {statement.table}; KILL QUERY {query.name} ends it")

    def _kill(self, statement: sql.KillQuery) -> None:
        found = next((item for item in self.pipeline.queries if item.name.lower() == statement.name.lower()), None)
        writer = self.pipeline.catalog.writers.get(statement.name.lower())
        if found is None and writer is not None:
            message = f"{writer.name} belongs to the program, and stands as long as it runs"
            hint = f"DROP VIEW {writer.name}" if writer.owner else "leave it out of the program"
            raise SqlError(Diagnostic("UNKNOWN_QUERY", message, statement.name_span, hint=hint))
        if found is None:
            near = did_you_mean(statement.name, [item.name for item in self.pipeline.queries])
            message = f"no query {statement.name[:100]} stands"
            raise SqlError(Diagnostic("UNKNOWN_QUERY", message, statement.name_span, near, "SHOW QUERIES lists them"))
        self.emissions.show()
        found.close()

    def _shown(self, table: Table, statement: sql.Show) -> None:
        """A table, but what SHOW CREATE says to people is text that can be typed again."""
        if statement.what.startswith("create") and self.results.style == "text":
            click.echo(table.rows[0][0], file=self.results.stream)
        else:
            self._table(table)

    def _table(self, table: Table) -> None:
        style = self.results.style if self.results.style in ("text", "json", "csv") else "text"
        write_table(table, style, self.results.stream, self.results.layout)

    def _explained(self, statement: sql.Explain, text: str) -> str:
        if statement.query is not None:
            return explained_query(self.pipeline, statement.query, statement.options, text)
        try:
            return self.pipeline.explain(statement.target, statement.options)
        except PenstockError as error:
            error.diagnostics = tuple(
                replace(item, span=item.span or statement.target_span) for item in error.diagnostics
            )
            raise


def follow(pipeline: Pipeline, query: StandingQuery, style: str, stream: TextIO | None = None, *, once: bool) -> None:
    """Follow the sources and write what a query shows, until Ctrl-C or its end, or `once` the end of the input."""
    emissions = Emissions(lambda: [query], style, stream, pipeline.stop)
    with query:
        try:
            pipeline.run(once=once, outputs=[emissions])
        except KeyboardInterrupt:
            pipeline.stop()
        emissions.show()


def write_answer(pipeline: Pipeline, text: str, results: Results, *, as_of: int | str | None = None) -> None:
    """The answer of a query; what fails while it is computed is said of the query."""
    span, most = Span(len(text) - len(text.lstrip()), len(text.rstrip())), results.most_rows
    with said_of_spark(pipeline.catalog, span, text):
        answer = pipeline.query(text, as_of=as_of)
        if results.style in ("arrow", "parquet"):
            write_whole(answer, results.style)
            return
        table = table_of(answer if most is None else answer.first(most + 1))
    if most is not None and len(table.rows) > most:
        message = f"the answer has more than {most:,} rows"
        raise DataError(Diagnostic("TOO_MANY_ROWS", message, span, hint="add LIMIT, a condition or an aggregate"))
    write_table(table, results.style, results.stream, results.layout)


@contextmanager
def said_of_spark(catalog: Catalog, span: Span | None = None, text: str | None = None) -> Iterator[None]:
    """Translate what Spark raises inside; `span`, in the `text`, is the place where nothing else tells it."""
    try:
        yield
    except Exception as error:
        found = translated(error, catalog)
        if isinstance(found, PenstockError) and found.source in (None, text):
            found.diagnostics = tuple(replace(item, span=item.span or span) for item in found.diagnostics)
        if found is error:
            raise
        raise found from error


def open_interpreter(
    source: str,
    dialect: str | None,
    engine: EngineOptions,
    results: Results,
    *,
    retain: str = "materialized",
    profile: bool = False,
    writes: bool = False,
    rebuild: bool = False,
    spark: bool = False,
) -> tuple[Interpreter, tuple[sql.Statement, ...]]:
    """The interpreter of a program, and the statements that wait to be run. Compiling it starts no JVM.

    The outputs that the program declares are given nothing unless it `writes`. A session that the program will need is
    begun meanwhile, or in any case where the command needs `spark`.
    """
    leave_pandas()
    program = compile_program(source, dialect)
    warn(program.catalog.warnings, source)
    later = tuple(statement for statement in program.statements if isinstance(statement, _RUN_LATER))
    try:
        pipeline = Pipeline(
            without(source, spans_of(later)),
            directory=engine.directory,
            dialect=dialect,
            master=engine.master,
            engine=engine.engine,
            memory_limit=engine.memory_limit,
            conf=engine.conf,
            retain=retain,
            profile=profile,
            writes=writes,
            on_event=results.on_event,
            rebuild=rebuild,
        )
    except PenstockError as error:
        raise error.with_source(source) from error.__cause__
    pipeline.expect_spark(surely=spark)
    return Interpreter(pipeline, results), later


def declarations_of(source: str, dialect: str | None) -> str:
    """The part of a program that its pipeline has: without the statements that wait to be run."""
    later = [item for item in compile_program(source, dialect).statements if isinstance(item, _RUN_LATER)]
    return without(source, spans_of(later))


def spans_of(statements: Collection[sql.Statement]) -> list[Span]:
    """The places of statements, and of the words around a set of them."""
    found = [item.span for item in statements]
    return found + [span for item in statements if isinstance(item, sql.Insert) for span in item.frame]


def check_finished(pipeline: Pipeline) -> None:
    """A program that ends inside a transaction has left work undone."""
    if pipeline.in_transaction:
        pipeline.rollback()
        message = "the program ends before the COMMIT of its transaction, which was rolled back"
        raise SqlError(Diagnostic("MISSING_COMMIT", message, hint="End the transaction with COMMIT;"))
