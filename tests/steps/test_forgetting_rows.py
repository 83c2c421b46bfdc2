"""What a table remembers to judge its input is dropped below the waterline, and no judgement changes by it."""

from __future__ import annotations

import random

import pytest
from tests.steps.tables import Bench, declared

import penstock
from penstock.backends.native import stored as in_process
from penstock.backends.native.store import Store
from penstock.backends.spark import stored
from penstock.errors import DataError, SqlError
from penstock.steps.intake import keystore, rowcounts
from penstock.steps.intake.forgetting import forgets

KEYED = "CREATE TABLE t (ts BIGINT, k INT, x INT LATENESS 50, PRIMARY KEY (ts, k)) WITH ('history' = 'none')".replace(
    "ts BIGINT", "ts BIGINT LATENESS 5"
)
COUNTED = "CREATE TABLE t (ts BIGINT LATENESS 5, k INT)"


def outcome(bench, rows):
    try:
        change, messages = bench.step(rows)
    except DataError as error:
        return error.code
    return sorted(change, key=repr), messages


@pytest.mark.parametrize("sql", [KEYED, COUNTED], ids=["keys", "rows"])
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(4, 20))]
)
def test_no_judgement_changes(monkeypatch, sql, seed):
    monkeypatch.setattr(stored, "LEAST_FORGOTTEN_ROWS", 1)
    chance = random.Random(seed)
    forgetting, keeping = Bench(sql), Bench(sql)
    assert forgets(forgetting.table) is (sql == KEYED)
    most = 0
    for time in range(0, 200, 2):
        rows = []
        for _ in range(chance.randint(1, 4)):
            row = (max(0, time - chance.randint(-3, 9)), chance.randint(1, 2), chance.randint(1, 3))
            found = row if sql == KEYED else row[:2]
            rows.append(("-", found) if chance.random() < 0.3 else found)
        assert outcome(forgetting, rows) == outcome(keeping, rows)
        if forgetting.store is not None:
            forgetting.store.forget(forgetting.lateness.within(forgetting.table.key))
        else:
            forgetting.counts.forget(forgetting.lateness)
        most = max(most, len((forgetting.store or forgetting.counts)._newest))
    assert 2 * most < len((keeping.store or keeping.counts)._newest)


@pytest.mark.parametrize("sql", [KEYED, COUNTED], ids=["keys", "rows"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(1, 5))])
def test_no_judgement_changes_in_the_process(monkeypatch, sql, seed):
    for module, name in (
        (keystore, "HELD"),
        (rowcounts, "HELD"),
        (in_process, "HELD"),
        (in_process, "LEAST_FORGOTTEN"),
    ):
        monkeypatch.setattr(module, f"{name}_ROWS", 8)
    chance = random.Random(seed)
    store = Store()
    forgetting, keeping = Bench(sql, store), Bench(sql, store)
    for time in range(0, 120, 2):
        rows = []
        for _ in range(chance.randint(1, 12)):
            row = (max(0, time - chance.randint(-3, 9)), chance.randint(1, 2), chance.randint(1, 3))
            found = row if sql == KEYED else row[:2]
            rows.append(("-", found) if chance.random() < 0.3 else found)
        assert outcome(forgetting, rows) == outcome(keeping, rows)
        if forgetting.store is not None:
            forgetting.store.forget(forgetting.lateness.within(forgetting.table.key))
        else:
            forgetting.counts.forget(forgetting.lateness)
    left, kept = ((bench.store or bench.counts).process.arrow().num_rows for bench in (forgetting, keeping))
    store.close()
    assert 2 * left < kept


def test_only_a_table_that_nobody_reads_forgets_its_keys():
    assert not forgets(declared("CREATE TABLE t (ts BIGINT PRIMARY KEY LATENESS 5)"))
    assert not forgets(declared("CREATE TABLE t (k INT PRIMARY KEY, ts BIGINT LATENESS 5) WITH ('history' = 'none')"))


def test_a_view_starts_over_a_table_that_forgets_its_keys(spark):
    table = "CREATE TABLE t (id INT PRIMARY KEY LATENESS 5, x INT) WITH ('history' = 'none');"
    with penstock.Pipeline(f"{table} CREATE VIEW s AS SELECT sum(x) AS s FROM t", spark=spark) as pipeline:
        assert pipeline.step({"t": [(1, 2), (9, 3)]})["s"].rows == [(1, (5,))]
        with pytest.raises(SqlError, match="it keeps no history"):
            pipeline.execute("CREATE VIEW late AS SELECT count(*) AS n FROM t")
