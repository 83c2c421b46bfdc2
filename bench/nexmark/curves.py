"""Curves as SVG, without a library for one picture: some lines over an axis that is linear or logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 420, 70, 150, 40, 50
_COLORS = ("#c2410c", "#7c3aed", "#0f766e", "#a16207", "#be123c", "#1d4ed8", "#4d7c0f", "#334155")
_TICKS = 5


@dataclass(frozen=True)
class Axis:
    """What a line of numbers says, and how they lie on it."""

    title: str
    log: bool = False

    def ticks(self, values: Sequence[float]) -> list[float]:
        """Round numbers that enclose the values."""
        if self.log:
            low, high = (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
            return [10.0**power for power in range(low, max(high, low + 1) + 1)]
        rough = max(values) / _TICKS
        unit = 10 ** math.floor(math.log10(rough))
        step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough)
        return [step * count for count in range(math.ceil(max(values) / step) + 1)]

    def share(self, value: float, ticks: Sequence[float]) -> float:
        """Where between the first tick and the last a value lies, from 0 to 1."""
        if self.log:
            return math.log(value / ticks[0]) / math.log(ticks[-1] / ticks[0])
        return (value - ticks[0]) / (ticks[-1] - ticks[0])


def curves(title: str, lines: Mapping[str, Points], across: Axis, up: Axis) -> str:
    """A picture of lines; values on logarithmic axes are above zero."""
    columns = across.ticks([x for points in lines.values() for x, _ in points])
    rows = up.ticks([y for points in lines.values() for _, y in points])
    style = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" {style}>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="10" y="18" font-weight="bold">{title}</text>',
        f'<text x="{_LEFT}" y="{_HEIGHT - 10}">{across.title}</text>',
        f'<text x="10" y="{_TOP - 6}">{up.title}</text>',
    ]
    for tick in columns:
        x = _x(across.share(tick, columns))
        parts += [_rule(x, _y(0), x, _y(1)), _text(x, _y(0) + 16, "middle", tick)]
    for tick in rows:
        y = _y(up.share(tick, rows))
        parts += [_rule(_x(0), y, _x(1), y), _text(_x(0) - 6, y + 4, "end", tick)]
    for place, (name, points) in enumerate(lines.items()):
        color = _COLORS[place % len(_COLORS)]
        drawn = " ".join(f"{_x(across.share(x, columns)):.1f},{_y(up.share(y, rows)):.1f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{color}" stroke-width="2"/>')
        at = _TOP + 20 * place + 10
        parts.append(
            f'<line x1="{_x(1) + 12}" x2="{_x(1) + 32}" y1="{at}" y2="{at}" stroke="{color}" stroke-width="3"/>'
        )
        parts.append(f'<text x="{_x(1) + 38}" y="{at + 4}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, anchor: str, value: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{value:,.10g}</text>'
