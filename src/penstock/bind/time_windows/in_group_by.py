"""TUMBLE, HOP and SESSION in GROUP BY, and Spark's own `window` and `session_window`: every row in its windows.

A query that stands goes by them as by those in FROM: what it takes in is not late for them, and it knows the ends of
its groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.domain import NeedDomain
from penstock.bind.group_window import GroupWindow
from penstock.bind.judging import judging, rows_not_before
from penstock.bind.level import Level
from penstock.bind.marks import SUBQUERY, has_mark
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.taking_in import TakingIn, Windows
from penstock.bind.time_windows.grids import Exploded, Grid
from penstock.bind.time_windows.open_windows import open_windows, timely_in, timely_in_some
from penstock.bind.time_windows.sessions import fixed_gap, with_sessions
from penstock.bind.time_windows.times import grid_of, refuse_gaps, refuse_own_months, window_time, windows_of, with_time
from penstock.plan.nodes import AsofJoin, Field, Filter, Generate, Join, Plan
from penstock.plan.scalar import column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls, bare, call, call_name, same
from penstock.types.durations import Duration, duration_of, duration_of_text

FORMS = {
    "tumble": "(time, size[, align])",
    "hop": "(time, slide, size[, align])",
    "session": "(time, gap)",
    "session_window": "(time, '10 minutes')",
    "window": "(time, '10 minutes'[, '5 minutes'[, '1 minute']])",
}
OF_SPARK = ("window", "session_window")  # which stand in the SELECT list as well, as a struct of both ends
_LENGTHS = {"tumble": 1, "hop": 2, "session": 1, "session_window": 1}
_CALENDAR = re.compile(r"(?i)month|year")
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)


def on_time_for_windows(select: exp.Select, plan: Plan, level: Level) -> Plan:
    """The rows of FROM, without those that are late for a query that stands and has windows in its GROUP BY.

    As with windows in FROM, it is the relation that the time is of which gives no late rows, whatever it is joined
    with, and WHERE chooses of those that it gives.
    """
    group, taking_in = select.args.get("group"), level.context.taking_in
    if group is None or taking_in is None or taking_in.delay is None:
        return plan
    for node in _windows_in(select, level):
        name = call_name(node) or ""
        if name in FORMS:
            time, lengths, grid = _arguments(name, node, level)
            if judging(plan, time, level) is not None:
                continue  # they are judged where the windows are
            refuse_own_months(name.upper(), lengths, node, keeps=taking_in.keeps_waterline(plan, time))
            plan = _on_time(plan, time, windows_of(name, lengths, grid), taking_in)
    return plan


def _on_time(plan: Plan, time: exp.Expression, windows: Windows, taking_in: TakingIn) -> Plan:
    if isinstance(plan, Join | AsofJoin | Generate | Filter):
        below = next((item for item in plan.inputs if time.name in item.names), None)
        if below is not None:
            given = _on_time(below, time, windows, taking_in)
            return plan.with_inputs(*(given if item is below else item for item in plan.inputs))
    return taking_in.gated(plan, time, windows)


def with_group_windows(select: exp.Select, plan: Plan, level: Level) -> Plan:
    """The plan in which every row is in the windows of GROUP BY, which the level knows from now on."""
    for node in _windows_in(select, level):
        name = call_name(node) or ""
        if name in FORMS and known_window(name, node, level) is None:
            plan = _with_window(name, node, select, plan, level)
    return plan


def _windows_in(select: exp.Select, level: Level) -> Iterator[exp.Anonymous]:
    """The calls in GROUP BY, also where a name or a place in the SELECT list stands for one of Spark's windows."""
    group = select.args.get("group")
    if group is None:
        return
    yield from calls_in(group)
    for item in group.expressions:
        found = _selected(bare(item), select, level)
        if found is not item and call_name(found) in OF_SPARK and isinstance(found, exp.Anonymous):
            yield found


def calls_in(tree: exp.Expression) -> Iterator[exp.Anonymous]:
    """The calls in an expression, those in its subqueries left out."""
    for node in tree.walk(prune=lambda item: isinstance(item, _QUERIES)):
        if isinstance(node, exp.Anonymous):
            yield node


def _with_window(name: str, node: exp.Anonymous, select: exp.Select, plan: Plan, level: Level) -> Plan:
    time, lengths, grid = _arguments(name, node, level)
    if name.startswith("session"):
        keys = other_keys(select, plan, level)
        touching = name == "session_window"
        mark = str(len(level.group_windows))
        plan = rows_not_before(plan, time, level)
        plan, start, end = with_sessions(plan, time, keys, lengths[0], mark, touching=touching)
        level.remember_fields(plan)
    elif name in ("hop", "window"):
        refuse_gaps(name, lengths, node)
        hopping = partial(grid.hopping, slide=lengths[0], size=lengths[1], place=node)
        plan, element = _in_open_windows(plan, time, hopping, level)
        start, end = hopping(time).ends(element)
    else:
        tumbling = partial(grid.tumbling, size=lengths[0], place=node)
        plan, found = with_time(plan, time), judging(plan, time, level)
        if found is not None:
            plan = timely_in(replace(found, plan=with_time(found.plan, time)), time, tumbling).rows()
        start, end = tumbling(time)
    level.group_windows.append(GroupWindow(name, _texts(name, node, level), start, end))
    if name in OF_SPARK:
        level.aliases.setdefault(name, struct_of(start, end))
    return plan


def _in_open_windows(
    plan: Plan, time: exp.Expression, windows: Callable[[exp.Expression], Exploded], level: Level
) -> tuple[Plan, exp.Expression]:
    """The rows, and the element of each of their windows; those that judge them go beside them at once."""
    found = judging(plan, time, level)
    if found is None:
        return plan, hop_column(windows(time), level)
    item = Field(f"__judged{len(level.group_windows)}", "timestamp", nullable=False)
    found = timely_in_some(replace(found, plan=with_time(found.plan, time)), time, windows)
    generator = scalar_of(call("explode", windows(time).array), fields_of(found.plan))
    beside = Generate(found.plan, generator, (item,))
    level.fields[item.name] = item
    element = column_tree(item.name)
    return open_windows(replace(found, plan=beside), element, windows).rows(), element


def _arguments(name: str, node: exp.Anonymous, level: Level) -> tuple[exp.Expression, list[Duration], Grid]:
    """The bound time, the lengths and the grid of a call; SqlError if they do not fit."""
    if name == "window":
        return window_arguments(node, level)
    count = _LENGTHS[name]
    most = count + 1 + (name in ("tumble", "hop"))
    if not count + 1 <= len(node.expressions) <= most:
        message = f"{name.upper()} is written {name.upper()}{FORMS[name]}"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node)
    given = node.expressions[1 : count + 1]
    if name == "session_window":
        _check_gap(given[0], node)
    length = fixed_gap if name.startswith("session") else duration_of
    lengths = [duration_of_text(item) if isinstance(item, exp.Literal) else length(item) for item in given]
    offset = node.expressions[count + 1] if len(node.expressions) > count + 1 else None
    time = window_time(node.expressions[0], level, from_text=name == "session_window")
    return time, lengths, grid_of(offset, None, level)


def window_arguments(node: exp.Anonymous, level: Level) -> tuple[exp.Expression, list[Duration], Grid]:
    """The same of Spark's `window(time, size[, slide[, offset]])`, whose windows are counted in UTC: slide, size."""
    time, *rest = node.expressions or [node]
    if not rest or len(rest) > 3 or any(not isinstance(item, exp.Literal | exp.Interval) for item in rest):  # noqa: PLR2004
        message = f"window is written window{FORMS['window']}"
        raise wrong(code="WINDOW_ARGUMENTS", message=message, place=node)
    size, *others = [duration_of_text(item) for item in rest]
    offset = others[1].micros if len(others) > 1 else 0
    grid = replace(grid_of(None, None, level), zone="UTC", offset=offset)
    return level.bind(time), [others[0] if others else size, size], grid


def _check_gap(gap: exp.Expression, node: exp.Anonymous) -> None:
    """Raise NotIncremental for a gap of session_window that is of another length from row to row."""
    if not isinstance(gap, exp.Literal | exp.Interval):
        reason = "session_window with a gap that is no constant"
        raise NotIncremental(reason, node)
    if isinstance(gap, exp.Literal) and _CALENDAR.search(str(gap.this)):
        reason = "session_window with a gap of months"
        raise NotIncremental(reason, node)


def _texts(name: str, node: exp.Anonymous, level: Level) -> tuple[str, ...]:
    """The texts that two calls must have in common to mean the same windows."""
    time, lengths, grid = _arguments(name, node, level)
    moment = "" if grid.moment is None else spark_sql(grid.moment)
    slide = lengths[0]
    offset = grid.offset % slide.micros if slide.micros and not slide.months else grid.offset
    return (spark_sql(time), *map(str, lengths), str(offset), moment)


def known_window(name: str, node: exp.Anonymous, level: Level) -> GroupWindow | None:
    """The window of GROUP BY that a call with these arguments means."""
    texts = _texts(name, node, level)
    return next((item for item in level.group_windows if item.name == name and item.arguments == texts), None)


def other_keys(select: exp.Select, plan: Plan, level: Level) -> list[exp.Expression]:
    """The other keys of the query: each of their values has sessions of its own."""
    group = select.args["group"]
    if level.residual:
        raise NeedDomain
    if any(isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup) for item in group.walk()):
        message, hint = "SESSION in GROUPING SETS", "write one query for each set, with UNION ALL"
        raise unsupported(code="SESSION_WINDOW", message=message, place=group, hint=hint)
    keys = [tree.copy() for _, tree in level.carried]
    for item in group.expressions:
        found = _selected(bare(item), select, level)
        if any(call_name(node) in GROUP_WINDOWS for node in calls_in(found)) or next(aggregate_calls(found), None):
            continue
        key = level.bind(found)
        if has_mark(key, SUBQUERY) or not {node.name for node in key.find_all(exp.Column)} <= set(plan.names):
            message, hint = "SESSION beside this expression in GROUP BY", "compute it in a subquery in FROM"
            raise unsupported(code="SESSION_WINDOW", message=message, place=item, hint=hint)
        keys.append(key)
    return keys


def _selected(item: exp.Expression, select: exp.Select, level: Level) -> exp.Expression:
    """The expression of the SELECT list that an ordinal or an alias in GROUP BY stands for, or the item itself."""
    if isinstance(item, exp.Literal) and not item.is_string and item.name.isdigit():
        place = int(item.name) - 1
        return select.expressions[place].unalias() if 0 <= place < len(select.expressions) else item
    if isinstance(item, exp.Column) and len(item.parts) == 1 and level.scope.resolve([item.name], item) is None:
        named = (part for part in select.expressions if part.alias.lower() == item.name.lower())
        return next((part.unalias() for part in named), item)
    return item


GROUP_WINDOWS = frozenset(
    f"{name}{end}" for name in ("tumble", "hop", "session") for end in ("", "_start", "_end", "_rowtime", "_proctime")
) | set(OF_SPARK)


def ends_of(struct: exp.Expression, level: Level) -> list[exp.Expression] | None:
    """The keys of a window of GROUP BY for which a struct of its ends stands, if it is one: its start, unless more."""
    found = next((item for item in level.group_windows if same(struct_of(item.start, item.end)) == same(struct)), None)
    return None if found is None else window_keys(found)


def window_keys(found: GroupWindow) -> list[exp.Expression]:
    """The keys of a window: its start, and its end unless that follows."""
    return [found.start.copy()] if found.follows else [found.start.copy(), found.end.copy()]


def struct_of(start: exp.Expression, end: exp.Expression) -> exp.Expression:
    """A window as Spark shows it: a struct of both ends."""
    names = exp.Literal.string("start"), exp.Literal.string("end")
    return call("named_struct", names[0], start.copy(), names[1], end.copy())


def hop_column(windows: Exploded, level: Level) -> exp.Expression:
    """The window's start beside each row, once for all mentions of the same HOP."""
    tree = call("explode", windows.array)
    text = spark_sql(tree)
    for known, fields in level.generators:
        if spark_sql(known) == text:
            return column_tree(fields[0].name)
    item = Field(f"__h{len(level.generators)}", "timestamp", nullable=False)
    level.generators.append((tree, (item,)))
    level.fields[item.name] = item
    return column_tree(item.name)
