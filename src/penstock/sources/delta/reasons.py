"""The reason for which deltalake cannot reach a table, on one line."""

from __future__ import annotations

import re

_DRAWN = re.compile("\x1b\\[[0-9;]*m|\u21b3")
_LENGTH = 300
OF_STORES = "keys, regions and endpoints of an object store stand in the environment, as in AWS_ACCESS_KEY_ID"


def reason(error: BaseException) -> str:
    """The words of an error, which has a line for each of its causes."""
    lines = (" ".join(line.split()) for line in _DRAWN.sub("", str(error)).splitlines())
    return ": ".join(line for line in lines if line)[:_LENGTH] or type(error).__name__
