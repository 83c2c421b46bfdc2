"""Oracle: a look-up finds what a relation has in the step in which its row comes, and keeps it (FOR SYSTEM_TIME AS OF).

The model is a dictionary that is asked when a row comes. Keys are few, so rows without a partner, NULLs, equal rows,
empty steps and changes behind what has been found are frequent.
"""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import penstock

TABLES = """
CREATE STREAM orders (id INT, k INT, seen TIMESTAMP DEFAULT now());
CREATE TABLE customers (k INT PRIMARY KEY, name STRING);
CREATE TABLE visits (k INT, n INT);
CREATE VIEW totals AS SELECT k, SUM(n) AS n FROM visits GROUP BY k;
"""
AT = "FOR SYSTEM_TIME AS OF o.seen"
VIEWS = {
    "found": f"SELECT o.id, c.name FROM orders AS o JOIN customers {AT} AS c ON o.k = c.k",
    "kept": f"SELECT o.id, c.name FROM orders AS o LEFT JOIN customers {AT} AS c USING (k)",
    "chosen": f"SELECT o.id, c.name FROM orders AS o LEFT JOIN customers {AT} AS c ON o.k = c.k AND c.name > 'b'",
    "some": f"SELECT id FROM orders AS o LEFT SEMI JOIN customers {AT} AS c ON o.k = c.k",
    "none": f"SELECT id FROM orders AS o LEFT ANTI JOIN customers {AT} AS c ON o.k = c.k",
    "summed": f"SELECT c.name, COUNT(*) AS n FROM orders AS o JOIN customers {AT} AS c ON o.k = c.k GROUP BY c.name",
    "of_view": f"SELECT o.id, t.n FROM orders AS o LEFT JOIN totals {AT} AS t ON o.k = t.k",
    "twice": f"SELECT o.id, c.name, t.n FROM orders AS o JOIN customers {AT} AS c ON o.k = c.k "
    f"LEFT JOIN totals {AT} AS t ON c.k = t.k",
}
PROGRAM = TABLES + "".join(f"CREATE VIEW {name} AS {query};\n" for name, query in VIEWS.items())


class Model:
    """What each view has; the tables are asked as they are behind a step."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.customers, self.visits = {}, []
        self.views = {name: Counter() for name in VIEWS}

    def step(self):
        dice, given = self.dice, {"orders": [], "customers": [], "visits": []}
        if dice.random() < 0.2:
            return given
        for _ in range(dice.randint(0, 2)):
            key = dice.choice([1, 2, 3])
            if key in self.customers and dice.random() < 0.4:
                del self.customers[key]
                given["customers"].append(("-", (key,)))
            else:
                self.customers[key] = dice.choice("abc")
                given["customers"].append(("+", (key, self.customers[key])))
        if self.visits and dice.random() < 0.4:
            row = self.visits.pop()
            given["visits"].append(("-", row))
        for _ in range(dice.randint(0, 2)):
            self.visits.append((dice.choice([1, 2]), dice.randint(1, 3)))
            given["visits"].append(("+", self.visits[-1]))
        for _ in range(dice.randint(0, 3)):
            row = (dice.randint(1, 5), dice.choice([None, 1, 2, 3]))
            given["orders"].append(("+", row))
            self.comes(*row)
        return given

    def comes(self, number, key):
        name = self.customers.get(key)
        counts = [n for k, n in self.visits if k == key]
        total = sum(counts) if counts else None
        views = self.views
        views["kept"][number, name] += 1
        views["chosen"][number, name if name is not None and name > "b" else None] += 1
        views["of_view"][number, total] += 1
        views["none" if name is None else "some"][number,] += 1
        if name is not None:
            views["found"][number, name] += 1
            views["twice"][number, name, total] += 1
            before = next((n for other, n in views["summed"] if other == name), 0)
            views["summed"].pop((name, before), None)
            views["summed"][name, before + 1] = 1


def coming(*rows):
    """Orders that do not say when they come."""
    return pa.table({"id": [row[0] for row in rows], "k": pa.array([row[1] for row in rows], pa.int32())})


def given(model):
    step = model.step()
    return {**step, "orders": coming(*(row for _, row in step["orders"]))}


def contents(pipeline):
    return {name: Counter(pipeline.query(f"SELECT * FROM {name}").rows) for name in VIEWS}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.extended)])
def test_a_lookup_keeps_what_it_has_found(seed, tmp_path):
    model, shown = Model(seed), {name: Counter() for name in VIEWS}
    with penstock.Pipeline(PROGRAM, engine="native", directory=tmp_path) as pipeline:
        for number in range(10):
            for name, change in pipeline.step(given(model)).items():
                for weight, row in change.rows if name in shown else ():
                    shown[name][row] += weight
            for name, content in shown.items():
                assert +content == model.views[name], (number, name)
            if number % 4 == 3:
                pipeline.compact()
    with penstock.Pipeline(PROGRAM, engine="native", directory=tmp_path) as pipeline:
        assert contents(pipeline) == model.views
        pipeline.step(given(model))
        assert contents(pipeline) == model.views


def test_a_view_that_begins_later_finds_what_is_there_then():
    with penstock.Pipeline(TABLES, engine="native") as pipeline:
        pipeline.step({"orders": coming((1, 1)), "customers": [(1, "a")]})
        pipeline.step({"customers": [(1, "b")]})
        pipeline.execute(f"CREATE VIEW found AS {VIEWS['found']}")
        pipeline.step({"orders": coming((2, 1))})
        pipeline.step({"customers": [(1, "c")]})
        assert Counter(pipeline.query("SELECT * FROM found").rows) == Counter([(1, "b"), (2, "b")])
        assert pipeline.query(f"{VIEWS['found']} AND o.id = 1").rows == [(1, "c")]


def test_what_has_looked_something_up_is_not_deleted():
    program = TABLES.replace("STREAM orders", "TABLE orders") + f"CREATE VIEW found AS {VIEWS['found']};"
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.step({"orders": [("+", (1, 1, "2024-01-01 00:00:00"))], "customers": [(1, "a")]})
        with pytest.raises(penstock.PenstockError, match="cannot be deleted"):
            pipeline.step({"orders": [("-", (1, 1, "2024-01-01 00:00:00"))]})
        pipeline.step({"customers": [(1, "b")]})
        assert pipeline.query("SELECT * FROM found").rows == [(1, "a")]


REFUSED = {
    f"SELECT o.id FROM orders AS o RIGHT JOIN customers {AT} AS c ON o.k = c.k": "JOIN_KIND",
    f"SELECT o.id FROM (SELECT id, k, seen FROM orders GROUP BY id, k, seen) AS o JOIN customers {AT} AS c "
    "ON o.k = c.k": "NO_VERSIONS",
    f"SELECT o.id FROM keyed AS o JOIN customers {AT} AS c ON o.k = c.k": "LOOKUP_CHANGES",
}


@pytest.mark.parametrize("text", REFUSED)
def test_lookups_that_are_refused(text):
    keyed = "CREATE TABLE keyed (id INT PRIMARY KEY, k INT, seen TIMESTAMP DEFAULT now());"
    with (
        pytest.raises(penstock.PenstockError) as refused,
        penstock.Pipeline(f"{TABLES} {keyed} CREATE VIEW found AS {text};", engine="native") as pipeline,
    ):
        pipeline.step({})
    assert refused.value.code == REFUSED[text]
    assert refused.value.diagnostics[0].span is not None
    assert refused.value.diagnostics[0].hint
