"""The value of a column that a row leaves out: its DEFAULT, with one clock for all rows of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.clock import clocked_text
from penstock.backends.columns import in_arrow, python_rows
from penstock.backends.parts import part_changer
from penstock.bind.program.purity import any_impure
from penstock.catalog.model import Column, Table
from penstock.catalog.types import plain_type
from penstock.engine.constants import constants_here
from penstock.plan.forms import reads_clock as form_reads_clock
from penstock.plan.scalar import parsed
from penstock.sql.parse import parse_expression
from penstock.steps.rows.values import Json

if TYPE_CHECKING:
    from penstock.backends.api import Relations, Workspace
    from penstock.backends.native.store import Store


class Defaults:
    """The defaults of columns, as values for rows on the driver and as SQL for DataFrames."""

    def __init__(
        self,
        workspace: Callable[[], Workspace],
        clock: Callable[[], datetime],
        store: Callable[[], Store | None] = lambda: None,
    ) -> None:
        self.workspace = workspace
        self._store = store
        self._clock = clock
        self._constants: dict[tuple[str, str], Any] = {}

    def value(self, column: Column) -> Any:
        """The value now; NULL where nothing is declared."""
        if column.default is None:
            return None
        key = (column.default, column.type)
        if key not in self._constants:
            value = self._evaluated(column)
            if draws(column.default) or reads_clock(column.default):
                return value
            self._constants[key] = value
        return self._constants[key]

    def _evaluated(self, column: Column) -> Any:
        found = evaluated(self.text(column), column, self._store(), self.workspace)
        ((value,),) = python_rows(pa.table({"value": found}))
        mark = part_changer(column.type, "variant", Json)
        return value if mark is None else mark(value)

    def text(self, column: Column) -> str:
        """The default as SQL in the column's type, which reads the step's clock and not the wall's."""
        stated = "NULL" if column.default is None else clocked_text(self._clock())(column.default)
        return f"CAST(({stated}) AS {plain_type(column.type)})"


def evaluated(text: str, column: Column, store: Store | None, relations: Callable[[], Relations]) -> pa.ChunkedArray:
    """The one value of a constant of a column's type, as Arrow carries it: in the process where it is proven."""
    holder = Table("default", (replace(column, name="value"),))
    here = constants_here(store, [text])
    if here is None:
        return relations().declared_rows(relations().sql(f"SELECT {text} AS value"), holder).column(0)
    return in_arrow(holder, here.rename_columns(["value"])).column(0)


@cache
def draws(text: str) -> bool:
    """True if each row has a value of its own, as of `uuid()`."""
    return any_impure(parse_expression(text))


@cache
def reads_clock(text: str) -> bool:
    """True if each step has a value of its own, as of `now()`."""
    return form_reads_clock(parsed(text))
