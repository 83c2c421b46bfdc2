"""Plans read by DuckDB alone: what the binder and the rewriting rules make of a query, against its own text.

Neither Spark nor the engine takes part, so hundreds of programs a minute are possible. A plan is rendered as the engine
renders it; recursions, which are evaluated round by round, are left to the other judges.
"""

from __future__ import annotations

from random import Random

from penstock.backends.render import Renderer
from penstock.backends.spark.dialect import SparkDialect
from penstock.bind.program.compile import compile_program
from penstock.catalog.model import View
from penstock.errors import PenstockError
from penstock.plan.nodes import Fixpoint, Plan, Recompute, Scan
from penstock.testing.fuzz.changes import Changes
from penstock.testing.fuzz.check import Finding
from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.duck import Duck
from penstock.testing.fuzz.programs import Program
from penstock.testing.multisets import difference

_ROWS = 7


class Reading:
    """Compares plans with texts; `compared` counts the views."""

    def __init__(self) -> None:
        self.compared = 0

    def judge(self, program: Program, random: Random) -> Finding | None:
        """The first view of a shared program whose plan does not answer what its text answers."""
        try:
            catalog = compile_program(program.sql).catalog
        except PenstockError:
            return None  # whether a refusal is right, only Spark can say
        duck = _filled(program, random)
        for name, text in program.views:
            view = catalog.views[name]
            if duck.declare(name, text) and _is_readable(view):
                wrong = self._difference(duck, view)
                if wrong:
                    return Finding("differs", f"plan of {name}: {wrong}", name)
        return None

    def _difference(self, duck: Duck, view: View) -> str:

        assert view.plan is not None  # noqa: S101 - it is readable
        leaves = {node.relation.lower(): node.relation for node in view.plan.walk() if isinstance(node, Scan)}
        expected = duck.answer(f"SELECT * FROM {view.name}")
        actual = duck.answer(Renderer(SparkDialect(), leaves).sql(view.plan))
        if expected is None or actual is None:
            return ""
        self.compared += 1
        found = difference(expected, actual, 1e-9)
        return found.describe() if found else ""


def _is_readable(view: View) -> bool:
    plan: Plan | None = view.plan
    return plan is not None and not any(isinstance(node, Fixpoint | Recompute) for node in plan.walk())


def _filled(program: Program, random: Random) -> Duck:
    """Random rows in all tables."""
    duck, changes = Duck(program.tables), Changes(Dice(random, shared=True), program.tables)
    for table in program.tables:
        for _ in range(_ROWS):
            changes.insert(table)
        duck.fill(table.name, changes.rows(table))
    return duck
