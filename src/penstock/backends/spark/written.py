"""Rows on the executors as Parquet files of a snapshot, and back.

The executors write them, each its own, into a folder that driver and executors all see. Columns go by their places,
since names may differ in case alone. What is read again is evaluated at once: the files may go with the next snapshot.
"""

from __future__ import annotations

import math
import re
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from penstock.backends.spark.raised import message_of, of_surroundings, reported
from penstock.backends.spark.trace import by_key
from penstock.backends.surroundings import cannot_write
from penstock.backends.thresholds import FILE_ROWS
from penstock.errors import DataError, Diagnostic, PenstockError, UnsupportedError
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

    from penstock.backends.spark.workspace import Workspace

_OF_PATTERNS = re.compile(r"([\\{}\[\]*?])")


@dataclass(frozen=True)
class WrittenRows:
    """Rows that lie in files, named from the folder of their snapshot."""

    files: tuple[str, ...]
    rows: int
    schema: StructType


class RowFiles:
    """The Parquet files in the folder of one snapshot."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.workspace = workspace
        self.folder = folder.absolute()
        self.paths: list[Path] = []

    def write(self, frame: DataFrame, rows: int) -> WrittenRows:
        """Have the rows of a DataFrame, about so many, in files.

        UnsupportedError for types that Parquet has not; DataError where they cannot be written.
        """
        # The name is new each time: a job that was interrupted may go on writing under its own.
        path = self.folder / f"spark-{uuid.uuid4().hex}"
        placed = frame.toDF(*_places(frame.schema)).coalesce(max(1, math.ceil(rows / FILE_ROWS)))
        try:
            placed.write.option("compression", "snappy").parquet(f"file://{path}")
            found = self._found(path, frame)
            self._frame(found)  # Spark writes some types that it then refuses to read
        except PenstockError:
            raise
        except Exception as error:
            raise _unwritten(error, path) from error
        self.paths += [self.folder / name for name in found.files]
        return found

    def _found(self, path: Path, frame: DataFrame) -> WrittenRows:
        files = sorted(path.glob("*.parquet"))
        for other in set(path.iterdir()).difference(files):  # marks and checksums of Hadoop
            shutil.rmtree(other) if other.is_dir() else other.unlink()
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        if not self.workspace.is_local and rows != frame.count():
            raise cannot_write(str(path), "the executors do not see the folder that the driver sees")
        names = tuple(file.relative_to(self.folder).as_posix() for file in files)
        return WrittenRows(names, rows, frame.schema)

    def by_key(self, written: WrittenRows) -> tuple[DataFrame, int]:
        """The rows on the executors again, partitioned by `__key`, and their number; DataError if some are lacking."""
        found = by_key(self.workspace, self._frame(written), self.workspace.partitions)
        return _checked(found, written)

    def evaluated(self, written: WrittenRows) -> tuple[DataFrame, int]:
        """The rows on the executors again, as they come, and their number; DataError if some are lacking."""
        return _checked(self.workspace.checkpoints.evaluated(self._frame(written)), written)

    def _frame(self, written: WrittenRows) -> DataFrame:
        places = zip(_places(written.schema), written.schema.fields, strict=True)
        items = [f"{_never_null(place, field)} AS {quoted(field.name)}" for place, field in places]
        paths = [_literal(self._within(name)) for name in written.files]
        return self.workspace.spark.read.schema(_placed(written.schema)).parquet(*paths).selectExpr(*items)

    def _within(self, name: str) -> Path:
        """The path of a file; DataError for a name that leads out of the folder."""
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise DataError(Diagnostic("BAD_SNAPSHOT", f"a snapshot has no files elsewhere: {name}"))
        return self.folder / name


def _literal(path: Path) -> str:
    """The path of a file as Spark reads it, which takes some signs in it for patterns."""
    return "file://" + _OF_PATTERNS.sub(r"\\\1", str(path))


def _places(schema: StructType) -> list[str]:
    return [f"c{place}" for place in range(len(schema.fields))]


def _placed(schema: StructType) -> StructType:
    fields = zip(_places(schema), schema.fields, strict=True)
    found = type(schema)()
    for name, field in fields:
        found.add(name, field.dataType)
    return found


def _never_null(place: str, field: StructField) -> str:
    """A key or a weight as Spark knew it: layers are partitioned alike only if their keys are, NULLs included."""
    return place if field.nullable or field.dataType.typeName() != "long" else f"coalesce({place}, 0L)"


def _checked(found: tuple[DataFrame, int], written: WrittenRows) -> tuple[DataFrame, int]:
    if found[1] != written.rows:
        message = f"of {written.rows} rows in {', '.join(written.files)} Spark has read {found[1]}"
        raise DataError(Diagnostic("BAD_SNAPSHOT", message))
    return found


def _unwritten(error: Exception, path: Path) -> PenstockError:
    """The error for rows that Spark has not written: their types, or where they were to lie."""
    found = reported(error)
    if found is not None and found.what == "refused":
        return UnsupportedError(Diagnostic("BAD_SNAPSHOT", f"a snapshot cannot hold this: {found.message}"))
    return of_surroundings(error) or cannot_write(str(path), found.message if found is not None else message_of(error))
