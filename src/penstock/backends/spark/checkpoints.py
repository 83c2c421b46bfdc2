"""Rows evaluated on the executors, given back as soon as nothing can read them any more.

Spark gives the rows of a checkpoint back when the JVM's garbage collector has found that no plan reads them. Those of a
step are dead long before; until somebody notices they are copied, marked, and written to disk where memory is short
(docs/adr/0013). So they are given back at the next end or beginning of a step at which nobody holds them:

    a DataFrame    that `evaluated` gave, or that `sharing` says reads the same rows, holds them
    a lazy change  names what it reads in SQL, which tells nobody what that is: what has ended while it was there waits
    the user       may hold a DataFrame made of others; what it may read is left to the JVM (`leave`, `leave_all`)
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, WeakSet, ref

from penstock.backends.spark.session import is_local

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame

_PATIENCE = 8  # so many times rows wait for lazy changes; then the JVM may find out by itself


class Reader(Protocol):
    """A change that is a query over rows, for as long as it is lazy."""

    @property
    def is_lazy(self) -> bool:
        """True while it has not been evaluated."""


class _Rows:
    """Evaluated rows, as long as somebody holds them."""

    __slots__ = ("__weakref__",)


@dataclass
class _Ended:
    """Rows (an RDD of the JVM each) that nobody holds, and the lazy changes that may read them all the same."""

    rows: list[Any]
    lazy: WeakSet[Reader]
    waited: int = 0

    @property
    def is_due(self) -> bool:
        """True if no lazy change is left that was there when the rows ended."""
        return not any(delta.is_lazy for delta in list(self.lazy))


class Checkpoints:
    """The evaluated rows of one engine."""

    def __init__(self) -> None:
        self._holders: WeakKeyDictionary[DataFrame, _Rows] = WeakKeyDictionary()
        self._held: list[tuple[ref[_Rows], Any]] = []
        self._lazy: WeakSet[Reader] = WeakSet()
        self._ended: list[_Ended] = []
        self._lock = threading.Lock()

    def evaluated(self, frame: DataFrame) -> tuple[DataFrame, int]:
        """The frame evaluated on the executors, and its number of rows, in one action."""
        kept, facts = self.measured(frame, {"rows": "count(1)"})
        return kept, int(facts["rows"])

    def measured(
        self, frame: DataFrame, terms: Mapping[str, str], names: Sequence[str] | None = None
    ) -> tuple[DataFrame, dict[str, Any]]:
        """The frame, or some columns of it, evaluated on the executors, and aggregates of all of it by their names."""
        from pyspark.sql import Observation  # noqa: PLC0415 - check starts without pyspark
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - check starts without pyspark

        observation = Observation()
        whole = frame.observe(observation, *(F.expr(text).alias(name) for name, text in terms.items()))
        kept = self._observed(whole if names is None else whole.selectExpr(*names))
        return kept, observation.get

    def _observed(self, frame: DataFrame) -> DataFrame:
        kept = frame.localCheckpoint(eager=True, storageLevel=_storage(frame))
        rows = _Rows()
        plan = kept._jdf.queryExecution().logical()  # noqa: SLF001
        with self._lock:
            self._holders[kept] = rows
            self._held.append((ref(rows), plan.rdd()))
        return kept

    def sharing(self, frame: DataFrame, source: DataFrame) -> DataFrame:
        """The frame, noted as one that reads the rows of `source`."""
        with self._lock:
            if source in self._holders:
                self._holders[frame] = self._holders[source]
        return frame

    def lazily(self, delta: Reader) -> None:
        """Note a change that is not evaluated yet."""
        with self._lock:
            self._lazy.add(delta)

    def leave(self, frame: DataFrame) -> None:
        """Leave the rows of a DataFrame to the JVM: the user has got it."""
        with self._lock:
            left = self._holders.get(frame)
            self._held = [(rows, rdd) for rows, rdd in self._held if left is None or rows() is not left]

    def leave_all(self) -> None:
        """Leave all rows to the JVM: the user has got a DataFrame that may read any of them."""
        with self._lock:
            self._held, self._ended = [], []

    def give_back(self) -> None:
        """Give back the rows that nothing can read any more; between steps, when the engine has no query under way."""
        with self._lock:
            gone = [rdd for rows, rdd in self._held if rows() is None]
            if gone:
                self._held = [(rows, rdd) for rows, rdd in self._held if rows() is not None]
                self._ended.append(_Ended(gone, WeakSet(delta for delta in list(self._lazy) if delta.is_lazy)))
            due: list[_Ended] = []
            waiting: list[_Ended] = []
            for ended in self._ended:
                (due if ended.is_due else waiting).append(ended)
                ended.waited += 1
            self._ended = [ended for ended in waiting if ended.waited <= _PATIENCE]
        for rdd in (rdd for ended in due for rdd in ended.rows):
            rdd.unpersist(False)  # noqa: FBT003 - of the JVM: do not wait


def _storage(frame: DataFrame) -> StorageLevel | None:
    """The rows lie twice where executors are processes of their own: one that is lost takes nothing with it.

    Nothing says how the rows came to be, so Spark could not compute them again. None stands for Spark's own way.
    """
    from pyspark import StorageLevel  # noqa: PLC0415 - check starts without pyspark

    if is_local(str(frame.sparkSession.sparkContext.master)):
        return None
    return StorageLevel(useDisk=True, useMemory=True, useOffHeap=False, deserialized=True, replication=2)
