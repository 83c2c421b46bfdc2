"""The memory that a setting allows: a size such as '2GB', or a share of the machine's such as '40 %'."""

from __future__ import annotations

import re

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?b|%)\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
LEAST_BYTES = 64_000_000  # DuckDB needs about a tenth of it to work at all
MEMORY_SIZES = "a size of 64MB or more, such as '2GB', or a share of the machine's memory, such as '40 %'"


def bytes_allowed(text: str, machine: int | None = None) -> int | None:
    """The bytes that a text allows on a machine with so much memory; None for what is no size, or is too small.

    Of a machine that is not known a share is any share: it is only asked if the text can be understood.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    number, unit = float(found[1]), found[2].lower()
    if unit == "%":
        return max(LEAST_BYTES, int((machine or 0) * number / 100)) if 0 < number <= 100 else None  # noqa: PLR2004
    size = int(number * (1024 if "i" in unit else 1000) ** _POWERS[unit.rstrip("ib")])
    return size if size >= LEAST_BYTES else None
