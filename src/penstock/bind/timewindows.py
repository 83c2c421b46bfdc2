"""Time windows: TUMBLE, HOP and CUMULATE over a relation in FROM, TUMBLE and HOP as group functions.

All are linear: a row's windows follow from its time alone.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import unsupported, wrong
from penstock.bind.durations import (
    Duration,
    cumulate_ends,
    duration_of,
    duration_of_text,
    hop_starts,
    later,
    micros_of,
    window_start,
)
from penstock.bind.expressions import bind
from penstock.bind.level import Bound, Level, fields_of, scalar_of
from penstock.bind.scope import Scope, with_fields
from penstock.bind.trees import call, call_name
from penstock.plan.nodes import Field, Generate, Plan, Project
from penstock.plan.scalar import Scalar, column_tree
from penstock.sql.nodes import TableFunction
from penstock.sql.text import spark_sql

START, END, TIME = "window_start", "window_end", "window_time"
_TUMBLES = {"tumble": "start", "tumble_start": "start", "tumble_end": "end"}
_HOPS = {"hop": "start", "hop_start": "start", "hop_end": "end"}


def bind_window_table(tree: TableFunction, level: Level) -> tuple[Plan, Scope]:
    """TUMBLE, HOP or CUMULATE in FROM: the relation's rows with window_start and window_end."""
    from penstock.bind.relations import aliased, bind_relation

    if tree.name == "TABLE":
        return bind_relation(tree.expressions[0], level)
    if tree.name == "SESSION":
        from penstock.bind.sessions import bind_session_table

        return bind_session_table(tree, level)
    if tree.name not in ("TUMBLE", "HOP", "CUMULATE") or tree.args.get("partition_by"):
        raise unsupported(
            code="WINDOW_TABLE",
            message=f"{tree.name} in FROM",
            place=tree,
            hint="TUMBLE, HOP and CUMULATE work",
        )
    relation, time_tree, lengths, offset = _arguments(tree)
    inner = Level(level.context)
    plan, inner.scope = bind_relation(relation, inner)
    inner.see(plan)
    time = bind(time_tree, inner)
    plan, start, end = _windowed(plan, tree, time, lengths, _micros(offset, inner))
    visible = inner.scope.star() or ()
    fields = fields_of(plan)
    items: list[tuple[str, Scalar]] = [(item.name, scalar_of(item.tree, fields)) for item in visible]
    items += [(START, scalar_of(start, fields)), (END, scalar_of(end, fields))]
    if level.context.catalog.settings.get("dialect") == "flink":
        last = exp.Interval(this=exp.Literal.string("0.001"), unit=exp.Var(this="SECOND"))
        items.append((TIME, scalar_of(exp.Sub(this=exp.Paren(this=end.copy()), expression=last), fields)))
    default = str(relation.alias_or_name) or tree.name.lower()
    return aliased(Bound(Project(plan, tuple(items)), tuple(name for name, _ in items)), tree, level, default)


def _windowed(
    plan: Plan, tree: TableFunction, time: exp.Expression, lengths: list[Duration], offset: exp.Expression | None
) -> tuple[Plan, exp.Expression, exp.Expression]:
    if tree.name == "TUMBLE":
        start = window_start(time, lengths[0], offset)
        return plan, start, later(start, lengths[0])
    if tree.name == "HOP":
        plan = _exploded(plan, hop_starts(time, lengths[0], lengths[1], offset, tree), "__hop")
        return plan, column_tree("__hop"), later(column_tree("__hop"), lengths[1])
    plan = _exploded(plan, cumulate_ends(time, lengths[0], lengths[1], tree), "__cumulate")
    return plan, window_start(time, lengths[1]), column_tree("__cumulate")


def _exploded(plan: Plan, array: exp.Expression, name: str) -> Generate:
    generator = scalar_of(call("explode", array), fields_of(plan))
    return Generate(plan, generator, (Field(name, "timestamp", nullable=False),))


def _arguments(
    tree: TableFunction,
) -> tuple[exp.Expression, exp.Expression, list[Duration], exp.Expression | None]:
    """Relation, time column, lengths and offset, by place or by name."""
    named = {item.this.name.upper(): item.expression for item in tree.expressions if isinstance(item, exp.Kwarg)}
    placed = [item for item in tree.expressions if not isinstance(item, exp.Kwarg)]
    wanted = 1 if tree.name == "TUMBLE" else 2
    relation = named.pop("DATA", None) or (placed.pop(0) if placed else None)
    time = named.pop("TIMECOL", None) or (placed.pop(0) if placed else None)
    second = named.pop("SLIDE", None) or named.pop("STEP", None) or named.pop("HOP", None)
    size = named.pop("SIZE", None)
    offset = named.pop("OFFSET", None)
    lengths = [item for item in ([size] if wanted == 1 else [second, size]) if item is not None]
    while len(lengths) < wanted and placed:
        lengths.append(placed.pop(0))
    if relation is None or time is None or len(lengths) != wanted or named:
        form = f"{tree.name}(TABLE t, DESCRIPTOR(ts), {'size' if wanted == 1 else 'slide, size'})"
        raise wrong(code="WINDOW_ARGUMENTS", message=f"{tree.name} is written {form}", place=tree)
    if offset is None and placed:
        offset = placed.pop(0)
    return relation, _time_column(time), [duration_of(item) for item in lengths], offset


def _time_column(tree: exp.Expression) -> exp.Expression:
    if isinstance(tree, exp.Anonymous) and call_name(tree) == "descriptor" and len(tree.expressions) == 1:
        found: exp.Expression = tree.expressions[0]
        return found
    return tree


def _micros(offset: exp.Expression | None, level: Level) -> exp.Expression | None:
    """An alignment as microseconds after 1970-01-01 00:00: an interval, a TIME or a timestamp."""
    if offset is None:
        return None
    if isinstance(offset, exp.Interval):
        return exp.Literal.number(micros_of(offset))
    tree = bind(offset, level)
    if (
        isinstance(tree, exp.Cast)
        and spark_sql(tree.to).upper().startswith("TIME")
        and isinstance(tree.this, exp.Literal)
    ):
        clock = str(tree.this.name)
        if ":" in clock and "-" not in clock:
            hours, minutes, *seconds = clock.split(":")
            total = int(hours) * 3600 + int(minutes) * 60 + (float(seconds[0]) if seconds else 0)
            return exp.Literal.number(round(total * 1_000_000))
    return call("unix_micros", tree)


def bind_group_function(node: exp.Anonymous, level: Level) -> exp.Expression:
    """TUMBLE(t, size[, align]), HOP(t, slide, size[, align]) and their `_START` and `_END` as expressions."""
    name = call_name(node) or ""
    if name == "window":
        return _spark_window(node, level)
    if name == "window_time" and len(node.expressions) == 1:
        last = exp.Interval(this=exp.Literal.string("0.000001"), unit=exp.Var(this="SECOND"))
        return exp.Paren(this=exp.Sub(this=with_fields(bind(node.expressions[0], level), ["end"]), expression=last))
    if name.startswith("session"):
        raise unsupported(code="SESSION_WINDOW", message="SESSION windows", place=node, hint="TUMBLE and HOP work")
    wanted = 2 if name in _TUMBLES else 3
    if len(node.expressions) not in (wanted, wanted + 1):
        form = "(time, size[, align])" if name in _TUMBLES else "(time, slide, size[, align])"
        raise wrong(
            code="WRONG_NUMBER_OF_ARGUMENTS", message=f"{name.upper()} is written {name.upper()}{form}", place=node
        )
    time = bind(node.expressions[0], level)
    offset = _micros(node.expressions[wanted], level) if len(node.expressions) > wanted else None
    lengths = [duration_of(item) for item in node.expressions[1:wanted]]
    if name in _TUMBLES:
        start = window_start(time, lengths[0], offset)
    else:
        start = _hop_column(hop_starts(time, lengths[0], lengths[1], offset, node), level)
    return start if {**_TUMBLES, **_HOPS}[name] == "start" else later(start, lengths[-1])


def _spark_window(node: exp.Anonymous, level: Level) -> exp.Expression:
    """Spark's own `window(time, size[, slide[, offset]])`: a struct of start and end; rows without a time fall out."""
    time, *rest = node.expressions
    if not rest or any(not isinstance(item, exp.Literal | exp.Interval) for item in rest):
        message = "window is written window(time, '10 minutes'[, '5 minutes'[, '1 minute']])"
        raise wrong(code="WINDOW_ARGUMENTS", message=message, place=node)
    lengths = [duration_of_text(item) for item in rest]
    offset = exp.Literal.number(lengths[2].micros) if len(lengths) > 2 else None  # noqa: PLR2004 - the third is the offset
    size, slide = lengths[0], lengths[1] if len(lengths) > 1 else lengths[0]
    start = _hop_column(hop_starts(bind(time, level), slide, size, offset, node), level)
    names = exp.Literal.string("start"), exp.Literal.string("end")
    return call("named_struct", names[0], start, names[1], later(start, size))


def _hop_column(array: exp.Expression, level: Level) -> exp.Expression:
    """The window's start beside each row, once for all mentions of the same HOP."""
    tree = call("explode", array)
    text = spark_sql(tree)
    for known, fields in level.generators:
        if spark_sql(known) == text:
            return column_tree(fields[0].name)
    item = Field(f"__h{len(level.generators)}", "timestamp", nullable=False)
    level.generators.append((tree, (item,)))
    level.fields[item.name] = item
    return column_tree(item.name)
