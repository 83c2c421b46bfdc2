"""The memory of operators on Spark, for a snapshot: rows on the executors go to files, and all else is plain.

Of what an operator keeps

    Layer, Delta          go as `WrittenRows`, with the function of this module that reads them again
    DriverLayer, Trace    go by their own fields: what has been made of them for queries is made again
    types of Spark        go as the JSON that each version of it reads
    functions, methods    go by name: FUNCTIONS, METHODS
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from penstock.backends import api
from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators.make import make_runner
from penstock.backends.spark.operators.nested import Nested
from penstock.backends.spark.schema_classes import is_schema_class
from penstock.backends.spark.trace import Layer
from penstock.backends.spark.written import RowFiles, WrittenRows
from penstock.catalog.reserved import KEY

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def layer_of(files: RowFiles, written: WrittenRows) -> Layer:
    """A layer of a trace, partitioned as it was."""
    keyed = KEY in written.schema.names
    return Layer(files.workspace, *(files.by_key(written) if keyed else files.evaluated(written)))


def change_of(files: RowFiles, written: WrittenRows, retracts: bool, cancels: bool) -> Delta:  # noqa: FBT001 - pickle gives them
    """An evaluated change that is on the executors."""
    frame, rows = files.evaluated(written)
    return Delta.of_frame(files.workspace, frame, rows=rows, retracts=retracts, cancels=cancels)


def schema_of_json(text: str) -> StructType:
    """A schema; its types are of the version of Spark that reads it."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - a process without Spark's types has none

    return StructType.fromJson(_plain(json.loads(text)))


def _plain(values: Any) -> Any:
    """The values of a schema; ValueError for a type of the user's own, for which Spark would call what they name."""
    waiting = [values]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if found.get("type") == "udt":
                message = "a type of the user's own"
                raise ValueError(message)
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
    return values


def field_of_json(text: str) -> StructField:
    """The only field of a schema."""
    return schema_of_json(text).fields[0]


def type_of_json(text: str) -> DataType:
    """The type of the only field of a schema."""
    return field_of_json(text).dataType


CLASSES = (Nested,)
FUNCTIONS = (layer_of, change_of, schema_of_json, field_of_json, type_of_json, make_runner)
METHODS = ("combined", "_schema")


def reduced(found: object, into: api.RowFiles) -> Reduced | None:
    """The call that makes rows on the executors again, which are written here; None for anything else."""
    files = cast("RowFiles", into)  # this backend has made it
    match found:
        case Layer():
            return layer_of, (files, files.write(found.frame, found.rows))
        case Delta() if not found.on_driver:
            rows = found.count()
            return change_of, (files, files.write(found.frame(), rows), found.retracts, found.cancels)
        case _ if is_schema_class(type(found)):
            return _reduced_type(found)
        case _:
            return None


def _reduced_type(found: object) -> Reduced | None:
    from pyspark.sql.types import DataType, StructField, StructType  # noqa: PLC0415 - as above

    match found:
        case StructType():
            return schema_of_json, (_written(found),)
        case StructField():
            return field_of_json, (_written(StructType([found])),)
        case DataType():
            return type_of_json, (_written(StructType([StructField("", found)])),)
        case _:
            return None


def _written(schema: StructType) -> str:
    """A schema as JSON, if that is read again."""
    return json.dumps(_plain(schema.jsonValue()))
