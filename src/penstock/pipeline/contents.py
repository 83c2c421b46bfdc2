"""The rows that tables and views hold now: for queries, for views that start late, and for UPDATE and DELETE.

The content of a table is its stored rows (with a key) or its input log added up (without); that of a MATERIALIZED view
is its retained changes; any other view is computed by its plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends.api import Relation, Relations
from penstock.backends.columns import in_arrow
from penstock.backends.native.proof import NotProvenError, not_proven
from penstock.catalog.model import PASSED, Catalog, Table, View
from penstock.catalog.reserved import WEIGHT
from penstock.errors import Diagnostic, InternalError
from penstock.pipeline.here import ContentsHere, check_recomputable
from penstock.pipeline.reads import with_views
from penstock.pipeline.sufficient import Sufficiency
from penstock.plan.nodes import Plan, Scan
from penstock.plan.scalar import quoted
from penstock.steps.contents import Stored
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.remembering_gate import passed_rows
from penstock.steps.past import Past
from penstock.steps.stepper import Stepper

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True)
class Contents:
    """The present contents, with a transaction's own changes (`pending`) on top; or those after a `past` step.

    `passed` are rows that dedup lets pass in the query that is asked. Of the tables in `sufficient`, named in lower
    case, it needs what is kept alone; None until that has been found out.
    """

    stepper: Stepper
    clock: datetime
    pending: Sequence[Intake] = ()
    past: Past | None = None
    passed: tuple[View, ...] = ()
    sufficient: frozenset[str] | None = None

    @property
    def catalog(self) -> Catalog:
        """All that a plan may read."""
        return with_views(self.stepper.catalog, self.passed)

    def answered(self, plan: Plan) -> pa.Table | Relation:
        """The answer of a plan over the present contents: in Arrow where all of it is in the process."""
        if self.sufficient is None:
            return self.sufficing(plan).answered(plan)
        try:
            return self._here().rows(plan)
        except NotProvenError:
            return self.query(plan)

    def sufficing(self, plan: Plan) -> Contents:
        """The same for a plan that may need no more of a history than there is."""
        recomputed = self.past is not None or bool(self.pending)
        found = Sufficiency(self.stepper, self.catalog, self.clock, recomputed).tables(plan)
        past = None if self.past is None else replace(self.past, sufficient=found)
        return replace(self, past=past, sufficient=found)

    @property
    def _stored(self) -> Stored:
        return replace(self.stepper.stored, sufficient=self.sufficient or frozenset())

    def rows(self, plan: Plan, table: Table) -> pa.Table:
        """The answer of a plan that gives columns of a table, in the Arrow types of their declaration."""
        found, names = self.answered(plan), [column.name for column in table.columns]
        if isinstance(found, pa.Table):
            return in_arrow(table, found.rename_columns(names))
        return self._relations.declared_rows(self._relations.renamed(found, names), table)

    def maintained_rows(self, view: View) -> pa.Table | Relation | None:
        """The rows of a view as its changes add up; None if they are not kept."""
        try:
            return self._here().maintained_rows(view)
        except NotProvenError:
            return self._maintained(view)

    def _maintained(self, view: View) -> Relation | None:
        """The same on Spark."""
        if self._stored.is_empty(view):
            return self._relations.empty_of(Table(view.name, view.columns))
        return self._stored.view(view)

    @property
    def _relations(self) -> Relations:
        return self.stepper.engine.relations

    def _here(self) -> ContentsHere:
        engine = self.stepper.engine
        store = engine.process(self.stepper.catalog)
        if store is None:
            not_proven("a program that works on Spark")
        engine.check_session()
        return ContentsHere(self.stepper, self._stored, store, self.clock, self.catalog, self.pending, self.past)

    def query(self, plan: Plan) -> Relation:
        """The answer of a plan over the present contents, by Spark."""
        self.stepper.engine.check_session()
        return self.stepper.engine.answered(plan, self.relations(plan), self.clock)

    def relations(self, plan: Plan) -> dict[str, Relation]:
        """The content of every table and view that a plan reads, by lower-case name."""
        found: dict[str, Relation] = {}
        self._collect(plan, found)
        return found

    def _collect(self, plan: Plan, found: dict[str, Relation]) -> None:
        own = {name.lower() for node in plan.walk() for name in getattr(node, "views", ())}
        for scan in plan.walk():
            if isinstance(scan, Scan) and scan.relation.lower() not in found and scan.relation.lower() not in own:
                found[scan.relation.lower()] = self._relation(scan.relation)

    def _relation(self, name: str) -> Relation:
        relation = self.catalog.relation(name)
        if isinstance(relation, Table):
            return self.table(relation)
        if isinstance(relation, View):
            return self.view(relation)
        raise InternalError(Diagnostic("NO_RELATION", f"a plan reads {name}, which does not exist"))

    def view(self, view: View) -> Relation:
        """The rows of a view."""
        if view.kind == PASSED:
            return self._passed(view)
        if self.past is not None:
            check_recomputable(view)
            return self.query(view.plan)
        if view.lateness:
            return self._filtered(view)
        if view.kind != "materialized" or self.pending:
            return self.query(view.plan)
        maintained = self._maintained(view)
        return self.query(view.plan) if maintained is None else maintained

    def _passed(self, view: View) -> Relation:
        """The rows that dedup lets pass: those that have, or where there are none yet, or others, what would."""
        maintained = None if self.past is not None or self.pending else self._stored.view(view)
        if maintained is not None:
            return maintained
        rows = Table(view.name, view.columns)
        passed = passed_rows(view, self._relations.declared_rows(self.query(view.plan), rows))
        return self._relations.relation_of(rows, passed)

    def _filtered(self, view: View) -> Relation:
        """The rows that have passed the LATENESS of a view; a transaction's own changes are judged when it ends."""
        maintained = self._stored.view(view)
        if maintained is not None:
            return maintained
        answer = self.query(view.plan)
        return self._relations.first(answer, 0) if self._stored.has_stepped(view) else answer

    def table(self, table: Table) -> Relation:
        """The rows of a table."""
        stored = self._stored
        if self.past is not None:
            return self._in_past(table, self.past)
        pending = [intake for intake in self.pending if intake.table.name.lower() == table.name.lower()]
        rows = stored.rows(table)
        if rows is not None and not pending:
            return rows
        weighted = stored.weighted(table.name) if rows is None else self._relations.weighted(rows)
        if pending:
            return self._with_pending(table, weighted, pending)
        if weighted is None:
            return self._relations.empty_of(table)
        relations = self._relations
        return relations.repeated(weighted) if stored.retracts(table) else relations.unweighted(weighted)

    def _in_past(self, table: Table, past: Past) -> Relation:
        weighted = past.weighted(table)
        if weighted is None:
            return self._relations.empty_of(table)
        return self._relations.repeated(weighted)

    def _with_pending(self, table: Table, weighted: Relation | None, pending: Sequence[Intake]) -> Relation:
        relations = self._relations
        parts = [] if weighted is None else [weighted]
        for intake in pending:
            change = intake.change
            parts.append(relations.relation_of(table, change) if isinstance(change, pa.Table) else change.frame())
        columns = [*(quoted(column.name) for column in table.columns), WEIGHT]
        return relations.repeated(*(relations.selected(part, columns) for part in parts))
