"""The physical plan of a small step over a large state: nothing exchanges a whole trace."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from plans import PLANS, catalog

from penstock.backends.spark import trace
from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators import runner
from penstock.backends.spark.workspace import Workspace
from penstock.engine.engine import Engine

LAYER = re.compile(r"ExistingRDD\[.*__key_(\d+)")  # a small change has `__key`, a layer a name of its own
MAINTAINED = ["additive", "keyed", "join", "left_join", "anti_join", "distinct", "top_by_key", "window"]


class Watched(Workspace):
    """A workspace that remembers the queries that it was asked."""

    def sql(self, text):
        frame = super().sql(text)
        self.__dict__.setdefault("asked", []).append(frame)
        return frame


def rows(workspace, count, offset=0):
    table = pa.table(
        {
            "k": pa.array([(offset + number) % 50 for number in range(count)], pa.int32()),
            "x": pa.array(range(count), pa.int64()),
            "d": pa.array([1.0] * count),
            "s": pa.array(["a"] * count),
            "__weight": pa.array([1] * count, pa.int64()),
        }
    )
    return Delta.of_arrow(workspace, table)


def exchanged_layers(
    plan: str, picking: tuple[str, ...] = ("Join", "Aggregate"), before: float = float("inf")
) -> list[str]:
    """The state layers that an Exchange takes in whole: above them is no join or aggregate that makes less of them.

    Layers with a number from `before` on are those that the step itself has made of its changes.
    """
    found, above = [], []
    for line in plan.splitlines():
        name = (
            line.lstrip(" :+-*|").split(")", 1)[-1].strip()
            if re.match(r"^[ :+\-|]*\*?\(", line)
            else line.lstrip(" :+-*|")
        )
        depth = len(line) - len(line.lstrip(" :+-*|"))
        above = [(level, node) for level, node in above if level < depth]
        layer = LAYER.search(name)
        if layer and int(layer[1]) < before:
            for _, node in reversed(above):
                if any(kind in node for kind in picking):
                    break
                if node.startswith("Exchange"):
                    found.append(line)
        above.append((depth, name))
    return found


@pytest.mark.parametrize("name", MAINTAINED)
def test_no_exchange_above_a_layer(spark, name):
    workspace = Watched(spark, memory_rows=0)
    engine = Engine(workspace)
    engine.install(catalog(name), [name])
    right = pa.table({"k": [1, 2], "y": pa.array([1, 2], pa.int32()), "__weight": [1, 1]})
    engine.step({"t": rows(workspace, 400), "u": Delta.of_arrow(workspace, right)}).commit()
    workspace.asked = []
    result = engine.step({"t": rows(workspace, 3, offset=1)})
    for delta in result.changes.values():
        delta.settled()
    plans = [frame._jdf.queryExecution().executedPlan().toString() for frame in workspace.asked]
    result.commit()
    assert any(LAYER.search(plan) for plan in plans), "the state is not read at all"
    assert [layer for plan in plans for layer in exchanged_layers(plan)] == []


@pytest.mark.parametrize(
    "name",
    [
        "keyed",
        "join",
        *(pytest.param(name, marks=pytest.mark.extended) for name in ("additive", "distinct", "left_join")),
    ],
)
def test_large_steps_exchange_only_what_is_new(spark, name, monkeypatch):
    """Rewriting a grouped state, and joins too large to broadcast, find each layer partitioned already."""
    monkeypatch.setattr(runner, "BROADCAST_ROWS", 0)
    workspace = Watched(spark, driver_rows=0, memory_rows=150)
    engine = Engine(workspace)
    engine.install(catalog(name), [name])
    right = pa.table({"k": [1, 2], "y": pa.array([1, 2], pa.int32()), "__weight": [1, 1]})
    engine.step({"t": rows(workspace, 400), "u": Delta.of_arrow(workspace, right)}).commit()
    for number, count in enumerate((300, 100, 350)):
        workspace.asked, before = [], next(trace._COUNTER)
        result = engine.step({"t": rows(workspace, count, offset=number), "u": Delta.of_arrow(workspace, right)})
        for delta in result.changes.values():
            delta.settled()
        plans = [frame._jdf.queryExecution().executedPlan().toString() for frame in workspace.asked]
        result.commit()
        assert any(LAYER.search(plan) for plan in plans), "the state is not read at all"
        assert [layer for plan in plans for layer in exchanged_layers(plan, ("Join",), before)] == []


def test_the_check_sees_an_exchange(spark):
    frame = spark.range(10).selectExpr("id AS `__key_1`").repartition(2, "__key_1").localCheckpoint()
    plan = frame.repartition(3, "__key_1")._jdf.queryExecution().executedPlan().toString()
    assert exchanged_layers(plan)


def test_every_plan_is_known():
    assert set(MAINTAINED) <= set(PLANS)
