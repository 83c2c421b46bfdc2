"""Oracle: ASOF and LATEST joins of every kind are what Python finds by looking at all rows (SEMANTICS A4, E12).

Keys and times are few, so rows equally close, equal rows, NULLs, deleted rows and empty steps are frequent.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest

import penstock

KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
TABLES = "CREATE TABLE l (k INT, t INT, x INT); CREATE TABLE r (k INT, t INT, y INT);"
STREAMS = "CREATE STREAM l (k int, t int, x int); CREATE STREAM r (k int, t int, y int);"
BOTH = "l.k AS lk, l.t AS lt, l.x, r.k AS rk, r.t AS rt, r.y"


def shown(kind):
    return "l.k, l.t, l.x" if kind in ("SEMI", "ANTI") else BOTH


ASOF = {
    kind: f"SELECT {shown(kind)} FROM l {kind} ASOF JOIN r MATCH_CONDITION (l.t >= r.t) ON l.k = r.k" for kind in KINDS
}
LATEST = {kind: f"SELECT {shown(kind)} FROM l {kind} LATEST JOIN r ON l.k = r.k" for kind in KINDS}


def of_kind(kind, lefts, rights, finds):
    """The rows of a join: `finds` gives the right row that a left one takes, or None."""
    pairs = [(left, finds(left)) for left in lefts]
    taken = {right for _, right in pairs}
    if kind in ("SEMI", "ANTI"):
        return Counter(left for left, right in pairs if (right is None) == (kind == "ANTI"))
    nothing = (None, None, None)
    found = Counter((*left, *right) for left, right in pairs if right is not None)
    if kind in ("LEFT", "FULL"):
        found += Counter((*left, *nothing) for left, right in pairs if right is None)
    if kind in ("RIGHT", "FULL"):
        found += Counter((*nothing, *right) for right in rights if right not in taken)
    return found


def closest(rights):
    def finds(left):
        key, time, _ = left
        near = [row for row in rights if None not in (key, time, row[1]) and row[0] == key and row[1] <= time]
        last = max((row[1] for row in near), default=None)
        return min((row for row in near if row[1] == last), default=None)

    return finds


def latest(last, left):
    return last.get(left[0])


class Rows:
    """The rows of both sides, and random changes of them."""

    def __init__(self, seed):
        self.dice, self.present = random.Random(seed), {"l": [], "r": []}

    def row(self):
        return (self.dice.choice([None, 1, 2]), self.dice.choice([None, 1, 2, 3]), self.dice.randint(0, 1))

    def step(self, *, retracting):
        given = {}
        for table, present in self.present.items() if self.dice.random() > 0.15 else ():
            gone = self.dice.sample(present, min(len(present), self.dice.randint(0, 2))) if retracting else []
            for row in gone:
                present.remove(row)
            added = [self.row() for _ in range(self.dice.randint(0, 3))]
            present.extend(added)
            given[table] = [("+", row) for row in added] + [("-", row) for row in gone]
        return given


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.extended)])
def test_an_asof_join_of_each_kind_is_what_python_finds(seed):
    rows, found = Rows(seed), {kind: Counter() for kind in KINDS}
    program = TABLES + "".join(f"CREATE VIEW {kind}_ AS {query};" for kind, query in ASOF.items())
    with penstock.Pipeline(program, engine="native") as pipeline:
        for number in range(12):
            changes = pipeline.step(rows.step(retracting=True))
            if number % 4 == 3:
                pipeline.compact()
            for kind, content in found.items():
                for weight, row in changes[f"{kind}_"].rows if f"{kind}_" in changes else ():
                    content[row] += weight
                lefts, rights = rows.present["l"], rows.present["r"]
                assert +content == of_kind(kind, lefts, rights, closest(rights)), (number, kind)
                assert min(content.values(), default=0) >= 0, (number, kind)


@pytest.mark.parametrize("seed", range(1))
def test_a_latest_join_of_each_kind_is_what_python_finds(seed):
    rows, found = Rows(seed), {kind: Counter() for kind in KINDS}
    with penstock.Pipeline(STREAMS, dialect="timeplus", engine="native") as pipeline:
        queries = {
            kind: pipeline.subscribe(query.replace(" FROM", ", _tp_delta FROM")) for kind, query in LATEST.items()
        }
        for number in range(6):
            pipeline.step({name: [row for _, row in given] for name, given in rows.step(retracting=False).items()})
            last = {row[0]: row for row in rows.present["r"] if row[0] is not None}
            rights = [*last.values()]
            for kind, query in queries.items():
                while (emission := query.get(0)) is not None:
                    for *row, delta in emission:
                        found[kind][tuple(row)] += delta
                expected = of_kind(kind, rows.present["l"], rights, partial(latest, last))
                if kind in ("RIGHT", "FULL"):  # right rows without a key are one key of their own
                    without = [row for row in rows.present["r"] if row[0] is None][-1:]
                    expected += Counter((None, None, None, *row) for row in without)
                assert +found[kind] == expected, (number, kind)
