"""DELETE and UPDATE over a stream, which stand: each row that comes says of a key what becomes of its row.

    DELETE FROM t WHERE k IN (SELECT STREAM …)
    UPDATE t SET c = e WHERE k IN (SELECT STREAM …)
    UPDATE t SET c = s.x FROM (SELECT STREAM …) AS s WHERE t.k = s.k

They are read as an INSERT of keys, and of the values that are set, which deletes or updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlglot import exp

from penstock.errors import Diagnostic, Span, UnsupportedError
from penstock.sql.statements import Delete, Insert, Update
from penstock.sql.text import span_of

_ROWS = "__rows"
_OWN = "its values come from the stream alone; a view over the stream can add them up, and INSERT INTO the table"


def standing_delete(statement: Delete) -> Insert | None:
    """The statement as one that stands; None for one that does not, or that has another form."""
    found = None if statement.where is None else _keys_in(statement.where)
    if found is None:
        return None
    columns, query = found
    return _insert(statement, "delete", [(item.name, span_of(item)) for item in columns], query)


def standing_update(statement: Update, source: exp.Subquery | None, span: Span | None) -> Insert | None:
    """The same of an UPDATE; `source` is what stands behind FROM, which a statement that does not stand cannot have."""
    found = _from_keys(statement) if source is None else _from_source(statement, source)
    if found is None and source is not None:
        message = "UPDATE … FROM a query in another form than that in which it stands"
        hint = "UPDATE t SET c = s.x FROM (SELECT STREAM …) AS s WHERE t.key = s.key"
        raise UnsupportedError(Diagnostic("STANDING_STATEMENT", message, span, hint=hint))
    if found is None:
        return None
    keys, values, rows, stream = found
    _refuse_own(statement, None if source is None else source.alias)
    names = [
        *keys,
        *((name, place) for (name, _), place in zip(statement.assignments, statement.column_spans, strict=True)),
    ]
    values = [*values, *(tree for _, tree in statement.assignments)]
    items = [exp.alias_(tree.copy(), f"__{at}", quoted=True) for at, tree in enumerate(values)]
    query = exp.Select(expressions=items)
    query.set("from_", exp.From(this=rows))
    query.meta["stream"] = stream
    return _insert(statement, "update", names, query)


_Key = tuple[str, Span | None]
_Found = tuple[list[_Key], list[exp.Expression], exp.Expression, Span]


def _from_keys(statement: Update) -> _Found | None:
    """UPDATE … WHERE k IN (SELECT STREAM …): the rows of the query, under names of their own."""
    found = None if statement.where is None else _keys_in(statement.where)
    if found is None:
        return None
    columns, query = found
    names = [f"__k{at}" for at, _ in enumerate(columns)]
    inner = [exp.to_identifier(name, quoted=True) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier(_ROWS, quoted=True), columns=inner)
    keys = [(item.name, span_of(item)) for item in columns]
    values: list[exp.Expression] = [exp.column(exp.to_identifier(name, quoted=True)) for name in names]
    return keys, values, exp.Subquery(this=query.copy(), alias=alias), query.meta["stream"]


def _from_source(statement: Update, source: exp.Subquery) -> _Found | None:
    """UPDATE … FROM (SELECT STREAM …) AS s WHERE t.k = s.k."""
    stream = source.this.meta.get("stream")
    if stream is None or not source.alias or statement.where is None:
        return None
    keys: list[_Key] = []
    values: list[exp.Expression] = []
    for part in statement.where.flatten() if isinstance(statement.where, exp.And) else [statement.where]:
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        own = [item for item in sides if isinstance(item, exp.Column) and _is_of(item, statement)]
        others = [item for item in sides if isinstance(item, exp.Column) and item.table.lower() == source.alias.lower()]
        if len(own) != 1 or len(others) != 1:
            return None
        keys.append((own[0].name, span_of(own[0])))
        values.append(others[0])
    return keys, values, source.copy(), stream


def _is_of(column: exp.Column, statement: Update) -> bool:
    return column.table.lower() in {"", statement.table.lower(), (statement.alias or statement.table).lower()}


def _keys_in(where: exp.Expression) -> tuple[list[exp.Column], exp.Query] | None:
    """The columns and the query of `k IN (SELECT STREAM …)`, or `(k, l) IN …`."""
    query = where.args.get("query") if isinstance(where, exp.In) else None
    if query is None:
        return None
    inner = query.unnest()
    left = where.this
    columns = left.expressions if isinstance(left, exp.Tuple) else [left.unnest()]
    if "stream" not in inner.meta or not all(isinstance(item, exp.Column) for item in columns):
        return None
    return columns, inner


def _refuse_own(statement: Update, alias: str | None) -> None:
    """UnsupportedError for values that are computed from the table's own row."""
    names = {statement.table.lower(), (statement.alias or statement.table).lower()} - {(alias or "").lower()}
    for _, tree in statement.assignments:
        for column in tree.find_all(exp.Column):
            if column.table.lower() in names or not column.table:
                message = f"UPDATE that stands sets a column to {column.sql()}, which is not the stream's"
                raise UnsupportedError(Diagnostic("STANDING_STATEMENT", message, span_of(column), hint=_OWN))


def _insert(statement: Delete | Update, does: str, columns: Sequence[_Key], query: exp.Query) -> Insert:
    return Insert(
        text=statement.text,
        span=statement.span,
        table=statement.table,
        table_span=statement.table_span,
        columns=tuple(name for name, _ in columns),
        column_spans=tuple(place or statement.table_span for _, place in columns),
        source=cast("exp.Expression", query),
        does=does,
    )
