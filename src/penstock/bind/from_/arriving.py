"""changelog and dedup in FROM, which go by the order in which the rows of a stream arrive.

    changelog(s, k)              the last row of each key
    changelog(s, k, v, true)     the row of each key with the greatest v, of equal ones the last
    changelog(kv)                a stream with a key, as it is
    dedup(s, k)                  the first row of each key
    dedup(s, k, 10s, 1000)       the same, where a key is remembered for 10 s, and 1000 keys at most

Over rows that only come, dedup is a gate with a memory in a standing query, and in a view or query that says for how
long or how many keys are remembered; all others are the best row of each key. What they give has its order of arrival
as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.level import Level
from penstock.bind.relation import aliased
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.scope import Relation, RelationInScope
from penstock.bind.windows.arrival import position_of
from penstock.catalog.model import Remembering, Table
from penstock.plan.nodes import Plan, Project, SortKey, TopK
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.nodes import TableFunction
from penstock.types.durations import duration_of

_FORMS = {
    "CHANGELOG": "changelog(s, key, …[, version, true]), or changelog(s) of a stream with a key",
    "DEDUP": "dedup(s, column, …[, time to live[, number of keys]])",
}
_KEYS = 10_000


def bind_arriving(tree: TableFunction, level: Level) -> Relation:
    """The rows of a relation that changelog or dedup lets through, under the relation's names."""
    inner = Level(level.context)
    relation, *arguments = tree.expressions
    plan, inner.scope = inner.bind_relation(relation)
    inner.remember_fields(plan)
    chosen = _changelog if tree.name == "CHANGELOG" else _dedup
    plan = chosen(tree, plan, arguments, inner)
    given = tree.args.get("alias")
    renamed = given is not None and bool(given.args.get("columns"))
    listed = (inner.scope.star() or ()) if renamed else inner.scope.columns
    fields = fields_of(plan)
    names = [item.name for item in listed]
    items = zip(unique_names(names), (scalar_of(item.tree, fields) for item in listed), strict=True)
    default = str(relation.alias_or_name) or tree.name.lower()
    return aliased(BoundQuery(Project(plan, tuple(items)), tuple(names)), tree, level, default)


def _changelog(tree: TableFunction, plan: Plan, arguments: list[exp.Expression], level: Level) -> Plan:
    drops_late, columns = _flag(arguments)
    table = _table(tree, level)
    if table is not None and not table.append_only:
        if arguments:
            message = f"{table.name} loses or replaces rows already: changelog({table.name}) takes no keys"
            raise wrong(code="TABLE_FUNCTION", message=message, place=tree, hint=f"read {table.name} as it is")
        return plan
    if len(columns) < (2 if drops_late else 1):
        raise _malformed(tree)
    keys = _columns(tree, columns, level)
    order = [SortKey(level.scalar(keys.pop()), descending=True, nulls_first=False)] if drops_late else []
    return _best(plan, keys, [*order, _by_arrival(tree, level, descending=True)], level)


def _flag(arguments: list[exp.Expression]) -> tuple[bool, list[exp.Expression]]:
    """The last argument where it says if late rows are dropped, and the others."""
    if arguments and isinstance(arguments[-1], exp.Boolean):
        return bool(arguments[-1].this), arguments[:-1]
    return False, list(arguments)


def _columns(tree: TableFunction, given: list[exp.Expression], level: Level) -> list[exp.Expression]:
    """The columns that are named, bound; SqlError for anything else."""
    found = [level.bind(item) for item in given]
    if not found or any(not isinstance(item, exp.Column) for item in found):
        raise _malformed(tree)
    return found


def _by_arrival(tree: TableFunction, level: Level, *, descending: bool) -> SortKey:
    return SortKey(level.scalar(position_of(_one(tree, level), tree, level)), descending, nulls_first=False)


def _best(plan: Plan, keys: list[exp.Expression], order: list[SortKey], level: Level) -> Plan:
    """The first row of each key in an order."""
    return TopK(plan, tuple(level.scalar(key) for key in keys), tuple(order), 1)


def _one(tree: TableFunction, level: Level) -> RelationInScope:
    if len(level.scope.relations) != 1:
        raise _malformed(tree)
    return level.scope.relations[0]


@dataclass(frozen=True)
class _Limits:
    """The limits of what dedup remembers; None where it is not said."""

    columns: list[exp.Expression]
    micros: int | None
    keys: int | None


def _dedup(tree: TableFunction, plan: Plan, arguments: list[exp.Expression], level: Level) -> Plan:
    limits = _limits(tree, arguments, level)
    taking_in = level.context.taking_in
    position = position_of(_one(tree, level), tree, level)
    limited = limits.micros is not None or limits.keys is not None
    if (
        taking_in is not None
        and taking_in.only_comes(plan)
        and (limited if taking_in.in_view else not _is_history(tree))
    ):
        remembering = Remembering(limits.micros or 0, _KEYS if limits.keys is None else limits.keys)
        return taking_in.remembered(plan, position, limits.columns, remembering)
    if limits.micros or limits.keys is not None:
        raise _no_memory(tree, writes=taking_in is None)
    return _best(plan, limits.columns, [_by_arrival(tree, level, descending=False)], level)


def _no_memory(tree: TableFunction, *, writes: bool) -> Exception:
    limits = "dedup with a time to live or a number of keys"
    if writes:
        message = f"{limits}, in a statement that changes rows"
        hint = "CREATE VIEW has them: read the view"
    else:
        message = f"{limits}, over rows that do not come one after the other"
        hint = "streams, and tables of which no row goes, have them: what chooses, computes and joins their rows"
    return unsupported(code="TABLE_FUNCTION", message=message, place=tree, hint=hint)


def _limits(tree: TableFunction, arguments: list[exp.Expression], level: Level) -> _Limits:
    columns = list(arguments)
    keys = micros = None
    if len(columns) > 1 and isinstance(columns[-1], exp.Literal) and isinstance(columns[-2], exp.Interval):
        limit = columns.pop()
        if limit.is_string or not limit.name.isdigit() or not int(limit.name):
            raise _malformed(tree)
        keys = int(limit.name)
    if columns and isinstance(columns[-1], exp.Interval):
        micros = _time_to_live(columns.pop())
    return _Limits(_columns(tree, columns, level), micros, keys)


def _time_to_live(length: exp.Expression) -> int:
    """A time in microseconds; 0s is for ever."""
    if length.this is not None and str(length.this.name) == "0":
        return 0
    found = duration_of(length)
    if found.months:
        message = "a time to live has a fixed length, without months"
        raise wrong(code="NOT_AN_INTERVAL", message=message, place=length, hint="write it in days")
    return found.micros


def _table(tree: TableFunction, level: Level) -> Table | None:
    """The table that a function is over, through others; None for a view or a query."""
    inner: exp.Expression = tree
    while isinstance(inner, TableFunction):
        inner = inner.expressions[0]
    named = isinstance(inner, exp.Table) and inner.name.lower() not in level.context.ctes
    return level.context.catalog.tables.get(inner.name.lower()) if named else None


def _is_history(tree: TableFunction) -> bool:
    """True if `table(…)` stands within."""
    return any(item.name == "TABLE" for item in tree.find_all(TableFunction))


def _malformed(tree: TableFunction) -> Exception:
    return wrong(code="TABLE_FUNCTION", message=f"expected {_FORMS[tree.name]}", place=tree)
