"""Collection at work: a trace without what the operator may forget.

Two layers that are merged lose what no other row has a say in, and keys that nothing can touch any more. It takes the
whole trace, which is gone through when it has doubled,

* to leave out what other rows are better, or later, than: a row that a newer layer takes back must not count;
* to drop rows of keys that may still be touched (docs/adr/0010): a row that was taken back by one in a newer layer
  would come back if only that layer's were dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.analysis.derived import OfKeys
from penstock.backends.api import LineText
from penstock.backends.spark.parameters import as_parameter
from penstock.backends.spark.trace import Trace
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.forgetting import Best, Expiry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BELOW = "__below"


def collected(
    trace: Trace,
    expiries: Sequence[Expiry],
    place: int,
    lines: LineText | None,
    settle: Callable[[DataFrame, str], DataFrame],
    *,
    whole: bool = False,
) -> Trace:
    """The trace merged, entirely with `whole`, and rows that have expired left out of every layer that is written.

    `settle` leaves of rows those that matches may still need.
    """
    mine = [(item, lines(item.waterline)) for item in expiries if item.trace == place] if lines else []
    plain = [unexpired(item, line) for item, line in mine if not item.keep and (whole or not item.whole)]
    among = [(item, line) for item, line in mine if item.keep and whole]

    def combined(frame: DataFrame) -> DataFrame:
        frame = trace.consolidate(frame)
        if plain:
            frame = frame.where(" AND ".join(plain))
        for item, line in among:
            frame = _kept(trace, frame, item, line) if _best(item) else settle(frame, line)
        return frame

    work = Trace.merged if not whole else Trace.compacted if trace.layers else Trace.condensed
    if not plain and not among:
        return work(trace)
    return replace(work(replace(trace, combine=combined)), combine=trace.combine)


def unexpired(item: Expiry, line: str) -> str:
    """The condition of rows that stay; all do while the waterline is not known."""
    if item.nulls:
        return f"(({line}) IS NULL OR coalesce(NOT {_below(item, line)}, false))"
    return f"coalesce(NOT {_below(item, line)}, true)"


def _below(item: Expiry, line: str) -> str:
    return f"({item.text}) < {line if isinstance(item.waterline, OfKeys) else as_parameter(line, item.text)}"


def _best(item: Expiry) -> list[Best]:
    return [keep for keep in item.keep if isinstance(keep, Best)]


def _kept(trace: Trace, frame: DataFrame, item: Expiry, line: str) -> DataFrame:
    """The rows that are not below the line, and those below it that later rows may still need."""
    workspace = trace.workspace
    marked = workspace.name(frame.selectExpr("*", f"coalesce({_below(item, line)}, false) AS {_BELOW}"))
    chosen = [f"{_rank(keep, trace.append_only)} <= {keep.count}" for keep in _best(item)]
    names = ", ".join(f"`{name}`" for name in frame.columns)
    flagged = f"SELECT *, NOT {_BELOW} OR {' OR '.join(chosen)} AS __stays FROM {marked}"
    return workspace.sql(f"SELECT {names} FROM ({flagged}) WHERE __stays")


def _rank(keep: Best, append_only: bool) -> str:  # noqa: FBT001 - a property of the trace
    # The rows of one partition have one `__key`, by which the trace is partitioned already.
    by = ", ".join((KEY, *keep.partition, _BELOW)) if keep.partition else _BELOW
    first = () if append_only else (f"{WEIGHT} > 0 DESC",)
    return f"{keep.ranking}() OVER (PARTITION BY {by} ORDER BY {', '.join((*first, *keep.order))})"
