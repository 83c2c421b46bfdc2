"""Time windows: TUMBLE, HOP and CUMULATE over a relation in FROM.

All are linear: a row's windows follow from its time alone. A row without a time is in no window. The windows follow the
clock of the pipeline's time zone, or of the one that the last argument names; `grids.py` has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.judging import Judging, judging
from penstock.bind.level import Level
from penstock.bind.relation import aliased
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.scope import Scope, Visible
from penstock.bind.time_windows.grids import Ends, Exploded, Grid
from penstock.bind.time_windows.open_windows import open_windows, timely_in, timely_in_some
from penstock.bind.time_windows.sessions import bind_session_table
from penstock.bind.time_windows.times import (
    END,
    START,
    TIME,
    as_column,
    grid_of,
    refuse_gaps,
    refuse_own_months,
    time_of_rows,
    windows_of,
    with_time,
)
from penstock.catalog.reserved import OF_ARRIVAL
from penstock.plan.nodes import Field, Generate, Plan, Project
from penstock.plan.scalar import Scalar, column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.nodes import TableFunction
from penstock.sql.trees import call, call_name
from penstock.types.durations import Duration, duration_of


@dataclass(frozen=True)
class _Arguments:
    relation: exp.Expression
    time: exp.Expression | None
    lengths: list[Duration]
    offset: exp.Expression | None
    zone: exp.Expression | None


def bind_window_table(tree: TableFunction, level: Level) -> tuple[Plan, Scope]:
    """TUMBLE, HOP or CUMULATE in FROM: the relation's rows with window_start and window_end."""
    taking_in = level.context.taking_in
    if tree.name == "TABLE":
        with nullcontext() if taking_in is None else taking_in.whole():
            return _of_history(tree, level)
    if tree.name == "SESSION":
        return bind_session_table(tree, level)
    if tree.name not in ("TUMBLE", "HOP", "CUMULATE") or tree.args.get("partition_by"):
        hint = "TUMBLE, HOP, CUMULATE and SESSION work; only SESSION takes PARTITION BY"
        raise unsupported(code="WINDOW_TABLE", message=f"{tree.name} in FROM", place=tree, hint=hint)
    given = _arguments(tree)
    inner = Level(level.context)
    plan, inner.scope = inner.bind_relation(given.relation)
    inner.remember_fields(plan)
    plan, time = as_column(plan, time_of_rows(given.time, given.relation, tree, inner), inner)
    grid = grid_of(given.offset, given.zone, inner)
    found = judging(plan, time, inner)
    if found is not None:
        plan, (start, end) = _judged(found, tree, time, given.lengths, grid)
    else:
        if taking_in is not None:
            refuse_own_months(tree.name, given.lengths, tree, keeps=taking_in.keeps_waterline(plan, time))
            plan = taking_in.gated(plan, time, windows_of(tree.name, given.lengths, grid))
        plan, (start, end) = _windowed(plan, tree, time, given.lengths, grid)
    visible = _handed_on(tree, inner.scope)
    fields = fields_of(plan)
    items: list[tuple[str, Scalar]] = [(item.name, scalar_of(item.tree, fields)) for item in visible]
    items += [(START, scalar_of(start, fields)), (END, scalar_of(end, fields))]
    if level.context.catalog.settings.get("dialect") == "flink":
        last = exp.Interval(this=exp.Literal.string("0.001"), unit=exp.Var(this="SECOND"))
        items.append((TIME, scalar_of(exp.Sub(this=exp.Paren(this=end.copy()), expression=last), fields)))
    default = str(given.relation.alias_or_name) or tree.name.lower()
    names = [name for name, _ in items]
    told_apart = tuple((name, scalar) for name, (_, scalar) in zip(unique_names(names), items, strict=True))
    return aliased(BoundQuery(Project(plan, told_apart), tuple(names)), tree, level, default)


def _handed_on(tree: TableFunction, scope: Scope) -> Sequence[Visible]:
    """The columns of the rows; of TUMBLE, which gives each row once, also those of their arrival."""
    alias, shown = tree.args.get("alias"), scope.star() or ()
    renamed = alias is not None and bool(alias.args.get("columns"))
    if tree.name != "TUMBLE" or renamed:
        return shown
    return (*shown, *(item for item in scope.columns if item.hidden and item.name in OF_ARRIVAL))


def _of_history(tree: TableFunction, level: Level) -> tuple[Plan, Scope]:
    """`table(s) [AS] t`: the relation itself, which a query reads as it is now."""
    relation = tree.expressions[0]
    if tree.args.get("alias") is not None:
        relation = relation.copy()
        relation.set("alias", tree.args["alias"].copy())
    return level.bind_relation(relation)


def _windowed(
    plan: Plan, tree: TableFunction, time: exp.Expression, lengths: list[Duration], grid: Grid
) -> tuple[Plan, Ends]:
    if tree.name == "TUMBLE":
        return with_time(plan, time), grid.tumbling(time, lengths[0], tree)
    refuse_gaps(tree.name, lengths, tree)
    if tree.name == "HOP":
        return _exploded(plan, grid.hopping(time, lengths[0], lengths[1], tree), "__hop")
    return _exploded(plan, grid.cumulating(time, lengths[0], lengths[1], tree), "__cumulate")


def _judged(
    found: Judging, tree: TableFunction, time: exp.Expression, lengths: list[Duration], grid: Grid
) -> tuple[Plan, Ends]:
    """The same of rows that came before a window of theirs had ended, in the windows that had not."""
    found = replace(found, plan=with_time(found.plan, time))
    if tree.name == "TUMBLE":
        tumbling = partial(grid.tumbling, size=lengths[0], place=tree)
        return timely_in(found, time, tumbling).plan, tumbling(time)
    refuse_gaps(tree.name, lengths, tree)
    first, second = lengths
    windows: Callable[[exp.Expression], Exploded] = (
        partial(grid.hopping, slide=first, size=second, place=tree)
        if tree.name == "HOP"
        else partial(grid.cumulating, step=first, size=second, place=tree)
    )
    name = "__hop" if tree.name == "HOP" else "__cumulate"
    found = timely_in_some(found, time, windows)
    plan, ends = _exploded(found.plan, windows(time), name)
    return open_windows(replace(found, plan=plan), column_tree(name), windows).plan, ends


def _exploded(plan: Plan, windows: Exploded, name: str) -> tuple[Plan, Ends]:
    generator = scalar_of(call("explode", windows.array), fields_of(plan))
    return Generate(plan, generator, (Field(name, "timestamp", nullable=False),)), windows.ends(column_tree(name))


def _arguments(tree: TableFunction) -> _Arguments:
    """Relation, time column, lengths, offset and time zone, by place or by name."""
    named = {item.this.name.upper(): item.expression for item in tree.expressions if isinstance(item, exp.Kwarg)}
    placed = [item for item in tree.expressions if not isinstance(item, exp.Kwarg)]
    wanted = 1 if tree.name == "TUMBLE" else 2
    relation = named.pop("DATA", None) or (placed.pop(0) if placed else None)
    time = named.pop("TIMECOL", None)
    if time is None and placed and not isinstance(placed[0], exp.Interval):
        time = placed.pop(0)
    zone = placed.pop() if placed and isinstance(placed[-1], exp.Literal) and placed[-1].is_string else None
    second = named.pop("SLIDE", None) or named.pop("STEP", None) or named.pop("HOP", None)
    size = named.pop("SIZE", None)
    offset = named.pop("OFFSET", None)
    lengths = [item for item in ([size] if wanted == 1 else [second, size]) if item is not None]
    while len(lengths) < wanted and placed:
        lengths.append(placed.pop(0))
    if offset is None and placed:
        offset = placed.pop(0)
    if relation is None or len(lengths) != wanted or named or placed:
        form = f"{tree.name}(TABLE t, DESCRIPTOR(ts), {'size' if wanted == 1 else 'slide, size'}[, offset])"
        raise wrong(code="WINDOW_ARGUMENTS", message=f"{tree.name} is written {form}", place=tree)
    return _Arguments(
        relation,
        None if time is None else _time_column(time, tree),
        [duration_of(item) for item in lengths],
        offset,
        zone,
    )


def _time_column(tree: exp.Expression, place: exp.Expression) -> exp.Expression:
    if not isinstance(tree, exp.Anonymous) or call_name(tree) != "descriptor":
        return tree
    if len(tree.expressions) != 1:
        raise wrong(code="WINDOW_ARGUMENTS", message="a window needs one time column", place=place)
    found: exp.Expression = tree.expressions[0]
    return found
