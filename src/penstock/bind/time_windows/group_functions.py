"""Group functions of time: TUMBLE, HOP and SESSION in GROUP BY, and their ends elsewhere in the query.

    SELECT TUMBLE_START(t, INTERVAL '1' HOUR), COUNT(*) FROM s GROUP BY TUMBLE(t, INTERVAL '1' HOUR)

An auxiliary function repeats the call that it belongs to (Calcite, C3). A row without a time is in no window. The rows
of a SESSION are those with the same values of the other expressions in GROUP BY. Spark's `window` and `session_window`
give a struct of both ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.domain import NeedDomain
from penstock.bind.group_window import GroupWindow
from penstock.bind.level import Level
from penstock.bind.marks import SUBQUERY, has_mark
from penstock.bind.scope import with_fields
from penstock.bind.time_windows.grids import Exploded, Grid
from penstock.bind.time_windows.sessions import fixed_gap, with_sessions
from penstock.bind.time_windows.times import grid_of, refuse_gaps, window_time, with_time
from penstock.plan.nodes import Field, Plan
from penstock.plan.scalar import column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls, bare, call, call_name
from penstock.types.durations import Duration, duration_of, duration_of_text

_FORMS = {
    "tumble": "(time, size[, align])",
    "hop": "(time, slide, size[, align])",
    "session": "(time, gap)",
    "session_window": "(time, '10 minutes')",
}
_LENGTHS = {"tumble": 1, "hop": 2, "session": 1, "session_window": 1}
_CALENDAR = re.compile(r"(?i)month|year")
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)


def with_group_windows(select: exp.Select, plan: Plan, level: Level) -> Plan:
    """The plan in which every row is in the windows of GROUP BY, which the level knows from now on."""
    group = select.args.get("group")
    if group is None:
        return plan
    for node in _calls(group):
        name = call_name(node) or ""
        if name in _FORMS and _known(name, node, level) is None:
            plan = _with_window(name, node, select, plan, level)
    return plan


def _calls(tree: exp.Expression) -> Iterator[exp.Anonymous]:
    for node in tree.walk(prune=lambda item: isinstance(item, _QUERIES)):
        if isinstance(node, exp.Anonymous):
            yield node


def _with_window(name: str, node: exp.Anonymous, select: exp.Select, plan: Plan, level: Level) -> Plan:
    time, lengths, grid = _arguments(name, node, level)
    if name.startswith("session"):
        keys = _other_keys(select, plan, level)
        touching = name == "session_window"
        mark = str(len(level.group_windows))
        plan, start, end = with_sessions(plan, time, keys, lengths[0], mark, touching=touching)
        level.remember_fields(plan)
    elif name == "hop":
        refuse_gaps(name, lengths, node)
        windows = grid.hopping(time, lengths[0], lengths[1], node)
        start, end = windows.ends(hop_column(windows, level))
    else:
        plan = with_time(plan, time)
        start, end = grid.tumbling(time, lengths[0], node)
    level.group_windows.append(GroupWindow(name, _texts(name, node, level), start, end))
    if name == "session_window":
        level.aliases.setdefault(name, _struct(start, end))
    return plan


def _arguments(name: str, node: exp.Anonymous, level: Level) -> tuple[exp.Expression, list[Duration], Grid]:
    """The bound time, the lengths and the grid of a call; SqlError if they do not fit."""
    count = _LENGTHS[name]
    most = count + 1 + (name in ("tumble", "hop"))
    if not count + 1 <= len(node.expressions) <= most:
        message = f"{name.upper()} is written {name.upper()}{_FORMS[name]}"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node)
    given = node.expressions[1 : count + 1]
    if name == "session_window":
        _check_gap(given[0], node)
    length = fixed_gap if name.startswith("session") else duration_of
    lengths = [duration_of_text(item) if isinstance(item, exp.Literal) else length(item) for item in given]
    offset = node.expressions[count + 1] if len(node.expressions) > count + 1 else None
    time = window_time(node.expressions[0], level, from_text=name == "session_window")
    return time, lengths, grid_of(offset, None, level)


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
    return (spark_sql(time), *map(str, lengths), str(grid.offset), moment)


def _known(name: str, node: exp.Anonymous, level: Level) -> GroupWindow | None:
    texts = _texts(name, node, level)
    return next((item for item in level.group_windows if item.name == name and item.arguments == texts), None)


def _other_keys(select: exp.Select, plan: Plan, level: Level) -> list[exp.Expression]:
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
        if any(call_name(node) in GROUP_WINDOWS for node in _calls(found)) or next(aggregate_calls(found), None):
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
) | {"session_window"}


def group_keys(item: exp.Expression, level: Level) -> list[exp.Expression] | None:
    """The keys of a window with two ends in GROUP BY; None for any other expression."""
    if call_name(item) == "window":
        struct = level.bind(item)
        return [struct.expressions[1], struct.expressions[3]]
    if call_name(item) not in ("session", "session_window"):
        return None
    found = _known(call_name(item) or "", item, level)  # type: ignore[arg-type]
    assert found is not None  # noqa: S101 - with_group_windows has met it
    return [found.start.copy(), found.end.copy()]


def bind_group_function(node: exp.Anonymous, level: Level) -> exp.Expression:
    """A call of a group function, or of an auxiliary one, as an expression."""
    name = call_name(node) or ""
    if name == "window":
        return _spark_window(node, level)
    if name == "window_time" and len(node.expressions) == 1:
        last = exp.Interval(this=exp.Literal.string("0.000001"), unit=exp.Var(this="SECOND"))
        return exp.Paren(this=exp.Sub(this=with_fields(level.bind(node.expressions[0]), ["end"]), expression=last))
    base, _, part = name.partition("_") if name != "session_window" else (name, "", "")
    found = _known(base, node, level) if base in _FORMS else None
    if not part:
        if found is not None and name == "session_window" and not level.in_group:
            return _struct(found.start, found.end)
        if found is None or not level.in_group:
            message = f"Group function '{name.upper()}' can only appear in GROUP BY clause"
            hint = f"{name.upper()}_START and {name.upper()}_END give the ends of its windows"
            raise wrong(code="GROUP_FUNCTION", message=message, place=node, hint=hint)
        return found.start.copy()
    if found is None:
        message = (
            f"Call to auxiliary group function '{name.upper()}' must have matching call to group function "
            f"'${base.upper()}' in GROUP BY clause"
        )
        there = [item.name.upper() for item in level.group_windows]
        hint = f"add {base.upper()}{_FORMS[base]} to GROUP BY"
        if base.upper() in there:
            hint = f"GROUP BY has {base.upper()} with other arguments"
        raise wrong(code="AUXILIARY_FUNCTION", message=message, place=node, hint=hint)
    return _end(found, part, node)


def _end(window: GroupWindow, part: str, node: exp.Anonymous) -> exp.Expression:
    if part == "start":
        return window.start.copy()
    if part == "end":
        return window.end.copy()
    if part == "rowtime":
        last = exp.Interval(this=exp.Literal.string("0.001"), unit=exp.Var(this="SECOND"))
        return exp.Paren(this=exp.Sub(this=exp.Paren(this=window.end.copy()), expression=last))
    hint = "now() is the time at which the answer is computed"
    raise unsupported(code="PROCESSING_TIME", message=f"{call_name(node)}".upper(), place=node, hint=hint)


def _spark_window(node: exp.Anonymous, level: Level) -> exp.Expression:
    """Spark's own `window(time, size[, slide[, offset]])`: a struct of start and end; rows without a time fall out."""
    time, *rest = node.expressions or [node]
    if not rest or len(rest) > 3 or any(not isinstance(item, exp.Literal | exp.Interval) for item in rest):  # noqa: PLR2004
        message = "window is written window(time, '10 minutes'[, '5 minutes'[, '1 minute']])"
        raise wrong(code="WINDOW_ARGUMENTS", message=message, place=node)
    lengths = [duration_of_text(item) for item in rest]
    size, slide = lengths[0], lengths[1] if len(lengths) > 1 else lengths[0]
    refuse_gaps("window", [slide, size], node)
    grid = replace(grid_of(None, None, level), zone="UTC", offset=lengths[2].micros if len(lengths) > 2 else 0)  # noqa: PLR2004
    windows = grid.hopping(level.bind(time), slide, size, node)
    return _struct(*windows.ends(hop_column(windows, level)))


def _struct(start: exp.Expression, end: exp.Expression) -> exp.Expression:
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
