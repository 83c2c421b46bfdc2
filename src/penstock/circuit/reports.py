"""The rows that a view's readers of windows do not take, since they are late for them: what `error_view` shows of it.

Filter(judges) over the rows    →    Project(what can be seen of them) over Filter(NOT …) over the same rows
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.row_waterlines import is_row_waterline
from penstock.catalog.reserved import HIDDEN
from penstock.plan.forms import Call
from penstock.plan.nodes import Filter, Plan, Project
from penstock.plan.scalar import Scalar, column, scalar_of


def reports_of(plan: Plan) -> tuple[Plan, ...]:
    """The rows that each of a plan's readers leaves out, under the names that people know their columns by."""
    return tuple(dict.fromkeys(_reports(plan)))


def _reports(plan: Plan) -> Iterator[Plan]:
    for node in plan.walk():
        if isinstance(node, Filter) and node.judges:
            late = Filter(node.input, scalar_of(Call("not", (node.condition.form,)), "boolean"))
            yield Project(late, tuple(_shown(late)))


def _shown(plan: Plan) -> Iterator[tuple[str, Scalar]]:
    seen: set[str] = set()
    for item in plan.fields:
        name = item.name.rpartition(".")[2]
        if is_row_waterline(name) or name in HIDDEN:
            continue
        name = name if name.lower() not in seen else item.name
        seen.add(name.lower())
        yield name, column(item.name, item.type, item.nullable)
