"""The declaration of rows that are generated; the names are those of Flink's connector."""

from __future__ import annotations

from penstock.sources.properties import Property

LARGEST = (1 << 63) - 1


def check_whole(text: str) -> str | None:
    """The fault in a whole number; None if there is none."""
    return None if _is_whole(text) else "it is no whole number"


def check_positive(text: str) -> str | None:
    """The fault in a whole number above zero; None if there is none."""
    return None if _is_whole(text) and int(text) > 0 else "it is no whole number above zero"


def _is_whole(text: str) -> bool:
    digits = text.strip().removeprefix("-")
    return digits.isascii() and digits.isdigit() and -LARGEST - 1 <= int(text) <= LARGEST


RATE = Property(
    "rows-per-second",
    "How many rows come in a second, by the clock.",
    "10000",
    takes="a whole number above zero",
    check=check_positive,
)
ROWS = Property(
    "number-of-rows",
    "How many rows there are; without it they do not end, unless a sequence does.",
    takes="a whole number above zero",
    check=check_positive,
)
SEED = Property(
    "seed",
    "Where chance begins: the same seed gives the same rows.",
    "0",
    takes="a whole number",
    check=check_whole,
)
FIELDS = Property(
    "fields.*",
    "The rule of a column, as in `'fields.id.kind' = 'sequence'`; [datagen](datagen.md#rules) has them.",
    takes="what the rule says",
)

PROPERTIES = (RATE, ROWS, SEED, FIELDS)
