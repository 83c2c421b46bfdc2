"""`FROM t |> WHERE … |> AGGREGATE …`: each operator is a SELECT over what the ones before it give.

An operator goes into the SELECT that is there as long as SQL's own order of clauses says the same; else it gets one of
its own. What had one name keeps it, so that `t.x` can be said further on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import TokenType

from penstock.sql.marks import word

_ORDERS = (TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY)
_ENDS = ("limit", "offset")
_SAID_IN_SELECT = {"expressions", "distinct", "windows", "hint", "kind", "operation_modifiers"}


class PipeParser(DatabricksParser):
    """Reads the operators behind `|>`."""

    PIPES: ClassVar[dict[TokenType | str, Callable[[Any, exp.Query], exp.Select]]] = {
        TokenType.WHERE: lambda self, query: self._piped_where(query),
        TokenType.SELECT: lambda self, query: self._piped_select(query),
        TokenType.LIMIT: lambda self, query: self._piped_limit(query),
        TokenType.OFFSET: lambda self, query: self._piped_limit(query),
        TokenType.PIVOT: lambda self, query: self._piped_pivot(query),
        TokenType.UNPIVOT: lambda self, query: self._piped_pivot(query),
        TokenType.TABLE_SAMPLE: lambda self, query: self._piped_sample(query),
        **dict.fromkeys(_ORDERS, lambda self, query: self._piped_order(query)),
        "AGGREGATE": lambda self, query: self._piped_aggregate(query),
        "AS": lambda self, query: self._piped_name(query),
        "DROP": lambda self, query: self._piped_drop(query),
        "EXTEND": lambda self, query: self._piped_extend(query),
        "SET": lambda self, query: self._piped_set(query),
    }

    def _parse_select(self, *args: Any, **kwargs: Any) -> Any:
        query: Any = super()._parse_select(*args, **kwargs)
        piped = kwargs.get("consume_pipe", True) and self._match(TokenType.PIPE_GT, advance=False)
        if piped and isinstance(query, exp.Values):
            return self._parse_pipe_syntax_query(self._values_to_select(query))
        return query

    def _parse_pipe_syntax_query(self, query: Any) -> Any:
        while self._match(TokenType.PIPE_GT):
            read = self.PIPES.get(self._curr.token_type) or self.PIPES.get(word(self._curr))
            query = self._piped_relation(query) if read is None else read(self, query)
        return query

    def _piped_where(self, query: exp.Query) -> exp.Select:
        return _open(query, *_ENDS).where(self._parse_where(), copy=False)

    def _piped_select(self, query: exp.Query) -> exp.Select:
        start = self._index
        chosen: Any = super()._parse_select(parse_set_operation=False, consume_pipe=False)
        if any(value and key not in _SAID_IN_SELECT for key, value in chosen.args.items()):
            self._retreat(start)
            self.raise_error("")
        ordered = ("order",) if chosen.args.get("distinct") else ()
        select = _listing(_open(query, *_ENDS, *ordered), chosen.expressions)
        for key in _SAID_IN_SELECT:
            select.set(key, chosen.args.get(key))
        return select

    def _piped_extend(self, query: exp.Query) -> exp.Select:
        self._advance()
        added: list[Any] = self._parse_expressions()
        if not added:
            self.raise_error("")
        return _listing(_open(query, *_ENDS), [exp.Star(), *added])

    def _piped_set(self, query: exp.Query) -> exp.Select:
        """Each value may read those that were set before it."""
        self._advance()
        for name, value in self._parse_csv(self._read_assignment):
            query = _listing(_open(query, *_ENDS), [exp.Star(replace=[exp.Alias(this=value, alias=name)])])
        return _select(query)

    def _read_assignment(self) -> tuple[exp.Expression, exp.Expression]:
        name: Any = self._parse_id_var()
        if name is None or not self._match(TokenType.EQ):
            self.raise_error("")
        value: Any = self._parse_disjunction()
        if value is None:
            self.raise_error("")
        return name, value

    def _piped_drop(self, query: exp.Query) -> exp.Select:
        self._advance()
        names = self._parse_csv(self._parse_id_var)
        if not names:
            self.raise_error("")
        return _listing(_open(query, *_ENDS), [exp.Star(except_=names)])

    def _piped_name(self, query: exp.Query) -> exp.Select:
        self._advance()
        name: Any = self._parse_id_var()
        if name is None:
            self.raise_error("")
        return _within(query, name)

    def _piped_order(self, query: exp.Query) -> exp.Select:
        select = _open(query, "order", *_ENDS)
        while self._match_set((*_ORDERS, TokenType.LIMIT, TokenType.OFFSET), advance=False):
            if self._curr.token_type not in _ORDERS:
                return self._piped_limit(select)
            read: Any = self.QUERY_MODIFIER_PARSERS[self._curr.token_type]
            key, value = read(self)
            select.set(key, value)
        return select

    def _piped_limit(self, query: exp.Query) -> exp.Select:
        select = _select(query)
        if any(select.args.get(key) for key in _ENDS):
            select = _within(select)
        for key, value in (("limit", self._parse_limit()), ("offset", self._parse_offset())):
            if value is not None:
                select.set(key, value)
        return select

    def _piped_aggregate(self, query: exp.Query) -> exp.Select:
        """`AGGREGATE sum(a) AS s GROUP BY b + 1 AS k`: first the groups, then what is asked of each."""
        self._advance()
        asked = [] if self._match(TokenType.GROUP_BY, advance=False) else self._parse_expressions()
        groups = self._parse_csv(self._read_group) if self._match(TokenType.GROUP_BY) else []
        if not asked and not groups:
            self.raise_error("")
        select = _open(query, "order", *_ENDS)
        select.set("expressions", [*groups, *asked])
        if groups:
            select.set("group", exp.Group(expressions=[item.unalias().copy() for item in groups]))
        return select

    def _read_group(self) -> Any:
        """An expression; a number would count columns of the input, which are not known here."""
        start = self._index
        found: Any = self._parse_expression()
        if found is None or isinstance(found.unalias(), exp.Literal | exp.Rollup | exp.Cube | exp.GroupingSets):
            self._retreat(start)
            self.raise_error("")
        return found

    def _piped_pivot(self, query: exp.Query) -> exp.Select:
        select = _within(query)
        select.args["from_"].this.set("pivots", self._parse_pivots())
        return select

    def _piped_sample(self, query: exp.Query) -> exp.Select:
        select = _within(query)
        select.args["from_"].this.set("sample", self._parse_table_sample())
        return select

    def _piped_relation(self, query: exp.Query) -> exp.Select:
        """UNION, INTERSECT and EXCEPT, and the joins: all that can begin in several ways."""
        together = self.parse_set_operation(this=_closed(query))
        if together is not None:
            return _within(together)
        join: Any = self._parse_join()
        if join is None:
            self.raise_error("")
        select = _open(query, "where", "order", *_ENDS)
        select.append("joins", join)
        return select


def _select(query: exp.Query) -> exp.Select:
    return query if isinstance(query, exp.Select) else _within(query)


def _closed(query: exp.Query) -> exp.Query:
    """The query as one side of a set operation."""
    return _within(query) if any(query.args.get(key) for key in ("order", *_ENDS)) else query


def _open(query: exp.Query, *without: str) -> exp.Select:
    """The query as a `SELECT * FROM …` that has none of these clauses."""
    plain = isinstance(query, exp.Select) and query.expressions == [exp.Star()]
    closing = ("distinct", "group", "having", "qualify", "windows", "operation_modifiers", "with_", *without)
    if isinstance(query, exp.Select) and plain and not any(query.args.get(key) for key in closing):
        return query
    return _within(query)


def _listing(select: exp.Select, items: list[exp.Expression]) -> exp.Select:
    """`SELECT items FROM …`; an ORDER BY that is there still means the columns of FROM, whatever items are named."""
    order, named = select.args.get("order"), _named(select)
    new = {alias.alias.lower() for item in items for alias in item.find_all(exp.Alias)}
    hidden = [] if order is None else [item for item in order.find_all(exp.Column) if item.parts[0].name.lower() in new]
    if named is None:
        select = _within(select) if hidden else select
    else:
        for column in hidden:
            column.replace(exp.column(*reversed([named.this, *column.parts]), copy=True))
    select.set("expressions", items)
    return select


def _within(query: exp.Query, name: exp.Expression | None = None) -> exp.Select:
    """`SELECT * FROM (query) name`; without a name it has that of the only relation that the query reads."""
    inner = query if isinstance(query, exp.Subquery) else exp.Subquery(this=query)
    if name is not None or not inner.alias:
        inner.set("alias", _named(query) if name is None else exp.TableAlias(this=name))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner))


def _named(query: exp.Query) -> exp.TableAlias | None:
    clause = query.args.get("from_")
    if clause is None or query.args.get("joins") or query.args.get("laterals") or clause.this.args.get("joins"):
        return None
    name = clause.this.alias_or_name
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True)) if name else None
