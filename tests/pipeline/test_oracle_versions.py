"""Oracle: after every step a join FOR SYSTEM_TIME AS OF is what Python finds among all versions (SEMANTICS C12).

Their list is made from the operations as they are handed over. Keys and times are few, so versions of one time, those
that are deleted without a time, late ones, rows before the first version, NULLs and empty steps are frequent.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

import penstock
from penstock.backends.native import collecting

START = datetime(2024, 5, 1)  # noqa: DTZ001 - naive UTC, as all times of rows
DELAY, ORDERS_DELAY = 6, 10
TABLES = f"""
CREATE TABLE orders (k INT, t TIMESTAMP LATENESS INTERVAL {ORDERS_DELAY} MINUTES, x INT);
CREATE TABLE rates (k INT, v INT, t TIMESTAMP LATENESS INTERVAL {DELAY} MINUTES, PRIMARY KEY (k));
CREATE TABLE quotes (k INT, v INT, t TIMESTAMP LATENESS INTERVAL {DELAY} MINUTES);
CREATE VIEW latest AS SELECT k, v, t FROM quotes QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY t DESC) = 1;
"""
VIEWS = {
    "matched": "SELECT o.k, o.t, o.x, r.v FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.t AS r ON o.k = r.k",
    "kept": "SELECT o.k, o.t, o.x, r.v FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.t AS r USING (k)",
    "chosen": "SELECT o.k, o.t, o.x, r.v FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.t AS r "
    "ON r.k = o.k AND r.v > o.x",
    "some": "SELECT o.k, o.t, o.x FROM orders o LEFT SEMI JOIN rates FOR SYSTEM_TIME AS OF o.t AS r "
    "ON r.k = o.k AND r.v > o.x",
    "none": "SELECT * FROM orders o LEFT ANTI JOIN rates FOR SYSTEM_TIME AS OF o.t AS r USING (k)",
    "unquoted": "SELECT * FROM orders o LEFT ANTI JOIN latest FOR SYSTEM_TIME AS OF o.t AS r ON o.k = r.k",
    "earlier": "SELECT o.k, o.t, o.x, r.v FROM orders o, rates FOR SYSTEM_TIME AS OF o.t - INTERVAL 3 MINUTES r "
    "WHERE o.k = r.k",
    "point": "SELECT k, v FROM rates FOR SYSTEM_TIME AS OF TIMESTAMP '2024-05-01 00:20:00'",
    "viewed": "SELECT o.k, o.t, o.x, r.v FROM orders o LEFT JOIN latest FOR SYSTEM_TIME AS OF o.t AS r ON o.k = r.k",
}
PROGRAM = TABLES + "".join(f"CREATE VIEW {name} AS {query};\n" for name, query in VIEWS.items())


def minute(number: int | None) -> datetime | None:
    return None if number is None else START + timedelta(minutes=number)


class History:
    """All versions that have been accepted: (key, minute, number, value or None for a deletion)."""

    def __init__(self) -> None:
        self.versions: list[tuple[int, int, int, int | None]] = []
        self.line: int | None = None
        self.seen: int | None = None

    def take(self, operations: list[tuple[str, tuple]]) -> None:
        line, seen = self.line, self.seen
        for operation, row in operations:
            time = row[2] if len(row) == 3 else None
            if operation == "-" and time is None:
                time = seen
            if time is None:
                continue
            seen = time if seen is None else max(seen, time)
            if line is None or time >= line:
                self.versions.append((row[0], time, len(self.versions), None if operation == "-" else row[1]))
                self.seen = time if self.seen is None else max(self.seen, time)
        self.line = None if self.seen is None else self.seen - DELAY

    def at(self, key: int | None, time: int | None) -> int | None:
        found = [item for item in self.versions if time is not None and item[0] == key and item[1] <= time]
        return max(found, key=lambda item: (item[1], item[2]))[3] if found else None


class Model:
    """The rows of the tables, and the contents of the views by looking at every version."""

    def __init__(self) -> None:
        self.orders: list[tuple] = []
        self.quotes: list[tuple] = []
        self.rates = History()

    def quoted(self, key: int | None, time: int | None) -> int | None:
        found = [row for row in self.quotes if time is not None and row[0] == key and row[2] is not None]
        last = max((row[2] for row in found if row[2] <= time), default=None)
        return min((row[1] for row in found if row[2] == last), default=None)

    def contents(self) -> dict[str, Counter]:
        def rows(found, *, inner=False):
            pairs = [((k, minute(t), x), found(k, t, x)) for k, t, x in self.orders]
            return Counter((*row, value) for row, value in pairs if value is not None or not inner)

        def asked(condition):
            return Counter((k, minute(t), x) for k, t, x in self.orders if condition(k, t, x))

        def higher(k, t, x):
            value = self.rates.at(k, t)
            return value if value is not None and value > x else None

        points = {key: self.rates.at(key, 20) for key in {item[0] for item in self.rates.versions}}
        return {
            "matched": rows(lambda k, t, _: self.rates.at(k, t), inner=True),
            "kept": rows(lambda k, t, _: self.rates.at(k, t)),
            "chosen": rows(higher),
            "some": asked(lambda k, t, x: higher(k, t, x) is not None),
            "none": asked(lambda k, t, _: self.rates.at(k, t) is None),
            "unquoted": asked(lambda k, t, _: self.quoted(k, t) is None),
            "earlier": rows(lambda k, t, _: self.rates.at(k, None if t is None else t - 3), inner=True),
            "point": Counter((key, value) for key, value in points.items() if value is not None),
            "viewed": rows(lambda k, t, _: self.quoted(k, t)),
        }


class Changes:
    """Random operations; times go up with the steps, some far behind."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.model = Model()
        self.quoted_line: int | None = None
        self.orders_line = 0

    def step(self, number: int) -> dict[str, list]:
        if self.dice.random() < 0.15:
            return {}
        return {"orders": self.orders(number), "rates": self.rates(number), "quotes": self.quotes(number)}

    def time(self, number: int) -> int:
        return max(0, 2 * number + self.dice.randint(-9, 3))

    def orders(self, number: int) -> list:
        found: list = []
        for _ in range(self.dice.randint(0, 4)):
            time = None if self.dice.random() < 0.1 else max(self.time(number), self.orders_line)
            row = (self.dice.choice([None, 1, 2, 3]), time, self.dice.randint(0, 3))
            found += [("+", row)] * self.dice.choice([1, 1, 2])
        open_rows = [row for row in self.model.orders if row[1] is None or row[1] >= self.orders_line]
        for row in self.dice.sample(open_rows, min(len(open_rows), self.dice.choice([0, 0, 1, 2]))):
            self.model.orders.remove(row)
            found.append(("-", row))
        self.model.orders += [row for operation, row in found if operation == "+"]
        times = [row[1] - ORDERS_DELAY for _, row in found if row[1] is not None]
        self.orders_line = max([self.orders_line, *times])
        return [(operation, (k, minute(t), x)) for operation, (k, t, x) in found]

    def rates(self, number: int) -> list:
        found: list = []
        for _ in range(self.dice.randint(0, 4)):
            key, what = self.dice.choice([1, 2, 3]), self.dice.random()
            time = None if self.dice.random() < 0.1 else self.time(number)
            if what < 0.7:
                found.append(("+", (key, self.dice.randint(0, 4), time)))
            else:
                found.append(("-", (key,) if what < 0.8 else (key, 0, time)))
        self.model.rates.take(found)
        return [(operation, (*row[:2], minute(row[2])) if len(row) == 3 else row) for operation, row in found]

    def quotes(self, number: int) -> list:
        rows = [
            (self.dice.choice([1, 2]), self.dice.randint(0, 9), self.time(number))
            for _ in range(self.dice.randint(0, 2))
        ]
        line = self.quoted_line
        self.model.quotes += [row for row in rows if line is None or row[2] >= line]
        seen = [row[2] - DELAY for row in rows] + ([] if line is None else [line])
        self.quoted_line = max(seen, default=None)
        return [("+", (k, v, minute(t))) for k, v, t in rows]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (1, 2))])
def test_versions_are_what_python_finds(seed, monkeypatch):
    monkeypatch.setattr(collecting, "LEAST_FORGOTTEN_ROWS", seed)
    changes, found = Changes(seed), {name: Counter() for name in VIEWS}
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        for number in range(18):
            shown = pipeline.step(changes.step(number))
            expected = changes.model.contents()
            for name, content in found.items():
                for weight, row in shown[name].rows if name in shown else ():
                    content[row] += weight
                assert min(content.values(), default=0) >= 0, (number, name)
                assert +content == expected[name], (number, name)
        for name, query in VIEWS.items():
            assert Counter(pipeline.query(f"SELECT * FROM {name}").rows) == expected[name], name
            assert Counter(pipeline.query(query).rows) == expected[name], name
