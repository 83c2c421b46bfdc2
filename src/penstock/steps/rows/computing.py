"""The values of computed columns for rows that come, and what is wrong with the rows for which a term raises."""

from __future__ import annotations

import pyarrow as pa

from penstock.backends.columns import arrow_schema
from penstock.backends.native.raised import diagnosed
from penstock.backends.spark.raised import clipped, reported
from penstock.engine.terms import Terms
from penstock.errors import Diagnostic, SqlError

Values = tuple[pa.Table, dict[int, str]]


def values_of(terms: Terms, rows: pa.Table) -> Values:
    """The values for each row, and by its place what a row's term says if it raises, whose values are NULL.

    Rows that raise are found by halves: neither engine says which one it was.
    """
    try:
        return terms.values(rows), {}
    except Exception as error:
        why = _reason(error, terms)
        if why is None:
            raise
        if rows.num_rows == 1:
            return _nothing(terms), {0: why}
    half = rows.num_rows // 2
    first, second = values_of(terms, rows.slice(0, half)), values_of(terms, rows.slice(half))
    reasons = first[1] | {half + place: why for place, why in second[1].items()}
    return pa.concat_tables([first[0], second[0]]), reasons


def _nothing(terms: Terms) -> pa.Table:
    schema = arrow_schema(terms.columns)
    return pa.Table.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)


def _reason(error: Exception, terms: Terms) -> str | None:
    """The message of a term that has raised; None for an error that is about something else.

    SqlError for a term that Spark refuses.
    """
    raised = diagnosed(error)
    if raised is not None:
        return clipped(raised.message.strip())
    found = reported(error)
    if found is not None and found.what == "refused":
        message = f"table {terms.table.name}, the computed column {terms.labels}: {found.message}"
        raise SqlError(Diagnostic(found.condition, message, terms.columns[0].span, sqlstate=found.sqlstate)) from error
    return found.message if found is not None and found.what == "raised" else None
