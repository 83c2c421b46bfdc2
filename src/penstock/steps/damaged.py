"""Files of a pipeline's directory that are not what was written there: a disk has lost a part, or a copy was cut short.

No guess is made at what stood there: whoever reads such a file is told which it is (`DAMAGED_DIRECTORY`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.errors import DataError, Diagnostic, first_line


def facts_of(path: Path) -> dict[str, Any]:
    """The content of a small file in JSON. FileNotFoundError; DataError for one that is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(path, error) from error
    if not isinstance(found, dict):
        raise _damaged(path, ValueError("it is no object of JSON"))
    return found


@contextmanager
def rows_of(path: Path) -> Iterator[None]:
    """Have a file of rows that is damaged be a DataError; what the system says of a file stays an OSError."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise _damaged(path, error) from error  # Arrow's own, for what it cannot make out


def _damaged(path: Path, error: Exception) -> DataError:
    message = f"{path} is not what was written there: {first_line(error)}"
    hint = (
        "take it from a copy of the directory (`penstock state --export`), or begin in another directory; a directory "
        "that is copied while a pipeline works in it may have it cut short"
    )
    return DataError(Diagnostic("DAMAGED_DIRECTORY", message, hint=hint))
