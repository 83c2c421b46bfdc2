"""The ways in which a figure runs a program: where its operators work, and whether a directory keeps everything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.measure import Cost
from bench.report import Bar

ENGINES = ("native", "spark")
# The least query of each engine, which its steps are measured by.
UNITS: Mapping[str, str] = {"native": "grouped", "spark": "bare"}


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


def bars(
    ratios: dict[Way, float], bound: float | Mapping[str, float], unit: str, *, least: bool = False
) -> tuple[Bar, ...]:
    """A bar for each engine, kept if all its ways keep it: ratios are at most the bound, or at least.

    The bound is that of both engines, or of each its own.
    """
    bounds = bound if isinstance(bound, Mapping) else dict.fromkeys(ENGINES, bound)
    return tuple(_bar(engine, _of(ratios, engine), bounds[engine], unit, least=least) for engine in ENGINES)


def bars_in_units(found: Found, name: str, bounds: Mapping[str, float]) -> tuple[Bar, ...]:
    """A bar for what a piece of work costs each engine, in units of the engine's own query (`UNITS`)."""
    return tuple(
        _bar(
            engine,
            _of({way: costs[name].over(costs[UNITS[engine]]).wall for way, costs in found.items()}, engine),
            bounds[engine],
            UNITS[engine],
            least=False,
        )
        for engine in ENGINES
    )


def _of(ratios: dict[Way, float], engine: str) -> Iterable[float]:
    return [ratio for way, ratio in ratios.items() if way.engine == engine]


def _bar(engine: str, ratios: Iterable[float], bound: float, unit: str, *, least: bool) -> Bar:
    kept = min(ratios) >= bound if least else max(ratios) <= bound
    return Bar(f"{engine} {'≥' if least else '≤'} {bound:g} × {unit}".rstrip(), kept)
