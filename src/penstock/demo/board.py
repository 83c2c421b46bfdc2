"""The screen of the demo: the content of the views, kept up to date by nothing but their changes.

`Board.apply` takes changes as `Change.rows` gives them; `Board.render` draws a screen, `Board.line` is one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

SHOWN = ("delay_by_carrier", "worst_routes", "air_traffic", "delay_by_weather", "late_news")

WIDE = 118
"""Columns of a terminal that shows all tables; a narrower one goes without the carriers."""

_LATE_SHOWN = 3

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Progress:
    """The progress of the pipeline; `moment` is the time in 2013 up to which it knows everything."""

    moment: datetime
    events: int
    total: int
    step: int
    seconds: float
    rows_changed: int
    late: int
    state_rows: int | None = None

    @property
    def rate(self) -> float:
        """Events per second since the first step began."""
        return self.events / self.seconds if self.seconds > 0 else 0.0


@dataclass
class Board:
    """The content of the shown views."""

    content: dict[str, Counter[Row]] = field(default_factory=lambda: {view: Counter() for view in SHOWN})

    def apply(self, view: str, changes: Iterable[tuple[int, Row]]) -> None:
        """Add a change: (weight, row) pairs."""
        rows = self.content[view]
        for weight, row in changes:
            rows[row] += weight
            if not rows[row]:
                del rows[row]

    def in_the_air(self) -> int:
        """The number of planes in the air."""
        return sum(planes for _, planes, _ in self.content["air_traffic"])

    def worst_today(self) -> list[Row]:
        """The worst routes of the last day that has any, the worst one first."""
        rows = self.content["worst_routes"]
        today = max((row[0] for row in rows), default=None)
        return sorted((row for row in rows if row[0] == today), key=lambda row: row[1])

    def late_lines(self, limit: int) -> list[str]:
        """News that came too late, the latest flights first."""
        rows = sorted(self.content["late_news"].elements(), key=lambda row: row[3], reverse=True)
        return [_late_line(row) for row in rows[:limit]]

    def line(self, progress: Progress) -> str:
        """The most telling numbers in one line, for output that is no terminal."""
        worst = next((f"{row[2]}-{row[3]} +{row[5]:.0f} min" for row in self.worst_today()), "-")
        late = f", {progress.late} late" if progress.late else ""
        return (
            f"{progress.moment:%Y-%m-%d %H:%M}  {progress.events:>9,} of {progress.total:,} events  "
            f"step {progress.step:>4}  {progress.rate:>7,.0f} events/s  "
            f"{self.in_the_air():>3} planes in the air, worst route {worst}{late}"
        )

    def render(self, progress: Progress, width: int = WIDE) -> RenderableType:
        """The screen; the tables stand side by side where there is room for it."""
        beside = Group(self._routes(), Text(), self._traffic(), Text(), self._weather())
        late = [Text(f"late: {line}", style="yellow") for line in self.late_lines(_LATE_SHOWN)]
        tables = Table.grid(padding=(0, 2))
        if width >= WIDE:
            tables.add_row(self._carriers(), beside)
        else:
            tables.add_row(beside)
        return Panel(
            Group(_headline(progress), tables, *late),
            title="New York, 2013",
            subtitle=f"{progress.moment:%A %d %B, %H:%M} UTC",
            expand=False,
        )

    def _carriers(self) -> Table:
        table = _table("Delay per carrier (minutes)", "airline", "flights", "left", "departure", "arrival", "on time")
        for row in sorted(self.content["delay_by_carrier"], key=lambda row: row[0]):
            name, flights, departed, departure, arrival, on_time = row
            table.add_row(
                name, f"{flights:,}", f"{departed:,}", _minutes(departure), _minutes(arrival), _percent(on_time)
            )
        return table

    def _routes(self) -> Table:
        table = _table("Worst routes today (minutes)", "route", "departures", "delay")
        for _, _, origin, dest, departures, delay in self.worst_today():
            table.add_row(f"{origin} → {dest}", str(departures), _minutes(delay))
        return table

    def _traffic(self) -> Table:
        table = _table(f"{self.in_the_air()} planes in the air", "from", "planes", "seats (known)")
        for origin, planes, seats in sorted(self.content["air_traffic"], key=lambda row: row[0]):
            table.add_row(origin, str(planes), f"{seats or 0:,}")
        return table

    def _weather(self) -> Table:
        table = _table("Delay against weather (minutes)", "sky", "departures", "delay", "over an hour")
        for sky, departures, delay, over in sorted(self.content["delay_by_weather"], key=lambda row: -row[1]):
            table.add_row(sky, f"{departures:,}", _minutes(delay), _percent(over))
        return table


def totals(progress: Progress, changed: Mapping[str, int]) -> str:
    """The line that the demo ends with."""
    views = ", ".join(f"{view} {rows:,}" for view, rows in sorted(changed.items()))
    return (
        f"{progress.events:,} events in {progress.step} steps and {progress.seconds:.1f} s "
        f"({progress.rate:,.0f} events/s); the views changed {progress.rows_changed:,} rows ({views})"
    )


def _late_line(row: Row) -> str:
    carrier, flight, origin, scheduled, departed, landed = row
    what, moment = ("landed", landed) if landed else ("departed", departed) if departed else ("cancelled", None)
    when = f" {moment:%d %B %H:%M}" if moment else ""
    return f"{carrier} {flight} from {origin}, scheduled for {scheduled:%d %B %H:%M}, {what}{when}"


def _headline(progress: Progress) -> RenderableType:
    numbers = (
        f"{progress.events:,} events  ·  step {progress.step}  ·  {progress.rate:,.0f} events/s  ·  "
        f"{progress.rows_changed:,} rows changed  ·  {progress.late} late"
    )
    if progress.state_rows is not None:
        numbers += f"  ·  {progress.state_rows:,} rows of state"
    headline = Table.grid()
    headline.add_row(ProgressBar(total=progress.total, completed=progress.events, width=72))
    headline.add_row(Text(numbers))
    headline.add_row()
    return headline


def _table(title: str, first: str, *numbers: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), title_style="bold")
    table.add_column(first, style="cyan", no_wrap=True)
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table


def _minutes(value: float | None) -> str:
    return "" if value is None else f"{float(value):+.1f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{float(value):.1f} %"
