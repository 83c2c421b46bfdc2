"""FOR SYSTEM_TIME AS OF the time at which a row comes: a look-up in a relation as it is in that step, never revised.

    FROM orders AS o JOIN customers FOR SYSTEM_TIME AS OF o.seen AS c ON o.customer = c.id
    →  Arrived(Arriving(orders) JOIN customers ON …)

`seen` is declared as the clock of the step, `AS PROCTIME()` or `DEFAULT now()`; or PROCTIME() stands there itself.
What a customer becomes later changes nothing that has been found. Made again from the log, the steps find the same.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.event_time import is_arrival_time
from penstock.bind.from_.histories import history_of
from penstock.bind.from_.join_condition import on_condition
from penstock.bind.from_.join_kind import kind_of
from penstock.bind.from_.using import equalities_of, merged_scope, shared_columns
from penstock.bind.from_.versions import is_versioned, time_of
from penstock.bind.level import Level
from penstock.bind.scope import Relation, Scope
from penstock.plan.clock_calls import is_clock
from penstock.plan.nodes import Arrived, Arriving, Join, JoinKind, Plan
from penstock.sql.complaints import unsupported
from penstock.sql.trees import bare, call_name

_NOW = "proctime"


def is_lookup(left: Plan, scope: Scope, tree: exp.Expression, level: Level) -> bool:
    """True if the rows of FROM so far meet an item as it is when they come.

    PROCTIME() can mean nothing else, as a column or as it is; a column with DEFAULT now() finds versions where there
    are some.
    """
    level.scope = scope
    time, catalog = time_of(tree, level), level.context.catalog
    if is_arrival_time(left, time, catalog, alone=True):
        return True
    return is_arrival_time(left, time, catalog) and _has_no_versions(tree, level)


def is_as_of_now(tree: exp.Expression, level: Level) -> bool:
    """True for FOR SYSTEM_TIME AS OF PROCTIME(); in dialect flink that is the clock, which may find versions."""
    if not is_versioned(tree):
        return False
    time = bare(tree.args["version"].expression)
    written = call_name(time) == _NOW
    return written or (is_clock(time) and level.context.rules.name == "flink" and _has_no_versions(tree, level))


def _has_no_versions(tree: exp.Expression, level: Level) -> bool:
    return isinstance(tree, exp.Table) and history_of(tree, level) is None


def as_of_arrival(left: Plan, scope: Scope, join: exp.Join, level: Level) -> Relation:
    """FROM so far, each row with what it found when it came."""
    kind = kind_of(join)
    if kind in (JoinKind.RIGHT, JoinKind.FULL) or join.args.get("method") in ("ASOF", "LATEST"):
        word = join.args.get("method") or kind.value.upper()
        message = f"a {word} JOIN with a relation as it is when a row of the left side comes"
        hint = (
            "a look-up is a JOIN, LEFT JOIN, LEFT SEMI JOIN or LEFT ANTI JOIN; without FOR SYSTEM_TIME every kind works"
        )
        raise unsupported(code="JOIN_KIND", message=message, place=join, hint=hint)
    table = join.this
    item = exp.Table(**{key: value for key, value in table.args.items() if key != "version"})
    item.meta.update(table.meta)
    right, other = level.bind_relation(item)
    coming = Arriving(left)
    if join.args.get("using") or join.args.get("method") == "NATURAL":
        pairs = shared_columns(join, scope, other)
        found: Plan = Join(coming, right, kind, equalities_of(pairs, left, right))
        return Arrived(found), merged_scope(pairs, (scope, other), kind)
    both = level.scope = scope.beside(other)
    found = on_condition(coming, right, kind, join, level)
    return Arrived(found), scope if kind in (JoinKind.SEMI, JoinKind.ANTI) else both
