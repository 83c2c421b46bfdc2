"""Sessions with a longest length or with rows that begin and end them: session(s, ts, idle, max, [begin, end]).

Rows less than an idle time apart form a chain (a `Session` of the plan), and no session reaches beyond a chain. Along
a chain, in the order of time:

    a session begins with a row; with bounds, with one for which `begin` holds
    the next row belongs to it unless it comes `max` after the row that began it, or `idle` after the last one
    with bounds, a later row for which `end` holds closes it; if `begin` holds for it as well, it begins the next one
    window_start = the time of its first row: where the row that began it is left out, that of the one behind
    window_end = the earlier of last time + idle and first time + max; where a row closed it, that row's time,
                 and a millisecond more if the row is included
    a session without a row of its own is none

The sessions of a chain follow from its times and bounds alone, so they are computed for each chain that a change
touches, and rows meet them by their time. A row between two sessions is in no window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.scalars import fields_of, scalar_of
from penstock.catalog.reserved import SESSION_END
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    Field,
    Generate,
    Join,
    JoinKey,
    JoinKind,
    Plan,
    Project,
    Session,
)
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import column, column_tree, quoted
from penstock.sql.text import spark_sql
from penstock.types.durations import Duration

_ROWS, _SESSION, _BEGIN = "__chain_rows", "__chain_session", "__limited_start"
_TICK = 1000  # microseconds: a row that is included lies before the end
_KIND = "array<struct<s: bigint, e: bigint>>"


@dataclass(frozen=True)
class Bounds:
    """The rows that begin and end a session, and whether they belong to it."""

    begin: exp.Expression
    end: exp.Expression
    with_begin: bool = True
    with_end: bool = True


@dataclass(frozen=True)
class Limits:
    """The ends of a session: an idle time, a length, rows."""

    idle: Duration
    longest: Duration | None
    bounds: Bounds | None


def with_limits(chains: Session, limits: Limits) -> tuple[Plan, exp.Expression, exp.Expression]:
    """The rows of chains that are in a session, and its start and end as expressions over them."""
    keys, chain = chains.keys, column_tree(chains.start)
    fields = fields_of(chains)
    names = [f"__chain_key{position}" for position in range(len(keys) + 1)]
    of_rows = [*keys, scalar_of(chain, fields)]
    flags = () if limits.bounds is None else (("b", limits.bounds.begin), ("e", limits.bounds.end))
    entry = [f"unix_micros({chains.time.text}) AS t"]
    entry += [f"coalesce({spark_sql(condition)}, false) AS {name}" for name, condition in flags]
    call = parse_scalar(f"array_sort(collect_set(struct({', '.join(entry)})))")
    collected = AggregateCall("collect_set", (), scalar_of(call, fields, chains.time.span))
    grouped = Aggregate(chains, tuple(zip(names, of_rows, strict=True)), ((_ROWS, collected),))
    sessions = _sessions(grouped, names, limits)
    equal = tuple(JoinKey(key, column(name), null_safe=True) for key, name in zip(of_rows, names, strict=True))
    inside = f"({chains.time.text}) >= {quoted(_BEGIN)} AND ({chains.time.text}) < {quoted(SESSION_END)}"
    both = {**fields, **fields_of(sessions)}
    met = Join(chains, sessions, JoinKind.INNER, equal, scalar_of(parse_scalar(inside), both, chains.time.span))
    return met, column_tree(_BEGIN), column_tree(SESSION_END)


def _sessions(grouped: Aggregate, names: Sequence[str], limits: Limits) -> Plan:
    """One row for each session of a chain: the chain's key, and both ends."""
    folded = scalar_of(parse_scalar(f"explode({_folded(limits)})"), fields_of(grouped))
    one = Generate(grouped, folded, (Field(_SESSION, "struct<s:bigint,e:bigint>", nullable=False),))
    fields = fields_of(one)
    ends = [
        (name, scalar_of(parse_scalar(f"timestamp_micros({quoted(_SESSION)}.{part})"), fields))
        for name, part in ((_BEGIN, "s"), (SESSION_END, "e"))
    ]
    return Project(one, (*((name, scalar_of(column_tree(name), fields)) for name in names), *ends))


def _folded(limits: Limits) -> str:
    """Spark SQL for the sessions of a chain, from its rows in order: an array of both ends in microseconds.

    The state `a` is what is known before a row `r`: sessions that have ended (d), and whether one is open (o), the time
    of the row that began it (f), that of its first row (s), NULL before there is one, and that of the last one (l).
    """
    bounds = limits.bounds
    ends = f"a.l + {limits.idle.micros}L"
    over = f"r.t - a.l >= {limits.idle.micros}L"
    if limits.longest is not None:
        ends = f"least({ends}, a.f + {limits.longest.micros}L)"
        over = f"({over} OR r.t - a.f >= {limits.longest.micros}L)"
    closes = "false" if bounds is None else "r.e"
    stays = f"(a.o AND NOT {over} AND NOT {closes})"
    opens = "true" if bounds is None else "r.b"
    first = "r.t" if bounds is None or bounds.with_begin else "CAST(NULL AS BIGINT)"
    done = _with("a.d", "a.s", ends)
    if bounds is not None:
        begin, last = ("coalesce(a.s, r.t)", f"r.t + {_TICK}L") if bounds.with_end else ("a.s", "r.t")
        done = f"if({over}, {done}, {_with('a.d', begin, last)})"
    step = (
        f"named_struct('d', if(a.o AND NOT {stays}, {done}, a.d), 'o', {stays} OR {opens}, "
        f"'f', if({stays}, a.f, r.t), 's', if({stays}, coalesce(a.s, r.t), {first}), 'l', r.t)"
    )
    none = f"named_struct('d', CAST(array() AS {_KIND}), 'o', false, 'f', 0L, 's', CAST(NULL AS BIGINT), 'l', 0L)"
    return f"aggregate({quoted(_ROWS)}, {none}, (a, r) -> {step}, a -> if(a.o, {_with('a.d', 'a.s', ends)}, a.d))"


def _with(sessions: str, begin: str, end: str) -> str:
    """The array with one more session, if that has a first row."""
    return f"if({begin} IS NULL, {sessions}, concat({sessions}, array(named_struct('s', {begin}, 'e', {end}))))"
