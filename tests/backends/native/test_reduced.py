"""MIN and MAX beside sums over rows that go again: rows are added up value by value, and answers are the batch's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from tests.tiers import EXTENDED, either

import penstock
from penstock.backends.native.operators import by_value as at_work
from penstock.backends.native.operators.reduced import ReducedOperator

TABLE = "CREATE TABLE t (g INT, s STRING, n INT, b BIGINT, d DECIMAL(12, 2), w DECIMAL(38, 4), at DATE, x DOUBLE);"
REDUCED = {
    "one": "SELECT g, max(n) AS m, sum(n) AS q, count(*) AS c FROM t GROUP BY g",
    "many": "SELECT g, s, min(at) AS a, max(at) AS z, min(s) AS t, sum(w) AS w, avg(d) AS d, count(n) AS n, avg(b) AS b"
    " FROM t GROUP BY g, s",
    "whole": "SELECT max(d) AS d, min(n) AS n, sum(b) AS b, count_if(n > 1) AS c FROM t",
    "some": "SELECT g, max(n) FILTER (WHERE s = 'a') AS m, sum(d) FILTER (WHERE n > 0) AS q, min(b) AS b"
    " FROM t GROUP BY g",
    "over": "SELECT g % 2 AS h, max(n) AS m, min(d) AS d FROM t GROUP BY g % 2 HAVING count(*) > 1",
}
OTHERS = {
    "inexact": "SELECT g, max(n) AS m, sum(x) AS q FROM t GROUP BY g",
    "zeros": "SELECT g, max(x) AS m, count(*) AS c FROM t GROUP BY g",
    "raising": "SELECT g, max(10 DIV n) AS m FROM t WHERE n <> 0 GROUP BY g",
}


def program(views: dict[str, str]) -> str:
    return TABLE + "".join(f"CREATE VIEW {name} AS {text};" for name, text in views.items())


def changes(seed: int, count: int) -> Iterator[list[Any]]:
    """Steps of rows that come and go, often the same ones: the second is empty, and before the last all have gone."""
    draw = random.Random(seed)
    live: list[Any] = []
    for step in range(count):
        if step == 1:
            yield []
            continue
        came = []
        for _ in range(draw.randint(1, 8)):
            wide = draw.choice((None, Decimal("0.0001"), Decimal(f"{10**30}.5"), Decimal(f"-{10**30}")))
            row = (
                draw.choice((1, 2, None)), draw.choice(("a", "b", None)), draw.choice((None, 1, 2, 3, -4)),
                draw.choice((None, 7, 1 << 40)), draw.choice((None, Decimal("1.25"), Decimal("-3.10"))), wide,
                draw.choice((None, "2024-01-31", "1999-12-31")), 0.5,
            )  # fmt: skip
            came += [row] * draw.choice((1, 1, 2))
        live += came
        draw.shuffle(live)
        gone = [live.pop() for _ in range(len(live) if step == count - 2 else draw.randint(0, len(live) // 2))]
        yield [*(("+", row) for row in came), *(("-", row) for row in gone)]


def reduced(pipeline: penstock.Pipeline) -> int:
    installed = pipeline._opened().stepper.engine.installed
    return sum(isinstance(operator, ReducedOperator) for item in installed for operator in item.native.values())


@pytest.mark.spark
@pytest.mark.both
def test_oracle_answers_are_the_batch_s_after_every_step(interpreting: object) -> None:
    for seed in range(either(1, 6)):
        with (
            penstock.Pipeline(program(REDUCED), spark=interpreting, engine="native") as one,
            penstock.Pipeline(program(REDUCED), spark=interpreting, engine="spark") as other,
        ):
            for step, rows in enumerate(changes(seed, 7)):
                found, wanted = (
                    {name: sorted(map(repr, change.rows)) for name, change in pipeline.step({"t": rows}).items()}
                    for pipeline in (one, other)
                )
                assert found == wanted, step
                if step == 3:
                    one.compact()
                if EXTENDED or step >= 5:  # all rows have gone then, and come again
                    assert all(one.verify(name) for name in REDUCED), step
            assert reduced(one) == len(REDUCED)


def kept(pipeline: penstock.Pipeline) -> int:
    installed = pipeline._opened().stepper.engine.installed
    operators = [operator for item in installed for operator in item.native.values()]
    return sum(isinstance(operator, ReducedOperator) and operator.by_value.is_kept for operator in operators)


RAISING = "CREATE VIEW fails AS SELECT 10 DIV (n - 99) AS q FROM t;"


@pytest.mark.parametrize("share", [0, 2])
@pytest.mark.both
def test_oracle_what_is_kept_by_value_answers_as_all_rows_do(monkeypatch: Any, share: int) -> None:
    """With a step now and then that fails behind it, and a compaction."""
    seen = set()
    for seed in range(either(1, 40)):
        with penstock.Pipeline(program(REDUCED) + RAISING, engine="native") as other:
            steps = list(changes(seed, 12))
            wanted = [told(other, rows) for rows in steps]
        monkeypatch.setattr(at_work, "LARGE_STATE_ROWS", 1)
        monkeypatch.setattr(at_work, "KEPT_VALUES", share)
        with penstock.Pipeline(program(REDUCED) + RAISING, engine="native") as one:
            for number, rows in enumerate(steps):
                if number % 3 == 2:
                    with pytest.raises(penstock.DataError):
                        one.step({"t": [(1, "a", 99, 1, None, None, None, 0.5), (2, "b", 3, 1, None, None, None, 0.5)]})
                assert told(one, rows) == wanted[number], (seed, number)
                seen.add(kept(one))
                if number == 5:
                    one.compact()
        monkeypatch.undo()
    assert len(seen) > 1 if share else max(seen) == len(REDUCED)


def test_the_state_counts_what_is_kept_by_value(monkeypatch: Any) -> None:
    monkeypatch.setattr(at_work, "LARGE_STATE_ROWS", 1)
    monkeypatch.setattr(at_work, "KEPT_VALUES", 1)
    rows = [(1, "a", step % 3, 1, None, None, None, 0.5) for step in range(90)]
    with penstock.Pipeline(program({"one": REDUCED["one"]}), engine="native") as pipeline:
        for come in (rows, rows, rows[:1]):
            pipeline.step({"t": come})
        assert kept(pipeline) == 1
        at_it = pipeline._opened().stepper.engine.installed[0].native.values()
        (operator,) = [item for item in at_it if isinstance(item, ReducedOperator)]
        (state,) = pipeline.state()
        assert state.rows == sum(trace.rows for trace in operator.traces) + 3  # a sum for each value of n


def told(pipeline: penstock.Pipeline, rows: list[Any]) -> dict[str, list[str]]:
    return {name: sorted(map(repr, change.rows)) for name, change in pipeline.step({"t": rows}).items()}


@pytest.mark.parametrize("by_value", ["", "by value"])
def test_state_goes_on_from_a_directory(tmp_path: Any, monkeypatch: Any, by_value: str) -> None:
    steps = list(changes(11, 8))
    with penstock.Pipeline(program(REDUCED), engine="native") as pipeline:
        for rows in steps:
            pipeline.step({"t": rows})
        wanted = {name: sorted(map(repr, pipeline.content(name).rows)) for name in REDUCED}
    if by_value:
        monkeypatch.setattr(at_work, "LARGE_STATE_ROWS", 1)
        monkeypatch.setattr(at_work, "KEPT_VALUES", 0)
    for number, rows in enumerate(steps):
        text = "SET state_seconds = 0;" + program(REDUCED)
        with penstock.Pipeline(text, engine="native", directory=tmp_path) as pipeline:
            assert pipeline._opened().snapshots.last == number  # the log alone would give the same
            assert kept(pipeline) == (len(REDUCED) if by_value and number > 2 else 0)
            pipeline.step({"t": rows})
            found = {name: sorted(map(repr, pipeline.content(name).rows)) for name in REDUCED}
    assert found == wanted


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_not_add_up_exactly_is_aggregated_row_by_row(name: str) -> None:
    with penstock.Pipeline(program({name: OTHERS[name]}), engine="native") as pipeline:
        for rows in changes(3, 4):
            pipeline.step({"t": rows})
        assert reduced(pipeline) == 0
        assert sorted(map(repr, pipeline.content(name).rows)) == sorted(map(repr, pipeline.query(OTHERS[name]).rows))
