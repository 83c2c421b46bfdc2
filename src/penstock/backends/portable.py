"""The memory of an operator in a form of no engine: rows in Arrow, from which an operator of the other one goes on.

rows      what has come of each input and has not been forgotten, with weights
answers   what has been answered, with weights; None where that follows from the rows
groups    of what is kept by group an entry for each: `__g0`, …, and the partial results of `circuit.partials`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Portable:
    """All that one operator remembers; None stands for no rows."""

    rows: tuple[pa.Table | None, ...] = ()
    answers: pa.Table | None = None
    groups: pa.Table | None = None
