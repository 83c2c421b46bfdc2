"""A picture of one stream under several policies: event time against the time of its steps, each emission as a mark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import penstock

PROGRAM = "CREATE STREAM rides (at TIMESTAMP LATENESS INTERVAL 1 MINUTE, city STRING, fare INT);"
TOTALS = """SELECT window_end, SUM(fare) AS fares
  FROM TABLE(TUMBLE(TABLE rides, DESCRIPTOR(at), INTERVAL 5 MINUTES)) GROUP BY window_start, window_end"""
POLICIES = {"AFTER WATERMARK": "#1b9e77", "ON UPDATE": "#d95f02", "PERIODIC 2m": "#7570b3", "AFTER DELAY 2m": "#e7298a"}
STEPS = (
    ("10:00", (("10:00", 5), ("10:01", 7))),
    ("10:03", (("10:02", 3),)),
    ("10:06", (("10:06", 4),)),
    ("10:07", (("10:04", 2), ("10:07", 1))),
    ("10:12", ()),
)
_DAY = "2024-01-01 "
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _MINUTE = 720, 440, 70, 380, 24
_MINUTES = 13


def emission_picture() -> str:
    """The picture as SVG, made from a run."""
    marks = list(_run())
    return "\n".join([*_frame(), *_rows(), *_waterline(), *_marks(marks), *_legend(), "</svg>", ""])


def _run() -> Iterator[tuple[str, str, datetime, Any]]:
    """Each row that a policy shows: the step's time, the policy, the end of the window, its total."""
    with penstock.Pipeline(PROGRAM) as pipeline:
        queries = {name: pipeline.subscribe(f"{TOTALS} EMIT {name}", clock=f"{_DAY}10:00") for name in POLICIES}
        for clock, rows in STEPS:
            step = [(f"{_DAY}{at}", "Oslo", fare) for at, fare in rows]
            pipeline.step({"rides": step}, clock=f"{_DAY}{clock}")
            for name, query in queries.items():
                while (emission := query.get(0)) is not None:
                    yield from ((clock, name, end, total) for end, total in emission)


def _at(text: str) -> int:
    hours, minutes = text.split(":")
    return (int(hours) - 10) * 60 + int(minutes)


def _x(minute: float) -> float:
    return _LEFT + (minute + 1) * (_WIDTH - _LEFT - 20) / (_MINUTES + 1)


def _y(minute: float) -> float:
    return _BOTTOM - (minute + 1) * _MINUTE


def _frame() -> Iterator[str]:
    style = 'font-family="sans-serif" font-size="12"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" {style}>'
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>'
    for minute in range(_MINUTES):
        yield f'<text x="{_x(minute):.0f}" y="{_BOTTOM + 18}" text-anchor="middle">{minute:02}</text>'
        yield f'<text x="{_LEFT - 8}" y="{_y(minute) + 4:.0f}" text-anchor="end">10:{minute:02}</text>'
        window = "#888888" if minute % 5 == 0 else "#eeeeee"
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{_y(minute):.0f}" y2="{_y(minute):.0f}" stroke="{window}"/>'
    said = "the clock of the step, minutes after 10:00"
    yield f'<text x="{_WIDTH - 20}" y="{_BOTTOM + 34}" text-anchor="end">{said}</text>'
    yield f'<text x="10" y="{_y(_MINUTES) + 4:.0f}">event time; windows end at the dark lines</text>'


def _rows() -> Iterator[str]:
    for clock, rows in STEPS:
        for at, fare in rows:
            yield f'<circle cx="{_x(_at(clock)):.0f}" cy="{_y(_at(at)):.0f}" r="4" fill="#555555"/>'
            yield f'<text x="{_x(_at(clock)) + 7:.0f}" y="{_y(_at(at)) + 4:.0f}" fill="#555555">{fare}</text>'


def _waterline() -> Iterator[str]:
    """The greatest time seen, less the LATENESS of a minute, as each step leaves it."""
    line, points = None, []
    for clock, rows in STEPS:
        if line is not None:
            points.append((_at(clock), line))
        line = max([line or 0, *(_at(at) - 1 for at, _ in rows)])
        points.append((_at(clock), line))
    path = " ".join(f"{_x(x):.0f},{_y(y):.0f}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="#3366cc" stroke-dasharray="5 3"/>'


def _marks(found: list[tuple[str, str, datetime, Any]]) -> Iterator[str]:
    for clock, name, end, total in found:
        aside = 13 * (list(POLICIES).index(name) + 1)
        x, y = _x(_at(clock)) - aside, _y(_at(f"{end:%H:%M}"))
        yield f'<rect x="{x - 5:.0f}" y="{y - 5:.0f}" width="10" height="10" fill="{POLICIES[name]}"/>'
        yield f'<text x="{x:.0f}" y="{y - 8:.0f}" text-anchor="middle" fill="{POLICIES[name]}">{total}</text>'


def _legend() -> Iterator[str]:
    for place, (name, color) in enumerate(POLICIES.items()):
        left = 40 + 172 * place
        yield f'<rect x="{left}" y="{_HEIGHT - 14}" width="10" height="10" fill="{color}"/>'
        yield f'<text x="{left + 15}" y="{_HEIGHT - 5}">EMIT {name}</text>'
    said = "- - the waterline; dots are rows, with their fare"
    yield f'<text x="{_WIDTH - 20}" y="20" text-anchor="end" fill="#3366cc">{said}</text>'
