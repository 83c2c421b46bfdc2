"""SESSION: the rows of a key whose times follow each other within a gap, as a relation in FROM.

    a row begins a session if its time is at least a gap after the row's before it
    window_start = the session's first time, window_end = its last time + gap

A row without a time is in no window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.judging import rows_not_before
from penstock.bind.level import Level
from penstock.bind.relation import aliased
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.scope import Scope
from penstock.bind.taking_in import Windows
from penstock.bind.time_windows.bounded_sessions import Bounds, Limits, with_limits
from penstock.bind.time_windows.times import as_column, time_of_rows
from penstock.plan.nodes import Plan, Project, Session
from penstock.plan.scalar import Scalar, column_tree
from penstock.sql.complaints import wrong
from penstock.sql.nodes import TableFunction
from penstock.sql.trees import call_name
from penstock.types.durations import Duration, duration_of, timestamp

START, END = "window_start", "window_end"
_FORM = "SESSION(TABLE t [PARTITION BY key], DESCRIPTOR(ts), [DESCRIPTOR(key, …),] gap[, longest][, begin, end])"
_LONGEST = 5  # times the idle time


def bind_session_table(tree: TableFunction, level: Level) -> tuple[Plan, Scope]:
    """SESSION in FROM: the relation's rows that have a time, with window_start and window_end."""
    given = _arguments(tree, level)
    inner = Level(level.context)
    plan, inner.scope = inner.bind_relation(given.relation)
    inner.remember_fields(plan)
    plan, time = as_column(plan, time_of_rows(given.time, given.relation, tree, inner), inner)
    keys = [inner.bind(item) for item in given.keys]
    plan = rows_not_before(plan, time, inner)
    if level.context.taking_in is not None:
        plan = level.context.taking_in.gated(plan, time, Windows(given.limits.idle.micros))
    plan, start, end = with_sessions(plan, time, keys, given.limits.idle)
    limits = _bound(given.limits, inner)
    if limits.longest is not None or limits.bounds is not None:
        plan, start, end = with_limits(plan, limits)
    fields = fields_of(plan)
    items: list[tuple[str, Scalar]] = [(item.name, scalar_of(item.tree, fields)) for item in inner.scope.star() or ()]
    items += [(START, scalar_of(start, fields)), (END, scalar_of(end, fields))]
    default = str(given.relation.alias_or_name) or "session"
    names = [name for name, _ in items]
    told_apart = tuple((name, scalar) for name, (_, scalar) in zip(unique_names(names), items, strict=True))
    return aliased(BoundQuery(Project(plan, told_apart), tuple(names)), tree, level, default)


def with_sessions(
    plan: Plan,
    time: exp.Expression,
    keys: Sequence[exp.Expression],
    gap: Duration,
    mark: str = "",
    *,
    touching: bool = False,
) -> tuple[Session, exp.Expression, exp.Expression]:
    """The rows that have a time, and the start and the end of each one's session as expressions over them."""
    start, end = f"__session_start{mark}", f"__session_end{mark}"
    fields = fields_of(plan)
    moment = scalar_of(time, fields)
    if moment.type != "timestamp":
        moment = scalar_of(timestamp(time), fields)
    partition = tuple(scalar_of(item, fields) for item in keys)
    node = Session(plan, partition, moment, scalar_of(gap.tree, {}), start, end, touching)
    return node, column_tree(start), column_tree(end)


@dataclass(frozen=True)
class _Arguments:
    relation: exp.Expression
    time: exp.Expression | None  # None: the relation's own
    keys: list[exp.Expression]
    limits: Limits


def _arguments(tree: TableFunction, level: Level) -> _Arguments:
    """The arguments, by place or by name."""
    named = {item.this.name.upper(): item.expression for item in tree.expressions if isinstance(item, exp.Kwarg)}
    placed = [item for item in tree.expressions if not isinstance(item, exp.Kwarg)]
    relation = named.pop("DATA", None) or (placed.pop(0) if placed else None)
    time = named.pop("TIMECOL", None)
    if time is None and placed and not isinstance(placed[0], exp.Interval):
        time = placed.pop(0)
    keys = _columns(named.pop("KEY", None)) or list(tree.args.get("partition_by") or [])
    if placed and call_name(placed[0]) == "descriptor":
        keys += _columns(placed.pop(0))
    gap = named.pop("GAP", None) or named.pop("SIZE", None) or (placed.pop(0) if placed else None)
    longest = placed.pop(0) if placed and isinstance(placed[0], exp.Interval) else None
    if len(placed) == len(("begin", "end")) and not any(
        map(_is_range, placed)
    ):  # without brackets both rows are included
        placed = [exp.Anonymous(this="SESSION_RANGE", expressions=[*placed, exp.true(), exp.true()])]
    between = placed.pop(0) if placed and _is_range(placed[0]) else None
    if relation is None or gap is None or named or placed:
        raise wrong(code="WINDOW_ARGUMENTS", message=f"SESSION is written {_FORM}", place=tree)
    times = _columns(time) if time is not None and call_name(time) == "descriptor" else [time]
    if len(times) != 1:
        raise wrong(code="WINDOW_ARGUMENTS", message="SESSION needs one time column", place=tree, hint=_FORM)
    return _Arguments(relation, times[0], keys, _limits(gap, longest, between, level))


def fixed_gap(tree: exp.Expression) -> Duration:
    """The gap of a SESSION. It has no months: of two times a month later, the earlier one may come to lie behind."""
    gap = duration_of(tree)
    if gap.months:
        message, hint = "the gap of a SESSION has a fixed length, without months", "write it in days"
        raise wrong(code="NOT_AN_INTERVAL", message=message, place=tree, hint=hint)
    return gap


def _limits(
    gap: exp.Expression, longest: exp.Expression | None, between: exp.Expression | None, level: Level
) -> Limits:
    """The limits of a session; in the dialect of Timeplus the longest is five times the idle time, if not said."""
    idle = fixed_gap(gap)
    most = None if longest is None else duration_of(longest)
    if most is None and level.context.catalog.settings.get("dialect") == "timeplus":
        most = Duration(micros=_LONGEST * idle.micros)
    if most is not None and most.months:
        raise wrong(code="NOT_AN_INTERVAL", message="the longest length of a SESSION has no months", place=longest)
    if between is None:
        return Limits(idle, most, None)
    begin, end, *included = between.expressions
    return Limits(idle, most, Bounds(begin, end, *(item.this for item in included)))


def _bound(limits: Limits, level: Level) -> Limits:
    """The limits with their conditions over the columns of the relation."""
    if limits.bounds is None:
        return limits
    begin, end = (level.bind(item) for item in (limits.bounds.begin, limits.bounds.end))
    return replace(limits, bounds=replace(limits.bounds, begin=begin, end=end))


def _is_range(tree: exp.Expression) -> bool:
    return call_name(tree) == "session_range"


def _columns(descriptor: exp.Expression | None) -> list[exp.Expression]:
    return [] if descriptor is None else list(descriptor.expressions)
