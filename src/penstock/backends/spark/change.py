"""A change: weighted rows, on the driver as Arrow while small, on the executors otherwise.

The last column is `__weight` BIGINT. A change made by linear operators is lazy: it becomes a part of the plan of
whatever reads it. `settled()` evaluates it once, for a reader that needs it twice or must know its size.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from penstock.backends import api
from penstock.backends.api import Judged
from penstock.backends.cancelling import equal_added_up, may_be_null, with_one_zero, without_cancelled
from penstock.backends.columns import fitted
from penstock.backends.judging import Judging
from penstock.backends.native.trace import Rows
from penstock.backends.spark.carrying import driver_safe
from penstock.backends.spark.fetched import fetched_parts
from penstock.backends.spark.grouping import consolidation
from penstock.backends.spark.judging import greatest_text, verdict
from penstock.backends.spark.names import new_name
from penstock.backends.spark.parameters import as_parameter
from penstock.backends.spark.void_columns import fetched_arrow
from penstock.backends.thresholds import HANDED_ROWS
from penstock.backends.waterlines import below, value_literal
from penstock.catalog.reserved import WEIGHT
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from penstock.backends.spark.workspace import Workspace


class Evaluating(Protocol):
    """An operator in DuckDB, which evaluates its changes."""

    def fetched(self, rows: Rows) -> pa.Table:
        """The rows of a change as Arrow."""

    def evaluated(self, rows: Rows) -> Rows:
        """A change that is a query, as a table of the step."""


class Delta(api.Delta):
    """Weighted rows of one relation in one step; `rows` counts entries, not weights, and is None while unknown.

    `cancels` says that entries may cancel one another: those that a join gives where rows have been replaced.
    """

    workspace: Workspace
    schema: StructType

    def __init__(
        self,
        workspace: Workspace,
        schema: StructType,
        *,
        arrow: pa.Table | None = None,
        frame: DataFrame | None = None,
        query: str | None = None,
        rows: int | None = None,
        estimate: int = 0,
        partitioned: bool = False,
        retracts: bool = True,
        cancels: bool = False,
        counted: Callable[[int], None] | None = None,
        fetch: Callable[[], pa.Table] | None = None,
        once: bool = False,
    ) -> None:
        self.workspace = workspace
        self.schema = schema
        self._here = arrow
        self._fetch = fetch
        self.native: Rows | None = None
        self._source: Evaluating | None = None
        self._frame = frame
        self._query = query
        self._named: tuple[int, str] | None = None
        self.rows = arrow.num_rows if arrow is not None else rows
        self.estimate = self.rows if self.rows is not None else estimate
        self.partitioned = partitioned
        self._retracts = retracts
        self.cancels = cancels
        self._once = once  # each different row is one entry, none with a weight of zero
        self._counted = counted
        self._lock = threading.Lock()
        if self.is_lazy:
            workspace.checkpoints.lazily(self)

    @classmethod
    def of_arrow(
        cls,
        workspace: Workspace,
        table: pa.Table,
        schema: StructType | None = None,
        *,
        cancels: bool = False,
        once: bool = False,
    ) -> Delta:
        """A change that is on the driver; `schema` gives the Spark types where Arrow cannot tell them.

        With `once` each different row is one entry, and none has a weight of zero.
        """
        if schema is None:
            from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - `check` goes without PySpark

            schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        return cls(workspace, schema, arrow=table, cancels=cancels, once=once)

    @classmethod
    def of_frame(
        cls,
        workspace: Workspace,
        frame: DataFrame,
        *,
        rows: int | None = None,
        estimate: int = 0,
        partitioned: bool = False,
        retracts: bool = True,
        cancels: bool = False,
        counted: Callable[[int], None] | None = None,
    ) -> Delta:
        """A change that is a DataFrame, lazy unless the caller has evaluated it (then `rows` is known).

        It is `partitioned` if `trace.by_key` has evaluated it. No weight is below zero unless it `retracts`. `counted`
        is told the number of rows once it is known.
        """
        return cls(
            workspace,
            frame.schema,
            frame=frame,
            rows=rows,
            estimate=estimate,
            partitioned=partitioned,
            retracts=retracts,
            cancels=cancels,
            counted=counted,
        )

    @classmethod
    def of_query(
        cls,
        workspace: Workspace,
        query: str,
        schema: StructType,
        *,
        estimate: int,
        retracts: bool = True,
        cancels: bool = False,
        counted: Callable[[int], None] | None = None,
    ) -> Delta:
        """A lazy change that is the text of a query: a reader takes it into its own, and nobody plans it alone."""
        return cls(
            workspace, schema, query=query, estimate=estimate, retracts=retracts, cancels=cancels, counted=counted
        )

    @classmethod
    def of_native(
        cls, workspace: Workspace, rows: Rows, schema: StructType, source: Evaluating, estimate: int = 0
    ) -> Delta:
        """A change that lies in DuckDB as long as the step lasts, or is a query there; `estimate` of its rows."""
        fetch = partial(source.fetched, rows)
        found = cls(
            workspace, schema, rows=rows.count, fetch=fetch, cancels=True, estimate=estimate, once=rows.distinct
        )
        found.native = rows
        found._source = source
        return found

    def shared(self) -> Delta:
        """The change, evaluated for more readers than one: in the process as a table, from which it is fetched."""
        if self.native is None or self._source is None:
            return self.settled()
        if self.rows is None:
            self.native = self._source.evaluated(self.native)
            native, source = self.native, self._source
            self._fetch = lambda: source.fetched(native)
            self.rows = native.count
        return self

    def handed_out(self) -> Delta:
        """The change, evaluated for whom the step has made it: a large query in the process without a table."""
        if self.native is None or self.rows is not None or self.estimate < HANDED_ROWS:
            return self.shared()
        self.arrow()
        return self

    @property
    def _arrow(self) -> pa.Table | None:
        if self._here is None and self._fetch is not None:
            self._here, self._fetch = self._fetch(), None
            self.rows = self._here.num_rows
            if self.native is not None and self.native.count is None:
                self.native = None  # a query: who reads it in the process has its rows from here
        return self._here

    @_arrow.setter
    def _arrow(self, table: pa.Table | None) -> None:
        self._here = table

    def detached(self) -> Delta:
        """The same, fetched from where it lies only until the step ends."""
        if self._fetch is not None:
            self.arrow()
        self.native = None
        return self

    @property
    def retracts(self) -> bool:
        """True if the change may have a weight below zero; an evaluated one on the driver has one then."""
        import pyarrow.compute as pc  # noqa: PLC0415 - 30 ms that `check` need not wait

        if self._arrow is None or not self._retracts:
            return self._retracts
        # Partial results have no weight.
        return WEIGHT in self.schema.names and bool(pc.any(pc.less(self._arrow[WEIGHT], 0)).as_py())

    @property
    def is_once(self) -> bool:
        """True if each different row is known to be one entry, none with a weight of zero."""
        return self._once

    @property
    def names(self) -> tuple[str, ...]:
        """The columns without the weight."""
        return tuple(name for name in self.schema.names if name != WEIGHT)

    @property
    def is_lazy(self) -> bool:
        """True if the change is a query that has not been evaluated."""
        return self.rows is None

    @property
    def on_driver(self) -> bool:
        """True if the rows are an Arrow table here."""
        return self._here is not None or self._fetch is not None

    @property
    def is_here(self) -> bool:
        """True if the rows are an Arrow table that is here already."""
        return self._here is not None

    @property
    def distributed(self) -> bool:
        """True if the rows are on the executors."""
        return not self.on_driver

    def is_empty(self) -> bool:
        """True if the change is known to have no rows; a lazy one is not known to."""
        return self.rows == 0

    def frame(self) -> DataFrame:
        """The change as a DataFrame, to be read while the change is there."""
        with self._lock:
            return self._framed()

    def _framed(self) -> DataFrame:
        if self._frame is None:
            if self._arrow is not None:
                self._frame = self.workspace.local(self._arrow, self.schema)
            else:
                self._frame = self.workspace.sql(str(self._query))
        return self._frame

    @property
    def view(self) -> str:
        """The relation for a FROM that has the change's rows, valid in this step."""
        if self._query is not None:
            return f"({self._query})"
        if self._named is None or self._named[0] != self.workspace.epoch:
            self._named = self.workspace.epoch, self.workspace.name(self.frame())
        return self._named[1]

    def settled(self) -> Delta:
        """The change, evaluated: rows known, nothing lazy left."""
        if self.rows is not None:
            return self
        with self._lock:
            if self.rows is not None or self._arrow is not None:
                return self
            if self.estimate <= self.workspace.driver_rows and driver_safe(self.schema):
                self._arrow = self.workspace.shortcuts.collected(self._framed())
                self._frame = None
                self.rows = self._arrow.num_rows
            else:
                self._frame, self.rows = self.workspace.checkpoints.evaluated(self._framed())
            self._query = None
            self._named = None
            if self._counted is not None:
                self._counted(self.rows)
        return self

    def arrow(self) -> pa.Table:
        """The rows as Arrow, fetched if they are not here."""
        self.settled()
        return self._arrow if self._arrow is not None else fetched_arrow(self._frame)  # type: ignore[arg-type]

    def selected(self, names: tuple[str, ...]) -> Delta:
        """The change with some of its columns; what is evaluated stays so."""
        if names == self.names:
            return self
        columns = [*names, WEIGHT]
        schema = type(self.schema)([self.schema[name] for name in columns])
        if self._arrow is not None:
            return Delta.of_arrow(self.workspace, self._arrow.select(columns), schema, cancels=self.cancels)
        listed = ", ".join(map(quoted, columns))
        if not self.is_lazy:
            return self.projected(listed)
        return Delta.of_query(
            self.workspace,
            f"SELECT {listed} FROM {self.view}",
            schema,
            estimate=self.estimate,
            retracts=self.retracts,
            cancels=self.cancels,
        )

    def projected(self, items: str) -> Delta:
        """The rows of an evaluated change, not evaluated again, with other columns: `items` as a SELECT lists them."""
        frame = self.workspace.sql(f"SELECT {items} FROM {self.view}")
        return Delta.of_frame(
            self.workspace,
            self.workspace.checkpoints.sharing(frame, self.frame()),
            rows=self.rows,
            retracts=self.retracts,
            cancels=self.cancels,
        )

    def count(self) -> int:
        """The number of entries of the change."""
        rows = self.settled().rows
        return 0 if rows is None else rows

    def lightened(self) -> Delta:
        """The same without rows that cancel one another, as far as that needs no job."""
        fewer = None if self._arrow is None else without_cancelled(self._arrow)
        return self if fewer is None else Delta.of_arrow(self.workspace, fewer, self.schema)

    def consolidated(self) -> Delta:
        """Each different row once, with the sum of its weights, none of them zero."""
        settled = self.settled()
        if settled.on_driver and settled.rows is not None and settled.rows <= 1:
            return settled
        if settled.on_driver and self._once:
            return settled.with_one_zero()
        summed = self._added_up_here(settled.arrow()) if settled.on_driver else None
        if summed is not None:
            return Delta.of_arrow(self.workspace, summed, self.schema, once=True)
        query = consolidation(self.schema, settled.view, WEIGHT)
        return Delta.of_query(self.workspace, query, self.schema, estimate=settled.estimate).settled()

    def with_one_zero(self) -> Delta:
        """The same with one form of zero and of NaN, as rows have it that are added up."""
        rows = self.arrow()
        one = with_one_zero(rows)
        return self if one is rows else Delta.of_arrow(self.workspace, one, self.schema, once=True)

    def _added_up_here(self, rows: pa.Table) -> pa.Table | None:
        """The rows with equal ones added up; None where Spark has to be asked which are, and there is one to ask."""
        summed = equal_added_up(rows)
        if summed is not None or self.workspace.has_spark or rows.column_names[-1:] != [WEIGHT]:
            return summed
        from penstock.backends import weighted  # noqa: PLC0415 - 30 ms that `check` need not wait

        found = weighted.added_up(None, with_one_zero(rows))
        return rows.slice(0, 0) if found is None else found

    # What stands above the engine asks for

    def takes_back(self) -> bool:
        import pyarrow.compute as pc  # noqa: PLC0415 - 30 ms that `check` need not wait

        if self.on_driver:
            return bool(pc.any(pc.less(self.arrow()[WEIGHT], 0)).as_py())
        return bool(self.frame().where(f"{WEIGHT} < 0").limit(1).count())

    def handed_over(self) -> DataFrame:
        frame = self.frame()
        self.workspace.checkpoints.leave(frame)
        return frame

    def fetched(self) -> tuple[list[tuple[Any, ...]], Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
        return fetched_parts(self.frame())

    def write(self, path: Path) -> None:
        self.frame().write.mode("overwrite").parquet(str(path))

    def replaced(self, rows: pa.Table) -> Delta:
        return Delta.of_arrow(self.workspace, rows, self.schema)

    def parted(self, place: int, limit: Any) -> tuple[Delta, Delta]:
        import pyarrow.compute as pc  # noqa: PLC0415 - 30 ms that `check` need not wait

        if self.on_driver:
            table = self.arrow()
            mask = below(table.column(place), limit)
            return self.replaced(table.filter(mask)), self.replaced(table.filter(pc.invert(mask)))
        name, kind = quoted(self.names[place]), self.schema.fields[place].dataType.simpleString()
        line = f"CAST({name} AS TIMESTAMP_NTZ)" if kind == "date" else name
        condition = f"coalesce({line} < {as_parameter(value_literal(kind, limit), name)}, false)"
        frames = (self.frame().where(condition), self.frame().where(f"NOT {condition}"))
        kept = [self.workspace.checkpoints.evaluated(frame) for frame in frames]
        one, other = (Delta.of_frame(self.workspace, frame, rows=count) for frame, count in kept)
        return one, other

    def judged(self, judging: Judging) -> Judged:
        why = verdict(judging)
        terms = [f"{greatest_text(item)} AS `max {item.place}`" for item in judging]
        names = ", ".join(quoted(name) for name in self.names)
        judged, _ = self.workspace.checkpoints.evaluated(self.frame().selectExpr("*", f"{why} AS __why"))
        facts = judged.selectExpr(*terms).toArrow().to_pylist()[0]
        late = judged.where("__why IS NOT NULL").selectExpr(
            "__why", f"to_json(struct({names}), {_JSON}) AS row", f"abs({WEIGHT}) AS times"
        )
        rows = [(line["__why"], line["row"], line["times"]) for line in late.toArrow().to_pylist()]
        kept, count = self.workspace.checkpoints.evaluated(judged.where("__why IS NULL").drop("__why"))
        passed = Delta.of_frame(self.workspace, kept, rows=count, retracts=self.retracts)
        return Judged(passed, rows, {item.place: facts[f"max {item.place}"] for item in judging})

    def followed_by(self, later: api.Delta) -> Delta:
        union = self.frame().union(later.frame())
        return Delta.of_frame(own(later).workspace, union, estimate=self.count() + later.count()).settled()

    def added_up_with(self, other: api.Delta, *, columns: Sequence[str] = (), estimate: int = 0) -> Delta:
        summed = self._added_up_with_here(own(other), [*columns, WEIGHT] if columns else list(self.schema.names))
        if summed is not None:
            return summed
        one, two = self.frame(), other.frame()
        if columns:
            names = [*map(quoted, columns), quoted(WEIGHT)]
            one, two = one.selectExpr(*names), two.selectExpr(*names)
        both = consolidated(one.union(two))
        return Delta.of_frame(own(other).workspace, both, estimate=estimate).settled()

    def _added_up_with_here(self, other: Delta, names: Sequence[str]) -> Delta | None:
        """The sum of two changes whose rows are here; None where there is a session for it, and they are many."""
        if not (self.on_driver and other.on_driver):
            return None
        if self.workspace.has_spark and self.count() + other.count() > self.workspace.driver_rows:
            return None
        # What holds no NULL in one change may hold some in the other.
        first, second = (may_be_null(item.arrow().select(names)) for item in (self, other))
        summed = self._added_up_here(pa.concat_tables([first, fitted(second, first.schema)]))
        if summed is None:
            return None
        schema = type(self.schema)([self.schema[name] for name in names]).toNullable()
        return Delta.of_arrow(own(other).workspace, summed, schema)


def own(change: api.Delta) -> Delta:
    """A change that stood above the engine: all that are there this backend has made."""
    return cast("Delta", change)


def all_own(changes: Mapping[str, api.Delta]) -> dict[str, Delta]:
    """The same for several, by the names of their relations."""
    return {name: own(change) for name, change in changes.items()}


_JSON = "map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"


def consolidated(frame: DataFrame, weight: str = WEIGHT) -> DataFrame:
    """The frame with equal rows added up and cancelled ones gone, its columns in their order."""
    name = new_name()
    frame.createOrReplaceTempView(name)
    found = frame.sparkSession.sql(consolidation(frame.schema, name, weight))
    frame.sparkSession.catalog.dropTempView(name)
    return found
