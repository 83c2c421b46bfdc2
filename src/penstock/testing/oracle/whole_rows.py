"""The oracle's whole row: all columns of a FROM clause as one value that can be sorted.

The rewriting says `__whole_row()` where it means the row. Over groups that is their keys (`group_rows`). Else it
becomes `struct(*)`, or, where Spark cannot sort one of the columns (a MAP, a VARIANT), all of them in forms that can be
sorted. Only Spark knows the columns, so it is asked.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from sqlglot import exp

from penstock.backends.spark.typetext import type_text
from penstock.catalog.sorting import is_sorted, sortable
from penstock.plan.scalar import quoted
from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql
from penstock.testing.oracle.group_rows import group_row, is_over_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WHOLE_ROW = "__whole_row()"
_ANY_ROW = "struct(1)"


class WholeRows:
    """Asks one session, once for each FROM clause; new with each catalog."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._rows: dict[str, str] = {}

    def spelled(self, tree: exp.Expression) -> exp.Expression:
        """The tree with every whole row written out, in place."""
        for node in list(tree.find_all(exp.Anonymous)):
            select = node.find_ancestor(exp.Select)
            if str(node.this).lower() == "__whole_row" and select is not None:
                if is_over_groups(node, select):
                    node.replace(group_row(select, partial(self._is_column, select)))
                    continue
                source = _with_names(_all_of(select), select)
                if source not in self._rows:
                    self._rows[source] = self._row(source)
                node.replace(parse_expression(self._rows[source]))
        return tree

    def ties(self, query: Any) -> list[exp.Expression]:
        """The output row of a query as items of an ORDER BY: by position, or in a form that can be sorted."""
        frame = self._frame(_with_names(query.copy(), query)) or self._frame(_with_names(_all_rows(query), query))
        if frame is None:
            return [exp.Literal.number(index + 1) for index in range(len(query.selects))]
        return [
            exp.Literal.number(index + 1)
            if is_sorted(kind := type_text(field.dataType))
            else parse_expression(sortable(quoted(field.name), kind))
            for index, field in enumerate(frame.schema.fields)
        ]

    def _is_column(self, select: exp.Select, name: exp.Expression) -> bool:
        query = _all_of(select)
        query.set("expressions", [name.copy()])
        return self._frame(_with_names(query, select)) is not None

    def _row(self, source: str) -> str:
        frame = self._frame(source)
        kinds = [] if frame is None else [type_text(field.dataType) for field in frame.schema.fields]
        if frame is None or all(is_sorted(kind) for kind in kinds):
            return "struct(*)"
        columns = zip(_columns(frame), kinds, strict=True)
        return f"struct({', '.join(sortable(name, kind) for name, kind in columns)})"

    def _frame(self, query: str) -> DataFrame | None:
        """The query analysed; None for one that reads an enclosing query, and so says nothing alone."""
        try:
            return self._session.sql(query)
        except AnalysisException:
            return None


def _all_rows(query: Any) -> exp.Expression:
    """The query without its WHERE, which may read an enclosing query; its columns are the same."""
    copied: exp.Expression = query.copy()
    copied.set("where", None)
    return copied


def _all_of(select: exp.Select) -> exp.Select:
    """`SELECT *` of the FROM clause."""
    source = exp.Select(expressions=[exp.Star()])
    for part in ("from_", "joins", "laterals"):
        value = select.args.get(part)
        if value:
            source.set(part, [item.copy() for item in value] if isinstance(value, list) else value.copy())
    return source


def _with_names(query: exp.Expression, place: exp.Expression) -> str:
    """The query's text under every WITH that holds at a place; what goes by a row there need not be the row."""
    clauses = []
    node: Any = place
    while node is not None:
        clauses += [node.args["with_"]] if node.args.get("with_") else []
        node = node.parent
    named = {item.alias.lower(): item.copy() for clause in reversed(clauses) for item in clause.expressions}
    recursive = any(clause.args.get("recursive") for clause in clauses)
    query.set("with_", exp.With(expressions=list(named.values()), recursive=recursive) if named else None)
    return spark_sql(query).replace(WHOLE_ROW, _ANY_ROW)


def _columns(frame: DataFrame) -> list[str]:
    """The columns of a relation by their qualified names."""
    output = frame._jdf.queryExecution().analyzed().output()  # noqa: SLF001
    attributes = [output.apply(index) for index in range(output.size())]
    parts = [[*_listed(item.qualifier()), item.name()] for item in attributes]
    return [".".join(quoted(part) for part in path) for path in parts]


def _listed(names: object) -> list[str]:
    return [names.apply(index) for index in range(names.size())]  # type: ignore[attr-defined]
