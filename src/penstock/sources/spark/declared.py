"""The declaration of a table that Spark reads."""

from __future__ import annotations

from penstock.sources.formats.declared import EPOCH, ON_ERROR
from penstock.sources.properties import Property, check_duration

OPTION = "option."

FORMAT = Property(
    "format",
    "The name by which Spark knows the source: `rate`, `orc`, or that of a package which the session has.",
    takes="a name, as in 'orc'",
    required=True,
)
PATH = Property("path", "What is loaded, where the format has something to load.", takes="a folder or address")
CHECKPOINT = Property(
    "checkpoint",
    "The folder in which Spark notes what has been read: the source is followed as a stream. Without it it is read "
    "once.",
    takes="a folder",
)
OPTIONS = Property(
    f"{OPTION}*",
    "An option of the format, under its name, as in 'option.maxFilesPerTrigger'.",
    takes="what Spark takes",
)
EVERY = Property(
    "every",
    "How often it is asked while it has nothing new.",
    "1 second",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
TIMEOUT = Property(
    "timeout",
    "How long to wait for something that fails to be read, before `run` stops with an error.",
    "1 minute",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
UNKNOWN_COLUMNS = Property(
    "unknown_columns",
    "Columns that Spark finds and the table lacks are left out, or end the run.",
    "ignore",
    ("ignore", "reject"),
)
PROPERTIES = (FORMAT, PATH, CHECKPOINT, OPTIONS, EVERY, TIMEOUT, ON_ERROR, UNKNOWN_COLUMNS, EPOCH)
