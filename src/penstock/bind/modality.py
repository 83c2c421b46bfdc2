"""Streams and relations: which queries can be asked as a stream, and which as a relation (Calcite's rules).

    SELECT STREAM * FROM orders JOIN products …   at least one input is a stream
    SELECT * FROM orders                          every input keeps its rows

Only the outermost STREAM counts; in a sub-query, in WITH and in a view it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from penstock.catalog.model import Catalog, Table, View
from penstock.errors import Diagnostic, SqlError
from penstock.sql.complaints import wrong
from penstock.sql.nodes import RowMatches, TableFunction
from penstock.sql.text import span_of

_STREAM_HINT = "STREAM reads what comes into a stream: CREATE STREAM declares one; leave STREAM out to read a table"
_MIXED = "Set operator cannot combine streaming and non-streaming inputs"
Names = dict[str, exp.Expression]  # the queries of WITH


def streamed(tree: exp.Expression) -> bool:
    """True for a query that is asked as a stream; SqlError where only some sides of a set operation are."""
    if isinstance(tree, exp.Subquery):
        return streamed(tree.this)
    if not isinstance(tree, exp.SetOperation):
        return bool(tree.meta.get("stream"))
    sides = list(_sides(tree))
    found = [streamed(side) for side in sides]
    if all(found) or not any(found):
        return found[0]
    odd = next(side for side, is_stream in zip(sides[1:], found[1:], strict=True) if is_stream != found[0])
    raise wrong(code="MIXED_MODALITY", message=_MIXED, place=odd, hint="write STREAM on every side, or on none")


def _sides(tree: exp.Expression) -> Iterator[exp.Expression]:
    if isinstance(tree, exp.SetOperation):
        yield from _sides(tree.this)
        yield from _sides(tree.expression)
    else:
        yield tree


def check_streamed(tree: exp.Expression, catalog: Catalog) -> None:
    """Raise SqlError for a query that cannot be asked as a stream: nothing that it reads is one."""
    _Reading(catalog).check_streamed(tree, {})


def check_relational(tree: exp.Expression, catalog: Catalog) -> None:
    """Raise SqlError for a query that reads a stream which keeps no rows."""
    _Reading(catalog).check_relational(tree, {})


def is_streaming(tree: exp.Expression, catalog: Catalog, names: Names | None = None) -> bool:
    """True for an item of FROM, or a query, into which rows of streams come; `names` are the queries of WITH."""
    return _Reading(catalog).supports_stream(tree, names or {})


class _Reading:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    # As a stream

    def check_streamed(self, tree: exp.Expression, names: Names) -> None:
        if isinstance(tree, exp.Subquery):
            self.check_streamed(tree.this, names)
        elif isinstance(tree, exp.SetOperation):
            for side in (tree.this, tree.expression):
                self.check_streamed(side, _with(tree, names))
        else:
            self._check_select(tree, _with(tree, names))

    def _check_select(self, tree: exp.Expression, names: Names) -> None:
        found = list(children(tree))
        if any(self.supports_stream(child, names) for child in found):
            return
        if len(found) == 1:
            raise self._no_stream(found[0])
        listed = ", ".join(self._name(child) for child in found)
        message = (
            f"Cannot stream results of a query with no streaming inputs: '{listed}'. "
            "At least one input should be convertible to a stream"
        )
        raise wrong(code="NO_STREAM", message=message, place=tree, hint=_STREAM_HINT)

    def _no_stream(self, child: exp.Expression) -> SqlError:
        if _is_values(child) and not child.alias:
            return wrong(code="NO_STREAM", message="Cannot stream VALUES", place=child, hint=_STREAM_HINT)
        message = f"Cannot convert table '{self._name(child)}' to stream"
        return wrong(code="NO_STREAM", message=message, place=child, hint=_STREAM_HINT)

    def supports_stream(self, tree: exp.Expression, names: Names) -> bool:
        match tree:
            case exp.Table():
                return self._named_is_stream(tree, names)
            case exp.Subquery() if isinstance(tree.this, exp.Table):
                return any(self.supports_stream(item, names) for item in _joined(tree.this))
            case exp.Subquery():
                return self.supports_stream(tree.this, names)
            case RowMatches():
                return self.supports_stream(tree.this, names)
            case TableFunction():
                return any(self.supports_stream(item, names) for item in _data(tree))
            case exp.SetOperation():
                within = _with(tree, names)
                return all(self.supports_stream(side, within) for side in (tree.this, tree.expression))
            case exp.Select():
                within = _with(tree, names)
                return any(self.supports_stream(child, within) for child in children(tree))
            case _:
                return False

    def _named_is_stream(self, tree: exp.Table, names: Names) -> bool:
        name = str(tree.name)
        if name.lower() in names:
            own = names[name.lower()]
            return self.supports_stream(own, {key: item for key, item in names.items() if item is not own})
        found = self._catalog.relation(name)
        if isinstance(found, View):
            return isinstance(found.query, exp.Expression) and self.supports_stream(found.query, {})
        # A name that is not there is complained of by whoever reads it.
        return found is None or found.stream

    # As a relation

    def check_relational(self, tree: exp.Expression, names: Names) -> None:
        for query in tree.find_all(exp.Select):
            for child in children(query):
                if isinstance(child, exp.Table) and child.name.lower() not in _names_around(query, names):
                    self._check_history(child)
                for inner in _data(child):
                    if isinstance(inner, exp.Table):
                        self._check_history(inner)

    def _check_history(self, tree: exp.Table) -> None:
        found = self._catalog.relation(str(tree.name))
        if isinstance(found, Table) and found.stream and found.history.lower() == "none" and not found.key:
            message = f"Cannot convert stream '{self._name(tree)}' to relation: it keeps no history"
            hint = "SELECT STREAM reads what comes; leave out 'history' = 'none', or read a MATERIALIZED view of it"
            raise SqlError(Diagnostic("NO_HISTORY", message, span_of(tree), hint=hint))

    def _name(self, tree: exp.Expression) -> str:
        """The name that a message has for an item of FROM: its alias or its own; in Calcite's dialect in capitals."""
        own = tree.name if isinstance(tree, exp.Table) else "VALUES" if _is_values(tree) else ""
        name = str(tree.alias or own)
        if not name:
            return "the sub-query"
        return name.upper() if self._catalog.settings.get("dialect") == "calcite" else name


def children(tree: exp.Expression) -> Iterator[exp.Expression]:
    """The items of FROM of a SELECT."""
    if isinstance(tree, exp.Select):
        source = tree.args.get("from_")
        if source is not None:
            yield from _joined(source.this)
        for join in tree.args.get("joins") or []:
            yield from _joined(join.this)


def _joined(tree: exp.Expression) -> Iterator[exp.Expression]:
    """An item of FROM, and those that are joined to it inside parentheses."""
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Table) and not tree.alias:
        yield from _joined(tree.this)
        return
    yield tree
    for join in tree.args.get("joins") or []:
        yield from _joined(join.this)


def _data(tree: exp.Expression) -> Iterator[exp.Expression]:
    """The relation that a table function reads, its first argument, or that is matched."""
    if isinstance(tree, RowMatches):
        yield tree.this
    for item in tree.expressions[:1] if isinstance(tree, TableFunction) else ():
        inner = item.expression if isinstance(item, exp.PropertyEQ | exp.Kwarg) else item
        yield inner


def _is_values(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Values) or (isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Values))


def _with(tree: exp.Expression, names: Names) -> Names:
    """The queries of WITH that a query sees."""
    found = tree.args.get("with_")
    return names if found is None else {**names, **{str(cte.alias).lower(): cte.this for cte in found.expressions}}


def _names_around(query: exp.Expression, names: Names) -> Names:
    place: Any = query
    while place is not None:
        names = {**_with(place, {}), **names}
        place = place.parent
    return names
