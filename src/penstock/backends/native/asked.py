"""Texts of times in zones that are named by their regions, which the process asks Spark about.

    penstock_asked('timestamp', '2024-02-29 12:00:00 Europe/Paris')      microseconds since 1970

The hours that a region had, and has, are in the rules of Spark's Java; other libraries have others. So few texts name
one that each is asked for by itself, in the middle of a statement, which then needs a session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.circuit.raised import Raised

if TYPE_CHECKING:
    import pyarrow as pa

ASKED = "penstock_asked"
Ask = Callable[[str, Sequence[str]], Sequence[int | None]]
"""For texts and the type that they are read as: their microseconds since 1970, None for a text that has none."""


class NobodyToAskError(Exception):
    """There is no Spark that could tell; the message is what `circuit.raised` finds in DuckDB's error."""


def nobody(kind: str, texts: Sequence[str]) -> Sequence[int | None]:
    """Refuse to tell."""
    said = f"{texts[0]!r} names a zone by its region, and only Spark can tell a {kind.upper()} there"
    raise NobodyToAskError(Raised("NOT_NATIVE", "0A000", said).told)


def in_arrow(ask: Ask) -> Callable[[pa.ChunkedArray, pa.ChunkedArray], pa.Array]:
    """The function over columns of Arrow, which asks for each text once."""

    def asked(kinds: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.Array:
        import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait

        given = texts.to_pylist()
        (kind,) = set(kinds.to_pylist())
        wanted = list(dict.fromkeys(text for text in given if text is not None))
        told = dict(zip(wanted, ask(kind, wanted), strict=True)) if wanted else {}
        return pa.array([None if text is None else told[text] for text in given], pa.int64())

    return asked
