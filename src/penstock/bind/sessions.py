"""SESSION: the rows of a key whose times follow each other within a gap, as a relation in FROM.

    a row begins a session if its time is at least a gap after the row's before it
    window_start = the session's first time, window_end = its last time + gap

A row without a time is in no window.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.bind.diagnose import unsupported, wrong
from penstock.bind.durations import Duration, duration_of, timestamp
from penstock.bind.expressions import bind
from penstock.bind.level import Bound, Level, fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.bind.trees import call_name
from penstock.plan.nodes import Plan, Project, Session
from penstock.plan.scalar import Scalar, column_tree
from penstock.sql.nodes import TableFunction

START, END = "window_start", "window_end"
_FORM = "SESSION(TABLE t [PARTITION BY key], DESCRIPTOR(ts), [DESCRIPTOR(key, …),] gap)"


def bind_session_table(tree: TableFunction, level: Level) -> tuple[Plan, Scope]:
    """SESSION in FROM: the relation's rows that have a time, with window_start and window_end."""
    from penstock.bind.relations import aliased, bind_relation
    from penstock.bind.timewindows import event_time, window_time

    relation, time_tree, key_trees, gap = _arguments(tree)
    inner = Level(level.context)
    plan, inner.scope = bind_relation(relation, inner)
    inner.see(plan)
    time = window_time(time_tree, inner) if time_tree is not None else event_time(relation, tree, inner)
    keys = [bind(item, inner) for item in key_trees]
    plan, start, end = with_sessions(plan, time, keys, gap)
    fields = fields_of(plan)
    items: list[tuple[str, Scalar]] = [(item.name, scalar_of(item.tree, fields)) for item in inner.scope.star() or ()]
    items += [(START, scalar_of(start, fields)), (END, scalar_of(end, fields))]
    default = str(relation.alias_or_name) or "session"
    return aliased(Bound(Project(plan, tuple(items)), tuple(name for name, _ in items)), tree, level, default)


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


def _arguments(
    tree: TableFunction,
) -> tuple[exp.Expression, exp.Expression | None, list[exp.Expression], Duration]:
    """Relation, time column (None: the relation's own), keys and gap, by place or by name."""
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
    if placed and not named:
        raise unsupported(
            code="SESSION_BOUNDS", message="a SESSION with a longest length or bounds", place=placed[0], hint=_FORM
        )
    if relation is None or gap is None or named:
        raise wrong(code="WINDOW_ARGUMENTS", message=f"SESSION is written {_FORM}", place=tree)
    times = _columns(time) if time is not None and call_name(time) == "descriptor" else [time]
    if len(times) != 1:
        raise wrong(code="WINDOW_ARGUMENTS", message="SESSION needs one time column", place=tree, hint=_FORM)
    return relation, times[0], keys, duration_of(gap)


def _columns(descriptor: exp.Expression | None) -> list[exp.Expression]:
    return [] if descriptor is None else list(descriptor.expressions)
