"""The format of a table's source, from its name and the table's properties."""

from __future__ import annotations

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


def format_of(style: str, table: Table, readers: MakeReader) -> Format:
    """The format of that name for a table."""
    ignore = declared.UNKNOWN_COLUMNS.value(table) == "ignore"
    epoch = declared.EPOCH.value(table)
    lenient = Leniency(text=True, epoch=epoch, epoch_text=style == "csv" and epoch != "auto", ignore_unknown=ignore)
    reader = readers(table, lenient)
    if style == "json":
        return JsonLines(table, reader, ignore_unknown=ignore)
    if style == "csv":
        return Csv(table, reader, csv_shape(table), ignore_unknown=ignore)
    if style == "avro":
        package("fastavro", "the format avro", "formats")
        return AvroFiles(table, reader, ignore_unknown=ignore)
    return Parquet(table, reader, ignore_unknown=ignore)


def csv_shape(table: Table) -> Shape:
    """The way in which a table's CSV is written."""
    return Shape(
        declared.character(declared.DELIMITER, table),
        declared.character(declared.QUOTE, table),
        declared.NULL_TEXT.value(table),
        declared.HEADER.value(table) == "true",
    )
