"""A source that Spark reads by a format's name, batch by batch: what has come is asked for with each look.

A look is a query of Spark's streaming that reads what there is and is stopped behind its first batch that nobody has
yet. Spark notes in its checkpoint what each batch has before it reads it, and again once it is done. The second
notes of batches that no step has are removed, so that Spark reads the same batch once more.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from penstock.backends.api import FormatError
from penstock.backends.spark.raised import reported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOTED_EARLY, _NOTED_LATE = "offsets", "commits"  # the folders of a checkpoint
_TEXTS = ("csv", "json", "xml")  # whose columns and types would be guessed
_STOPPED = 0.005
# What Hadoop says of a path in a store for which no class is there.
_NO_FILE_SYSTEM = ("No FileSystem for scheme", "UnsupportedFileSystemException", "Class org.apache.hadoop.fs.")
_CALLED = "An error occurred while calling"  # what Python says before Java's reason
_WANTS_SCHEMA, _NOT_FOUND, _BROKEN = "schema", "DATA_SOURCE_NOT_FOUND", "MALFORMED_RECORD"
_TRACE = "Traceback (most recent call last):"
_CONDITION = re.compile(r"\[[A-Z][A-Z_.]+\] (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


@dataclass
class Followed:
    """One source: a stream if it has a checkpoint, else all that there is, once.

    `columns` are the table's, as Spark declares them, for formats that do not know theirs.
    """

    session: Callable[[], SparkSession]  # which a JVM may have to be started for
    format: str
    options: Mapping[str, str]
    path: str | None
    columns: str
    checkpoint: str | None
    _stream: DataFrame | None = field(default=None, repr=False)
    _query: Any = field(default=None, repr=False)
    _over: bool = False

    def batch(self, done: int) -> tuple[int, pa.Table] | None:
        """The first batch behind the one of that number, with its own; None if there is none yet. FormatError."""
        try:
            if self.checkpoint is None:
                return None if done >= 0 else (0, self._read(self.session().read).toArrow())
            return self._looked(Path(self.checkpoint), done)
        except FormatError:
            raise
        except Exception as error:
            raise _failed(error) from error

    def stop(self) -> None:
        """End the query that is under way, and any that begins."""
        self._over, query = True, self._query
        if query is not None:
            with suppress(Exception):  # it may have ended, and Spark with it
                query.stop()

    def _read(self, reader: Any) -> DataFrame:
        """The rows, with the format's own columns if it has some; a broken row of text is an error, not NULLs."""
        reader = reader.format(self.format).options(**self.options)
        given = () if self.path is None else (self.path,)
        if self.format.lower() in _TEXTS:
            strict = {} if "mode" in map(str.lower, self.options) else {"mode": "FAILFAST"}
            return cast("DataFrame", reader.options(**strict).schema(self.columns).load(*given))
        try:
            return cast("DataFrame", reader.load(*given))
        except Exception as error:
            if _WANTS_SCHEMA not in str(error).lower():
                raise
        return cast("DataFrame", reader.schema(self.columns).load(*given))

    def _looked(self, checkpoint: Path, done: int) -> tuple[int, pa.Table] | None:
        _check_place(checkpoint, done)
        _forget(checkpoint / _NOTED_LATE, done)
        self._stream = self._stream or self._read(self.session().readStream)
        found: list[tuple[int, pa.Table]] = []
        failed: list[Exception] = []
        begun = threading.Event()

        def take(rows: DataFrame, number: int) -> None:
            begun.wait()
            if number > done and not found and not failed:
                try:
                    found.append((number, rows.toArrow()))
                except Exception as error:  # noqa: BLE001 - raised below: what Spark makes of it has lost the reason
                    failed.append(error)
                threading.Thread(target=query.stop, daemon=True).start()
                while query.isActive:  # it takes note of the stop at once, and ends when this batch is over
                    time.sleep(_STOPPED)

        writer = self._stream.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
        query = self._query = writer.trigger(availableNow=True).start()
        begun.set()
        try:
            if self._over:
                query.stop()
            query.awaitTermination()
        finally:
            self._query = None
        if failed:
            raise failed[0]
        return found[0] if found else None


def _check_place(checkpoint: Path, done: int) -> None:
    """FormatError if a checkpoint does not stand at the batch behind that of a number, or at it."""
    numbers = [int(path.name) for path in (checkpoint / _NOTED_EARLY).glob("*") if path.name.isdigit()]
    last = max(numbers, default=-1)
    if last < done:
        message = f"the checkpoint {checkpoint} has batches up to {last}, and a step has had batch {done}"
    elif last > done + 1:
        had = "no step has had any" if done < 0 else f"steps have had those up to {done}"
        message = (
            f"the checkpoint {checkpoint} has batches up to {last}, and {had}: it is for an empty folder, or its own"
        )
    else:
        return
    raise FormatError(message, passes=False)


def _forget(folder: Path, done: int) -> None:
    """Have the batches behind a number count as not done."""
    for path in folder.glob("*"):
        number = path.name.lstrip(".").partition(".")[0]
        if path.suffix == ".tmp" or (number.isdigit() and int(number) > done):
            with suppress(FileNotFoundError):
                path.unlink()


def _failed(error: Exception) -> FormatError:
    found = reported(error)
    refused = any(name in str(error) for name in (_NOT_FOUND, _BROKEN, *_NO_FILE_SYSTEM)) or (
        found is not None and found.what == "refused"
    )
    hint = _STORES if any(name in str(error) for name in _NO_FILE_SYSTEM) else None
    return FormatError(_words(str(error)) or type(error).__name__, passes=not refused, hint=hint)


_STORES = (
    "Spark has no class for this file system: --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION has that "
    "of s3a:// (in the version of Spark's own hadoop-client jars); s3:// alone is none of Hadoop's, write s3a://"
)


def _words(text: str) -> str:
    """The sentence in an error of Spark's: behind its condition, else what Python has raised, else the first line."""
    said = _CONDITION.search(text)
    if said is not None and _TRACE not in said[1]:
        return said[1]
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    lines = [line.removeprefix(": ") for line in lines if not line.startswith(_CALLED)] or lines
    return next(iter(lines[-1:] if _TRACE in text else lines), "")
