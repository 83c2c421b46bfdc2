"""The workspace that the operators of one engine share: the Spark session, thresholds, and named relations of a step.

The session is opened when it is first asked for: a program that works in the process alone never does.

A query is given to Spark as text in which each input is a temporary view of a unique name; the names of a step are
dropped when it ends.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from penstock.backends.clock import clocked, clocked_text
from penstock.backends.render import Renderer
from penstock.backends.scans import Part, Scans
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.checkpoints import Checkpoints
from penstock.backends.spark.content import KeptContent
from penstock.backends.spark.dialect import SparkDialect
from penstock.backends.spark.exchange import as_delta, as_frame, declared_rows, plain_schema, read_changes, repeated
from penstock.backends.spark.fetched import fetched_rows
from penstock.backends.spark.following import Followed
from penstock.backends.spark.functions import know_functions
from penstock.backends.spark.given import GivenRows
from penstock.backends.spark.names import new_name
from penstock.backends.spark.session import is_local
from penstock.backends.spark.settings import FollowedSettings, WatchedSettings
from penstock.backends.spark.shortcuts import Shortcuts
from penstock.backends.spark.stored import ExecutorRows
from penstock.backends.spark.void_columns import fetched_arrow
from penstock.backends.spark.written import RowFiles
from penstock.backends.thresholds import DRIVER_ROWS, MEMORY_ROWS
from penstock.catalog.meanings import check_unchanged, differing
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.settings import ANSI, SPARK, TIME_ZONE, check_ansi
from penstock.plan.nodes import Plan
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.backends.api import Earlier

Opener = Callable[[], "SparkSession"]

_PARTITIONS = "spark.sql.shuffle.partitions"
_TIME_ZONE = "spark.sql.session.timeZone"

# Standing names that nothing needs any more, by session: whichever pipeline of it ends a step next drops them.
_ORPHANS: WeakKeyDictionary[SparkSession, deque[str]] = WeakKeyDictionary()


@dataclass
class Workspace:
    """One engine's Spark session, settings and temporary names.

    `opened` is the session, or opens one; `local_master` says, before that, whether it works on this machine alone.
    `known` are its settings by which SQL means something else than is assumed, apart from the program's.
    """

    opened: SparkSession | Opener | None
    driver_rows: int = DRIVER_ROWS
    memory_rows: int = MEMORY_ROWS
    local_master: bool | None = None
    known: Mapping[str, str] | None = None
    _names: list[str] = field(default_factory=list)
    _standing: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _opening: threading.RLock = field(default_factory=threading.RLock)
    clock: datetime | None = None
    epoch: int = 0
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    scans: Scans | None = None  # what the operator under way has read, while that is measured
    _program: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_spark(self) -> bool:
        """True if there is a session."""
        return not callable(self.opened)

    @property
    def spark(self) -> SparkSession:
        """The session, which a JVM is started for if there is none; UnsupportedError if no Java is found."""
        if callable(self.opened):
            with self._opening:
                if callable(self.opened):
                    self.opened = self.opened()
                    self._set()
        return self.opened  # type: ignore[return-value]  # None in tests of what needs no session

    @cached_property
    def partitions(self) -> int:
        """The number of parts into which rows are exchanged."""
        return 2 if self.opened is None else int(self.spark.conf.get(_PARTITIONS, "2") or 2)

    @cached_property
    def is_local(self) -> bool:
        """True if Spark works, or would work, on this machine alone."""
        if self.local_master is not None:
            return self.local_master
        return is_local(str(self.spark.sparkContext.master))

    def follow(self, settings: Mapping[str, str]) -> None:
        """Have the session follow a program's settings, now or when there is one; SqlError for what Spark refuses."""
        self._program = settings
        if self.has_spark or any(name.startswith(SPARK) for name in settings):
            self._set()

    def _set(self) -> None:
        self.spark.conf.set(_TIME_ZONE, self._program.get(TIME_ZONE, "UTC"))
        self.settings.follow(self._program)

    @cached_property
    def settings(self) -> FollowedSettings:
        """The program's settings that are Spark's."""
        return FollowedSettings(self.spark)

    @cached_property
    def shortcuts(self) -> Shortcuts:
        """Names and local rows, cheaper than through the public API."""
        return Shortcuts(self.spark)

    def standing(self, frame: DataFrame, holder: object) -> str:
        """Register a relation under a new name, valid until some step after `holder` is gone, or until `close`."""
        name = new_name()
        self.shortcuts.name(frame, name)
        with self._lock:
            self._standing.add(name)
        weakref.finalize(holder, self._orphans.append, name)
        return name

    def name(self, frame: DataFrame) -> str:
        """Register a relation under a new name, valid until the step ends."""
        name = new_name()
        self.shortcuts.name(frame, name)
        with self._lock:
            self._names.append(name)
        return name

    def check_session(self) -> None:
        """UnsupportedError if the session, which may be the user's, has come to read SQL in another way."""
        if self.has_spark:
            check_ansi(self.spark.conf.get(ANSI, None))
            if self.known is not None:
                wanted = {
                    **self.known,
                    **{name: self._program[name] for name in self._program if name.startswith(SPARK)},
                }
                check_unchanged(differing(wanted), self._watched.differing())

    @cached_property
    def _watched(self) -> WatchedSettings:
        return WatchedSettings(self.spark)

    def reads(self, *parts: Part) -> None:
        """Say that all rows of remembered parts are read; whoever measures wants to know."""
        if self.scans is not None:
            self.scans.read(parts)

    def sql(self, text: str) -> DataFrame:
        """Run (lazily) a query over named relations."""
        return self.spark.sql(text)

    def release(self) -> None:
        """Drop the names of the step, and give back rows that nothing reads any more."""
        with self._lock:
            names, self._names = self._names, []
            self.epoch += 1
            if not self.has_spark:
                return
            with suppress(IndexError):  # another pipeline may take the last of them
                while True:
                    names.append(self._orphans.popleft())
            self._standing.difference_update(names)
        for name in names:
            self.shortcuts.drop(name)
        self.checkpoints.give_back()

    def leave(self) -> None:
        """The same as `close`, of a session that may have ended before, and all names with it."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - check starts without pyspark

        with suppress(Py4JError, OSError):
            self.close()

    def close(self) -> None:
        """Drop all names, which a session that lives on would keep, and have its settings as they were."""
        with self._lock:
            self._names += self._standing
            self._standing.clear()
        self.release()
        if self.has_spark:
            self.settings.release()

    @property
    def _orphans(self) -> deque[str]:
        return _ORPHANS.setdefault(self.spark, deque())

    def local(self, table: pa.Table, schema: StructType) -> DataFrame:
        """The rows of an Arrow table; given in one piece, since Spark stops reading at an empty batch."""
        return self.shortcuts.local(table, schema)

    def given(self, rows: pa.Table) -> DataFrame:
        """The rows of an Arrow table as a relation in the types that Arrow says."""
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - check starts without pyspark

        if not rows.num_rows:
            rows = rows.schema.empty_table()  # PySpark wants a piece, be it an empty one
        # Without it a TIMESTAMP_NTZ would be read in the session's time zone, which has hours twice or not at all.
        return self.spark.createDataFrame(rows, schema=from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))

    def empty(self, schema: StructType) -> DataFrame:
        """A relation without rows."""
        return self.spark.createDataFrame([], schema)

    # What stands above the engine asks for

    def change(self, rows: pa.Table, schema: StructType | None = None, *, cancels: bool = False) -> Delta:
        """Weighted rows as a change; `schema` where Arrow cannot tell the types."""
        return Delta.of_arrow(self, rows, schema, cancels=cancels)

    def change_of(self, table: Table, rows: pa.Table) -> Delta:
        """The weighted rows of a table as a change, in the types of its declaration."""
        return as_delta(self, table, rows)

    def change_from(self, weighted: DataFrame) -> Delta:
        """Weighted rows that may cancel as a change, added up and evaluated."""
        return Delta.of_frame(self, consolidated(weighted)).settled()

    def content(self) -> KeptContent:
        """The content of a view before its first change."""
        return KeptContent(self)

    def stored(self, table: Table, by: Sequence[str]) -> ExecutorRows:
        """The rows of a table, which are found by some of its columns, before there are any."""
        return ExecutorRows(self, table, by)

    def row_files(self, folder: Path) -> RowFiles:
        """The files of a snapshot in a folder."""
        return RowFiles(self, folder)

    def given_rows(self, relation: DataFrame) -> GivenRows:
        """The rows of a relation that the user has given."""
        return GivenRows(self, relation)

    def relation_of(self, table: Table, rows: pa.Table) -> DataFrame:
        """Rows of a table as a relation, in the types of its declaration; other columns stay as they are."""
        return as_frame(self, table, rows)

    def declared_rows(self, relation: DataFrame, table: Table) -> pa.Table:
        """The rows of a relation of a table's columns, in the Arrow types of the declaration."""
        return declared_rows(relation, table)

    def names_of(self, relation: DataFrame) -> tuple[str, ...]:
        """The columns of a relation."""
        return tuple(relation.columns)

    def arrow(self, relation: DataFrame) -> pa.Table:
        """The rows of a relation in the Arrow types that Spark gives them."""
        return fetched_arrow(relation)

    def first(self, relation: DataFrame, count: int) -> DataFrame:
        """No more than so many rows of a relation, the first if it has an order."""
        return relation.limit(count)

    def renamed(self, relation: DataFrame, names: Sequence[str]) -> DataFrame:
        """A relation with other names for its columns."""
        return relation.toDF(*names)

    def evaluated(self, relation: DataFrame) -> tuple[DataFrame, int]:
        """The rows of a relation, evaluated on the executors, and how many they are."""
        return self.checkpoints.evaluated(relation)

    def selected(self, relation: DataFrame, terms: Sequence[str]) -> DataFrame:
        """Terms of Spark SQL over the rows of a relation."""
        return relation.selectExpr(*terms)

    def rows(self, relation: DataFrame) -> list[tuple[Any, ...]]:
        """The rows of a relation as tuples of Python values."""
        return fetched_rows(relation)

    def left(self) -> None:
        """Leave all rows to the JVM: the user has got a DataFrame that may read any of them."""
        self.checkpoints.leave_all()

    def count(self, relation: DataFrame) -> int:
        """The number of rows of a relation."""
        return relation.count()

    def empty_of(self, table: Table) -> DataFrame:
        """A relation of a table's columns without rows."""
        return self.empty(plain_schema(table, weighted=False))

    def empty_like(self, relation: DataFrame) -> DataFrame:
        """A relation of another's columns without rows."""
        return self.empty(relation.schema)

    def differences(self, one: DataFrame, other: DataFrame, most: int) -> list[tuple[Any, ...]]:
        """The rows that stand more often in one than in the other, with the weight; no more than so many."""
        names = [quoted(name) for name in one.columns]
        ours = one.selectExpr(*names, f"1L AS {WEIGHT}")
        theirs = other.toDF(*one.columns).selectExpr(*names, f"-1L AS {WEIGHT}")
        kept = consolidated(ours.union(theirs)).localCheckpoint(eager=True)
        return fetched_rows(kept.limit(most))

    def read(
        self, table: Table, here: Sequence[pa.Table], files: Sequence[str], earlier: Earlier | None = None
    ) -> DataFrame:
        """The weighted rows of a table that are here, and those in files, which may be from before some columns."""
        return read_changes(self, table, here, files, earlier)

    def unweighted(self, weighted: DataFrame) -> DataFrame:
        """The rows of a weighted relation in which each stands once, without the weights."""
        return weighted.drop(WEIGHT)

    def weighted(self, relation: DataFrame) -> DataFrame:
        """Rows with the weight of one that is there once."""
        return relation.selectExpr("*", f"1L AS {WEIGHT}")

    def together(self, one: DataFrame, other: DataFrame) -> DataFrame:
        """The rows of two relations that have the same columns, in any order."""
        return one.unionByName(other)

    def repeated(self, *weighted: DataFrame) -> DataFrame:
        """Weighted rows that may cancel as plain ones, each as often as its weight says."""
        return repeated(_union(weighted))

    def negative(self, *weighted: DataFrame) -> dict[str, Any] | None:
        """A row that is taken back more often than it is there, with its weight; None if there is none."""
        found = consolidated(_union(weighted)).where(f"{WEIGHT} < 0").limit(1)
        return next(iter(found.toArrow().to_pylist()), None)

    def renderer(
        self,
        relations: dict[str, str],
        carry: tuple[str, ...] = (),
        clock: datetime | None = None,
    ) -> Renderer:
        """A renderer in which the clock stands at `clock`, or at the step's."""
        at = clock or self.clock
        return Renderer(
            SparkDialect(clocked(at), text=clocked_text(at), functions=self.know_functions), relations, carry
        )

    def following(
        self, kind: str, options: Mapping[str, str], path: str | None, columns: str, checkpoint: str | None
    ) -> Followed:
        """A source by its format's name, as a stream if there is a checkpoint."""
        return Followed(lambda: self.spark, kind, options, path, columns, checkpoint)

    def know_functions(self) -> None:
        """Make Penstock's own functions known to the session."""
        know_functions(self.spark)

    def query(self, plan: Plan, frames: dict[str, DataFrame], carry: tuple[str, ...] = ()) -> DataFrame:
        """The rows of a plan over leaves given as DataFrames."""
        names = {leaf: self.name(frame) for leaf, frame in frames.items()}
        return self.sql(self.renderer(names, carry).sql(plan))


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.union(other), frames)
