"""Oracle: after every step each maintained operator equals the batch recomputation of its plan (SEMANTICS A6).

The changes are random, with retractions, NULLs, NaN, zeros of both signs, duplicates and empty steps. The same is run
with everything on the driver, with everything on the executors, and in between, so that layers are written, merged and
compacted.
"""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import PLANS, catalog

from penstock.backends.spark.batch import batch_frame
from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators import ranked
from penstock.backends.spark.workspace import Workspace
from penstock.engine.engine import Engine

SCHEMAS = {
    "t": pa.schema([("k", pa.int32()), ("x", pa.int64()), ("d", pa.float64()), ("s", pa.string())]),
    "u": pa.schema([("k", pa.int64()), ("y", pa.int32())]),
}
NUMBERS = st.sampled_from([None, 1.5, math.nan, math.inf, 1e16, -0.0, 0.0])
ROWS = {
    "t": st.tuples(
        st.sampled_from([None, 1, 2, 3]),
        st.sampled_from([None, 1, 5, 9, 2**40, -7]),
        NUMBERS,
        st.sampled_from([None, "", "ab", "zz"]),
    ),
    "u": st.tuples(st.sampled_from([None, 1, 2, 4]), st.sampled_from([None, 0, 4, 7])),
}
STEPS = st.lists(
    st.fixed_dictionaries(
        {
            "t": st.tuples(st.lists(ROWS["t"], max_size=4), st.lists(st.integers(0, 50), max_size=3)),
            "u": st.tuples(st.lists(ROWS["u"], max_size=3), st.lists(st.integers(0, 50), max_size=2)),
        }
    ),
    min_size=3,
    max_size=4,
)


def canonical(row):
    return tuple(
        "NaN" if isinstance(value, float) and math.isnan(value) else value + 0.0 if isinstance(value, float) else value
        for value in row
    )


def apply(content: Counter, inserts, deletes) -> Counter:
    """Insert, then delete by position among what is there; the change that results."""
    change = Counter(inserts)
    live = [row for row, weight in sorted(content.items(), key=repr) for _ in range(weight)]
    for position in deletes:
        if live:
            change[live.pop(position % len(live))] -= 1
    content.update(change)
    return change


def table_of(rows, schema: pa.Schema) -> pa.Table:
    return (
        pa.table([list(values) for values in zip(*rows, strict=True)], schema=schema) if rows else schema.empty_table()
    )


def check(workspace: Workspace, steps, *, compact: bool) -> None:
    engine = Engine(workspace)
    engine.install(catalog(), list(PLANS))
    contents = {name: Counter() for name in SCHEMAS}
    views = {name: Counter() for name in PLANS}
    for step in steps:
        inputs = {}
        for name, (inserts, deletes) in step.items():
            change = apply(contents[name], inserts, deletes)
            rows = [(*row, weight) for row, weight in change.items() if weight]
            if rows:
                schema = SCHEMAS[name].append(pa.field("__weight", pa.int64()))
                inputs[name] = Delta.of_arrow(workspace, table_of(rows, schema))
        result = engine.step(inputs)
        for name, delta in result.changes.items():
            for row in delta.consolidated().arrow().to_pylist():
                *values, weight = row.values()
                views[name][canonical(values)] += weight
        result.commit()
        if compact:
            engine.compact()
        compare(workspace, contents, views)


def compare(workspace: Workspace, contents, views) -> None:
    frames = {
        name: workspace.local(
            table_of([row for row, weight in content.items() for _ in range(weight)], SCHEMAS[name]),
            workspace.spark.createDataFrame(SCHEMAS[name].empty_table()).schema,
        )
        for name, content in contents.items()
    }
    for name, plan in PLANS.items():
        answer = batch_frame(workspace, plan, frames).toArrow().to_pylist()
        wanted = Counter(canonical(row.values()) for row in answer)
        shown = Counter({row: weight for row, weight in views[name].items() if weight})
        assert shown == wanted, name
    workspace.release()


@pytest.mark.parametrize(
    ("memory_rows", "driver_rows", "compact"),
    [
        pytest.param(20_000, 50_000, False, id="on the driver", marks=pytest.mark.extended),
        pytest.param(3, 0, False, id="on the executors", marks=pytest.mark.extended),
        pytest.param(8, 2, True, id="in between, compacted"),
    ],
)
def test_every_operator_equals_its_recomputation(interpreting, monkeypatch, memory_rows, driver_rows, compact):
    monkeypatch.setattr(ranked, "SPARE_CANDIDATES", 0)  # so that candidates run out in a short test
    workspace = Workspace(interpreting, driver_rows=driver_rows, memory_rows=memory_rows)

    # Many steps in one run, which the operators of the process see with many more examples.
    @settings(max_examples=1, deadline=None)
    @given(steps=STEPS)
    def run(steps):
        check(workspace, steps, compact=compact)

    run()
