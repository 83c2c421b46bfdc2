"""SESSION windows: the rows of a key whose times follow each other within a gap.

    a row begins a session if its time is at least a gap after the row's before it
    window_start = the session's first time, window_end = its last time + gap

All of it is window functions over the rows of one key, so a change recomputes the sessions of its key: late rows merge
sessions, deletions split them. A row without a time is in no window.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.bind.diagnose import unsupported, wrong
from penstock.bind.durations import Duration, duration_of, later
from penstock.bind.expressions import bind
from penstock.bind.level import Bound, Level, fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.bind.trees import call, call_name
from penstock.plan.nodes import Filter, Plan, Project, Window
from penstock.plan.scalar import Scalar, column_tree
from penstock.sql.nodes import TableFunction

START, END = "window_start", "window_end"
_FORM = "SESSION(TABLE t [PARTITION BY key], DESCRIPTOR(ts), [DESCRIPTOR(key, …),] gap)"


def bind_session_table(tree: TableFunction, level: Level) -> tuple[Plan, Scope]:
    """SESSION in FROM: the relation's rows that have a time, with window_start and window_end."""
    from penstock.bind.relations import aliased, bind_relation

    relation, time_tree, key_trees, gap = _arguments(tree)
    inner = Level(level.context)
    plan, inner.scope = bind_relation(relation, inner)
    inner.see(plan)
    time = bind(time_tree, inner)
    keys = [bind(item, inner) for item in key_trees]
    plan, start, end = with_sessions(plan, time, keys, gap)
    fields = fields_of(plan)
    items: list[tuple[str, Scalar]] = [(item.name, scalar_of(item.tree, fields)) for item in inner.scope.star() or ()]
    items += [(START, scalar_of(start, fields)), (END, scalar_of(end, fields))]
    default = str(relation.alias_or_name) or "session"
    return aliased(Bound(Project(plan, tuple(items)), tuple(name for name, _ in items)), tree, level, default)


def with_sessions(
    plan: Plan, time: exp.Expression, keys: Sequence[exp.Expression], gap: Duration, mark: str = ""
) -> tuple[Plan, exp.Expression, exp.Expression]:
    """The rows that have a time, and the start and the end of each one's session as expressions over them."""
    begins, number, first, last = (f"__session_{name}{mark}" for name in ("begins", "number", "first", "last"))
    timed: Plan = Filter(
        plan, scalar_of(exp.Not(this=exp.Is(this=time.copy(), expression=exp.Null())), fields_of(plan))
    )
    partition = tuple(scalar_of(item, fields_of(timed)) for item in keys)
    before = _over(call("lag", time.copy()), keys, time)
    goes_on = exp.LT(this=time.copy(), expression=later(before, gap))
    starts = exp.Case(ifs=[exp.If(this=goes_on, true=exp.Literal.number(0))], default=exp.Literal.number(1))
    marked = Window(timed, partition, ((begins, scalar_of(starts, fields_of(timed))),))
    counted = _over(call("sum", column_tree(begins)), keys, time)
    numbered = Window(marked, partition, ((number, scalar_of(counted, fields_of(marked))),))
    inside = [*keys, column_tree(number)]
    fields = fields_of(numbered)
    ends = tuple(
        (name, scalar_of(_over(call(function, time.copy()), inside), fields))
        for name, function in ((first, "min"), (last, "max"))
    )
    bounded = Window(numbered, (*partition, scalar_of(column_tree(number), fields)), ends)
    return bounded, column_tree(first), later(column_tree(last), gap)


def _over(function: exp.Expression, keys: Sequence[exp.Expression], time: exp.Expression | None = None) -> exp.Window:
    """The function over the rows of the same keys; with a time, over those up to and including its equals."""
    window = exp.Window(this=function, partition_by=[item.copy() for item in keys])
    if time is not None:
        window.set("order", exp.Order(expressions=[exp.Ordered(this=time.copy(), desc=False, nulls_first=True)]))
    return window


def _arguments(
    tree: TableFunction,
) -> tuple[exp.Expression, exp.Expression, list[exp.Expression], Duration]:
    """Relation, time column, keys and gap, by place or by name."""
    named = {item.this.name.upper(): item.expression for item in tree.expressions if isinstance(item, exp.Kwarg)}
    placed = [item for item in tree.expressions if not isinstance(item, exp.Kwarg)]
    relation = named.pop("DATA", None) or (placed.pop(0) if placed else None)
    time = named.pop("TIMECOL", None) or (placed.pop(0) if placed else None)
    keys = _columns(named.pop("KEY", None)) or list(tree.args.get("partition_by") or [])
    if placed and call_name(placed[0]) == "descriptor":
        keys += _columns(placed.pop(0))
    gap = named.pop("GAP", None) or named.pop("SIZE", None) or (placed.pop(0) if placed else None)
    if placed and not named:
        raise unsupported(
            code="SESSION_BOUNDS", message="a SESSION with a longest length or bounds", place=placed[0], hint=_FORM
        )
    if relation is None or time is None or gap is None or named:
        raise wrong(code="WINDOW_ARGUMENTS", message=f"SESSION is written {_FORM}", place=tree)
    times = _columns(time) if call_name(time) == "descriptor" else [time]
    if len(times) != 1:
        raise wrong(code="WINDOW_ARGUMENTS", message="SESSION needs one time column", place=tree, hint=_FORM)
    return relation, times[0], keys, duration_of(gap)


def _columns(descriptor: exp.Expression | None) -> list[exp.Expression]:
    return [] if descriptor is None else list(descriptor.expressions)
