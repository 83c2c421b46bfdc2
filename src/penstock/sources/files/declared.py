"""The declaration of a table's files, beside their format; looks at nothing outside."""

from __future__ import annotations

from penstock.catalog.properties import value_place
from penstock.errors import Diagnostic, UnsupportedError
from penstock.sources.formats import declared as formats
from penstock.sources.packages import Relation
from penstock.sources.properties import Property, check_duration

PATH = Property(
    "path", "The folder, or a file, or a pattern with `*`.", takes="a folder, file or pattern", required=True
)
PATTERN = Property(
    "pattern",
    "The names of a folder's files that are read, as in `'orders-*.json'`; with a `/` it is compared with the path "
    "within the folder. Without it the names are those that end as the format's files do.",
    takes="a pattern with `*` and `?`",
)
COMPLETE_AFTER = Property(
    "complete_after",
    "How long nobody must have written to a file for its last line to count without a line end, and for a Parquet "
    "file that cannot be read to be reported.",
    "1 minute",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
ON_REPLACED = Property(
    "on_replaced",
    "A file that has other content than before under the same name is read as a new one, or `run` stops with an "
    "error that names it.",
    "read",
    ("read", "fail"),
)
PARTITIONED_BY = Property(
    "partitioned_by",
    "The columns that folders name, as in `d=2024-01-01/h=7/`, and files lack. PARTITIONED BY says the same.",
    takes="names, as in 'd, h'",
)


def refuse_store(relation: Relation, what: str) -> None:
    """UnsupportedError for a path in an object store, or in another file system that is none of this machine."""
    path = relation.properties.get(PATH.name, "").removeprefix("file://")
    scheme, mark, _ = path.partition("://")
    if mark:
        message = f"{what}: files lie in folders of this machine, and {path[:100]} is in {scheme[:20]}"
        place = value_place(relation, PATH.name)
        raise UnsupportedError(Diagnostic("NO_FILE_SYSTEM", message, place, hint=_STORES))


_STORES = (
    "'connector' = 'spark', with the same 'format' and 'path', reads every store that Spark's session knows; "
    "the connectors delta and iceberg read and write tables in stores; or mount it as a folder"
)
PROPERTIES = (PATH, PATTERN, PARTITIONED_BY, COMPLETE_AFTER, ON_REPLACED, *formats.PROPERTIES)
