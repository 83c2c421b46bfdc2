"""Functions of Penstock that queries on Spark call: each session is told of them once.

Executors run them in Python, so they have to find Penstock, as this process does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from penstock.backends.matching.function import MATCH, SETTLED, matches_of, settled_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KNOWING: WeakSet[SparkSession] = WeakSet()
_MATCHES = "array<struct<picks:array<int>,longs:array<bigint>,doubles:array<double>,texts:array<string>>>"


def registered_functions(spark: SparkSession) -> frozenset[str]:
    """The names, in lower case, of functions that are the session's own: new ones, and those in place of Spark's."""
    own: Any = spark._jsparkSession.sessionState().functionRegistry()  # noqa: SLF001
    known: Any = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()  # type: ignore[union-attr]  # noqa: SLF001
    entries, found = own.functionBuilders().toSet().diff(known.functionBuilders().toSet()).iterator(), set()
    while entries.hasNext():
        found.add(str(entries.next()._1().funcName()).lower())  # noqa: SLF001 - a pair of Scala
    return frozenset(found - {MATCH, SETTLED})


def know_functions(spark: SparkSession) -> None:
    """Tell a session of the functions, if it does not know them."""
    if spark in _KNOWING:
        return
    spark.udf.register(MATCH, matches_of, _MATCHES)
    spark.udf.register(SETTLED, settled_of, "int")
    _KNOWING.add(spark)
