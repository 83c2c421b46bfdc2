"""A query that grows by calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.relational.block import Block, indented
from penstock.relational.columns import ATOM, Column, col, column_of, operand
from penstock.relational.emission import Emit
from penstock.relational.emitting import Emitting
from penstock.relational.grouped import Grouped
from penstock.relational.joining import join_clause, keeps_filter, kind_of
from penstock.relational.ordering import Window
from penstock.relational.saying import at, call, refused
from penstock.relational.time_windows import TimeWindow
from penstock.relational.writing import named
from penstock.sql.parse import parse_expression

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.pipeline.answer import Answer
    from penstock.pipeline.standing import StandingQuery
    from penstock.relational.home import Home


@dataclass(frozen=True, eq=False)
class Relation:
    """A query over a pipeline, made by `Pipeline.table` and `Pipeline.sql`; each call gives a new one.

    A call is bound at once: what is wrong is said by the line that says it, with the call before the message. Nothing
    is computed before `collect`, `arrow`, `show`, `subscribe` and the like. What is a column may be its name or an
    expression. Raises SqlError for what is wrong, UnsupportedError for what cannot be done.
    """

    home: Home
    block: Block
    grouped: Grouped | None = None
    aggregates: tuple[Any, ...] = ()

    # What it is

    def sql(self) -> str:
        """The query as SQL, in the pipeline's dialect."""
        return self.block.sql

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.home.columns_of(self.sql())

    def explain(self, options: Sequence[str] = ()) -> str:
        """An account of how it would be maintained as a view; the options are those of `Pipeline.explain`."""
        return self.home.explain_query(self.sql(), options)

    def __getitem__(self, name: str) -> Column:
        """A column of this relation, under the name that `alias` has given it or its table has."""
        if name.lower() not in {known.lower() for known in self.columns}:
            raise refused(message=f"there is no column {name!r}", hint=f"the columns are {', '.join(self.columns)}")
        block = self.block.around()
        before = "" if block.alias is None else f"{named(block.alias)}."
        before = f"{block.source}." if block.alias is None and block.is_table else before
        return Column(before + named(name), level=ATOM)

    # Rows and columns

    def alias(self, name: str) -> Relation:
        """The same under a name, by which `col("name.column")` finds its columns."""
        block = self.block if self.block.is_bare else Block(self.block.derived)
        return Relation(self.home, replace(block, alias=name))

    def filter(self, condition: Column | str) -> Relation:
        """The rows for which a condition holds: an expression, or SQL text."""
        found = self._condition(condition, "filter")
        block = self.block if self.block.is_open else self.block.around()
        return self._made(replace(block, where=(*block.where, found)), "filter", condition)

    def select(self, *columns: Any) -> Relation:
        """Some columns: names, '*', or expressions, which `alias` names."""
        block = self.block.for_items()
        items = tuple(item.item for item in self._columns(columns, "select"))
        return self._made(replace(block, items=items), "select", *columns)

    def select_expr(self, *texts: str) -> Relation:
        """Some columns, each an item of SELECT in SQL: `select_expr("a", "b + 1 AS c")`."""
        block = self.block.for_items()
        return self._made(replace(block, items=tuple(texts)), "select_expr", *texts)

    def with_column(self, name: str, column: Column) -> Relation:
        """All columns and one more, or another one in the place of that name."""
        return self.with_columns({name: column})

    def with_columns(self, columns: Mapping[str, Column]) -> Relation:
        """All columns, and some more or others in their places."""
        for name, column in columns.items():
            if not isinstance(column, Column):
                hint = f"F.expr({column!r}) for SQL, lit({column!r}) for a value, col({column!r}) for a column"
                raise refused(message=f"with_column({name!r}): expected an expression, found {column!r}", hint=hint)
        block = self.block.for_items()
        given = {name.lower(): replace(column, name=name).item for name, column in columns.items()}
        old = {name.lower() for name in self.columns}
        items = [given.get(name.lower(), named(name)) for name in self.columns] if old & set(given) else ["*"]
        items += [item for name, item in given.items() if name not in old]
        return self._made(replace(block, items=tuple(items)), "with_column", *columns)

    def with_column_renamed(self, old: str, new: str) -> Relation:
        """All columns, one under another name; a name that is not there changes nothing."""
        items = [
            f"{named(item)} AS {named(new)}" if item.lower() == old.lower() else named(item) for item in self.columns
        ]
        return self._made(replace(self.block.for_items(), items=tuple(items)), "with_column_renamed", old, new)

    def drop(self, *names: str) -> Relation:
        """All columns but some; a name that is not there changes nothing."""
        gone = {name.lower() for name in names}
        items = tuple(named(name) for name in self.columns if name.lower() not in gone)
        if not items:
            raise refused(message=f"{call('drop', *names)}: no column is left", hint="keep at least one")
        return self._made(replace(self.block.for_items(), items=items), "drop", *names)

    def distinct(self) -> Relation:
        """Each row once."""
        block = (
            self.block if not (self.block.order or self.block.is_cut or self.block.distinct) else self.block.around()
        )
        return self._made(replace(block, distinct=True), "distinct")

    def drop_duplicates(self, subset: Sequence[str] | None = None) -> Relation:
        """Each row once, or of the rows that are equal in some columns the first by all columns upwards, NULL first."""
        if subset is None:
            return self.distinct()
        window = Window.partition_by(*subset).order_by(*(f"`{name}`" for name in self.columns))
        number = self._free("row_of_duplicates")
        kept = self.with_column(number, Column("ROW_NUMBER()", level=ATOM).over(window)).filter(col(number) == 1)
        return kept.drop(number)

    def order_by(self, *columns: Any) -> Relation:
        """The rows in an order: names, or expressions with `.desc()`."""
        block = self.block if not self.block.is_cut else self.block.around()
        order = tuple(item.ordered for item in self._columns(columns, "order_by"))
        return self._made(replace(block, order=order), "order_by", *columns)

    def limit(self, count: int) -> Relation:
        """The first so many rows, which `order_by` makes certain ones."""
        block = self.block if self.block.limit is None else self.block.around()
        return self._made(replace(block, limit=count), "limit", count)

    def offset(self, count: int) -> Relation:
        """The rows behind the first so many."""
        block = self.block if not self.block.is_cut else self.block.around()
        return self._made(replace(block, offset=count), "offset", count)

    # Several relations

    def join(self, other: Relation, on: Any = None, how: str = "inner") -> Relation:
        """The rows of both sides that belong together; `on` is a condition, or names that both sides have.

        `how` is 'inner', 'left', 'right', 'full', 'cross', 'semi' or 'anti', or another of PySpark's names for them.
        """
        where = call("join", other.block.alias or other.block.source, on)
        try:
            kind = kind_of(how)
            clause = join_clause(other.block.around().relation, on, kind)
        except PenstockError as error:
            raise at(where, error) from None
        block = self.block.opened()
        if block.where and not keeps_filter(kind):
            block = block.around()
        return self._bound(replace(block, joins=(*block.joins, clause)), where)

    def cross_join(self, other: Relation) -> Relation:
        """All pairs of rows."""
        return self.join(other, how="cross")

    def as_of(self, time: Any) -> Relation:
        """A table as it was at a time: a TIMESTAMP, or in a join an expression over the other side (`col("o.at")`)."""
        if not self.block.is_table:
            raise refused(
                message="as_of() is for a table or view itself", hint="p.table('prices').as_of(…) before anything else"
            )
        source = f"{self.block.source} FOR SYSTEM_TIME AS OF {operand(time).text}"
        return Relation(self.home, replace(self.block, source=source))

    def union(self, other: Relation) -> Relation:
        """The rows of both, by the places of the columns; equal ones stay, and `distinct()` leaves each once."""
        return self._set("UNION ALL", other, "union")

    def union_by_name(self, other: Relation) -> Relation:
        """The rows of both, by the names of the columns."""
        return self._set("UNION ALL", other.select(*(f"`{name}`" for name in self.columns)), "union_by_name")

    def intersect(self, other: Relation) -> Relation:
        """The rows that are in both, each once."""
        return self._set("INTERSECT", other, "intersect")

    def intersect_all(self, other: Relation) -> Relation:
        """The rows that are in both, as often as in both."""
        return self._set("INTERSECT ALL", other, "intersect_all")

    def subtract(self, other: Relation) -> Relation:
        """The rows that are not in the other one, each once."""
        return self._set("EXCEPT", other, "subtract")

    def except_all(self, other: Relation) -> Relation:
        """The rows without as many of each as the other one has."""
        return self._set("EXCEPT ALL", other, "except_all")

    def _set(self, word: str, other: Relation, name: str) -> Relation:
        sides = (
            side.sql() if not (side.block.order or side.block.is_cut) else f"SELECT *\nFROM {side.block.derived}"
            for side in (self, other)
        )
        text = f"\n{word}\n".join(sides)
        return self._bound(Block(f"(\n{indented(text)}\n)"), call(name))

    # Groups and windows

    def group_by(self, *keys: Any) -> Grouped:
        """Groups of rows, for `agg`; a key is a column, or a window such as `tumble("at", "1 hour")`."""
        windows = [key for key in keys if isinstance(key, TimeWindow)]
        found = Grouped(
            self, tuple(self._columns([key for key in keys if not isinstance(key, TimeWindow)], "group_by"))
        )
        for window in windows:
            found = found.window(window)
        return found

    def agg(self, *aggregates: Any) -> Relation:
        """Aggregates of all rows."""
        return self.group_by().agg(*aggregates)

    def window(self, window: TimeWindow) -> Relation:
        """Each row with the windows of time that it is in, as `window_start` and `window_end`.

        Behind `agg` it is the aggregation that goes by the window: the rows that it is of are cut into windows, and
        `window_start` and `window_end` stand before its columns.
        """
        if self.block.keys is not None and self.grouped is not None:
            return self.grouped.window(window).agg(*self.aggregates)
        source = window.over(replace(self.block, order=()).argument)
        return self._bound(Block(source, self.block.around().alias), call("window", window))

    # What is done with it

    def emit(self, policy: Emit) -> Emitting:
        """The query as one that stands, and when it shows its rows: `emit(after_watermark())`."""
        return Emitting.checked(self.home, f"{self.sql()}\n{policy.text}", call("emit", policy))

    def stream(self) -> Emitting:
        """SELECT STREAM: the final rows of what comes after it began, each once."""
        text = self.sql()
        return Emitting.checked(self.home, f"SELECT STREAM{text.removeprefix('SELECT')}", "stream()")

    def answer(self) -> Answer:
        """The answer over the present contents."""
        found: Answer = self.home.query(self.sql())
        return found

    def collect(self) -> list[tuple[Any, ...]]:
        """The rows of the answer, as tuples."""
        return self.answer().rows

    def count(self) -> int:
        """The number of rows of the answer."""
        return int(self.agg(Column("count(*)", level=ATOM)).collect()[0][0])

    def first(self) -> tuple[Any, ...] | None:
        """The first row of the answer, or None."""
        rows = self.limit(1).collect()
        return rows[0] if rows else None

    def take(self, count: int) -> list[tuple[Any, ...]]:
        """The first so many rows of the answer."""
        return self.limit(count).collect()

    def to_arrow(self) -> pa.Table:
        """The answer as an Arrow table."""
        return self.answer().arrow()

    def to_pandas(self) -> Any:
        """The answer as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def df(self) -> DataFrame:
        """The answer as a Spark DataFrame."""
        return self.answer().df()

    def show(self, count: int = 20) -> None:
        """Print the first rows of the answer."""
        self.limit(count).answer().show(count)

    def subscribe(self, *, name: str | None = None, clock: datetime | str | None = None) -> StandingQuery:
        """Have the query stand, as `Pipeline.subscribe` does."""
        found: StandingQuery = self.home.subscribe(self.sql(), name=name, clock=clock)
        return found

    def create_view(self, name: str, *, materialized: bool = False) -> Relation:
        """Create a view of the query, and give it as a relation."""
        kind = "MATERIALIZED VIEW" if materialized else "VIEW"
        self.home.execute(f"CREATE {kind} {named(name)} AS {self.sql()}")
        return Relation(self.home, Block(named(name)))

    # Inside

    def _free(self, name: str) -> str:
        while name.lower() in {known.lower() for known in self.columns}:
            name += "_"
        return name

    def _condition(self, condition: Any, where: str) -> Column:
        if not isinstance(condition, Column | str):
            hint = "write filter(col('x') > 1) or filter('x > 1')"
            raise refused(message=f"{where}: expected a condition, found {condition!r}", hint=hint)
        return self._checked(Column(condition) if isinstance(condition, str) else condition, where)

    def _columns(self, given: Iterable[Any], where: str) -> list[Column]:
        flat = [item for one in given for item in (one if isinstance(one, list | tuple) else (one,))]
        try:
            columns = [column_of(item) for item in flat]
        except PenstockError as error:
            raise at(call(where, *flat), error) from None
        return [self._checked(column, where) for column in columns]

    def _checked(self, column: Column, where: str) -> Column:
        """The column, if it is one expression; what else its text could be would change the query around it."""
        if column.text == "*" or column.text.endswith(".*"):
            return column
        try:
            parse_expression(column.text, self.home.dialect)
        except PenstockError as error:
            raise at(call(where, column), error) from None
        return column

    def _made(self, block: Block, name: str, *arguments: Any) -> Relation:
        return self._bound(block, call(name, *arguments))

    def _bound(self, block: Block, where: str) -> Relation:
        """A relation with another block, if that can be bound."""
        made = Relation(self.home, block)
        try:
            made.columns  # noqa: B018 - binds it, and remembers the names
        except PenstockError as error:
            raise at(where, error) from None
        return made

    def __repr__(self) -> str:
        return f"<Relation {' '.join(self.sql().split())}>"

    where = filter  # noqa: A003 - PySpark's spelling
    groupBy = group_by  # noqa: N815 - PySpark's spelling
    orderBy = order_by  # noqa: N815 - PySpark's spelling
    sort = order_by
    withColumn = with_column  # noqa: N815 - PySpark's spelling
    withColumns = with_columns  # noqa: N815 - PySpark's spelling
    withColumnRenamed = with_column_renamed  # noqa: N815 - PySpark's spelling
    selectExpr = select_expr  # noqa: N815 - PySpark's spelling
    dropDuplicates = drop_duplicates  # noqa: N815 - PySpark's spelling
    unionAll = union  # noqa: N815 - PySpark's spelling
    unionByName = union_by_name  # noqa: N815 - PySpark's spelling
    intersectAll = intersect_all  # noqa: N815 - PySpark's spelling
    exceptAll = except_all  # noqa: N815 - PySpark's spelling
    crossJoin = cross_join  # noqa: N815 - PySpark's spelling
    toArrow = to_arrow  # noqa: N815 - PySpark's spelling
    toPandas = to_pandas  # noqa: N815 - PySpark's spelling
