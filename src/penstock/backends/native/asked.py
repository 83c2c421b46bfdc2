"""Single values that the process asks Spark about, in the middle of a statement, which then needs a session.

    penstock_asked('timestamp', '2024-02-29 12:00:00 Europe/Paris')      microseconds since 1970
    penstock_written('double', 1.0361e18)                                its text
    penstock_json('$.a', "{'a': 'b'}")                                   the value there, as a text (`json_texts`)

The hours that a region had, and has, are in the rules of Spark's Java; other libraries have others. How many digits
Java writes of a very large or very small number depends on its version. JSON may be written as hardly anybody writes
it. Such values are rare, so each is asked for by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.catalog.types import FRACTIONAL
from penstock.circuit.raised import Raised

if TYPE_CHECKING:
    import pyarrow as pa

ASKED, WRITTEN = "penstock_asked", "penstock_written"
Ask = Callable[[str, Sequence[Any]], Sequence[Any]]
"""For texts and `timestamp` or `timestamp_ntz`, as which they are read: microseconds since 1970, or None for a text
that has none. For numbers and `double` or `float`: their texts. For texts of JSON and a path, as `$.a[0]`: what stands
there, as texts, or None."""
_SHOWN = 60


class NobodyToAskError(Exception):
    """There is no Spark that could tell; the message is what `circuit.raised` finds in DuckDB's error."""


def nobody(kind: str, values: Sequence[Any]) -> Sequence[Any]:
    """Refuse to tell."""
    if kind in FRACTIONAL:
        said = f"Java's version decides how many digits of {values[0]!r} are written, and only Spark can tell its text"
    elif kind.startswith("$"):
        said = f"{values[0][:_SHOWN]!r} is JSON of a kind of which only Spark can tell what stands at {kind}"
    else:
        said = f"{values[0]!r} names a zone by its region, and only Spark can tell a {kind.upper()} there"
    raise NobodyToAskError(Raised("NOT_NATIVE", "0A000", said).told)


def in_arrow(ask: Ask, gives: str) -> Callable[[pa.ChunkedArray, pa.ChunkedArray], pa.Array]:
    """The function over columns of Arrow, which asks for each value once; `gives` is Arrow's type of the answers."""

    def asked(kinds: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.Array:
        import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait

        (kind,) = set(kinds.to_pylist())
        return pa.array(answers(ask, kind, values.to_pylist()), pa.type_for_alias(gives))

    return asked


def answers(ask: Ask, kind: str, given: Sequence[Any]) -> list[Any]:
    """Those to values some of which are equal, and some None, of which nobody is asked."""
    wanted = list(dict.fromkeys(value for value in given if value is not None))
    told = dict(zip(wanted, ask(kind, wanted), strict=True)) if wanted else {}
    return [None if value is None else told[value] for value in given]
