"""AFTER SESSION CLOSE: the rows of a query with the number of their session, by which it groups as well.

The sessions are those of the other keys of GROUP BY. They follow the order in which rows arrive, so no expression over
the rows gives them: a view that nobody asked for by name numbers its rows (`TakingIn.in_sessions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.scalars import scalar_of
from penstock.bind.scope import RelationInScope, Scope, Visible
from penstock.bind.taking_in import SESSION_NUMBER, SessionColumns
from penstock.bind.time_windows.in_group_by import other_keys
from penstock.bind.time_windows.times import window_time
from penstock.catalog.model import EVENT_TIME
from penstock.catalog.reserved import POSITION
from penstock.errors import Span
from penstock.plan.emission import Bound, SessionClose
from penstock.plan.nodes import Plan, Project
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.complaints import wrong
from penstock.sql.trees import call, data_type

CLOSING = "closing sessions"  # in the meta of a SELECT: a Closing
_BOOLEAN = ("boolean", "void")


@dataclass(frozen=True, slots=True)
class Closing:
    """The trigger of an EMIT, and the place of that."""

    trigger: SessionClose
    place: Span | None = None


def with_closing_sessions(select: exp.Select, plan: Plan, level: Level) -> Plan:
    """The rows that are in a session, with its number under a name of its own; other queries' rows are as they are."""
    taking_in, closing = level.context.taking_in, select.meta.get(CLOSING)
    if closing is None or taking_in is None:
        return plan
    trigger = closing.trigger
    plan = _with_number(plan, level)
    if taking_in.sessions is None:  # it is asked only for what kind of query this is
        return plan
    keys = [key for key in other_keys(select, plan, level) if key.name != SESSION_NUMBER]
    return taking_in.in_sessions(
        plan,
        SessionColumns(
            tuple(map(level.scalar, keys)),
            _time(closing, select, level),
            True if trigger.start is None else _condition(trigger.start, closing, level),
            False if trigger.end is None else _condition(trigger.end, closing, level),
            _arrived(level),
        ),
    )


def _with_number(plan: Plan, level: Level) -> Plan:
    zero = scalar_of(exp.cast(exp.Literal.number(0), "bigint"), {})
    kept = tuple((item.name, column(item.name, item.type, item.nullable)) for item in plan.fields)
    plan = Project(plan, (*kept, (SESSION_NUMBER, zero)))
    visible = Visible(SESSION_NUMBER, column_tree(SESSION_NUMBER), SESSION_NUMBER, hidden=True)
    level.scope = level.scope.beside(Scope((RelationInScope("", (visible,)),)))
    level.remember_fields(plan)
    return plan


def _time(closing: Closing, select: exp.Select, level: Level) -> Scalar:
    """The time by which a session is long: the column that IDENTIFIED BY names, or that of a stream's rows."""
    name = closing.trigger.time or EVENT_TIME
    if closing.trigger.time is None and level.scope.resolve([name], select) is None:
        message = "AFTER SESSION CLOSE has to know the time of a row, and these rows have no _tp_time"
        raise wrong(
            code="SESSION_CLOSE",
            message=message,
            place=select,
            hint="name the column, as in AFTER SESSION CLOSE IDENTIFIED BY ts WITH MAXSPAN 10m",
        )
    tree = window_time(_named(name, closing.place), level)
    if level.scalar(tree).type != "timestamp":
        tree = exp.Cast(this=tree, to=data_type("timestamp"))
    return level.scalar(tree)


def _condition(bound: Bound, closing: Closing, level: Level) -> Scalar | bool:
    """A column of IDENTIFIED BY that opens or closes a session; a constant as it is."""
    if isinstance(bound, bool):
        return bound
    found = level.scalar(level.bind(_named(bound, closing.place)))
    if found.type not in (None, *_BOOLEAN):
        message = (
            f"IDENTIFIED BY {bound}: what opens or closes a session is a BOOLEAN, and this is {found.type.upper()}"
        )
        hint = "compute it in a query in FROM, as in kind = 'end' AS ends"
        raise wrong(code="SESSION_CLOSE", message=message, place=closing.place, hint=hint)
    return found


def _named(name: str, place: Span | None) -> exp.Column:
    """A column that EMIT names, at the place of that."""
    found = exp.to_identifier(name, quoted=True)
    if place is not None:
        found.meta.update(start=place.start, end=place.end - 1)
    return exp.column(found)


def _arrived(level: Level) -> tuple[Scalar, ...]:
    """The order in which the rows have arrived, where they keep that: those of a join with the later one of both."""
    found = [item.tree for item in level.scope.columns if item.name == POSITION]
    last = [call("greatest", *(tree.copy() for tree in found))] if len(found) > 1 else []
    return tuple(level.scalar(tree) for tree in [*last, *found])
