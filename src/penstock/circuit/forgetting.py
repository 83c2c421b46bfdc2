"""The rows that an operator may forget: no accepted input, and no clock, can touch them again (B9).

Each class of operators says what it forgets (penstock.circuit.operators); here is how that is found.
EXPLAIN shows these values, and the engine does what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never, cast

from penstock.analysis.changelog import append_only
from penstock.analysis.derived import Derived, OfKeys, least
from penstock.analysis.waterline import Reader, Waterlines
from penstock.catalog.model import Catalog
from penstock.catalog.types import INTEGRAL, Type
from penstock.circuit.closing import closing_columns
from penstock.plan.expressions import pairs_of, reads_tables
from penstock.plan.forms import Constant, called
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKind,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    SortKey,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column, quoted, scalar_of
from penstock.sql.rowpattern import without_end

_READABLE = 60  # characters


@dataclass(frozen=True)
class Best:
    """Of the rows below the line, the first `count` of each partition stay."""

    partition: tuple[str, ...]
    order: tuple[str, ...]
    count: int
    ranking: str = "row_number"


@dataclass(frozen=True)
class Unsettled:
    """Of the rows below the line, those stay from which on a later row can still change a match.

    `ends` says that each search comes to an end by itself, `short` that it takes a limited number of rows.
    """

    partition: tuple[str, ...]
    ends: bool
    short: bool


@dataclass(frozen=True)
class Expiry:
    """Entries of the operator's trace number `trace` whose `text` is below the waterline can go, but for `keep`.

    `nulls`: those where it is NULL can go as well; `whole`: their keys may still be touched, so they go only where the
    whole trace is merged; `shown` names the value for people, "" where nothing is ever deleted and all are below.
    """

    trace: int
    text: str
    waterline: Derived
    nulls: bool = False
    keep: tuple[Best | Unsettled, ...] = ()
    shown: str = ""
    whole: bool = False


def groups_expire(plan: Plan, reader: Reader) -> tuple[Expiry, ...]:
    """Groups of GROUP BY, DISTINCT, INTERSECT, EXCEPT, whose entries have the columns `__g0`, `__g1`, and so on."""
    known = reader.of(plan)
    found: list[tuple[str, str]] = []
    if isinstance(plan, Aggregate):
        # A group that the binder named is better known by its expression, unless that is long.
        found = [(name, scalar.text if len(scalar.text) <= _READABLE else name) for name, scalar in plan.groups]
    elif isinstance(plan, Distinct | SetOperation):
        found = [(name, quoted(name)) for name in plan.names]
    lines = tuple(
        Expiry(0, f"`__g{place}`", known[name], shown=shown)
        for place, (name, shown) in enumerate(found)
        if name in known
    )
    if lines or not isinstance(plan, Aggregate):
        return lines
    places = {name: place for place, (name, _) in enumerate(found)}
    return tuple(
        Expiry(0, f"`__g{places[name]}`", _of_keys(line, [f"__g{key}" for key in keys]), shown=dict(found)[name])
        for name, line, keys in reader.of_substreams(plan)
    )


def _of_keys(line: Derived, keys: Iterable[str]) -> OfKeys:
    return OfKeys(line.parts, line.sources, tuple(keys))


def keys_expire(plan: Plan, reader: Reader, catalog: Catalog) -> tuple[Expiry, ...]:
    """Rows that an operator keeps by key: a key that nothing can touch any more takes its rows along."""
    node = cast("Node", plan)
    match node:
        case Join():
            return tuple(dict.fromkeys((*_equated(node, reader), *_near(node, reader, catalog))))
        case AsofJoin():
            return (*_equated(pairs_of(node), reader), *_asof_expires(node, reader))
        case Aggregate():
            known = reader.of(node)
            found = [(scalar, known[name]) for name, scalar in node.groups if name in known]
            return _by_key(found) or _by_substream(node, reader) or _extremes_expire(node, reader)
        case TopK():
            by_key = by_partition(node, reader)
            return by_key or (*by_closing(node, reader, catalog), *best_expire(node, reader, catalog))
        case Window():
            return by_partition(node, reader) or by_closing(node, reader, catalog)
        case Scan() | Values() | Project() | Filter() | UnionAll() | Generate() | Distinct() | SetOperation():
            return ()
        case MatchRecognize():
            return _matches_expire(node, reader)
        case Session() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return ()
        case _:
            assert_never(node)


def _matches_expire(plan: MatchRecognize, reader: Reader) -> tuple[Expiry, ...]:
    """Rows before the first search that a row from the waterline on can change; numbers of matches need all."""
    line = None if plan.time is None else reader.of(plan.input).get(plan.time)
    if plan.time is None or line is None or plan.anchored or plan.numbered:
        return ()
    keys = tuple(lowered(item, plan.input).text for item in plan.partition)
    keep = Unsettled(keys, plan.within is not None, not without_end(plan.pattern))
    micros = lowered(column(plan.time), plan.input).form
    moments = called(micros, "unix_micros") or (micros,)
    return (Expiry(0, quoted(plan.time), line, keep=(keep,), shown=scalar_of(moments[0]).text),)


def lowered(scalar: Scalar, below: Plan) -> Scalar:
    """An expression over a projection as one over its input."""
    return scalar.over(dict(below.items)) if isinstance(below, Project) else scalar


def by_partition(plan: Window | TopK, reader: Reader) -> tuple[Expiry, ...]:
    """Rows by a column of their partition."""
    known = reader.of(plan.input)
    types = {item.name: item.type for item in plan.input.fields}
    bounds = [(scalar, reader.bound(scalar.form, known, types)) for scalar in plan.partition]
    return _by_key([(scalar, derived) for scalar, derived in bounds if derived is not None])


def by_closing(plan: Window | TopK, reader: Reader, catalog: Catalog) -> tuple[Expiry, ...]:
    """Partitions by a column that is the same in all rows of one, and that a waterline passes (docs/adr/0010)."""
    names = closing_columns(plan.input, (scalar.column for scalar in plan.partition), reader, catalog)
    known = reader.of(plan.input) if names else {}
    return tuple(Expiry(0, quoted(name), known[name], shown=quoted(name), whole=True) for name in names)


def _by_key(found: list[tuple[Scalar, Derived]]) -> tuple[Expiry, ...]:
    return tuple(Expiry(0, scalar.text, derived, shown=scalar.text) for scalar, derived in found)


def _by_substream(plan: Aggregate, reader: Reader) -> tuple[Expiry, ...]:
    """The rows of groups that are over in their substream."""
    groups, columns = dict(plan.groups), [scalar.column or "" for _, scalar in plan.groups]
    return tuple(
        Expiry(0, groups[name].text, _of_keys(line, [columns[key] for key in keys]), shown=groups[name].text)
        for name, line, keys in reader.of_substreams(plan)
    )


def sessions_expire(plan: Session, reader: Reader) -> tuple[Expiry, ...]:
    """Sessions that no row at or above the line can belong to, and those of keys that nothing can touch any more."""
    known = reader.of(plan)
    keys = [
        (scalar, known[scalar.column]) for scalar in plan.keys if scalar.column is not None and scalar.column in known
    ]
    if plan.end not in known:
        return _by_key(keys)
    return (Expiry(0, quoted(plan.end), known[plan.end], shown="the end of the session"), *_by_key(keys))


def best_expire(plan: TopK, reader: Reader, catalog: Catalog) -> tuple[Expiry, ...]:
    """A row that cannot be deleted and is behind `limit` others that cannot either will never be shown."""
    known = reader.of(plan.input)
    if plan.limit is None:
        return ()
    order, ranking = _ranked(plan.order, plan.input, plan.ties)
    keep = Best(tuple(scalar.text for scalar in plan.partition), order, plan.limit + plan.offset, ranking)
    if append_only(plan.input, catalog):
        return (Expiry(0, "0", _ALWAYS, keep=(keep,)),)
    if not known:
        return ()
    first = next((key.value.column for key in plan.order if key.value.column in known), None)
    closing = closing_columns(plan.input, (scalar.column for scalar in plan.partition), reader, catalog)
    return tuple(
        Expiry(0, quoted(name), known[name], keep=(keep,), shown=quoted(name))
        for name in _lines_of(known, first)
        if name not in closing
    )


def _lines_of(known: Waterlines, preferred: str | None) -> tuple[str, ...]:
    """The column that tells best which rows are behind the line; all that have the same one, where none does.

    A join knows of several columns that they are not below a line, and not which of them is the smallest.
    """
    name = preferred or next(iter(known))
    return (name,) if preferred else tuple(item for item in known if known[item] == known[name])


_ALWAYS = Derived((scalar_of(Constant("1", "int")),), frozenset())


def _ranked(order: tuple[SortKey, ...], rows: Plan, ties: str | None) -> tuple[tuple[str, ...], str]:
    """The order of rows, and how they are counted: equal ones together where not all columns can be compared."""
    keys = tuple(sorted_text(key) for key in order)
    comparable = all(item.type and not any(word in item.type for word in _WITHOUT_ORDER) for item in rows.fields)
    if ties is not None or not comparable:
        return keys, ties or "rank"
    return (*keys, *(f"{quoted(name)} ASC NULLS FIRST" for name in rows.names)), "row_number"


_WITHOUT_ORDER = ("map", "variant", "interval", "void", "collate")


def sorted_text(key: SortKey) -> str:
    """One item of an ORDER BY as Spark SQL."""
    return f"{key.value.text} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


_DESCENDING = {"max": "DESC", "bool_or": "DESC", "any": "DESC", "some": "DESC",
               "min": "ASC", "bool_and": "ASC", "every": "ASC"}  # fmt: skip


def _extremes_expire(plan: Aggregate, reader: Reader) -> tuple[Expiry, ...]:
    """Of the rows of a group that cannot be deleted, MIN and MAX need one each."""
    known = reader.of(plan.input)
    calls = [call for _, call in plan.aggregates]
    if not known or not calls or any(call.function not in _DESCENDING or call.filter is not None for call in calls):
        return ()
    partition = tuple(scalar.text for _, scalar in plan.groups)
    orders = dict.fromkeys(f"{call.arguments[0].text} {_DESCENDING[call.function]} NULLS LAST" for call in calls)
    keep = tuple(Best(partition, (order,), 1) for order in orders)
    read = {name for call in calls for name in call.arguments[0].columns}
    preferred = next((name for name in known if name in read), None)
    lines = _lines_of(known, preferred)
    return tuple(Expiry(0, quoted(name), known[name], keep=keep, shown=quoted(name)) for name in lines)


def _asof_expires(asof: AsofJoin, reader: Reader) -> Iterator[Expiry]:
    """Left rows that no later right row is before; right rows that every later left row has a closer one than.

    Both go by one line: what is found for a left row that is still there changes for neither of its two versions.
    """
    match = asof.match
    sides = ((asof.left, match.left), (asof.right, match.right))
    line = least(
        reader.bound(time.form, reader.of(side), {f.name: f.type for f in side.fields}) for side, time in sides
    )
    if line is None or not match.backwards or not _compared_exactly(match.left.type, match.right.type):
        return
    order, ranking = _ranked((SortKey(match.right, descending=True, nulls_first=False),), asof.right, None)
    closest = Best(tuple(key.right.text for key in asof.keys), order, 1, ranking)
    yield Expiry(0, match.left.text, line, shown=match.left.text)
    yield Expiry(1, match.right.text, line, keep=(closest,), shown=match.right.text)


def _compared_exactly(left: Type | None, right: Type | None) -> bool:
    """True if a comparison tells all values of both types apart, in the order that each type has by itself."""
    whole, days = set(INTEGRAL), {"date", "timestamp"}
    return left is not None and (left == right or {left, right} <= whole or {left, right} <= days)


def _equated(join: Join, reader: Reader) -> Iterator[Expiry]:
    """Both sides of an equality go together, so no row loses its partner while it could still change."""
    left, right = reader.of(join.left), reader.of(join.right)
    types = {item.name: item.type for side in (join.left, join.right) for item in side.fields}
    ordered = [key for key in join.keys if reader.alike((key.left.type, key.right.type))]
    for key in ordered if not join.null_aware else ():
        together = least((reader.bound(key.left.form, left, types), reader.bound(key.right.form, right, types)))
        if together is not None:
            yield Expiry(0, key.left.text, together, shown=key.left.text)
            yield Expiry(1, key.right.text, together, shown=key.right.text)


def _near(join: Join, reader: Reader, catalog: Catalog) -> Iterator[Expiry]:
    """A condition keeps the times of both sides near each other: first a row is settled, then what it has met goes."""
    if join.null_aware or join.kind is JoinKind.INNER:
        return
    if join.kind is JoinKind.FULL:
        yield from _near_of_both(join, reader, catalog)
        return
    number = 1 if join.kind == JoinKind.RIGHT else 0
    kept, other = join.inputs[number], join.inputs[1 - number]
    if not reads_tables(other):
        yield from _met(number, kept, reader, catalog)
        return
    own = reader.of(kept)
    going = reader.joined_bounds(join, kept, reader.of(other))
    lines = _settled(own, going)
    for name, derived in (going if append_only(kept, catalog) else lines).items():
        yield Expiry(number, quoted(name), derived, shown=quoted(name))
    yield from _left_by(join, 1 - number, lines, reader, catalog)


def _near_of_both(join: Join, reader: Reader, catalog: Catalog) -> Iterator[Expiry]:
    """A row of a FULL join goes when all that it can have met is settled: else that would lose its partner.

    A settled row can neither meet a later one nor be deleted, so no change touches what is shown of it.
    """
    known = [reader.of(side) for side in join.inputs]
    for number, kept in enumerate(join.inputs):
        lines = _settled(known[number], reader.joined_bounds(join, kept, known[1 - number]))
        yield from _left_by(join, 1 - number, lines, reader, catalog)


def _settled(own: Waterlines, going: Waterlines) -> Waterlines:
    """The lines below which a row of a side changes no more: no later row meets it, and it is not deleted."""
    both = {name: least((own.get(name), derived)) for name, derived in going.items()}
    return {name: derived for name, derived in both.items() if derived is not None}


def _left_by(join: Join, number: int, lines: Waterlines, reader: Reader, catalog: Catalog) -> Iterator[Expiry]:
    """Rows of a side that only settled rows of the other, which are below these lines, can have met."""
    side = join.inputs[number]
    own, is_added_to = reader.of(side), append_only(side, catalog)
    for name, derived in reader.joined_bounds(join, side, lines).items():
        line = derived if is_added_to else least((own.get(name), derived))
        if line is not None:
            yield Expiry(number, quoted(name), line, shown=quoted(name))


def _met(number: int, kept: Plan, reader: Reader, catalog: Catalog) -> Iterator[Expiry]:
    """Rows that have met all that there is, as the other side never changes; what can be deleted stays as long."""
    if append_only(kept, catalog):
        yield Expiry(number, "0", _ALWAYS)
        return
    for name, derived in reader.of(kept).items():
        yield Expiry(number, quoted(name), derived, shown=quoted(name))


def sides_expire(join: Join, reader: Reader) -> tuple[Expiry, ...]:
    """Rows of an inner join that no later row of the other side can match: none can if that side never changes."""
    found: list[Expiry] = []
    for number, side in enumerate(join.inputs):
        other = join.inputs[1 - number]
        if not reads_tables(other):
            found.append(Expiry(number, "0", _ALWAYS))
            continue
        bounds = reader.joined_bounds(join, side, reader.of(other))
        found += [Expiry(number, quoted(name), derived, shown=quoted(name)) for name, derived in bounds.items()]
    return tuple(found)
