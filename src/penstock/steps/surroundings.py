"""Errors from around: a file that cannot be written, a disk that is full, a JVM that is gone. What, where, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.backends.spark import jvm
from penstock.errors import DataError, Diagnostic

_FULL = "No space left on device"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say of which file it is that it cannot be written; libraries often do not."""
    try:
        yield
    except OSError as error:
        raise cannot_write(str(path), _reason(error)) from error


def cannot_write(what: str, reason: str) -> DataError:
    """The error for what cannot be written."""
    hint = "make room there; nothing has been written by halves" if _FULL.lower() in reason.lower() else None
    return DataError(Diagnostic("CANNOT_WRITE", f"{what} cannot be written: {reason}", hint=hint))


def _reason(error: OSError) -> str:
    # Arrow's errors have a long text of their own around the system's.
    return _FULL if _FULL.lower() in str(error).lower() else error.strerror or str(error)


def of_surroundings(error: BaseException) -> DataError | None:
    """The error for one out of Spark that is about the machine and not about the program; None for any other."""
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # noqa: PLC0415 - check starts without pyspark

    if isinstance(error, Py4JJavaError):
        said = str(error.java_exception)
        return cannot_write("what Spark keeps in its folder (spark.local.dir)", _FULL) if _FULL in said else None
    # Calls that are refused for want of a connection come before the process is quite gone.
    lost = isinstance(error, Py4JError) and jvm.has_ended(wait=1.0)
    return jvm_lost() if lost or isinstance(error, Py4JNetworkError | ConnectionError) else None


def jvm_lost() -> DataError:
    """The error for a JVM that does not answer any more."""
    hint = "often the machine had no memory left for it; close the pipeline and make it again, which starts another JVM"
    return DataError(Diagnostic("JVM_LOST", f"Spark's JVM is gone: {jvm.ending()}", hint=hint))
