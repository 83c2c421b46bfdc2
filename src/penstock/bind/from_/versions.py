"""FOR SYSTEM_TIME AS OF: the rows of a relation as they were at a time (C12).

    FROM rates FOR SYSTEM_TIME AS OF TIMESTAMP '2020-10-10 00:00:00'         at one time: of each key the last version
    FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.at AS r ON o.cur = r.cur  at each left row's own time

The first is a Top-K over the history, the second an ASOF join with it. Versions that say that a row was deleted are
found like others, and then left out.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.event_time import is_event_time
from penstock.bind.from_.asof import chosen_by
from penstock.bind.from_.histories import History, history_of
from penstock.bind.from_.join_kind import kind_of
from penstock.bind.from_.using import equalities_of, merged_scope, shared_columns
from penstock.bind.join_keys import columns_read, join_on
from penstock.bind.judging import rows_not_before
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, SUBQUERY, has_mark
from penstock.bind.relation import aliased, free_prefix
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.scope import Relation, RelationInScope, Scope, Visible, relation_in_scope
from penstock.catalog.model import Table
from penstock.errors import SqlError
from penstock.plan.nodes import AsofJoin, Filter, JoinKey, JoinKind, Match, Plan, Project, SortKey, TopK
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import bare, cast_to, conjunction, conjuncts
from penstock.types.infer import infer

_TIMES = ("timestamp", "timestamp_ntz")
_NEEDED = (
    "a table has versions if it has a PRIMARY KEY and, outside of it, a time column with LATENESS; so has a view of "
    "the last row of each key, ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) = 1"
)
# Standard SQL's names of types, as messages of dialect calcite have them.
_STANDARD = {"int": "INTEGER", "string": "VARCHAR", "void": "NULL"}


def is_versioned(tree: exp.Expression) -> bool:
    """True for an item of FROM that is read as of a time."""
    return isinstance(tree, exp.Table) and tree.args.get("version") is not None


def moves_with(tree: exp.Expression, left: Scope, level: Level) -> bool:
    """True if the time as of which an item is read is that of each row of FROM so far."""
    if not is_versioned(tree):
        return False
    level.scope = left
    return bool(columns_read(time_of(tree, level)))


def with_condition_of_where(join: exp.Join, select: exp.Select, left: Scope) -> exp.Join:
    """A join without a condition of its own, with the equalities of WHERE between the item and FROM so far."""
    where = select.args.get("where")
    if not is_versioned(join.this) or where is None or join.args.get("on") or join.args.get("using"):
        return join
    own = (str(join.this.alias) or str(join.this.name)).lower()
    others = {relation.alias.lower() for relation in left.relations}

    def ties(part: exp.Expression) -> bool:
        if not isinstance(part, exp.EQ):
            return False
        sides = [{item.table.lower() for item in side.find_all(exp.Column)} for side in (part.this, part.expression)]
        return {own} in sides and any(side and side <= others for side in sides)

    found = conjunction([part.copy() for part in conjuncts(where.this) if ties(part)])
    if found is None:
        return join
    join = join.copy()
    join.set("on", found)
    return join


def as_of_a_point(tree: exp.Table, level: Level) -> Relation:
    """The rows of a relation as they were at one time for all."""
    before, level.scope = level.scope, Scope()
    try:
        time = time_of(tree, level)
    finally:
        level.scope = before
    history = _history(tree, level)
    fields = fields_of(history.rows)
    until = exp.LTE(this=column_tree(history.time), expression=time)
    known = Filter(history.rows, scalar_of(until, fields))
    key = tuple(column(name, fields[name].type, fields[name].nullable) for name in history.key)
    order = SortKey(column(history.time, fields[history.time].type), descending=True, nulls_first=False)
    last: Plan = TopK(known, key, (order,), 1)
    last = last if history.holds is None else Filter(last, history.holds)
    names = unique_names([name for name, _ in history.columns])
    items = tuple((name, scalar) for name, (_, scalar) in zip(names, history.columns, strict=True))
    return aliased(BoundQuery(Project(last, items), tuple(name for name, _ in history.columns)), tree, level, tree.name)


def as_of_each_row(left: Plan, scope: Scope, join: exp.Join, level: Level) -> Relation:
    """FROM so far, each row beside the version that held at its time."""
    tree, kind = join.this, _kind(join)
    level.scope = scope
    time = time_of(tree, level)
    _check_event_time(left, time, tree, level)
    left = rows_not_before(left, time, level)
    history = _history(tree, level, join=True)
    alias = str(tree.alias) or str(tree.name)
    prefix = free_prefix(alias, level.fields)
    given = _within(prefix, history)
    fields = fields_of(history.rows)
    rows = Project(
        history.rows, tuple((new, column(old, fields[old].type, fields[old].nullable)) for old, new in given.items())
    )
    names, columns = _named(tree, history, given)
    inside = Scope((RelationInScope(alias, tuple(Visible(*item) for item in zip(names, columns, strict=True))),))
    level.remember_fields(rows)
    keys, rest, merged = _condition(left, rows, join, (scope, inside), level)
    found = _by_key(keys, [given[name] for name in history.key], history, join)
    match = Match(scalar_of(time, fields_of(left)), ">=", column(given[history.time], fields[history.time].type))
    others = [exp.EQ(this=key.left.tree, expression=key.right.tree) for key in keys if key not in found]
    holds = [] if history.holds is None else [history.holds.renamed(given).tree]
    condition = conjunction([*holds, *others, *rest])
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        pairs = shared_columns(join, scope, inside) if merged else []
        asked = chosen_by(AsofJoin(left, rows, JoinKind.LEFT, found, match), condition, kind)
        return asked, merged_scope(pairs, (scope, inside), kind) if merged else scope
    joined = AsofJoin(left, rows, kind, found, match)
    shown = [f"{prefix}.{name}" for name in unique_names(names)]
    plan = _seen(joined, condition, dict(zip(shown, columns, strict=True)))
    exact = level.context.exact
    right = Scope((relation_in_scope(alias, tuple(names), plan.fields[len(left.fields) :], exact=exact),))
    level.remember_fields(plan)
    if not merged:
        return plan, scope.beside(right)
    return plan, merged_scope(shared_columns(join, scope, right), (scope, right), kind)


def time_of(tree: exp.Expression, level: Level) -> exp.Expression:
    """The bound time of AS OF."""
    version = tree.args["version"]
    if str(version.args.get("kind")) != "AS OF" or str(version.this) != "TIMESTAMP":
        message, hint = "versions of a table other than FOR SYSTEM_TIME AS OF", "name one time: FOR SYSTEM_TIME AS OF …"
        raise unsupported(code="TABLE_VERSION", message=message, place=tree, hint=hint)
    time = level.bind(version.expression)
    if has_mark(time, OUTER) or has_mark(time, SUBQUERY):
        message = "FOR SYSTEM_TIME AS OF what a subquery reads or gives"
        hint = "join the tables: … JOIN t FOR SYSTEM_TIME AS OF s.rowtime AS x ON s.k = x.k"
        raise unsupported(code="TABLE_VERSION", message=message, place=tree, hint=hint)
    kind, _ = infer(time, level.fields)
    text = bare(time)
    if isinstance(text, exp.Literal) and text.is_string and _dialect(level) not in ("calcite", "flink"):
        return cast_to(text.copy(), "timestamp")
    if kind is not None and kind not in _TIMES:
        message = f"The system time period specification expects Timestamp type but is '{_type_name(kind, text)}'"
        hint = "name a time: FOR SYSTEM_TIME AS OF s.rowtime, or AS OF TIMESTAMP '…'"
        raise wrong(code="VERSION_TIME", message=message, place=version.expression, hint=hint)
    return time


def _type_name(kind: str, text: exp.Expression) -> str:
    if isinstance(text, exp.Literal) and text.is_string:
        return "CHAR"
    return _STANDARD.get(kind, kind.partition("(")[0].upper())


def _dialect(level: Level) -> str:
    return level.context.catalog.settings.get("dialect", "penstock")


def _check_event_time(left: Plan, time: exp.Expression, tree: exp.Expression, level: Level) -> None:
    """Flink reads versions at the time attribute of the left rows alone."""
    if _dialect(level) != "flink" or is_event_time(left, time, level.context.catalog):
        return
    message = "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"
    name = tree.name
    hint = (
        f"a look-up at the time of arrival is a join without FOR SYSTEM_TIME, with {name} as it is; the versions of "
        "other times are found by a column with WATERMARK"
    )
    raise wrong(code="VERSION_TIME", message=message, place=tree.args["version"].expression, hint=hint)


def _history(tree: exp.Table, level: Level, *, join: bool = False) -> History:
    found = history_of(tree, level)
    if found is not None:
        return found
    level.bind_relation(exp.Table(**{key: value for key, value in tree.args.items() if key != "version"}))
    raise _no_versions(tree, level, join=join)


def _no_versions(tree: exp.Table, level: Level, *, join: bool) -> SqlError:
    """The refusal of a relation without versions, which is there."""
    name, dialect = str(tree.name), _dialect(level)
    shown = name.upper() if dialect == "calcite" else name
    message = f"Table '{shown}' is not a temporal table, can not be queried in system time period specification"
    relation = level.context.catalog.tables.get(name.lower())
    if dialect == "flink" and join and isinstance(relation, Table):
        lacks = "Temporal Table Join requires primary key in versioned table, but no primary key can be found"
        time = (
            "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, "
            "but no row time attribute can be found"
        )
        message = f"{message}: {time if relation.key else lacks}"
    return wrong(code="NO_VERSIONS", message=message, place=tree, hint=_NEEDED)


def _kind(join: exp.Join) -> JoinKind:
    kind = kind_of(join)
    if join.args.get("method") in ("ASOF", "LATEST"):
        message = f"{join.args['method']} beside FOR SYSTEM_TIME, which says itself which row is found"
        hint = "use JOIN or LEFT JOIN with … FOR SYSTEM_TIME AS OF"
        raise unsupported(code="JOIN_KIND", message=message, place=join, hint=hint)
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        name = join.this.name
        message = (
            f"a {kind.value.upper()} JOIN with versions: they are those of each left row's time, "
            "so none is there without a left row"
        )
        hint = (
            "use JOIN, LEFT JOIN, LEFT SEMI JOIN or LEFT ANTI JOIN with … FOR SYSTEM_TIME AS OF; "
            f"{name} as it is, or FOR SYSTEM_TIME AS OF TIMESTAMP '…', can be on any side of any join"
        )
        raise unsupported(code="JOIN_KIND", message=message, place=join, hint=hint)
    return kind


def _within(prefix: str, history: History) -> dict[str, str]:
    """The fields of a history under an alias of FROM."""
    names = [item.name for item in history.rows.fields]
    return dict(
        zip(
            names,
            (f"{prefix}.{name}" for name in unique_names([item.rpartition(".")[2] for item in names])),
            strict=True,
        )
    )


def _named(tree: exp.Table, history: History, given: dict[str, str]) -> tuple[list[str], list[exp.Expression]]:
    """The names of the right columns, and what they are over the renamed rows of the history."""
    alias = tree.args.get("alias")
    renamed = [part.name for part in (alias.args.get("columns") or [])] if alias is not None else []
    names = renamed or [name for name, _ in history.columns]
    if len(names) != len(history.columns):
        message = f"{tree.alias} has {len(history.columns)} columns, but {len(names)} names are given"
        raise wrong(code="WRONG_NUMBER_OF_NAMES", message=message, place=tree)
    return names, [scalar.renamed(given).tree for _, scalar in history.columns]


def _condition(
    left: Plan, rows: Plan, join: exp.Join, scopes: tuple[Scope, Scope], level: Level
) -> tuple[tuple[JoinKey, ...], list[exp.Expression], bool]:
    """The equalities of a join, the rest of its condition, and whether it merges columns."""
    if join.args.get("using") or join.args.get("method") == "NATURAL":
        return equalities_of(shared_columns(join, *scopes), left, rows), [], True
    condition = join.args.get("on")
    if condition is None:
        return (), [], False
    level.scope = scopes[0].beside(scopes[1])
    parts = list(conjuncts(level.bind_condition(condition, "ON")))
    if any(has_mark(part, OUTER) or has_mark(part, SUBQUERY) for part in parts):
        message, hint = "a subquery in ON of a join with versions", "put that condition into WHERE"
        raise unsupported(code="TABLE_VERSION", message=message, place=condition, hint=hint)
    found = join_on(left, rows, JoinKind.INNER, parts)
    return found.keys, [] if found.residual is None else [found.residual.tree], False


def _by_key(keys: tuple[JoinKey, ...], wanted: list[str], history: History, join: exp.Join) -> tuple[JoinKey, ...]:
    """The equalities by which versions are found: those of the whole key, each once."""
    by_field = {_field(key.right): key for key in reversed(keys)}
    if any(name not in by_field for name in wanted):
        shown = ", ".join(name.rpartition(".")[2] for name in history.key)
        condition = spark_sql(join.args["on"]) if join.args.get("on") else ""
        message = (
            f"Temporal table's primary key [{shown}] must be included in the equivalence condition "
            f"of temporal join, but current temporal join condition is [{condition}]"
        )
        hint = f"write ON … = {str(join.this.alias) or join.this.name}.{history.key[0].rpartition('.')[2]}"
        raise wrong(code="VERSION_KEY", message=message, place=join, hint=hint)
    return tuple(by_field[name] for name in wanted)


def _field(scalar: Scalar) -> str | None:
    """The field that a side of an equality is, in whatever type it is compared."""
    tree = bare(scalar.tree)
    tree = bare(tree.this) if isinstance(tree, exp.Cast) else tree
    return tree.name if isinstance(tree, exp.Column) else None


def _seen(joined: AsofJoin, holds: exp.Expression | None, columns: dict[str, exp.Expression]) -> Plan:
    """The left columns and the right ones under their names; where no version holds, NULL or no row."""
    fields = fields_of(joined)
    plan: Plan = joined
    right = dict(columns)
    if holds is not None and joined.kind is JoinKind.INNER:
        plan = Filter(joined, scalar_of(holds.copy(), fields))
    elif holds is not None:
        right = {name: _if(holds, tree) for name, tree in columns.items()}
    items = [(item.name, column(item.name, item.type, item.nullable)) for item in joined.left.fields]
    return Project(plan, (*items, *((name, scalar_of(tree, fields)) for name, tree in right.items())))


def _if(condition: exp.Expression, value: exp.Expression) -> exp.Expression:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
