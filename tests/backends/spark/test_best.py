"""The best rows of each key of an append-only table, against a walk in Python, wherever state and change are."""

import random
from collections import Counter

import pytest
from tests.tiers import either

import penstock

PROGRAM = """CREATE TABLE t (g STRING, x INT, y DOUBLE) WITH ('append_only' = 'true', 'history' = '{history}');
CREATE VIEW first AS SELECT g, x, y FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY x DESC) = 1;
CREATE VIEW numbered AS SELECT *, row_number() OVER (PARTITION BY g, x > 1 ORDER BY y) AS n FROM t QUALIFY n <= 3;
CREATE VIEW middle AS SELECT * FROM (SELECT DISTINCT * FROM t)
  QUALIFY row_number() OVER (PARTITION BY g ORDER BY y DESC NULLS LAST, x) BETWEEN 2 AND 3;
CREATE VIEW later AS SELECT g, count(*) AS n, max(x) AS most FROM numbered GROUP BY g;"""
PLACES = {"on the driver": (50_000, 20_000), "on the executors": (0, 0), "moving": (50_000, 12)}


def least(value):
    """NULLs before all values."""
    return (value is not None, value if value is not None else 0)


def whole(row):
    return tuple(least(value) for value in row)


def best(rows, key, order, places, *, numbered=False):
    """The rows that stand at some places, counted from 1, among those of their key."""
    first, last = places
    found = Counter()
    for group in {key(row) for row in rows}:
        ranked = sorted((row for row in rows if key(row) == group), key=lambda row: (order(row), whole(row)))
        for place, row in enumerate(ranked[first - 1 : last], first):
            found[(*row, place) if numbered else row] += 1
    return found


def greatest(value):
    """Values descending, NULLs last."""
    return (value is None, -value if value is not None else 0)


def halves(row):
    """The key of `numbered`."""
    return row[0], None if row[1] is None else row[1] > 1


EXPECTED = {
    "first": lambda rows: best(rows, lambda row: row[0], lambda row: greatest(row[1]), (1, 1)),
    "numbered": lambda rows: best(rows, halves, lambda row: least(row[2]), (1, 3), numbered=True),
    "middle": lambda rows: best(set(rows), lambda row: row[0], lambda row: (greatest(row[2]), least(row[1])), (2, 3)),
}


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("on the driver", marks=pytest.mark.extended),
        pytest.param("on the executors", marks=pytest.mark.extended),
        "moving",
    ],
)
@pytest.mark.both
def test_best_rows(interpreting, place):
    dice = random.Random(place)
    history = dice.choice(["none", "all"])
    rows, contents = [], {name: Counter() for name in EXPECTED}
    with penstock.Pipeline(PROGRAM.format(history=history), spark=interpreting) as pipeline:
        workspace = pipeline._opened().stepper.engine.workspace
        workspace.driver_rows, workspace.memory_rows = PLACES[place]
        for step in range(either(4, 8)):
            come = [
                (dice.choice(["a", "b", "c", None]), dice.choice([1, 2, 3, None]), dice.choice([0.5, -2.0, 8.0, None]))
                for _ in range(dice.choice([0, 1, 9]))
            ]
            rows += come
            changes = pipeline.step({"t": come})
            for name, content in contents.items():
                for weight, row in changes[name].rows:
                    assert weight
                    content[row] += weight
                assert {row: count for row, count in content.items() if count} == EXPECTED[name](rows), (step, name)
            if step == either(2, 4):
                pipeline.compact()


def test_a_map_that_comes_again_changes_nothing(interpreting):
    program = """CREATE TABLE t (g INT, m MAP<STRING, INT>) WITH ('append_only' = 'true');
        CREATE VIEW kinds AS SELECT g, m FROM t GROUP BY g, m;
        CREATE VIEW v AS SELECT g, m, row_number() OVER (PARTITION BY g ORDER BY g) AS n FROM kinds QUALIFY n <= 3;"""
    with penstock.Pipeline(program, spark=interpreting) as pipeline:
        assert pipeline.step({"t": [(1, {"a": 1})]})["v"].rows == [(1, (1, {"a": 1}, 1))]
        assert pipeline.step({"t": [(1, {"a": 1})]})["v"].rows == []
        assert pipeline.step({"t": [(1, {"a": 1}), (2, {})]})["v"].rows == [(1, (2, {}, 1))]
        assert pipeline.verify("v")
