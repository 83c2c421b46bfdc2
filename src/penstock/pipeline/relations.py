"""Queries as Python calls over a pipeline: where they begin, and what they need of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.analysis.waterline import has_waterline
from penstock.bind.emission.standing import bind_standing, stands
from penstock.bind.program.queries import bind_named, bind_query
from penstock.bind.taking_in import taking_in_view, with_taking_in
from penstock.catalog.settings import ANSWER_FROM_VIEWS
from penstock.engine.foreseeing import foreseen
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.explain import explain_query, explain_standing
from penstock.pipeline.one_query import one_query
from penstock.relational.block import Block
from penstock.relational.emitting import Emitting
from penstock.relational.relation import Relation
from penstock.relational.writing import named
from penstock.sql.points import point_of, without_past

if TYPE_CHECKING:
    from penstock.pipeline.answer import Answer
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.standing import StandingQuery


def explained_query(pipeline: Pipeline, tree: Any, options: Sequence[str], text: str) -> str:
    """The explanation of a query, as if it were a view, or as it would stand."""
    placing = partial(foreseen, local=pipeline.is_local)
    if stands(tree, pipeline.catalog):
        found = bind_standing(tree, pipeline.catalog, text, "query", has_waterline)
        return explain_standing(found, pipeline.catalog, tuple(options), text, placing=placing)
    taking_in = taking_in_view("(query)", pipeline.catalog)
    plan = bind_query(without_past(tree), pipeline.catalog, text, taking_in=taking_in)
    catalog = with_taking_in(pipeline.catalog, taking_in)
    if point_of(tree) is not None or pipeline.in_transaction:
        catalog = catalog.with_setting(ANSWER_FROM_VIEWS, "off")  # it reads the tables
    return explain_query(plan, catalog, tuple(options), text, placing=placing)


@dataclass(frozen=True)
class RelationHome:
    """A pipeline, as relations see it."""

    pipeline: Pipeline

    @property
    def dialect(self) -> str:
        """The dialect of its SQL."""
        return self.pipeline.dialect

    def columns_of(self, sql: str) -> tuple[str, ...]:
        """The columns of a query, which is bound and not asked."""
        taking_in = taking_in_view("(query)", self.pipeline.catalog)
        return bind_named(
            one_query(sql, self.dialect, self.pipeline.catalog.types, self.pipeline.catalog.nesting).tree,
            self.pipeline.catalog,
            sql,
            taking_in=taking_in,
        ).names

    def check_standing(self, sql: str) -> None:
        """Raise SqlError or UnsupportedError for a query that cannot stand."""
        bind_standing(
            one_query(sql, self.dialect, self.pipeline.catalog.types, self.pipeline.catalog.nesting).tree,
            self.pipeline.catalog,
            sql,
            "query",
            has_waterline,
        )

    def query(self, sql: str) -> Answer:
        """The answer of a query."""
        return self.pipeline.query(sql)

    def subscribe(self, sql: str, *, name: str | None = None, clock: datetime | str | None = None) -> StandingQuery:
        """The query as it stands."""
        return self.pipeline.subscribe(sql, name=name, clock=clock)

    def explain_query(self, sql: str, options: Sequence[str] = ()) -> str:
        """An account of how the query would be maintained."""
        return explained_query(
            self.pipeline,
            one_query(sql, self.dialect, self.pipeline.catalog.types, self.pipeline.catalog.nesting).tree,
            options,
            sql,
        )

    def execute(self, sql: str, *, clock: datetime | str | None = None) -> Mapping[str, Any]:
        """Run statements."""
        return self.pipeline.execute(sql, clock=clock)


def relation_of(pipeline: Pipeline, name: str) -> Relation:
    """A table or view as a relation. SqlError if there is neither."""
    if pipeline.catalog.relation(name) is None:
        tables, views = pipeline.catalog.tables.values(), pipeline.catalog.named_views()
        known = [*(item.name for item in tables), *(item.name for item in views)]
        message = f"table(): there is no table or view {name[:100]}"
        raise SqlError(Diagnostic("UNKNOWN_RELATION", message, candidates=did_you_mean(name, known)))
    return Relation(RelationHome(pipeline), Block(named(name)))


def relation_of_text(pipeline: Pipeline, text: str) -> Relation:
    """A query in SQL as a relation. SqlError or UnsupportedError for the query."""
    whole = one_query(text, pipeline.dialect, pipeline.catalog.types, pipeline.catalog.nesting).text
    relation = Relation(RelationHome(pipeline), Block(f"(\n{whole}\n)"))
    RelationHome(pipeline).columns_of(whole)
    return relation


def create_view(name: str, query: Relation | Emitting, *, materialized: bool) -> None:
    """Create a view of a relation."""
    if isinstance(query, Relation):
        query.create_view(name, materialized=materialized)
    elif isinstance(query, Emitting):
        query.create_view(name)
    else:
        message = f"create_view({name!r}): expected a relation, found {type(query).__name__}"
        raise SqlError(Diagnostic("PYTHON_CALL", message, hint="p.table(…) or p.sql(…) makes one"))
