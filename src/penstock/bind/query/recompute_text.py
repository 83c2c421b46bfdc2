"""A recomputed query in words whose answer no order of rows changes (SEMANTICS 0): as `deterministic`, before binding.

The whole row is named column by column where FROM has named relations alone, or the binder can name its columns; beside
anything else it is `struct(*)`.
A window over groups goes by their keys.
Left as it is: LIMIT behind `t.*`, `* EXCEPT (…)` or a star over what has no names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from penstock.bind.row_order.deterministic import deterministic_aggregate, is_distinct
from penstock.bind.row_order.sorted_lists import Key
from penstock.bind.row_order.whole_row import Row, sortable_tree
from penstock.bind.scalars import scalar_of
from penstock.bind.select.column_names import name_of
from penstock.bind.select.grouping import grouped_by, has_sets
from penstock.bind.select.ordering import by_position
from penstock.bind.select.stars import is_star
from penstock.bind.windows.named_windows import named_windows, with_definition
from penstock.bind.windows.tied_rows import deterministic_window
from penstock.catalog.sorting import is_sorted
from penstock.plan.nodes import Field
from penstock.sql.trees import aggregate_calls, call, directions, is_generator, nodes, window_calls

# The columns of a relation, None for a name that is not known.
Columns = Callable[[str], tuple[Field, ...] | None]
# The columns of all that FROM joins, each beside the relation that reaches it; None where they are not known.
RowOf = Callable[[exp.Select], Sequence[tuple[str, Field]] | None]
_CLAUSES = ("expressions", "having", "order")


@dataclass(frozen=True)
class _From:
    """The rows of FROM: the whole row, column by column if `named`, and those columns that a name alone tells."""

    row: Row
    fields: Mapping[str, Field]
    named: bool = True


def make_deterministic(tree: exp.Expression, columns: Columns, row_of: RowOf) -> exp.Expression:
    """The query whose calls and LIMITs no longer depend on the order of rows, in place."""
    queries = reversed([node for node in nodes(tree) if isinstance(node, exp.Select | exp.SetOperation)])
    firsts = [(query, next(node for node in nodes(query) if isinstance(node, exp.Select))) for query in queries]
    # While the words are as they were written: the binder tells the types of these.
    read = [_from_of(first, columns, row_of) for _, first in firsts]
    for (query, first), rows in zip(firsts, read, strict=True):
        _order_limit(query, first, rows)
        if query is first:
            _replace_windows(first, rows)
            _replace_aggregates(first, rows)
    return tree


def _order_limit(query: exp.Expression, first: exp.Select, read: _From) -> None:
    """Rows that ORDER BY leaves tied go by the whole output row."""
    limited = query.args.get("limit") is not None or query.args.get("offset") is not None
    if not limited or any(is_generator(item.unalias()) for item in first.expressions):
        return
    starred = any(is_star(item) for item in first.expressions)
    keys = _starred(first, read) if starred and query is first else None if starred else _numbered(first, read)
    if keys is None:
        return
    order = query.args.get("order") or exp.Order(expressions=[])
    for key in keys:
        order.append("expressions", exp.Ordered(this=key, nulls_first=True))
    query.set("order", order)


def _numbered(select: exp.Select, read: _From) -> list[exp.Expression]:
    """The output row of a list without a star, its columns named by position."""
    found: list[exp.Expression] = []
    for position, item in enumerate(select.expressions, 1):
        kind = scalar_of(item, read.fields).type
        if is_sorted(kind):
            found += [exp.Literal.number(position)] if kind != "void" else []
        else:
            found.append(sortable_tree(exp.column(name_of(item), quoted=True), kind))
    return found


def _starred(select: exp.Select, read: _From) -> list[exp.Expression] | None:
    """The output row of a list with `*`, which is the whole row; None where its columns have no names of their own.

    A number would be taken for a position, and says nothing.
    """
    found: list[exp.Expression] = []
    said = {name_of(item).lower() for item in select.expressions if not is_star(item)}
    columns = [column for item in read.row for column in item.find_all(exp.Column)]
    if any(not column.table and column.name.lower() in said for column in columns):
        return None
    for item in select.expressions:
        kind = None if is_star(item) else scalar_of(item, read.fields).type
        if (is_star(item) and (not read.named or item != exp.Star())) or any(window_calls(item)):
            return None
        if is_star(item):
            found += [column.copy() for column in read.row]
        elif kind != "void":
            found.append(sortable_tree(item.unalias().copy(), kind))
    return [item for item in found if not isinstance(item, exp.Literal)]


def _replace_aggregates(select: exp.Select, read: _From) -> None:
    calls = _calls(select)
    distinct = any(is_distinct(found) for found in calls)
    for found in calls:
        _replace(found, deterministic_aggregate(found.copy(), read.row, read.fields, beside_distinct=distinct), select)


def _calls(select: exp.Select) -> list[exp.Expression]:
    return [found for item in _items(select) for found in aggregate_calls(item)]


def _replace_windows(select: exp.Select, read: _From) -> None:
    windows = named_windows(select)
    grouped = select.args.get("group") or select.args.get("having") or _calls(select)
    row = _row_of_groups(select, read) if grouped else read.row
    for item in _items(select):
        for found in list(window_calls(item)):
            assert isinstance(found, exp.Window)  # noqa: S101 - what window_calls gives
            complete = with_definition(found, windows).copy()
            _replace(found, deterministic_window(complete, row, _keys(complete)), select)
    select.set("windows", None)


def _row_of_groups(select: exp.Select, read: _From) -> Row:
    """The keys that tell groups apart."""
    group = select.args.get("group") or exp.Group()
    if group.args.get("all"):
        keys = [item.unalias() for item in select.expressions if next(aggregate_calls(item), None) is None]
    else:
        keys = [_key(item, select, read) for item in grouped_by(group)]
    kinds = [scalar_of(key, read.fields).type for key in keys]
    row = [sortable_tree(key.copy(), kind) for key, kind in zip(keys, kinds, strict=True) if kind != "void"]
    return (*row, call("grouping_id")) if has_sets(group) else tuple(row or [exp.Literal.number(0)])


def _key(item: exp.Expression, select: exp.Select, read: _From) -> exp.Expression:
    """The expression that an item of GROUP BY means: an item of the list by its number or alias, or itself."""
    tree = by_position(item, select.expressions, "GROUP BY")
    if tree is not None:
        return cast("exp.Expression", tree.unalias())
    known = {name.lower() for name in read.fields}
    if not isinstance(item, exp.Column) or item.table or item.name.lower() in known:
        return item
    listed = (part for part in select.expressions if part.alias.lower() == item.name.lower())
    return cast("exp.Expression", next(listed, item).unalias())


def _keys(window: exp.Window) -> list[Key]:
    order = window.args.get("order")
    return [] if order is None else [(item.this, *directions(item)) for item in order.expressions]


def _items(select: exp.Select) -> Iterator[exp.Expression]:
    for clause in _CLAUSES:
        found = select.args.get(clause)
        yield from list(found) if isinstance(found, list) else [] if found is None else [found]


def _replace(old: exp.Expression, new: exp.Expression, select: exp.Select) -> None:
    """Put the new call into the place of the old one; an item of the SELECT list keeps its name."""
    item = old.parent is select and old.arg_key == "expressions"
    name = exp.Identifier(this=name_of(old), quoted=True) if item else None
    old.replace(new if name is None else exp.Alias(this=new, alias=name))


def _from_of(select: exp.Select, columns: Columns, row_of: RowOf) -> _From:
    """All columns of FROM that can be compared, and the types of those with a name that no other has."""
    found = _named(select, columns) or row_of(select)
    if found is None:
        return _From((call("struct", exp.Star()),), {}, named=False)
    times = Counter(field.name.lower() for _, field in found)
    row = tuple(
        sortable_tree(exp.column(field.name, table=alias or None, quoted=True), field.type)
        for alias, field in found
        if field.type != "void"
    )
    types = {field.name: field for _, field in found if times[field.name.lower()] == 1}
    return _From(row or (exp.Literal.number(0),), types)


def _named(select: exp.Select, columns: Columns) -> list[tuple[str, Field]] | None:
    """The columns of named relations, each beside its relation; None where FROM has anything else."""
    found: list[tuple[str, Field]] = []
    for item in _relations(select):
        fields = columns(item.name) if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) else None
        if fields is None or item.args.get("pivots"):
            return None
        found += [(item.alias_or_name, field) for field in fields]
    return found


def _relations(select: exp.Select) -> Iterator[exp.Expression]:
    """The relations that a row is made of, None of them where USING or a lateral view makes other rows."""
    clause = select.args.get("from_")
    if clause is None:
        return
    joins = [*(clause.this.args.get("joins") or []), *(select.args.get("joins") or [])]
    if select.args.get("laterals") or any(join.args.get("using") or join.args.get("method") for join in joins):
        yield exp.Null()
        return
    yield clause.this
    yield from (join.this for join in joins if str(join.args.get("kind") or "").upper() not in ("SEMI", "ANTI"))
