"""Changes that wait to be shown, added up."""

from __future__ import annotations

from penstock.backends.api import Delta


def together(waiting: Delta | None, change: Delta | None) -> Delta | None:
    """The rows that wait and those that have come, as one change, each different row once; None if neither has rows."""
    present = [item for item in (waiting, change) if item is not None and not item.is_empty()]
    if len(present) < 2:  # noqa: PLR2004 - what waits is consolidated already
        return next((item if item is waiting else item.consolidated() for item in present), None)
    older, newer = present
    return older.added_up_with(newer, estimate=older.count() + newer.count())
