"""Exceptions of Spark read: of a query that it refuses, an expression that has raised, the machine, or itself."""

from __future__ import annotations

import re
from typing import Any

from penstock.backends.reported import Reported, clipped
from penstock.backends.spark import jvm
from penstock.backends.surroundings import FULL, cannot_write
from penstock.errors import DataError, Diagnostic

# What functions of Spark let through of what they call, when a value does not suit them: without an SQLSTATE.
_OF_VALUES = (
    "java.lang.ArithmeticException",
    "java.lang.NumberFormatException",
    "java.time.DateTimeException",
    "java.util.regex.PatternSyntaxException",
)
_DATA_EXCEPTION = "22"  # the class of SQLSTATE that is about values
_LOST = re.compile(r"CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND\] Checkpoint block (\w+) not found")
_STAGE = re.compile(r"^.*Job aborted due to stage failure: .*?: (?=[\w.$]+(?:Exception|Error))")


def reported(error: Exception) -> Reported | None:
    """The report of an exception that came out of Spark; None for any other."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - check starts without pyspark
    from pyspark.errors import AnalysisException, PySparkException  # noqa: PLC0415 - check starts without pyspark

    if isinstance(error, AnalysisException):
        message = message_of(error) or message_of(error.getCause() if hasattr(error, "getCause") else "")
        return Reported("refused", message, _state(error), fragment_of(error), _condition(error))
    if isinstance(error, PySparkException):
        ours = _state(error) is None and "INTERNAL" in (_condition(error) or "")
        return Reported("failed" if ours else "raised", message_of(error), _state(error), fragment_of(error))
    if isinstance(error, Py4JJavaError):
        cause = _innermost(error.java_exception)
        said = _about_values(error.java_exception)
        if said is None and cause.startswith(_OF_VALUES):
            return Reported("raised", cause)
        return said or Reported("failed", cause)
    return None


def of_surroundings(error: BaseException) -> DataError | None:
    """The error for one out of Spark that is about the machine and not about the program; None for any other."""
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # noqa: PLC0415 - check starts without pyspark

    if (block := lost_block(error)) is not None:
        return rows_lost(block)
    if isinstance(error, Py4JJavaError):
        said = str(error.java_exception)
        return cannot_write("what Spark keeps in its folder (spark.local.dir)", FULL) if FULL in said else None
    # Calls that are refused for want of a connection come before the process is quite gone.
    lost = isinstance(error, Py4JError) and jvm.has_ended(wait=1.0)
    return jvm_lost() if lost or isinstance(error, Py4JNetworkError | ConnectionError) else None


def lost_block(error: BaseException) -> str | None:
    """The block of rows that an exception of Spark does not find where it was kept; None for any other."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - check starts without pyspark
    from pyspark.errors import PySparkException  # noqa: PLC0415 - check starts without pyspark

    if not isinstance(error, Py4JJavaError | PySparkException):
        return None
    found = _LOST.search(str(error))
    return None if found is None else found[1]


def rows_lost(block: str) -> DataError:
    """The error for rows of earlier steps that were on executors which are gone."""
    message = f"rows that this step needs were lost with the executors that held them (Spark's block {block})"
    hint = (
        "nothing of the step has happened; run again with the same --dir, which goes on from its last state. "
        "With two executors or more each row lies on two of them, so that one can go"
    )
    return DataError(Diagnostic("ROWS_LOST", message, hint=hint))


def jvm_lost() -> DataError:
    """The error for a JVM that does not answer any more."""
    hint = "often the machine had no memory left for it; close the pipeline and make it again, which starts another JVM"
    return DataError(Diagnostic("JVM_LOST", f"Spark's JVM is gone: {jvm.ending()}", hint=hint))


def _condition(error: Any) -> str:
    return error.getCondition() or "SPARK_ERROR"


def _state(error: Any) -> str | None:
    try:
        return error.getSqlState() or None
    except (AttributeError, TypeError):
        return None


def message_of(error: Any) -> str:
    """The first sentence of Spark's message without its code; the rest is about Spark's settings."""
    text = str(error).lstrip().split("\n")[0]  # that of a parser begins with an empty line
    text = text.partition("] ")[2] if text.startswith("[") and "] " in text else text
    return clipped(text.partition(" If necessary set ")[0].partition(" SQLSTATE:")[0].strip())


def _about_values(error: Any) -> Reported | None:
    """The message of the first cause that Spark itself calls an error of values; None if there is no such cause."""
    cause = error
    while cause is not None:
        state = _state_of_throwable(cause)
        if state is not None and state.startswith(_DATA_EXCEPTION):
            return Reported("raised", message_of(cause.getMessage()), state)
        cause = cause.getCause()
    return None


def _state_of_throwable(cause: Any) -> str | None:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - check starts without pyspark

    try:
        return str(cause.getSqlState())
    except Py4JError:  # it is none of Spark's
        return None


def _innermost(error: Any) -> str:
    """The message of the JVM's first cause, without the parts that only tell where it ran."""
    cause = error
    while cause.getCause() is not None:
        cause = cause.getCause()
    said = re.sub(_STAGE, "", f"{cause.getClass().getName()}: {cause.getMessage()}")
    return clipped(said.split("\n")[0])


def fragment_of(error: Any) -> str | None:
    """The expression that an error is about, as Spark was given it."""
    try:
        contexts = error.getQueryContext()
        return contexts[0].fragment() if contexts else None
    except Exception:  # noqa: BLE001 - a context that cannot be read only costs the place
        return None
