# ruff: noqa: DTZ001 - points in time are naive UTC datetimes, at the API too
"""Rows folded in the process beside rows folded one by one: the same changes in the same order, the same errors."""

from __future__ import annotations

import math
import random
import signal
from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.steps.tables import Bench

from penstock.backends.cancelling import added_up
from penstock.backends.native import stored
from penstock.backends.native.store import Store
from penstock.errors import DataError
from penstock.steps.intake import fold, keystore, many, rowcounts

_COLUMNS = "k1 DOUBLE, k2 VARCHAR(9), a INT, b STRING, d DECIMAL(20,3), t TIMESTAMP, x BINARY, f FLOAT, day DATE"
_LATE_AT = _COLUMNS.replace("TIMESTAMP", "TIMESTAMP LATENESS INTERVAL 20 MINUTES")
_AHEAD = _COLUMNS.replace("TIMESTAMP", "TIMESTAMP LATENESS INTERVAL 1 HOUR AHEAD INTERVAL 1 HOUR")
_LATE_KEY = _COLUMNS.replace("k1 DOUBLE", "k1 DOUBLE LATENESS 1")
_LATE_COUNT = _COLUMNS.replace("a INT", "a INT LATENESS 2")
TABLES = {
    "keyed": f"CREATE TABLE t ({_COLUMNS}, PRIMARY KEY (k1, k2))",
    "append-only": f"CREATE TABLE t ({_COLUMNS}, PRIMARY KEY (k1, k2)) WITH ('append_only' = 'true')",
    "late rows": f"CREATE TABLE t ({_LATE_AT}, PRIMARY KEY (k1, k2))",
    "late keys": f"CREATE TABLE t ({_LATE_KEY}, PRIMARY KEY (k1, k2))",
    "ahead": f"CREATE TABLE t ({_AHEAD}, PRIMARY KEY (k1, k2))",
    "counted": f"CREATE TABLE t ({_COLUMNS})",
    "counted, late": f"CREATE TABLE t ({_LATE_COUNT})",
}
_CLOCK = datetime(2024, 6, 1, 12)


@pytest.fixture
def store(monkeypatch):
    """A store in the process, to which even the smallest batches go, and where they are merged often."""
    monkeypatch.setattr(stored, "LEAST_MERGED_ROWS", 8)
    for module in (fold, many, rowcounts):
        monkeypatch.setattr(module, "MANY_ROWS", 1)
    found = Store()
    yield found
    found.close()


def _row(chance: random.Random, step: int):
    """A row of a few keys, with NULLs, both zeros, NaN and infinities."""

    def one(*values):
        return chance.choice(values)

    nan = math.copysign(math.nan, chance.choice((1, -1)))
    key = one(0.0, -0.0, 1.0, 2.5, nan, float(step % 7))
    at = _CLOCK + timedelta(minutes=one(-15, 0, 5, 50, 70) + 5 * step)
    numbers = (one(None, 1, 2, step), one(None, "", "x", "é\0"), one(None, Decimal("1.500"), Decimal(-7)))
    rest = (one(None, b"", b"\x00y"), one(None, 0.0, -0.0, nan, math.inf, 0.1), one(None, date(1, 1, 1)))
    return (key, one("p", "q"), *numbers, one(None, at, at), *rest)


def _batch(chance: random.Random, step: int, *, keyed: bool, inserts: bool, earlier: list):
    found = []
    for _ in range(chance.choice((0, 1, 3, 12, 40))):
        row = chance.choice(earlier) if earlier and chance.random() < 0.4 else _row(chance, step)
        dice = chance.random()
        if inserts or dice < 0.6:
            found.append(row)
        elif dice < 0.8 or not keyed:
            found.append(("-", row))
        else:
            found.append(("~", (*row[:2], *(None if chance.random() < 0.5 else value for value in row[2:]))))
        earlier.append(row)
    return found


def _outcome(bench, rows, tolerant):
    try:
        change, messages = bench.step(rows, tolerant=tolerant)
    except DataError as error:
        return error.summary
    rejected = [(item.relation, item.message, item.metadata) for item in bench.rejections.rows]
    return repr(change), messages, rejected, bench.lateness


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(1, 12))])
def test_the_two_ways_agree(store, kind, seed):
    chance = random.Random(f"{kind} {seed}")
    one_by_one, in_process = Bench(TABLES[kind]), Bench(TABLES[kind], store)
    updates, tolerant = chance.random() < 0.5, chance.random() < 0.5
    earlier: list = []
    changes = 0
    for step in range(30):
        keyed = bool(in_process.table.key) and updates
        inserts = in_process.table.append_only and chance.random() < 0.9
        rows = _batch(chance, step, keyed=keyed, inserts=inserts, earlier=earlier)
        expected = _outcome(one_by_one, rows, tolerant)
        assert _outcome(in_process, rows, tolerant) == expected, step
        changes += not isinstance(expected, str) and expected[0] != "[]"
    assert changes


def test_small_and_large_batches_share_a_memory(store, monkeypatch):
    monkeypatch.setattr(many, "MANY_ROWS", 3)
    bench = Bench("CREATE TABLE t (k INT PRIMARY KEY, a INT)", store)
    assert bench.step([(1, 1)])[0] == [(1, (1, 1))]
    assert bench.step([(1, 2), (2, 2), (3, 3)])[0] == [(-1, (1, 1)), (1, (1, 2)), (1, (2, 2)), (1, (3, 3))]
    assert bench.step([("-", (2,)), ("~", (3, 4))])[0] == [(-1, (2, 2)), (-1, (3, 3)), (1, (3, 4))]
    assert bench.step([("-", (3,)), (4, 4), (1, 2)])[0] == [(-1, (3, 4)), (1, (4, 4))]
    content = added_up(bench.store.arrow()).to_pylist()
    assert sorted((row["k"], row["a"]) for row in content) == [(1, 2), (4, 4)]


def test_what_a_step_has_proposed_goes_with_it(store):
    bench = Bench("CREATE TABLE t (k INT PRIMARY KEY, a INT)", store)
    for begun in ([], [(1, 1), (2, 2)]):
        bench.step(begun)
        store.begin(None, None)
        bench.fold([(1, 5), ("-", (2,))]).propose()
        store.discard()
        assert added_up(bench.store.arrow()).num_rows == len(begun)
    assert bench.step([(1, 1), (2, 2)])[0] == []
    assert bench.step([(1, 3)])[0] == [(-1, (1, 1)), (1, (1, 3))]


def test_what_a_failed_step_has_folded_leaves_no_trace(store):
    bench = Bench("CREATE TABLE t (k INT PRIMARY KEY, a INT)", store)
    bench.step([(1, 1), (2, 2)])
    bench.fold([(1, 5), ("-", (2,))])
    assert bench.step([(1, 1), (2, 2)])[0] == []


@pytest.mark.parametrize(("came", "went"), [(-0.0, 0.0), (math.nan, -math.nan)])
def test_a_row_goes_by_one_that_equals_it(store, came, went):
    """As Spark consolidates a large DataFrame, which makes one zero of both."""
    bench = Bench("CREATE TABLE t (k DOUBLE PRIMARY KEY, a INT)", store)
    bench.step([(came, 1), (2.0, 2)])
    change = bench.fold([("-", (went,))]).change
    bench.store.process.append(change.set_column(0, "k", pa.array([went], pa.float64())))
    assert len(bench.step([(came, 3), (9.0, 9)])[0]) == 2
    assert [(weight, row[1]) for weight, row in bench.step([(went, 4), ("-", (9.0,))])[0]] == [(-1, 3), (-1, 9), (1, 4)]
    assert added_up(bench.store.arrow())["a"].to_pylist() in ([2, 4], [4, 2])


def test_of_both_zeros_the_last_is_kept(store):
    bench = Bench("CREATE TABLE t (k DOUBLE PRIMARY KEY, a INT)", store)
    for row in [(0.0, 1), (-0.0, 2), (0.0, 3), (-0.0, 1)]:
        bench.step([row])
    ((weight, found), _) = bench.step([("-", (0.0,)), (5.0, 5)])[0]
    assert (weight, repr(found)) == (-1, "(-0.0, 1)")


def test_what_is_interrupted_while_it_moves_to_the_process_is_there_once(store, monkeypatch):
    monkeypatch.setattr(many, "MANY_ROWS", 3)
    bench = Bench("CREATE TABLE t (k INT PRIMARY KEY, a INT)", store)
    bench.step([(1, 1)])
    append = bench.store.process.append
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell starts behind it

    def interrupted(rows):
        append(rows)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(bench.store.process, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.fold([(2, 2), (3, 3), (4, 4)])
    signal.signal(signal.SIGINT, before)
    assert bench.store.arrow().to_pylist() == [{"k": 1, "a": 1, "__weight": 1}]


def test_what_cannot_be_merged_for_want_of_memory_stays_where_it_was(store, monkeypatch):
    monkeypatch.setattr(many, "MANY_ROWS", 100)
    monkeypatch.setattr(keystore, "HELD_ROWS", 0)
    monkeypatch.setattr(stored, "LEAST_MERGED_ROWS", 1000)
    bench = Bench("CREATE TABLE t (k INT PRIMARY KEY, a INT)", store)
    for number in range(10):
        bench.step([(1, number)])
    bench.step([(2, 2)])
    monkeypatch.setattr(stored, "LEAST_MERGED_ROWS", 1)
    monkeypatch.setattr(store, "rewritten", _no_room)
    for _ in range(2):
        with pytest.raises(MemoryError):
            bench.step([(3, 3)])
    monkeypatch.undo()
    content = added_up(bench.store.arrow()).to_pylist()
    assert sorted(tuple(row.values()) for row in content) == [(1, 9, 1), (2, 2, 1)]


def _no_room(name, query):
    raise MemoryError(name, query)
