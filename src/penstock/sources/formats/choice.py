"""The format of a table's source, from its name and the table's properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from penstock.catalog.model import Table
from penstock.sources.formats import declared
from penstock.sources.formats.api import Format
from penstock.sources.formats.avro.files import AvroFiles
from penstock.sources.formats.csv import Csv, Shape
from penstock.sources.formats.json import JsonLines
from penstock.sources.formats.parquet import Parquet
from penstock.sources.packages import package
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.values import Leniency

# How a text is a BINARY in formats that have no bytes.
_BINARIES: Mapping[str, Literal["base64", "hex"]] = {
    **dict.fromkeys(
        ("json", "upsert", "debezium", "debezium-json", "canal-json", "maxwell-json", "ogg-json"), "base64"
    ),
    "csv": "hex",
}


def format_of(style: str, table: Table, readers: MakeReader) -> Format:
    """The format of that name for a table."""
    lenient = leniency(style, table)
    ignore = lenient.ignore_unknown
    reader = readers(table, lenient)
    if style == "json":
        adds, complete = bool(lenient.new), lenient.complete
        return JsonLines(table, reader, ignore_unknown=ignore, adds=adds, complete=complete)
    if style == "csv":
        return Csv(table, reader, csv_shape(table), ignore_unknown=ignore, adds=bool(lenient.new))
    if style == "avro":
        package("fastavro", "the format avro", "formats")
        return AvroFiles(table, reader, ignore_unknown=ignore, adds=bool(lenient.new))
    return Parquet(table, reader, ignore_unknown=ignore, adds=bool(lenient.new))


def leniency(style: str, table: Table) -> Leniency:
    """The way in which rows of a format are read that a table's properties say."""
    unknown = declared.UNKNOWN_COLUMNS.value(table)
    epoch = declared.EPOCH.value(table)
    return Leniency(
        text=True,
        epoch=epoch,
        epoch_text=style == "csv" and epoch != "auto",
        ignore_unknown=unknown != "reject",
        new="" if unknown != "add" else "texts" if style == "csv" else "values",
        binary=_BINARIES.get(style, ""),
        json_texts=style == "csv",
        bad_is_null=declared.ON_BAD_VALUE.value(table) == "null",
        complete=declared.MISSING_COLUMNS.value(table) == "reject",
    )


def csv_shape(table: Table) -> Shape:
    """The way in which a table's CSV is written."""
    return Shape(
        declared.character(declared.DELIMITER, table),
        declared.character(declared.QUOTE, table),
        declared.character(declared.ESCAPE, table),
        declared.NULL_TEXT.value(table),
        declared.HEADER.value(table) == "true",
    )
