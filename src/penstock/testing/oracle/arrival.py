"""The oracle's own words for the order of arrival in dialect flink.

A relation of FROM is written with its rows' position as a column, which the queries around it hand on:

    FROM m                        FROM (SELECT * EXCEPT (__position), __position AS __pos0 FROM __arrived_m) AS m
    ROW_NUMBER() OVER (… pt)      ROW_NUMBER() OVER (… pt, __pos0)
    LISTAGG(x)                    LISTAGG(x) WITHIN GROUP (ORDER BY __pos0)
    FIRST_VALUE(x)                min_by(x, __pos0) FILTER (WHERE x IS NOT NULL)

The rows of a join have the greatest of the positions, a group that of its rows. Frames by a length of time, and sources
other than tables, views, derived tables and joins of them, are not said here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from penstock.catalog.model import Catalog, View
from penstock.catalog.reserved import POSITION
from penstock.sql.nodes import TableFunction
from penstock.sql.parse import parse_expression, parse_query
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls
from penstock.testing.oracle.judged import judged_tables
from penstock.testing.oracle.row_order import call, name_of
from penstock.testing.oracle.time_windows import arrivals_of, cannot_say

_FIRST, _LAST, _TEXTS = ("first_value",), ("last_value",), ("listagg", "string_agg")
_CLOCKS = ("now", "current_timestamp", "localtimestamp", "proctime")


@dataclass
class Arrivals:
    """The tables whose rows have positions, by lower-case name, and the text of the catalogue's views."""

    catalog: Catalog
    tables: Collection[str]
    parsed: Callable[[View], exp.Expression]
    _numbers: Iterator[int] = field(default_factory=count)

    def written(self, tree: exp.Expression) -> exp.Expression:
        """The query with the order of arrival in it; as it is where nothing goes by that."""
        if not self.tables or not self._asks(tree):
            return tree
        self._query(tree, None)
        return tree

    def _asks(self, tree: exp.Expression) -> bool:
        return any(_goes_by_arrival(node) for node in tree.find_all(exp.Anonymous)) or any(
            self._is_time(item.this) for over in tree.find_all(exp.Window) for item in _order(over)
        )

    def _is_time(self, tree: exp.Expression) -> bool:
        if isinstance(tree, exp.Column):
            return tree.name.lower() in self._times
        return _is_clock(tree)

    @property
    def _times(self) -> set[str]:
        """The names of columns that have the time of arrival."""
        tables = (table.columns for name, table in self.catalog.tables.items() if name in self.tables)
        found = {
            item.name.lower() for columns in tables for item in columns if item.default is not None and item.optional
        }
        for view in self.catalog.views.values():
            if isinstance(view.query, exp.Expression):
                given = view.query.find_all(exp.Alias)
                found |= {item.alias.lower() for item in given if _is_clock(item.this)}
        return found

    def _query(self, tree: exp.Expression, handed: str | None) -> bool:
        """Write a query; with `handed` its rows have their position in a column of that name, if they have one."""
        match tree:
            case exp.Select():
                return self._select(tree, handed)
            case exp.Union() if not tree.args.get("distinct"):
                given = {self._query(tree.this, handed), self._query(tree.expression, handed)}
                if len(given) > 1:
                    cannot_say("rows with an order of arrival beside others")
                return given == {True}
            case exp.Subquery():
                return self._query(tree.this, handed)
            case exp.SetOperation():
                for side in (tree.this, tree.expression):
                    self._query(side, None)
                return False
            case _:
                return False

    def _select(self, select: exp.Select, handed: str | None) -> bool:
        if select.args.get("with_") is not None and self._asks(select):
            cannot_say("the order of arrival through WITH")
        clause = select.args.get("from_")
        items = [] if clause is None else [clause.this, *(join.this for join in select.args.get("joins") or [])]
        positions = [name for item in items if (name := self._relation(item)) is not None]
        for star in [item for item in select.expressions if isinstance(item, exp.Star)]:
            star.set("except_", [*(star.args.get("except_") or []), *map(exp.to_identifier, positions)])
        grouped = select.args.get("group") is not None or any(
            next(aggregate_calls(item), None) for item in select.expressions
        )
        self._calls(select, positions)
        if handed is None or not positions or select.args.get("distinct") is not None:
            return False
        latest = _latest(positions)
        select.append("expressions", exp.alias_(call("max", latest) if grouped else latest, handed))
        return True

    def _relation(self, tree: exp.Expression) -> str | None:
        """Have an item of FROM give positions; the name of their column."""
        name = f"__pos{next(self._numbers)}"
        if isinstance(tree, TableFunction):
            if judged_tables(self.catalog):
                cannot_say("the order of arrival in windows that judge their rows")
            return self._relation(tree.expressions[0])
        if isinstance(tree, exp.Subquery):
            return name if self._query(tree.this, name) else None
        if not isinstance(tree, exp.Table):
            return None
        alias = tree.args.get("alias") or exp.TableAlias(this=exp.to_identifier(tree.name))
        lower = tree.name.lower()
        if lower in self.tables:
            given = f"SELECT * EXCEPT ({POSITION}), {POSITION} AS {name} FROM {arrivals_of(lower)}"
            tree.replace(_subquery(parse_query(given), alias, tree))
            return name
        view = self.catalog.views.get(lower)
        if view is None or view.query is None or view.lateness:
            return None
        inner = self.parsed(view)
        if not self._query(inner, name):
            return None
        shown = [column.name for column in view.columns]
        alias = exp.TableAlias(this=alias.this, columns=[exp.to_identifier(item) for item in (*shown, name)])
        tree.replace(_subquery(inner, alias, tree))
        return name

    def _calls(self, select: exp.Select, positions: Sequence[str]) -> None:
        """The calls of a SELECT that go by arrival."""
        if not positions:
            return
        for node in [item for item in select.find_all(exp.Anonymous, exp.Window) if _owner(item) is select]:
            if isinstance(node, exp.Window):
                self._over(node, positions)
            elif isinstance(node, exp.Anonymous) and _goes_by_arrival(node):
                _aggregate(node, positions)

    def _over(self, window: exp.Window, positions: Sequence[str]) -> None:
        order = _order(window)
        if not any(self._is_time(item.this) for item in order):
            return
        spec = window.args.get("spec")
        by_value = spec is not None and str(spec.args.get("kind")).upper() == "RANGE"
        if (
            spec is not None
            and by_value
            and any(isinstance(spec.args.get(key), exp.Expression) for key in ("start", "end"))
        ):
            cannot_say("frames by a length of processing time")
        items: list[exp.Expression] = []
        for item in order:
            items.append(item)
            if self._is_time(item.this):
                down = bool(item.args.get("desc"))
                tree = _latest(positions)
                items.append(exp.Ordered(this=tree, desc=down, nulls_first=not down))
        window.set("order", exp.Order(expressions=items))


def _order(window: exp.Window) -> list[exp.Expression]:
    order = window.args.get("order")
    return [] if order is None else list(order.expressions)


def _is_clock(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.CurrentTimestamp | exp.Localtimestamp) or name_of(tree) in _CLOCKS


def _owner(tree: exp.Expression) -> exp.Expression | None:
    return tree.find_ancestor(exp.Select)


def _goes_by_arrival(node: exp.Expression) -> bool:
    return name_of(node) in (*_FIRST, *_LAST, *_TEXTS) and node.find_ancestor(exp.Window) is None


def _latest(positions: Sequence[str]) -> exp.Expression:
    columns = [exp.column(name) for name in positions]
    return call("greatest", *columns) if len(columns) > 1 else columns[0]


def _subquery(query: exp.Expression, alias: exp.Expression, instead: exp.Expression) -> exp.Expression:
    return exp.Subquery(this=query, alias=alias.copy(), joins=instead.args.get("joins"))


def _aggregate(node: exp.Anonymous, positions: Sequence[str]) -> None:
    """LISTAGG, FIRST_VALUE or LAST_VALUE in the order of positions, which stand behind each other as keys."""
    keys = [*([_latest(positions)] if len(positions) > 1 else []), *map(exp.column, positions)]
    name, value = name_of(node), node.expressions[0]
    if name not in _TEXTS:
        target = node.parent if isinstance(node.parent, exp.IgnoreNulls | exp.RespectNulls) else node
        parts = [part for at, key in enumerate(keys) for part in (exp.Literal.string(f"k{at}"), key)]
        best = call("min_by" if name in _FIRST else "max_by", value.copy(), call("named_struct", *parts))
        present = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
        if isinstance(target.parent, exp.Filter):
            condition = target.parent.expression.this
            condition.replace(exp.And(this=exp.Paren(this=condition.copy()), expression=present))
            target.replace(best)
        elif isinstance(target, exp.RespectNulls):
            target.replace(best)
        else:
            target.replace(exp.Filter(this=best, expression=exp.Where(this=present)))
        return
    if isinstance(node.parent, exp.WithinGroup):
        order = node.parent.expression
        if not isinstance(value, exp.Distinct):
            order.set("expressions", [*order.expressions, *(_ascending(key) for key in keys)])
    elif isinstance(value, exp.Distinct):
        node.replace(_different(node, keys))
    else:
        order = exp.Order(expressions=[_ascending(key) for key in keys])
        node.replace(exp.WithinGroup(this=node.copy(), expression=order))


def _ascending(key: exp.Expression) -> exp.Expression:
    return exp.Ordered(this=key.copy(), desc=False, nulls_first=True)


def _different(node: exp.Anonymous, keys: Sequence[exp.Expression]) -> exp.Expression:
    """LISTAGG(DISTINCT x, s): each value where it came first."""
    if isinstance(node.parent, exp.Filter):
        cannot_say("LISTAGG of different values with FILTER")
    (value,) = node.expressions[0].expressions
    between = spark_sql(node.expressions[1]) if len(node.expressions) > 1 else "''"
    parts = "".join(f"'k{at}', {spark_sql(key)}, " for at, key in enumerate(keys))
    rows = f"array_sort(collect_set(named_struct({parts}'v', {spark_sql(value)})))"
    values = f"array_distinct(transform(filter({rows}, e -> e.v IS NOT NULL), e -> e.v))"
    return parse_expression(f"if(size({values}) = 0, NULL, array_join({values}, {between}))")
