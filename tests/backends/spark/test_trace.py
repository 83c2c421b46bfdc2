"""Traces whose newest rows are on the driver."""

import itertools
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import penstock
from penstock.backends.spark import trace as traces
from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators.grouped import GroupedRunner
from penstock.backends.spark.operators.join import BilinearRunner
from penstock.backends.spark.trace import Layer, Trace
from penstock.backends.spark.workspace import Workspace


def change(workspace: Workspace, values: list[int | None], *, nullable: bool) -> Delta:
    schema = pa.schema([pa.field("x", pa.int32(), nullable=nullable), pa.field("__weight", pa.int64())])
    table = pa.table({"x": values, "__weight": [1] * len(values)}, schema)
    return Delta.of_arrow(workspace, table, StructType([]))


def test_changes_join_whichever_columns_spark_thinks_cannot_be_null():
    workspace = Workspace(None)
    trace = Trace(workspace, StructType([]))
    for values, nullable in (([1], False), ([None], True), ([2], False), ([None, 3], True)):
        trace = trace.appended(change(workspace, values, nullable=nullable))
    kept = trace.memory.sort_by("x").to_pylist()
    assert [(row["x"], row["__weight"]) for row in kept] == [(1, 1), (2, 1), (3, 1), (None, 2)]


def test_an_answer_that_each_step_replaces_is_kept_once():
    """Thirty steps leave one entry, also where Spark has several forms of one value: bits that differ do not cancel."""
    workspace = Workspace(None)
    trace = Trace(workspace, StructType([]))
    values = [None, float("nan"), 0.0, -0.0, *(float(step) for step in range(26))]
    changes = [[(None, 1)], *([(old, -1), (new, 1)] for old, new in itertools.pairwise(values))]
    for rows in changes:
        entries, weights = zip(*rows, strict=True)
        table = pa.table({"x": pa.array(entries, pa.float64()), "__weight": weights})
        trace = trace.appended(Delta.of_arrow(workspace, table, StructType([])))
        assert trace.rows <= 3
    assert trace.memory.to_pylist() == [{"x": 25.0, "__weight": 1}]


@pytest.mark.parametrize("append_only", [True, False])
def test_rows_that_come_again_and_again_stay_on_the_driver_without_a_job(append_only):
    workspace = Workspace(None, memory_rows=40)
    trace = Trace(workspace, StructType([]), append_only=append_only, may_repeat=append_only)
    for step in range(30):
        rows = pa.table({"x": [None, step % 7, step % 7], "__weight": [1, 2, 1]})
        trace = trace.appended(Delta.of_arrow(workspace, rows, StructType([])))
        assert trace.is_local
        assert trace.rows <= 40
    kept = trace.condensed().memory.sort_by("x").to_pylist()
    assert [(row["x"], row["__weight"]) for row in kept] == [*((x, 15 if x < 2 else 12) for x in range(7)), (None, 30)]


@pytest.mark.extended
def test_groups_that_change_again_and_again_stay_on_the_driver(spark):
    """Forty groups in sixty steps are 600 entries; added up they fit, so no step needs a job of Spark to meet them."""
    text = """CREATE TABLE t (k INT, x BIGINT); CREATE TABLE u (k INT, x BIGINT);
    CREATE VIEW few AS SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k;
    CREATE VIEW many AS SELECT x, count(*) AS n FROM u GROUP BY x;"""
    with penstock.Pipeline(text, spark=spark) as pipeline:
        engine = pipeline._opened().stepper.engine
        engine.workspace.memory_rows = 40
        for step in range(60):
            rows = [{"k": (step * 7 + row) % 40, "x": step * 10 + row} for row in range(10)]
            pipeline.step({"t": rows, "u": rows})
        runners = [item for installed in engine.installed for item in installed.runners.values()]
        grouped = [item for item in runners if isinstance(item, GroupedRunner)]
        many, few = (item.traces[0] for item in sorted(grouped, key=lambda item: len(item.partials)))
        assert (few.is_local, many.is_local) == (True, False)
        assert 40 <= few.rows <= 120
        assert all(pipeline.verify(name) for name in ("few", "many"))


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        ([1000, 100, 10, 1], [1000, 100, 10, 1]),
        ([1, 1, 1, 1, 1], [5]),
        ([1000, 1, 1, 1, 1], [1000, 4]),
        ([1000, 100, 10, 3, 1], [1000, 100, 10, 4]),
        ([16, 8, 4, 2, 1], [31]),
    ],
)
def test_only_too_many_layers_are_merged_and_all_that_are_near_in_one_go(merges, sizes, left):
    workspace = Workspace(None)
    trace = Trace(workspace, StructType([]), layers=tuple(Layer(workspace, None, size) for size in sizes))
    assert [layer.rows for layer in trace.merged().layers] == left
    assert len(merges) == (sizes != left)


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        ([100] * 15, [100] * 15),
        ([100] * 16, [1600]),
        ([1600, *[100] * 15], [1600, *[100] * 15]),
        ([1600, 100, 800, *[150] * 13, 30, 200], [1600, 30, 3050]),
        ([1600, 1, 600, 1, 1, 1, 1], [1600, 600, 5]),
        ([1600] * 16, [25_600]),
        ([25_600, *[1600] * 15, *[100] * 15], [25_600, *[1600] * 15, *[100] * 15]),
    ],
)
def test_large_layers_that_would_only_be_copied_are_merged_tier_by_tier(merges, monkeypatch, sizes, left):
    monkeypatch.setattr(traces, "LARGE_LAYER_ROWS", 100)
    workspace = Workspace(None)
    layers = tuple(Layer(workspace, None, size) for size in sizes)
    trace = Trace(workspace, StructType([]), layers=layers, append_only=True)
    assert [layer.rows for layer in trace.merged().layers] == left
    assert len(merges) == (sizes != left)
    for other in (replace(trace, append_only=False), replace(trace, may_repeat=True)):
        assert len(other.merged().layers) <= max(4, len(sizes) - 1)


def test_each_row_is_copied_once_in_a_tier(merges, monkeypatch):
    monkeypatch.setattr(traces, "LARGE_LAYER_ROWS", 100)
    workspace = Workspace(None)
    trace = Trace(workspace, StructType([]), append_only=True)
    for _ in range(1000):
        trace = replace(trace, layers=(*trace.layers, Layer(workspace, None, 100))).merged()
        assert len(trace.layers) <= 3 * 15
    assert sum(layer.rows for layers in merges for layer in layers) < 2 * 1000 * 100


@pytest.mark.parametrize(("kinds", "judged", "most"), [(10**9, [0, 500, 2000, 8400, 34_000], 45), (700, [0, 500], 45)])
def test_it_is_looked_at_again_whether_rows_repeat_when_there_are_many_more(merges, monkeypatch, kinds, judged, most):
    monkeypatch.setattr(traces, "LARGE_LAYER_ROWS", 100)
    merges.kinds = kinds
    workspace = Workspace(None)
    trace, found = Trace(workspace, StructType([]), append_only=True, may_repeat=True), []
    for _ in range(1000):
        trace = replace(trace, layers=(*trace.layers, Layer(workspace, None, 100))).merged()
        found.append(trace.distinct_at)
        assert len(trace.layers) <= most
    assert list(dict.fromkeys(found)) == judged
    assert trace.rows < 3 * kinds
    assert found[-1] == (0 if kinds < 1000 else judged[-1])


class Merges(list):
    """The layers of each merge; one that adds up leaves `kinds` rows at most."""

    kinds = 10**9


@pytest.fixture
def merges(monkeypatch):
    found = Merges()

    def merge(trace, layers):
        found.append(layers)
        rows = sum(layer.rows for layer in layers)
        return Layer(trace.workspace, None, rows if trace.copies else min(found.kinds, rows))

    monkeypatch.setattr(Trace, "_merge", merge)
    return found


VIEWS = ("joined", "half", "best", "most")
GROWING = """CREATE TABLE t (k INT, x BIGINT, s STRING) WITH ('append_only' = 'true');
CREATE TABLE u (k INT, y DOUBLE) WITH ('append_only' = 'true');
CREATE TABLE w (k INT, y DOUBLE);
CREATE VIEW joined AS SELECT t.k, x, s, y FROM t JOIN u ON t.k = u.k;
CREATE VIEW half AS SELECT t.k, s, y FROM t JOIN w ON t.k = w.k;
CREATE VIEW best AS SELECT k, CAST(y AS STRING) AS y FROM u
QUALIFY row_number() OVER (PARTITION BY k ORDER BY y DESC) <= 2;
CREATE VIEW most AS SELECT k, max(CAST(y AS STRING)) OVER (PARTITION BY k) AS y FROM u;"""


@pytest.mark.extended
def test_rows_that_are_different_are_copied_and_those_that_repeat_are_added_up(interpreting, monkeypatch):
    """Over forty steps rows of `t` differ, those of `u` and `w` are eight; every view equals batch all the way."""
    monkeypatch.setattr(traces, "LARGE_LAYER_ROWS", 5)
    with penstock.Pipeline(GROWING, spark=interpreting) as pipeline:
        engine = pipeline._opened().stepper.engine
        engine.workspace.memory_rows = engine.workspace.driver_rows = 0
        for step in range(40):
            few = [{"k": place, "y": -0.0} for place in range(step % 3, 8, 2)]
            wide = [{"k": (step + at) % 9, "x": None if at == 3 else 1, "s": f"{step} {at}"} for at in range(7)]
            taken = [("-", {"k": step % 3, "y": -0.0})] if step % 4 == 2 else []
            pipeline.step({"t": wide, "u": few, "w": [*few, *taken]})
            if step % 10 == 9:
                assert all(pipeline.verify(name) for name in VIEWS)
        runners = [item for installed in engine.installed for item in installed.runners.values()]
        kept = [trace for item in runners if isinstance(item, BilinearRunner) for trace in item.traces]
        assert [trace.append_only for trace in kept] == [True, True, True, False]
        assert [trace.copies for trace in kept] == [True, False, True, False]
        assert [kept[0].rows, kept[2].rows] == [280, 280]
        assert max(kept[1].rows, kept[3].rows) < 30
        assert max(len(trace.layers) for trace in kept) >= 6
        pipeline.compact()
        joins = [item for item in runners if isinstance(item, BilinearRunner)]
        assert [trace.rows for item in joins for trace in item.traces] == [280, 8, 280, 8]
        pipeline.step({"t": wide, "u": [*few, {"k": 0, "y": 1.0}, {"k": 0, "y": 2.0}], "w": few})
        assert all(pipeline.verify(name) for name in VIEWS)
        shown = {tuple(row) for row in pipeline.query("SELECT k, y FROM best WHERE k < 2").rows}
        assert shown == {(0, "2.0"), (0, "1.0"), (1, "-0.0")}


NAMES = ("a", "b", "c", "d", "e")
CHAIN = "".join(
    f"CREATE TABLE {name} (k INT, x DOUBLE);"
    f"CREATE LOCAL VIEW of_{name} AS SELECT k, sum(x) AS {name} FROM {name} GROUP BY k;"
    for name in NAMES
)
CHAIN += f"CREATE VIEW v AS SELECT * FROM of_a {' '.join(f'JOIN of_{name} USING (k)' for name in NAMES[1:])};"


@pytest.mark.parametrize(
    "rows",
    [pytest.param(0, id="on the executors", marks=pytest.mark.extended), pytest.param(50_000, id="on the driver")],
)
def test_joins_of_what_each_step_replaces_do_not_multiply_it(interpreting, rows):
    """Five sums for each of ten keys: a step takes ten rows out of each join and puts ten in, however many joins."""
    with penstock.Pipeline(CHAIN, spark=interpreting) as pipeline:
        engine = pipeline._opened().stepper.engine
        engine.workspace.memory_rows = engine.workspace.driver_rows = rows
        for step in range(5):
            found = pipeline.step({name: [{"k": key, "x": step + 0.5} for key in range(10)] for name in NAMES})
            assert len(found["v"].rows) == (10 if step == 0 else 20)
        assert pipeline.verify("v")
        runners = [item for installed in engine.installed for item in installed.runners.values()]
        kept = [trace for item in runners if isinstance(item, BilinearRunner) for trace in item.traces]
        assert len(kept) == 8
        assert max(part.rows for trace in kept for part in trace.layers or trace.here) <= 40
