"""Rows that came in time for a window, in Spark's words: by the waterlines that the rows of a table keep.

    TUMBLE(TABLE e, DESCRIPTOR(ts), …)    … FROM (windows of what e keeps) WHERE window_end > the kept waterline of ts

That is said of windows over tables. Of any other reader that judges rows the view is taken as it is, and compared with
its plan over the tables' rows instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.catalog.model import Catalog, Table, View
from penstock.catalog.reserved import WATERLINE, WATERLINES
from penstock.plan.nodes import Filter, Plan
from penstock.sql.nodes import TableFunction
from penstock.testing.oracle.row_order import name_of

_WINDOWS = ("TUMBLE", "HOP", "CUMULATE")


def kept_of(relation: str) -> str:
    """The relation that holds a table's rows with the waterlines that they keep."""
    return f"{WATERLINES}_{relation.lower()}"


def judged_tables(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """The tables whose rows are judged by who reads them, by lower-case name, with the columns by which."""
    found = {name: _judged_columns(table) for name, table in catalog.tables.items()}
    return {name: columns for name, columns in found.items() if columns}


def _judged_columns(table: Table) -> tuple[str, ...]:
    names = (item.name for item in table.columns if item.keeps_waterlines and item.name != WATERLINES)
    return tuple(name.removeprefix(WATERLINE).lower() for name in names)


def judging_table(function: TableFunction, tables: Mapping[str, tuple[str, ...]]) -> tuple[str, str] | None:
    """The table whose rows a window function judges, and their time; None if it judges none that the oracle can say."""
    if function.name not in _WINDOWS:
        return None
    arguments = [item.expression if isinstance(item, exp.Kwarg) else item for item in function.expressions]
    table = arguments[0] if arguments else None
    if not isinstance(table, exp.Table) or len(arguments) < 2:  # noqa: PLR2004 - a relation and its time
        return None
    time = arguments[1].expressions[0] if name_of(arguments[1]) == "descriptor" else arguments[1]
    known = tables.get(table.name.lower(), ())
    if not isinstance(time, exp.Column) or time.name.lower() not in known:
        return None
    return table.name, time.name


def in_time(text: str, time: str) -> str:
    """The rows in windows that had not ended when they came, without what is kept with them."""
    line = f"`{WATERLINE}{time}`"
    return f"SELECT * EXCEPT ({line}, `{WATERLINES}`) FROM ({text}) WHERE {line} IS NULL OR window_end > {line}"


def judges_otherwise(view: View, catalog: Catalog) -> bool:
    """True for a view in which something judges rows that the oracle has no words for."""
    if view.plan is None or not isinstance(view.query, exp.Expression):
        return False
    tables = judged_tables(catalog)
    said = {found for item in view.query.find_all(TableFunction) if (found := judging_table(item, tables))}
    times = len([item for item in view.query.find_all(TableFunction) if judging_table(item, tables)])
    return _judges(view.plan) > 0 and (not said or _judges(view.plan) > times)


def _judges(plan: Plan) -> int:
    return sum(isinstance(node, Filter) and node.judges for node in plan.walk())
