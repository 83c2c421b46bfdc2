from __future__ import annotations

from datetime import UTC, date, datetime

from rich.console import Console

from penstock.demo.board import Board, Progress

PROGRESS = Progress(datetime(2013, 3, 8, 14, 30, tzinfo=UTC), 184_000, 1_031_526, 37, 20.0, 91_234, 3)


def at(*parts: int) -> datetime:
    """A timestamp as a change has it: naive, in UTC."""
    return datetime(*parts)  # noqa: DTZ001


def board() -> Board:
    shown = Board()
    shown.apply("delay_by_carrier", [(1, ("Delta Air Lines Inc.", 9_000, 8_900, 9.3, 1.6, 81.8))])
    shown.apply("worst_routes", [
        (1, (date(2013, 3, 7), 1, "JFK", "BOS", 4, 300.0)),
        (1, (date(2013, 3, 8), 2, "EWR", "ORD", 9, 60.5)),
        (1, (date(2013, 3, 8), 1, "LGA", "ATL", 5, 75.0)),
    ])  # fmt: skip
    shown.apply("air_traffic", [(1, ("EWR", 100, 9_000)), (1, ("JFK", 42, None))])
    shown.apply("delay_by_weather", [(1, ("rain", 1_200, 30.1, 17.9))])
    shown.apply("late_news", [
        (1, ("HA", 51, "JFK", at(2013, 1, 9, 14), None, at(2013, 1, 10, 22, 42))),
        (1, ("UA", 7, "EWR", at(2013, 1, 11, 9), at(2013, 1, 11, 23), None)),
    ])  # fmt: skip
    return shown


def test_changes_replace_rows():
    shown = board()
    shown.apply("air_traffic", [(-1, ("EWR", 100, 9_000)), (1, ("EWR", 99, 8_800))])
    assert shown.in_the_air() == 141
    shown.apply("air_traffic", [(-1, ("EWR", 99, 8_800)), (-1, ("JFK", 42, None))])
    assert shown.in_the_air() == 0
    assert not shown.content["air_traffic"]


def test_worst_routes_are_the_last_days():
    assert [row[2:4] for row in board().worst_today()] == [("LGA", "ATL"), ("EWR", "ORD")]


def test_line_for_output_that_is_no_terminal():
    assert board().line(PROGRESS) == (
        "2013-03-08 14:30    184,000 of 1,031,526 events  step   37    9,200 events/s  "
        "142 planes in the air, worst route LGA-ATL +75 min, 3 late"
    )


def test_line_before_anything_has_happened():
    assert "0 planes in the air, worst route -" in Board().line(PROGRESS)


def test_late_news_tells_what_was_late():
    assert board().late_lines(5) == [
        "UA 7 from EWR, scheduled for 11 January 09:00, departed 11 January 23:00",
        "HA 51 from JFK, scheduled for 09 January 14:00, landed 10 January 22:42",
    ]


def test_screen_shows_all_views():
    console = Console(width=130, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(board().render(PROGRESS))
    text = console.export_text()
    for part in (
        "Delta Air Lines",
        "LGA → ATL",
        "142 planes in the air",
        "rain",
        "Friday 08 March",
        "3 late",
        "HA 51 from JFK",
    ):
        assert part in text
