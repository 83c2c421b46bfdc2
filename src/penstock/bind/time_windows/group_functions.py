"""Group functions of time: TUMBLE, HOP and SESSION in GROUP BY, and their ends elsewhere in the query.

    SELECT TUMBLE_START(t, INTERVAL '1' HOUR), COUNT(*) FROM s GROUP BY TUMBLE(t, INTERVAL '1' HOUR)

An auxiliary function repeats the call that it belongs to (Calcite, C3). A row without a time is in no window. The rows
of a SESSION are those with the same values of the other expressions in GROUP BY. Spark's `window` and `session_window`
give a struct of both ends.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.group_window import GroupWindow
from penstock.bind.level import Level
from penstock.bind.scope import with_fields
from penstock.bind.time_windows.in_group_by import (
    FORMS,
    hop_column,
    known_window,
    struct_of,
    window_arguments,
    window_keys,
)
from penstock.bind.time_windows.times import refuse_gaps
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import call_name


def group_keys(item: exp.Expression, level: Level) -> list[exp.Expression] | None:
    """The keys of a window in GROUP BY: its start, and its end unless that follows; None for any other expression."""
    if call_name(item) not in FORMS:
        return None
    found = known_window(call_name(item) or "", item, level)  # type: ignore[arg-type]
    assert found is not None  # noqa: S101 - with_group_windows has met it
    return window_keys(found)


def bind_group_function(node: exp.Anonymous, level: Level) -> exp.Expression:
    """A call of a group function, or of an auxiliary one, as an expression."""
    name = call_name(node) or ""
    if name == "window":
        return _spark_window(node, level)
    if name == "window_time" and len(node.expressions) == 1:
        last = exp.Interval(this=exp.Literal.string("0.000001"), unit=exp.Var(this="SECOND"))
        return exp.Paren(this=exp.Sub(this=with_fields(level.bind(node.expressions[0]), ["end"]), expression=last))
    base, _, part = name.partition("_") if name != "session_window" else (name, "", "")
    found = known_window(base, node, level) if base in FORMS else None
    if not part:
        if found is not None and name == "session_window" and not level.in_group:
            return struct_of(found.start, found.end)
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
        hint = f"add {base.upper()}{FORMS[base]} to GROUP BY"
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
    """Spark's own `window(…)`: a struct of start and end; rows without a time fall out."""
    found = known_window("window", node, level)
    if found is not None:
        return struct_of(found.start, found.end)
    time, lengths, grid = window_arguments(node, level)
    refuse_gaps("window", lengths, node)
    slide, size = lengths
    windows = grid.hopping(time, slide, size, node)
    return struct_of(*windows.ends(hop_column(windows, level)))
