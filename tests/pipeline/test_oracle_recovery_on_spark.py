"""The same of operators on Spark, whose rows lie on the driver or on the executors, and of such beside others."""

from __future__ import annotations

import os
from typing import Any

import pytest
from test_collection import GROUPS, VIEWS
from test_collection import steps as random_steps
from test_oracle_recovery import NEEDS, POLICIES, STREAMS, TABLES, compared, stream_steps

import penstock
from penstock.circuit.operators import Operator

NEEDS_TIMED = ("sessions", "hops", "recent", "recent_sums", "counted", "counted_all")
OTHERS = {**NEEDS, **dict.fromkeys(NEEDS_TIMED, ("timed",)), "chains": ("chained",)}
PLACES = {"driver": (50_000, 20_000), "executors": (-1, 0)}


def auto(program: str, **more: Any) -> penstock.Pipeline:
    """All that is proven works in the process."""
    return penstock.Pipeline(program, **more)


class OnSpark:
    """Opens pipelines whose operators work on Spark, with their rows in one place; every second one with `mixed`."""

    def __init__(self, place: str, *, mixed: bool = False) -> None:
        self._place = place
        self._mixed = mixed

    def __call__(self, program: str, **more: Any) -> penstock.Pipeline:
        if self._mixed:
            pipeline = penstock.Pipeline(program, engine="auto", **more)
            pipeline._opening.kept = _every_second
        else:
            pipeline = penstock.Pipeline(program, engine="spark", **more)
        workspace = pipeline._opening.workspace
        workspace.driver_rows, workspace.memory_rows = PLACES[self._place]
        return pipeline


def _every_second(operator: Operator) -> bool:
    return bool(operator.number % 2)


def in_order(views: list[str]) -> list[str]:
    return list(dict.fromkeys(other for name in views for other in (*OTHERS.get(name, ()), name)))


def check(views: list[str], seed: int, opening: OnSpark, folder: Any, ends: tuple[int, ...] = (2, 3, 5)) -> None:
    program = TABLES + "\n".join(f"CREATE VIEW {name} AS {VIEWS[name]};" for name in in_order(views))
    compared(program, list(random_steps(seed, ends[-1] + 1)), list(ends), folder, disturbed=opening, calm=auto)


FEW = ["by_ten", "joined", "left_near", "listed", "different", "best", "rowed", "sessions", "closest", "chained"]
QUICK = ["best"]
WAITING = ("closed", "ticks", "sessions", "versions")
exhaustive = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != "fuzz", reason="minutes each: HYPOTHESIS_PROFILE=fuzz runs them"
)


def test_views_go_on_where_they_were(interpreting: Any, tmp_path: Any) -> None:
    check(QUICK, 1, OnSpark("executors"), tmp_path, (2, 3))


@pytest.mark.extended
@pytest.mark.parametrize("place", PLACES)
def test_a_view_of_each_kind_goes_on_where_it_was(interpreting: Any, place: str, tmp_path: Any) -> None:
    check(FEW, 1, OnSpark(place), tmp_path)


@exhaustive
@pytest.mark.extended
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("group", GROUPS)
def test_all_views_go_on_where_they_were(interpreting: Any, group: str, place: str, tmp_path: Any) -> None:
    check(list(GROUPS[group]), 2, OnSpark(place), tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=exhaustive)])
@pytest.mark.parametrize("place", PLACES)
def test_operators_in_both_places_go_on_where_they_were(
    interpreting: Any, seed: int, place: str, tmp_path: Any
) -> None:
    check(FEW, seed, OnSpark(place, mixed=True), tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize(
    "policy", [name if name in WAITING else pytest.param(name, marks=exhaustive) for name in POLICIES]
)
def test_what_waits_goes_on_waiting(interpreting: Any, policy: str, tmp_path: Any) -> None:
    place = "executors" if len(policy) % 2 else "driver"
    steps = stream_steps(f"{policy}1")  # type: ignore[arg-type]
    compared(STREAMS + POLICIES[policy], steps, [3, 4, 5, 8], tmp_path, disturbed=OnSpark(place), calm=auto)
