"""The declaration of a table's format, wherever the bytes come from; reads no library of formats."""

from __future__ import annotations

from penstock.catalog.model import Table
from penstock.sources.formats.names import FORMATS
from penstock.sources.properties import Property, check_one_character


def _check_quote(text: str) -> str | None:
    return None if text == "" else check_one_character(text)


FORMAT = Property("format", "The format of what is read.", "json", FORMATS)
ON_ERROR = Property(
    "on_error",
    "A row that does not fit, or a file that cannot be read, goes to `error_view` (`'skip'`), or `run` stops before "
    "the step that would have it (`'fail'`).",
    "skip",
    ("skip", "fail"),
)
ON_BAD_VALUE = Property(
    "on_bad_value",
    "A value that does not fit its column has the row rejected, or is NULL, as Flink's `json.ignore-parse-errors` and "
    "Spark's mode PERMISSIVE have it. What is no row at all is rejected either way.",
    "reject",
    ("reject", "null"),
)
MISSING_COLUMNS = Property(
    "missing_columns",
    "Columns that a row lacks take their DEFAULT or NULL, or the row is rejected.",
    "null",
    ("null", "reject"),
)
UNKNOWN_COLUMNS = Property(
    "unknown_columns",
    "Columns of the input that the table lacks are left out, or the row (of CSV, Parquet, Avro: the file) is rejected, "
    "or the table gets them, as by `ALTER TABLE … ADD COLUMNS`, with the step that first has a value of them "
    "(`'add'`: of CSV with a header).",
    "ignore",
    ("ignore", "reject", "add"),
    beside="ALTER TABLE … ADD COLUMN gives the table a column more",
)
EPOCH = Property(
    "epoch",
    "What a number is in a column of type TIMESTAMP: of that unit since 1970. `'auto'`: seconds, or the next smaller "
    "unit by which it is not beyond the year 9999. In CSV a number is a time only if the unit is said.",
    "auto",
    ("auto", "seconds", "milliseconds", "microseconds", "nanoseconds"),
)
HEADER = Property(
    "header",
    "Whether the first line names the columns; without it they are those of the table, in its order.",
    "true",
    ("true", "false"),
    formats=("csv",),
)
DELIMITER = Property(
    "delimiter",
    r"What stands between two fields; `\t` is a tab.",
    ",",
    takes="one character",
    check=check_one_character,
    formats=("csv",),
)
QUOTE = Property(
    "quote",
    "What stands around a field that holds the delimiter or a line end; `''` for none.",
    '"',
    takes="one character, or nothing",
    check=_check_quote,
    formats=("csv",),
)
ESCAPE = Property(
    "escape",
    r"What stands in a quoted field before a quote that is part of it, and before itself; `\"\"` is such a quote, too. "
    "`'\"'` is RFC 4180, `''` none.",
    "\\",
    takes="one character, or nothing",
    check=_check_quote,
    formats=("csv",),
)
NULL_TEXT = Property(
    "null_text",
    'A further field that is NULL, beside the empty one. `""` is the empty text in a column of texts, and NULL in '
    "others.",
    "",
    formats=("csv",),
)

PROPERTIES = (
    FORMAT,
    ON_ERROR,
    ON_BAD_VALUE,
    MISSING_COLUMNS,
    UNKNOWN_COLUMNS,
    EPOCH,
    HEADER,
    DELIMITER,
    QUOTE,
    ESCAPE,
    NULL_TEXT,
)


def character(item: Property, table: Table) -> str:
    """The one character that a property says."""
    return item.value(table).replace("\\t", "\t")
