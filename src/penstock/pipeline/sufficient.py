"""Tables whose history has rows no more that a query does not need.

`needed` says of each place of a query above which times it reads a table, the log which times the rows had that have
gone. Where the first begins behind the last of the second, what is kept will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.analysis.needed import Above, Needed, needed, with_views_inside
from penstock.backends.clock import clocked
from penstock.catalog.model import PASSED, Catalog, Table, View
from penstock.engine.constants import constant_row
from penstock.pipeline.reads import tables_read
from penstock.plan.nodes import Plan
from penstock.rewrite.rewriter import rewrite
from penstock.steps.intake.lateness import comparable_value
from penstock.steps.latest import Latest
from penstock.steps.stepper import Stepper


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """The contents that a query reads: those of `catalog` at a clock, after the last step unless `recomputed`.

    A view that is `recomputed` is so whatever is kept of it: in the past, and in a transaction.
    """

    stepper: Stepper
    catalog: Catalog
    clock: datetime
    recomputed: bool

    def tables(self, plan: Plan) -> frozenset[str]:
        """The tables, in lower case, whose kept rows are all that a plan needs of them, though others have gone."""
        gone = {name: found for name, table in self.catalog.tables.items() if (found := self._gone(table))}
        if not gone:
            return frozenset()
        opened = with_views_inside(plan, self.catalog, self._is_opened)
        read = [item for item in needed(rewrite(opened), self.catalog) if item.table in gone]
        short = {item.table for item in read if not self._will_do(item, gone[item.table])}
        return frozenset(gone) - short - self._hidden(opened)

    def _gone(self, table: Table) -> Latest | None:
        return self.stepper.log.gone(table)

    def _is_opened(self, view: View) -> bool:
        """True for a view whose rows its query tells, and not what is kept of them."""
        return view.kind != PASSED and not view.lateness and not self._is_kept(view)

    def _is_kept(self, view: View) -> bool:
        stored = self.stepper.stored
        kept = view.kind == "materialized" and not self.recomputed
        return kept and stored.keeps(view) and stored.has_stepped(view)

    def _hidden(self, opened: Plan) -> set[str]:
        """The tables below views that are not opened, and may not be kept either."""
        views = [view for name in opened.scanned if (view := self.catalog.views.get(name)) is not None]
        return {table for view in views if not self._is_kept(view) for table in tables_read(self.catalog, view.name)}

    def _will_do(self, item: Needed, gone: Latest) -> bool:
        return any(self._is_above(bound, gone) for bound in item.above)

    def _is_above(self, item: Above, gone: Latest) -> bool:
        """True if no row that has gone is as high as a bound wants."""
        name = item.column.lower()
        if name not in gone:
            return False
        last, value = gone[name], self._value(item)
        return last is None or (value is not None and (value > last or (item.strict and value == last)))

    def _value(self, item: Above) -> Any:
        store = self.stepper.engine.process(self.stepper.catalog)
        (value,) = constant_row(self.stepper.engine.relations, store, [clocked(self.clock)(item.bound)])
        return comparable_value(value)
