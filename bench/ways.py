"""The ways in which a figure runs a program: where its operators work, and whether a directory keeps everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.measure import Cost
from bench.report import Bar

ENGINES = ("native", "spark")


@dataclass(frozen=True)
class Way:
    """An engine, without history (`'history' = 'none'`) or with a directory."""

    engine: str
    directory: bool = False

    def __str__(self) -> str:
        return f"{self.engine}, directory" if self.directory else self.engine


WAYS = tuple(Way(engine, directory) for directory in (False, True) for engine in ENGINES)
HEADS = tuple(map(str, WAYS))

Found = dict[Way, dict[str, Cost]]


def bars(ratios: dict[Way, float], bound: float, unit: str, *, least: bool = False) -> tuple[Bar, ...]:
    """A bar for each engine, kept if all its ways keep it: ratios are at most the bound, or at least."""
    return tuple(_bar(engine, _of(ratios, engine), bound, unit, least=least) for engine in ENGINES)


def _of(ratios: dict[Way, float], engine: str) -> Iterable[float]:
    return [ratio for way, ratio in ratios.items() if way.engine == engine]


def _bar(engine: str, ratios: Iterable[float], bound: float, unit: str, *, least: bool) -> Bar:
    kept = min(ratios) >= bound if least else max(ratios) <= bound
    return Bar(f"{engine} {'≥' if least else '≤'} {bound:g} × {unit}".rstrip(), kept)
