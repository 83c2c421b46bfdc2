"""Decision support: what a step replaces, and that a wrong answer is found before anything is timed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from bench.decisions import data
from bench.decisions.data import generated, replaced
from bench.decisions.figure import beside, measured
from bench.decisions.judging import Judge
from bench.decisions.program import columns, program, views
from bench.measure import Cost, Runs
from bench.nexmark.task import UnavailableError

import penstock
from penstock.catalog.reserved import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = pa.table({"o_orderkey": [1, 2, 3], "o_custkey": [10, 20, 30]})
LINES = pa.table({"l_orderkey": [1, 1, 2, 3], "l_linenumber": [1, 2, 1, 1], "l_partkey": [5, 6, 7, 8]})
TABLES = {"orders": ORDERS, "lineitem": LINES}
KINDS = {"bigint": pa.int64(), "int": pa.int32(), "string": pa.string(), "date": pa.date32()}
KINDS["decimal(15,2)"] = pa.decimal128(15, 2)
QUERY = {"parts": "SELECT l_orderkey, max(l_partkey) AS most FROM lineitem GROUP BY l_orderkey"}


def test_every_query_is_a_view_that_duckdb_reads_alike() -> None:
    catalog = penstock.Pipeline(program()).catalog
    empty = {
        name: pa.table({column.name: pa.array([], KINDS[column.type]) for column in table.columns})
        for name, table in catalog.tables.items()
    }
    with Judge(empty, views()) as judge:
        found = {name: answer.column_names for name, answer in judge.answers().items()}
    assert len(found) == 22
    assert found == {name: [column.name for column in catalog.views[name].columns] for name in views()}


def test_a_step_replaces_a_share_of_the_facts_by_key() -> None:
    changed = replaced(TABLES, 0.5, 1)
    assert {name: rows.num_rows for name, rows in changed.items()} == {"orders": 2, "lineitem": 2}
    for name, keys in data.FACTS.items():
        before, after = (
            {tuple(row[key] for key in keys) for row in one[name].to_pylist()} for one in (TABLES, changed)
        )
        assert after < before
        assert len(after) == changed[name].num_rows
    assert changed["lineitem"].equals(replaced(TABLES, 0.5, 1)["lineitem"])


def test_the_judge_finds_what_is_missing_too_many_or_not_taken_back() -> None:
    with Judge(TABLES, QUERY) as judge:
        answer = judge.answers()["parts"]
        judge.add("right", "parts", answer)
        judge.check("right")
        judge.add("less", "parts", answer.slice(1))
        judge.add("more", "parts", pa.concat_tables([answer, answer.slice(0, 1)]))
        for wrong in ("less", "more"):
            with pytest.raises(AssertionError, match=f"{wrong} differs from DuckDB in . rows of parts"):
                judge.check(wrong)
        judge.replace({"orders": ORDERS.slice(0, 0), "lineitem": pa.table({**rows(LINES.slice(3)), "l_partkey": [9]})})
        with pytest.raises(AssertionError, match="right differs"):
            judge.check("right")
        judge.add("right", "parts", pa.table({"l_orderkey": [3, 3], "most": [8, 9], WEIGHT: [-1, 1]}))
        judge.check("right")


def keys_of(table: pa.Table, keys: tuple[str, ...]) -> set[tuple[object, ...]]:
    return {tuple(row[key] for key in keys) for row in table.to_pylist()}


def rows(table: pa.Table) -> dict[str, object]:
    return dict(zip(table.column_names, table.columns, strict=True))


def test_without_the_generator_it_is_said_what_puts_it_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(data, "_ROOT", tmp_path)
    monkeypatch.setattr(data, "_TOOL", "no-such-generator")
    monkeypatch.setenv("PENSTOCK_BENCH_DATA", str(tmp_path / "nexmark"))
    with pytest.raises(UnavailableError, match="make tpch"):
        generated(0.01, {})


def test_a_step_is_judged_by_what_it_is_of_computing_anew() -> None:
    found = {"native": Cost(100, 1), "spark": Cost(3000, 1), "batch": Cost(1000, 1), "duckdb": Cost(90, 1)}
    line = beside("anew", "batch", found)
    assert line.cells == ("the step is 0.1 × that", "the step is 3 × that")
    assert list(map(str, line.bars)) == ["native ≤ 0.1 × that: kept"]
    assert list(map(str, beside("anew", "duckdb", found).bars)) == ["native ≤ 1 × that: missed"]
    del found["spark"], found["batch"]
    assert beside("anew", "duckdb", found).cells == ("the step is 1.11 × that", "–")
    assert (beside("anew", "batch", found).cells, beside("anew", "batch", found).bars) == (("–", "–"), ())
    assert [bar.kept for bar in beside("anew", "duckdb", {"duckdb": Cost(1, 1)}).bars] == [False]


def has_generator() -> bool:
    try:
        return bool(shutil.which(data.tool()))
    except UnavailableError:
        return False


@pytest.mark.extended
@pytest.mark.skipif(not has_generator(), reason="make tpch installs the generator of the tables")
def test_both_engines_spark_and_duckdb_answer_alike(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_BENCH_DATA", str(tmp_path / "nexmark"))
    figure = measured(spark, generated(0.01, columns()), Runs(0, 1), 0.01)
    assert [line.what.partition(":")[0] for line in figure.lines] == [
        "taking all rows in",
        "a step that replaces 1% of the facts",
        "Spark's batch over all views",
        "DuckDB over all views",
    ]


@pytest.mark.extended
@pytest.mark.skipif(not has_generator(), reason="make tpch installs the generator of the tables")
def test_an_engine_that_fails_is_left_out_with_its_reason(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_BENCH_DATA", str(tmp_path / "nexmark"))
    step = penstock.Pipeline.step

    def failing(pipeline: penstock.Pipeline, rows: object) -> object:
        if pipeline.catalog.settings["engine"] == "spark":
            raise penstock.DataError(penstock.Diagnostic("NO_ROOM", "Java heap space"))
        return step(pipeline, rows)

    monkeypatch.setattr(penstock.Pipeline, "step", failing)
    figure = measured(spark, generated(0.01, columns()), Runs(0, 1), 0.01)
    assert {line.cells[1] for line in figure.lines} == {"–"}
    assert all(line.cells[0] != "–" for line in figure.lines)
    assert figure.notes[-1] == "*spark* is left out: Java heap space"
    assert sum(len(line.bars) for line in figure.lines) == 2
