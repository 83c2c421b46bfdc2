"""Asks Spark's analyser for the types of many expressions at once, without running anything.

Without its last check an analysis leaves what does not resolve as it is, so that one query answers for hundreds of
expressions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j import java_gateway, protocol
from py4j.protocol import Py4JError, Py4JJavaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFUSED, UNKNOWN = "-", "?"
# Refusals that say nothing of types.
_OF_VALUES = (
    *("NON_FOLDABLE", "UNEXPECTED_NULL", "VALUE_OUT_OF_RANGE", "INVALID_JSON_SCHEMA", "INVALID_ARG_VALUE"),
    *("WRONG_NUM_DIGIT", "WRONG_NUM_TOKEN", "UNEXPECTED_TOKEN", "REQUIRED_PARAMETER", "UNRESOLVED_ROUTINE"),
)
_BATCH = 500


class Analyser:
    """Spark's answers about expressions over the columns of one relation, given with their types."""

    def __init__(self, spark: SparkSession, relation: str, columns: Mapping[str, str]) -> None:
        self._session = spark._jsparkSession  # noqa: SLF001 - the analyser has no public name
        self._state = self._session.sessionState()
        self._relation = relation
        listed = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns.items())
        spark.sql(f"SELECT {listed}").createOrReplaceTempView(relation)
        self.asked = 0
        self.reasons: Counter[str] = Counter()

    def types(self, expressions: Sequence[str]) -> list[str]:
        """For each expression its type, `-` where its types are refused, `?` where nothing is known of them."""
        with _bare_errors():
            batches = (expressions[start : start + _BATCH] for start in range(0, len(expressions), _BATCH))
            return [found for batch in batches for found in self._batch(batch)]

    def refuses(self, expression: str) -> bool:
        """True if the whole analysis, its last check included, does not take an expression, whatever the reason."""
        with _bare_errors():
            try:
                self._session.sql(f"SELECT {expression} FROM {self._relation}")
            except Py4JJavaError:
                return True
        return False

    def accepts(self, query: str) -> bool:
        """True if the whole analysis takes a query, as far as types go."""
        with _bare_errors():
            try:
                self._session.sql(query)
            except Py4JJavaError as error:
                return not self._of_types(str(error.java_exception.getCondition() or ""))
        return True

    def _batch(self, expressions: Sequence[str]) -> list[str]:
        self.asked += len(expressions)
        try:
            plan = self._state.sqlParser().parsePlan(f"SELECT {', '.join(expressions)} FROM {self._relation}")
            found = self._state.analyzer().execute(plan).expressions()
            if found.size() == len(expressions):
                return [self._type(found.apply(place)) for place in range(len(expressions))]
            if len(expressions) == 1:  # a generator that gives several columns
                return [UNKNOWN]
        except Py4JJavaError as error:
            if len(expressions) == 1:
                return [self._thrown(error)]
        middle = len(expressions) // 2
        return self._batch(expressions[:middle]) + self._batch(expressions[middle:])

    def _type(self, expression: Any) -> str:
        if expression.resolved():
            return str(expression.dataType().simpleString())
        return REFUSED if self._of_types(self._reason(expression)) else UNKNOWN

    def _thrown(self, error: Any) -> str:
        try:
            condition = str(error.java_exception.getCondition() or "")
        except Py4JError:  # no exception of Spark's own
            condition = ""
        return REFUSED if condition.startswith("DATATYPE_MISMATCH") and self._of_types(condition) else UNKNOWN

    def _of_types(self, reason: str) -> bool:
        self.reasons[reason] += 1
        return bool(reason) and not any(part in reason for part in _OF_VALUES)

    def _reason(self, expression: Any) -> str:
        """The condition of the innermost part that does not resolve, '' where it has none."""
        parts = expression.children()
        for place in range(parts.size()):
            part = parts.apply(place)
            if not part.resolved():
                return self._reason(part)
        try:
            checked = expression.checkInputDataTypes()
            return str(checked.errorSubClass()) if checked.isFailure() else ""
        except (Py4JError, TypeError):  # what has never been bound to a function cannot be asked
            return ""


@contextmanager
def _bare_errors() -> Iterator[None]:
    """Py4J's errors as they are: Spark's own handler reads the whole trace of each, which takes most of the time."""
    before = vars(java_gateway)["get_return_value"]
    vars(java_gateway)["get_return_value"] = protocol.get_return_value
    try:
        yield
    finally:
        vars(java_gateway)["get_return_value"] = before
