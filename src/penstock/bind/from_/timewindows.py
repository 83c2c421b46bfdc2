"""Time windows: TUMBLE, HOP and CUMULATE over a relation in FROM.

All are linear: a row's windows follow from its time alone. A row without a time is in no window. The windows follow the
clock of the pipeline's time zone, or of the one that the last argument names; `grids.py` has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.diagnose import unsupported, wrong
from penstock.bind.expressions import bind, data_type
from penstock.bind.from_.grids import Ends, Exploded, Grid
from penstock.bind.level import Bound, Level, fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.bind.trees import call, call_name
from penstock.catalog.zones import zone_named
from penstock.plan.nodes import Field, Filter, Generate, Plan, Project
from penstock.plan.scalar import Scalar, column_tree
from penstock.sql.nodes import TableFunction
from penstock.sql.text import spark_sql
from penstock.types.durations import Duration, duration_of, micros_of

START, END, TIME = "window_start", "window_end", "window_time"
_TIMES = ("timestamp", "timestamp_ntz", "timestamp_ltz", "date", "void")
_EVENT_TIME = ("event_time_column", "_tp_time")


@dataclass(frozen=True)
class _Arguments:
    relation: exp.Expression
    time: exp.Expression | None
    lengths: list[Duration]
    offset: exp.Expression | None
    zone: exp.Expression | None


def bind_window_table(tree: TableFunction, level: Level) -> tuple[Plan, Scope]:
    """TUMBLE, HOP or CUMULATE in FROM: the relation's rows with window_start and window_end."""
    from penstock.bind.from_.relations import aliased, bind_relation

    if tree.name == "TABLE":
        return bind_relation(tree.expressions[0], level)
    if tree.name == "SESSION":
        from penstock.bind.from_.sessions import bind_session_table

        return bind_session_table(tree, level)
    if tree.name not in ("TUMBLE", "HOP", "CUMULATE") or tree.args.get("partition_by"):
        hint = "TUMBLE, HOP, CUMULATE and SESSION work; only SESSION takes PARTITION BY"
        raise unsupported(code="WINDOW_TABLE", message=f"{tree.name} in FROM", place=tree, hint=hint)
    given = _arguments(tree)
    inner = Level(level.context)
    plan, inner.scope = bind_relation(given.relation, inner)
    inner.see(plan)
    time = window_time(given.time, inner) if given.time is not None else event_time(given.relation, tree, inner)
    grid = grid_of(given.offset, given.zone, inner)
    plan, (start, end) = _windowed(plan, tree, time, given.lengths, grid)
    visible = inner.scope.star() or ()
    fields = fields_of(plan)
    items: list[tuple[str, Scalar]] = [(item.name, scalar_of(item.tree, fields)) for item in visible]
    items += [(START, scalar_of(start, fields)), (END, scalar_of(end, fields))]
    if level.context.catalog.settings.get("dialect") == "flink":
        last = exp.Interval(this=exp.Literal.string("0.001"), unit=exp.Var(this="SECOND"))
        items.append((TIME, scalar_of(exp.Sub(this=exp.Paren(this=end.copy()), expression=last), fields)))
    default = str(given.relation.alias_or_name) or tree.name.lower()
    return aliased(Bound(Project(plan, tuple(items)), tuple(name for name, _ in items)), tree, level, default)


def _windowed(
    plan: Plan, tree: TableFunction, time: exp.Expression, lengths: list[Duration], grid: Grid
) -> tuple[Plan, Ends]:
    if tree.name == "TUMBLE":
        return with_time(plan, time), grid.tumbling(time, lengths[0], tree)
    refuse_gaps(tree.name, lengths, tree)
    if tree.name == "HOP":
        return _exploded(plan, grid.hopping(time, lengths[0], lengths[1], tree), "__hop")
    return _exploded(plan, grid.cumulating(time, lengths[0], lengths[1], tree), "__cumulate")


def with_time(plan: Plan, time: exp.Expression) -> Plan:
    """The rows that have a time."""
    fields = fields_of(plan)
    if not scalar_of(time, fields).nullable:
        return plan
    there = exp.Not(this=exp.Is(this=exp.Paren(this=time.copy()), expression=exp.Null()))
    return Filter(plan, scalar_of(there, fields))


def window_time(tree: exp.Expression, level: Level, *, from_text: bool = False) -> exp.Expression:
    """The bound time of a window; SqlError where it is known to be no time.

    `from_text` reads a STRING as a TIMESTAMP, as Spark's own functions do.
    """
    time = bind(tree, level)
    kind = level.scalar(time).type
    if kind == "string" and from_text:
        return exp.Cast(this=time, to=data_type("timestamp"))
    if kind is not None and kind not in _TIMES:
        message = f"a window needs a TIMESTAMP or a DATE, and {spark_sql(tree)} is {kind.upper()}"
        hint = "timestamp_seconds, timestamp_millis and to_timestamp make one"
        raise wrong(code="WINDOW_TIME", message=message, place=tree, hint=hint)
    return time


def refuse_gaps(name: str, lengths: list[Duration], place: exp.Expression) -> None:
    """Between windows that are shorter than the way to the next one, rows would be lost."""
    slide, size = lengths
    if (slide.months, slide.micros) > (size.months, size.micros):
        word = "slide" if name.lower() != "cumulate" else "step"
        message = f"{name.upper()} with a {word} that is larger than its size would lose the rows between two windows"
        hint = f"it is written {name.upper()}(…, {word}, size); WHERE leaves rows out"
        raise wrong(code="WINDOW_ARGUMENTS", message=message, place=place, hint=hint)


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


def event_time(relation: exp.Expression, place: exp.Expression, level: Level) -> exp.Expression:
    """The time column of a relation whose window names none: that of `event_time_column`, or `_tp_time`."""
    inner = relation
    while isinstance(inner, TableFunction):
        inner = inner.expressions[0]
    table = level.context.catalog.tables.get(inner.name.lower()) if isinstance(inner, exp.Table) else None
    declared = None if table is None else table.properties.get(_EVENT_TIME[0])
    for name in (declared, _EVENT_TIME[1]):
        found = None if name is None else level.scope.resolve([name], place)
        if found is not None:
            return found
    message = f"{place.name} names no time column, and its relation has no event_time_column"
    hint = "name it behind the relation, or CREATE STREAM … SETTINGS event_time_column = 'ts'"
    raise wrong(code="WINDOW_ARGUMENTS", message=message, place=place, hint=hint)


def grid_of(offset: exp.Expression | None, zone: exp.Expression | None, level: Level) -> Grid:
    """Where windows begin: in the pipeline's time zone or another one, moved by an interval, a TIME or to a moment."""
    session = level.context.catalog.settings.get("time zone", "UTC")
    name = session if zone is None else str(zone.name)
    if zone_named(name) is None:
        message = f"there is no time zone {name[:100]!r}"
        raise wrong(code="BAD_TIME_ZONE", message=message, place=zone, hint="as in 'Europe/Rome' or '+05:30'")
    if offset is None:
        return Grid(name, session)
    micros = _micros(offset)
    if micros is not None:
        return Grid(name, session, micros)
    moment = bind(offset, level)
    if any(moment.find_all(exp.Column)):
        message = "windows are aligned to an interval, a TIME or a TIMESTAMP, the same for all rows"
        raise wrong(code="WINDOW_ARGUMENTS", message=message, place=offset)
    return Grid(name, session, moment=moment)


def _micros(offset: exp.Expression) -> int | None:
    """An alignment as microseconds after 00:00: an interval or a TIME; None for anything else."""
    if isinstance(offset, exp.Paren):
        return _micros(offset.this)
    if isinstance(offset, exp.Neg):
        below = _micros(offset.this)
        return None if below is None else -below
    if isinstance(offset, exp.Interval):
        return micros_of(offset)
    if not isinstance(offset, exp.Cast) or not isinstance(offset.this, exp.Literal):
        return None
    clock = str(offset.this.name)
    if not spark_sql(offset.to).upper().startswith("TIME") or ":" not in clock or "-" in clock:
        return None
    hours, minutes, *seconds = clock.split(":")
    total = int(hours) * 3600 + int(minutes) * 60 + (float(seconds[0]) if seconds else 0)
    return round(total * 1_000_000)
