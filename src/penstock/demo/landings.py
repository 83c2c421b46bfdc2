"""The standing query of the demo: how many flights have landed, a line for each week when it is over."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.standing import StandingQuery

_FEW_DAYS = 15


class Landings:
    """The query at work: `lines()` are those of the windows that have closed since it was asked last."""

    def __init__(self, pipeline: Pipeline, days: int | None) -> None:
        self._unit, self._length = ("week", 7) if days is None or days > _FEW_DAYS else ("day", 1)
        self._query: StandingQuery = pipeline.subscribe(self.text)

    @property
    def text(self) -> str:
        """The query, as it could be typed."""
        return (
            "SELECT window_start, COUNT(landed) AS landed, AVG(arr_delay) AS late\n"
            f"FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(scheduled), INTERVAL {self._length} DAYS))\n"
            "GROUP BY window_start, window_end EMIT AFTER WATERMARK"
        )

    def lines(self) -> Iterator[str]:
        """New rows, for people."""
        while (emission := self._query.get(0)) is not None:
            for began, landed, late in emission:
                yield f"{self._unit} of {began:%Y-%m-%d}: {landed:,} flights landed{_delay(late)}"


def _delay(late: float | None) -> str:
    if late is None:
        return ""
    return f", {abs(late):.0f} minutes {'late' if late >= 0 else 'early'} on average"
