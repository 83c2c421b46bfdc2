"""What is inferred of joins holds: no later change is below a waterline, keys tell rows apart, closed keys stay closed.

Random joins of two tables are evaluated anew after each step by another engine (SQLite), over what intake has accepted.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from itertools import combinations

import pytest
from tests.steps.tables import Bench
from tests.tiers import either

from penstock.analysis.determined import determined
from penstock.analysis.waterline import Reader
from penstock.bind.program.compile import compile_program
from penstock.circuit.closing import closing_columns
from penstock.rewrite import rewrite_views

TABLES = {
    "a": "CREATE TABLE a (id INT PRIMARY KEY, t BIGINT LATENESS 6, e BIGINT, c INT)",
    "b": "CREATE TABLE b (k INT, u BIGINT LATENESS 4, f BIGINT)",
}
COLUMNS = {"a": ("id", "t", "e", "c"), "b": ("k", "u", "f")}
TIMES = ("a.t", "a.e", "b.u", "b.f")
STEPS = 16


def random_join(chance):
    """A query over both tables, whose condition compares some times."""
    parts = [chance.choice(("a.id = b.k", "a.id = b.k", "a.c = b.k"))]
    for _ in range(chance.randint(1, 4)):
        one, other = chance.sample(TIMES, 2)
        more = chance.choice(("", "", f" + {chance.randint(1, 5)}", f" - {chance.randint(1, 5)}"))
        parts.append(f"{one} {chance.choice(('<=', '<', '>=', '>', '='))} {other}{more}")
    condition = " AND ".join(parts)
    kind = chance.choice(("JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "EXISTS", "NOT EXISTS"))
    if kind.endswith("EXISTS"):
        return f"SELECT id, t, e, c FROM a WHERE {kind} (SELECT 1 FROM b WHERE {condition})"
    joined = f"SELECT id, t, e, c, k, u, f FROM a {kind} b ON {condition}"
    if chance.random() < 0.3:
        by = chance.choice(("id", "k", "id, c", "k, c"))
        numbered = f"row_number() OVER (PARTITION BY {by} ORDER BY f DESC, id, t, e, c, k, u) AS r"
        return f"SELECT id, t, e, c, k, u, f FROM (SELECT *, {numbered} FROM ({joined})) WHERE r = 1"
    return joined


def changes(chance):
    """Rows for both tables, behind and ahead of a time that goes on."""
    now = 0
    for _ in range(STEPS):
        now += chance.choice((0, 2, 5, 9))

        def time(now=now):
            return None if chance.random() < 0.05 else now - chance.randint(-2, 8)

        sign = ("+", "+", "+", "-")
        offers = [(chance.choice(sign), (chance.randint(1, 6), time(), time(), chance.randint(1, 3))) for _ in range(2)]
        bids = [(chance.randint(1, 6), time(), time()) for _ in range(chance.randint(0, 4))]
        yield {"a": offers, "b": bids}


def there(values):
    """The values but NULL, as Spark's functions take them."""
    return [value for value in values if value is not None]


class Content:
    """The accepted rows of both tables, with an engine that answers queries over them."""

    def __init__(self):
        self.benches = {name: Bench(sql) for name, sql in TABLES.items()}
        self.database = sqlite3.connect(":memory:")
        self.database.create_function("least", -1, lambda *values: min(there(values), default=None))
        self.database.create_function("greatest", -1, lambda *values: max(there(values), default=None))
        for name, columns in COLUMNS.items():
            self.database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")

    def step(self, rows):
        for name, bench in self.benches.items():
            found, _ = bench.step(self.with_deletion(name, rows[name]), tolerant=True)
            columns = COLUMNS[name]
            for weight, row in sorted(found, key=lambda item: item[0]):
                if weight > 0:
                    self.database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
                else:
                    same = " AND ".join(f"{column} IS ?" for column in columns)
                    self.database.execute(
                        f"DELETE FROM {name} WHERE rowid = (SELECT min(rowid) FROM {name} WHERE {same})", row
                    )

    def with_deletion(self, name, rows):
        """With a bid now and then that goes again."""
        found = self.database.execute(f"SELECT * FROM {name}").fetchall() if name == "b" else []
        return [*rows, ("-", random.Random(repr(rows)).choice(found))] if found else rows

    def lines(self):
        return {"a.t": self.benches["a"].waterline("t"), "b.u": self.benches["b"].waterline("u")}

    def line(self, derived):
        names = ", ".join(f'? AS "{name}"' for name in self.lines())
        query = f"SELECT {derived.text} FROM (SELECT {names})"
        return self.database.execute(query, list(self.lines().values())).fetchone()[0]


def inferred(query):
    catalog = rewrite_views(compile_program(f"{';'.join(TABLES.values())}; CREATE VIEW v AS {query};").catalog)
    plan, reader = catalog.views["v"].plan, Reader(catalog, passing_time=True)
    known = reader.of(plan)
    keys = [key for count in (1, 2) for key in combinations([name for name in plan.names if name in "idkc"], count)]
    closing = {key: closing_columns(plan, key, reader, catalog) for key in keys}
    return plan.names, known, {key: determined(plan, key, catalog) for key in keys}, closing


@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(60, 250))]
)
def test_no_later_change_breaks_what_was_inferred(seed):
    chance = random.Random(seed)
    query = random_join(chance)
    names, known, given, closing = inferred(query)
    content, before, lines, closed = Content(), Counter(), {}, set()
    place = {name: names.index(name) for name in names}
    for rows in changes(chance):
        content.step(rows)
        now = Counter(content.database.execute(query).fetchall())
        changed = [row for row in (before | now) if before[row] != now[row]]
        for row in changed:
            for name, line in lines.items():
                value = row[place[name]]
                assert value is None or line is None or value >= line, (query, name, line, row)
            for key in closing:
                assert (key, tuple(row[place[name]] for name in key)) not in closed, (query, key, row)
        for key, names_given in given.items():
            for name in names_given:
                pairs = {(*(row[place[item]] for item in key), row[place[name]]) for row in now}
                assert len(pairs) == len({pair[:-1] for pair in pairs}), (query, key, name)
        before, lines = now, {name: content.line(derived) for name, derived in known.items()}
        for key, columns in closing.items():
            for name in columns:
                low = lines[name]
                gone = [
                    row for row in now if row[place[name]] is not None and low is not None and row[place[name]] < low
                ]
                closed |= {(key, tuple(row[place[item]] for item in key)) for row in gone}


@pytest.mark.both
def test_the_joins_are_not_all_without_waterlines():
    count = either(50, 250)
    found = [inferred(random_join(random.Random(seed))) for seed in range(count)]
    assert sum(bool(known) for _, known, _, _ in found) > 0.32 * count
    assert sum(any(closing.values()) for _, _, _, closing in found) > 0.16 * count
