"""ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from penstock.bind.level import Level
from penstock.errors import Span
from penstock.plan.nodes import Plan, SortKey, TopK
from penstock.plan.scalar import column, column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import span_of, spark_sql
from penstock.sql.trees import directions
from penstock.types.check import check_order


@dataclass(frozen=True)
class Key:
    """One bound item of ORDER BY, at its place in the text."""

    tree: exp.Expression
    descending: bool
    nulls_first: bool
    span: Span | None = None


@dataclass(frozen=True)
class Ordering:
    """A bound ORDER BY."""

    keys: tuple[Key, ...] = ()

    def trees(self) -> list[exp.Expression]:
        """The sorted expressions."""
        return [key.tree for key in self.keys]

    def with_trees(self, trees: list[exp.Expression]) -> Ordering:
        """The same order with rewritten expressions."""
        return Ordering(tuple(replace(key, tree=tree) for key, tree in zip(self.keys, trees, strict=True)))

    def over(self, names: Mapping[str, str]) -> Ordering:
        """The order over the fields that hold the expressions: text → field."""
        return self.with_trees([column_tree(names[spark_sql(key.tree)]) for key in self.keys])


@dataclass(frozen=True)
class Limit:
    """LIMIT and OFFSET; `rows` None for all."""

    rows: int | None
    offset: int = 0


def ordering_of(query: exp.Expression, names: list[str], items: list[exp.Expression], level: Level) -> Ordering:
    """ORDER BY (or SORT BY) of a query with this SELECT list."""
    clause = query.args.get("order")
    keys: list[Key] = []
    for item in [] if clause is None else clause.expressions:
        if isinstance(item.this, exp.Var) and item.this.name.upper() == "ALL":
            keys += [Key(tree, *directions(item), span_of(tree)) for tree in items]
            continue
        chosen = by_position(item.this, items, "ORDER BY")
        tree = chosen if chosen is not None else _named(item.this, names, items) or level.bind_output(item.this)
        check_order(tree, level.fields, item.this if chosen is None else tree)
        keys.append(Key(tree, *directions(item), span_of(item.this)))
    return Ordering(tuple(keys))


def _named(tree: exp.Expression, names: list[str], items: list[exp.Expression]) -> exp.Expression | None:
    """An output column by its name."""
    if not isinstance(tree, exp.Column) or len(tree.parts) != 1:
        return None
    found = [item for name, item in zip(names, items, strict=True) if name.lower() == tree.name.lower()]
    return found[0].copy() if len(found) == 1 else None


def by_position(tree: exp.Expression, items: list[exp.Expression], clause: str) -> exp.Expression | None:
    """The SELECT item that a number in GROUP BY or ORDER BY means."""
    if not isinstance(tree, exp.Literal) or tree.args.get("is_string") or not str(tree.this).isdigit():
        return None
    position = int(tree.this)
    if not 1 <= position <= len(items):
        message = f"{clause} {position}: the SELECT list has {len(items)} items"
        raise wrong(code="POSITION_OUT_OF_RANGE", message=message, place=tree, sqlstate="42805")
    return items[position - 1].copy()


_TIES = "QUALIFY rank() OVER (ORDER BY …) <= 10 keeps ties; FETCH FIRST 10 ROWS ONLY is LIMIT 10"


def limit_of(query: exp.Expression) -> Limit | None:
    """LIMIT and OFFSET of a query, None if it has neither."""
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if limit is None and offset is None:
        return None
    if isinstance(limit, exp.Fetch):
        raise unsupported(code="FETCH", message="FETCH FIRST … PERCENT and WITH TIES", place=limit, hint=_TIES)
    rows = None if limit is None else _number(limit.expression, "LIMIT")
    return Limit(rows, 0 if offset is None else _number(offset.expression, "OFFSET") or 0)


def _number(tree: exp.Expression, clause: str) -> int | None:
    if isinstance(tree, exp.Column | exp.Var) and tree.name.upper() == "ALL":
        return None
    if isinstance(tree, exp.Binary | exp.Paren):
        tree = simplify(tree.copy())
    text = str(tree.this) if isinstance(tree, exp.Literal | exp.Cast) and not tree.args.get("is_string") else ""
    if isinstance(tree, exp.Cast):
        text = tree.this.name
    if not text.isdigit():
        raise unsupported(code="LIMIT", message=f"{clause} needs a whole number", place=tree, hint=f"write {clause} 10")
    return int(text)


def sort_key(key: Key, plan: Plan) -> SortKey:
    """A key over a plan's field."""
    item = plan.field(key.tree.name)
    return SortKey(column(item.name, item.type, item.nullable, key.span), key.descending, key.nulls_first)


def ordered(plan: Plan, ordering: Ordering, limit: Limit | None, carried: tuple[str, ...] = ()) -> Plan:
    """The first rows of a plan, for each combination of the carried fields."""
    keys = tuple(sort_key(key, plan) for key in ordering.keys)
    partition = tuple(column(name, plan.field(name).type, plan.field(name).nullable) for name in carried)
    rows, offset = (None, 0) if limit is None else (limit.rows, limit.offset)
    return TopK(plan, partition, keys, rows, offset)
