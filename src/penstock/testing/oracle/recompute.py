"""The batch oracle: every view recomputed from scratch by Spark, from the tables' contents and the view's own text.

Nothing of the binder, the plan or the engine takes part. The text is parsed for two reasons only: to find what Spark
lacks or leaves open (`not_in_spark`, `row_order`, `clock`), and to know which views to create first. A text that
needs no rewriting goes to Spark as it was written.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.backends.spark.fetched import fetched_rows
from penstock.catalog.model import Catalog, Function, Table, View
from penstock.catalog.reserved import ARRIVED, ENDED, HIDDEN, POSITION, VERSIONS, keeps_waterlines
from penstock.errors import Diagnostic, UnsupportedError
from penstock.sql.nodes import RowMatches
from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.multisets import Weighted, consolidate, difference
from penstock.testing.oracle import limited_sessions
from penstock.testing.oracle.arrival import Arrivals
from penstock.testing.oracle.clock import fix_clock
from penstock.testing.oracle.judged import judged_tables, kept_of
from penstock.testing.oracle.not_in_spark import groups_by_nothing, in_sparks_words
from penstock.testing.oracle.quotients import with_whole_quotients
from penstock.testing.oracle.row_order import order_rows
from penstock.testing.oracle.time_windows import Reading, arrivals_of
from penstock.testing.oracle.typed import TRANSLATED
from penstock.testing.oracle.versions import Versioned, versioned_tables
from penstock.testing.oracle.whole_rows import WholeRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.timeType.enabled",
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.enabled",
    "spark.sql.leafNodeDefaultParallelism",
)
_NUMBERS = itertools.count(1)
_ROUNDS = 200


@cache
def _session_beside(spark: SparkSession) -> SparkSession:
    """The oracle's own session; one for all pipelines of a session, since Spark never gives one back."""
    return spark.newSession()


class Oracle:
    """Recomputes the views of one pipeline, in a Spark session of its own (so its names meet no others)."""

    def __init__(self, spark: SparkSession, dialect: str) -> None:
        self._shared = spark
        self._session = _session_beside(spark)
        self._dialect = dialect
        self._prefix = f"penstock_oracle_{next(_NUMBERS)}"
        self._functions: dict[str, Function] = {}
        self._registered: set[str] = set()
        self._reading = Reading()
        self._versions: Mapping[str, Versioned] = {}
        self._arrivals: Arrivals | None = None
        self._catalog: Catalog | None = None
        self._types: Mapping[str, str] = {}
        self._rows = WholeRows(self._session)

    def recompute(
        self, catalog: Catalog, tables: Mapping[str, DataFrame], clock: datetime | None
    ) -> Iterator[tuple[View, DataFrame]]:
        """Every view with its content by batch; `tables` holds the content of what the views read.

        A view that is among them is taken as it is.
        Raises UnsupportedError for a view that the oracle has no words for.
        """
        for setting in _SETTINGS:
            self._session.conf.set(setting, str(self._shared.conf.get(setting)))
        if catalog is not self._catalog:
            self._catalog, self._rows, self._types = catalog, WholeRows(self._session), catalog.types
        times = {name: table.properties.get("event_time_column") for name, table in catalog.tables.items()}
        self._reading = Reading(
            catalog.settings.get("time zone", "UTC"),
            {name: column for name, column in times.items() if column},
            judged=judged_tables(catalog),
        )
        for name, frame in tables.items():
            frame.createOrReplaceGlobalTempView(f"{self._prefix}_{name}")
            handed = self._session.table(f"global_temp.{self._prefix}_{name}")
            table = catalog.tables.get(name.lower().removeprefix(VERSIONS))
            kept = [column for column in handed.columns if keeps_waterlines(column)]
            _with_computed(handed.drop(*HIDDEN, *kept), table).createOrReplaceTempView(f"`{name}`")
            self._registered.add(name)
            if kept:
                _with_computed(handed.drop(*HIDDEN), table).createOrReplaceTempView(kept_of(name))
                self._registered.add(kept_of(name))
            if ARRIVED in handed.columns or POSITION in handed.columns:
                arrivals = handed if ARRIVED in handed.columns else _with_positions(handed.drop(*kept), table)
                arrivals.createOrReplaceTempView(arrivals_of(name))
                self._registered.add(arrivals_of(name))
        positioned = {name.lower() for name, frame in tables.items() if POSITION in frame.columns}
        self._arrivals = Arrivals(catalog, positioned, self._parsed)
        self._versions = versioned_tables(catalog)
        self._declare_functions(catalog)  # whose bodies may read tables
        in_order, mutual = self._in_order(catalog)
        first = next((at for at, view in enumerate(reversed(in_order)) if view in mutual), len(in_order))
        before = [view for view in in_order[: len(in_order) - first] if view.name.lower() not in tables]
        self._settle(mutual, before, clock)
        for view in in_order:
            if view.name.lower() in tables:
                continue
            frame = self._answer(view, clock)
            frame = frame.distinct() if view in mutual else frame
            self._register(view, frame)
            yield view, frame

    def _answer(self, view: View, clock: datetime | None) -> DataFrame:
        frame = self._session.sql(self._text(view, clock))
        return frame.toDF(*[column.name for column in view.columns]) if view.columns else frame

    def _register(self, view: View, frame: DataFrame) -> None:
        frame.createOrReplaceTempView(f"`{view.name}`")
        self._registered.add(view.name)

    def _settle(self, views: Sequence[View], before: Sequence[View], clock: datetime | None) -> None:
        """Views that read each other: from nothing, all anew in rounds, until a round changes none.

        Each is a set, whatever its query says: how often a row is derived has no meaning around a cycle. They are among
        those that come `before` the last of them, which they may read.
        """
        contents: dict[str, list[Weighted]] = {}
        for view in views:
            if any(column.type is None for column in view.columns):
                raise _cannot(view, "a type of its columns is not declared")
            kinds = ", ".join(f"`{column.name}` {column.type}" for column in view.columns)
            self._register(view, self._session.createDataFrame([], kinds))
            contents[view.name] = []
        for _ in range(_ROUNDS if views else 0):
            frames = []
            for view in before:
                frame = self._answer(view, clock)
                if view in views:
                    frames.append((view, frame.distinct().localCheckpoint()))
                else:
                    self._register(view, frame)
            for view, frame in frames:
                self._register(view, frame)
            found = {view.name: consolidate((1, row) for row in fetched_rows(frame)) for view, frame in frames}
            if not any(difference(contents[name], rows) for name, rows in found.items()):
                return
            contents = found
        if views:
            raise _cannot(views[0], f"its recursion has not ended after {_ROUNDS} rounds")

    def close(self, tables: Mapping[str, object]) -> None:
        """Forget the contents that were handed over, and all names: the session serves the next pipeline."""
        for name in tables:
            self._session.catalog.dropGlobalTempView(f"{self._prefix}_{name}")
        for name in self._registered:
            self._session.catalog.dropTempView(name)
        for function in self._functions.values():
            self._session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {function.name}")

    def _declare_functions(self, catalog: Catalog) -> None:
        for name, function in catalog.functions.items():
            if self._functions.get(name) is function:
                continue
            parameters = ", ".join(f"{item.name} {item.type}" for item in function.parameters)
            returns = f"RETURNS {function.returns} " if function.returns else ""
            head = f"CREATE OR REPLACE TEMPORARY FUNCTION {function.name}({parameters})"
            self._session.sql(f"{head} {returns}RETURN {spark_sql(function.body)}")
            self._functions[name] = function

    def _text(self, view: View, clock: datetime | None) -> str:
        """The view's query in Spark's words."""
        _refuse_what_is_no_query(view)
        if view.query is None:
            return view.text
        dialect = view.dialect or self._dialect
        tree = self._parsed(view)
        before = spark_sql(tree)
        tree = self._arrivals.written(tree) if dialect == "flink" and self._arrivals is not None else tree
        plain = dialect == "penstock" and not any(groups_by_nothing(item) for item in tree.find_all(exp.Select))
        reading = replace(self._reading, with_time=dialect == "flink", limited=dialect == "timeplus")
        tree = order_rows(in_sparks_words(tree.copy(), reading, self._versions))
        if view.meanings & TRANSLATED:
            tree = with_whole_quotients(tree)
        tree = _order_limits(self._rows.spelled(tree), self._rows)
        if clock is not None:
            tree = fix_clock(tree, clock)
        after = spark_sql(_quoting_stream(tree))
        if limited_sessions.FUNCTION in after:
            limited_sessions.register(self._session)
        return view.text if after == before and plain else after

    def _parsed(self, view: View) -> exp.Expression:
        return parse_query(view.text, view.dialect or self._dialect, self._types)

    def _in_order(self, catalog: Catalog) -> tuple[list[View], list[View]]:
        """The views, each behind those that it reads, and among them those that read each other."""
        done: dict[str, View] = {}
        mutual: dict[str, View] = {}

        def visit(view: View, above: tuple[str, ...]) -> None:
            lower = view.name.lower()
            for name in sorted(self._reads(view) & catalog.views.keys()):
                path = (*above, lower)
                if name in path:
                    mutual.update((item, catalog.views[item]) for item in path[path.index(name) :])
                elif name not in done:
                    visit(catalog.views[name], path)
            done[lower] = view

        for view in catalog.views.values():
            if view.name.lower() not in done:
                visit(view, ())
        return list(done.values()), list(mutual.values())

    def _reads(self, view: View) -> set[str]:
        if view.query is None:
            return set()
        return {
            table.name.lower()
            for table in parse_query(view.text, view.dialect or self._dialect, self._types).find_all(exp.Table)
        }


def reads_error_view(catalog: Catalog) -> bool:
    """True if any view reads the system relation `error_view`."""
    return any("error_view" in view.text.lower() for view in catalog.views.values())


def matches_rows(view: View) -> bool:
    """True for a view with MATCH_RECOGNIZE, which Spark has no words for."""
    return isinstance(view.query, exp.Expression) and view.query.find(RowMatches) is not None


def _cannot(view: View, why: str) -> UnsupportedError:
    return UnsupportedError(Diagnostic("ORACLE_UNSUPPORTED", f"the oracle cannot recompute view {view.name}: {why}"))


def _with_computed(rows: DataFrame, table: Table | None) -> DataFrame:
    """A table's rows, or its versions, with the columns that are computed of them, each in its place."""
    if table is None or not table.computed:
        return rows
    kept = set() if ENDED in rows.columns else {item.name for item in table.computing}  # versions go by them
    items = [f"`{name}`" for name in rows.columns if name not in kept]
    first = rows.columns.index(table.columns[0].name)
    for item in reversed(table.computed):
        items.insert(first + item.place, f"{item.text} AS `{item.name}`")
    return rows.selectExpr(*items)


def _with_positions(rows: DataFrame, table: Table | None) -> DataFrame:
    """A table's rows as they are seen, and their positions."""
    others = rows.drop(*(HIDDEN - {POSITION}))
    return _with_computed(others, table)


def _refuse_what_is_no_query(view: View) -> None:
    if view.lateness:
        raise _cannot(view, "LATENESS of a view filters its content")


def _quoting_stream(tree: exp.Expression) -> exp.Expression:
    """A relation that is called stream, in quotes: Spark reads `FROM stream s` as its own mark."""
    for table in tree.find_all(exp.Table):
        if table.name.lower() == "stream":
            table.set("this", exp.to_identifier(table.name, quoted=True))
    return tree


def _order_limits(tree: exp.Expression, rows: WholeRows) -> exp.Expression:
    """Rows that a LIMIT's ORDER BY leaves tied go by the whole output row."""
    for query in list(tree.find_all(exp.Select, exp.SetOperation)):
        if query.args.get("limit") is None and query.args.get("offset") is None:
            continue
        order = query.args.get("order") or exp.Order(expressions=[])
        for item in rows.ties(query):
            order.append("expressions", exp.Ordered(this=item, nulls_first=True))
        query.set("order", order)
    return tree
