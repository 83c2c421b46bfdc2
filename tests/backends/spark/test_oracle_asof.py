"""Oracle: after every step ASOF JOIN is what Python finds by looking at every pair (SEMANTICS A4, A6).

All comparisons, as inner and as LEFT join, with `=`, `<=>` and no key. Times, keys and rows are few, so rows equally
close, equal rows, NULLs, NaN and zeros of both signs are frequent; times of two types are compared.
"""

from __future__ import annotations

import math
import operator
import random
from collections import Counter
from collections.abc import Iterator

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.plan.nodes import Join

COMPARED = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
KEYS = {"equal": " ON l.k = r.k", "safe": " ON l.k <=> r.k", "none": ""}
VIEWS = {
    f"{kind or 'inner'}_{word}_{on}": (kind, word, on)
    for kind in ("", "left")
    for word in COMPARED
    for on in KEYS
    if on != "none" or word in (">=", "<")
}
TABLES = """
CREATE TABLE l (k INT, t DOUBLE, x INT);
CREATE TABLE r (k BIGINT, t INT, y STRING, m MAP<STRING, INT>);
"""
LEFTS = ([None, 1, 2], [None, -0.0, 0.0, 1.0, 1.5, 3.0, math.nan], [1, 2])
RIGHTS = ([None, 1, 2], [None, 0, 1, 2], [None, "a", "b"], [None, (("p", 1),), (("p", 2),)])
Row = tuple


def named(name: str) -> str:
    return name.translate(str.maketrans({">": "g", "<": "s", "=": "e"}))


def program() -> str:
    views = [
        f"CREATE VIEW {named(name)} AS SELECT l.k, l.t, x, r.k AS rk, r.t AS rt, y, m FROM l {kind} ASOF JOIN r "
        f"MATCH_CONDITION (l.t {word} r.t){KEYS[on]};"
        for name, (kind, word, on) in VIEWS.items()
    ]
    return "\n".join([TABLES, *views])


def place(value: float) -> tuple[bool, float]:
    """Where a number stands in Spark's order: NaN is the greatest and equals itself."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def closest(left: Row, rights: list[Row], word: str, on: str) -> Row | None:
    """The right row that a left row finds."""
    k, t, _ = left
    matching = [
        row
        for row in rights
        if t is not None
        and row[1] is not None
        and COMPARED[word](place(t), place(row[1]))
        and (on == "none" or (k == row[0] and (on == "safe" or k is not None)))
    ]
    if not matching:
        return None
    best = (max if word in (">=", ">") else min)(row[1] for row in matching)
    return min((row for row in matching if row[1] == best), key=lambda row: [*map(comparable, row)])


def comparable(value: object) -> tuple[bool, object]:
    """Where a value of a whole row stands: ascending, NULLs first."""
    return value is not None, 0 if value is None else value


def expected(kind: str, word: str, on: str, lefts: Counter, rights: Counter) -> Counter:
    """What a view holds, by definition."""
    found: Counter = Counter()
    candidates = [row for row, weight in rights.items() if weight > 0]
    for left, weight in lefts.items():
        other = closest(left, candidates, word, on)
        if other is not None or kind:
            found[shown((*left, *(other or (None,) * 4)))] += weight
    return +found


def shown(row: Row) -> Row:
    """A row in which equal numbers are one: NaN, and zeros of both signs."""
    return tuple(one_number(value) if isinstance(value, float) else value for value in row)


def one_number(value: float) -> float | str:
    return "NaN" if math.isnan(value) else value + 0.0


def drawn(seed: int) -> Iterator[dict[str, list[tuple[str, Row]]]]:
    draw = random.Random(seed)
    live: dict[str, list[Row]] = {"l": [], "r": []}
    for inserts, deletes in (({"l": 20}, 0), ({"r": 6}, 2), ({"l": 6, "r": 5}, 3), ({"r": 4}, 4), ({}, 12)):
        step: dict[str, list[tuple[str, Row]]] = {}
        for name, columns in (("l", LEFTS), ("r", RIGHTS)):
            rows = [tuple(draw.choice(values) for values in columns) for _ in range(inserts.get(name, 0))]
            live[name] += rows
            gone = [live[name].pop(draw.randrange(len(live[name]))) for _ in range(min(deletes, len(live[name])))]
            step[name] = [*(("+", row) for row in rows), *(("-", row) for row in gone)]
        yield step


def given(row: Row) -> Row:
    """A row as the pipeline takes it: a MAP is a dict."""
    return tuple(dict(value) if isinstance(value, tuple) else value for value in row)


def texts(row: Row) -> Row:
    """A row with texts for its maps, in the same order."""
    return tuple(str(value) if isinstance(value, tuple) else value for value in row)


def taken(row: Row) -> Row:
    return shown(tuple(tuple(value.items()) if isinstance(value, dict) else value for value in row))


def test_no_pair_is_made():
    catalog = compile_program(program()).catalog
    assert not [node for view in catalog.views.values() for node in view.plan.walk() if isinstance(node, Join)]


@pytest.mark.extended
@pytest.mark.parametrize(
    "memory_rows", [pytest.param(20_000, id="on the driver"), pytest.param(3, id="on the executors")]
)
def test_asof_join_equals_its_definition(interpreting, memory_rows):
    with penstock.Pipeline(program(), spark=interpreting) as pipeline:
        workspace = pipeline._opened().stepper.engine.workspace
        workspace.memory_rows, workspace.driver_rows = memory_rows, memory_rows
        check(pipeline)


def test_asof_join_equals_its_definition_in_the_process():
    """The same with texts for maps, and both times of one type: others only Spark compares."""
    text = program().replace("MAP<STRING, INT>", "STRING").replace("t INT, y", "t DOUBLE, y")
    with penstock.Pipeline(text, engine="native") as pipeline:
        check(pipeline, as_text=True)


def check(pipeline, *, as_text=False):
    tables: dict[str, Counter] = {"l": Counter(), "r": Counter()}
    views: dict[str, Counter] = {name: Counter() for name in VIEWS}
    answers: dict[str, set[frozenset]] = {name: set() for name in VIEWS}
    for number, step in enumerate(drawn(5)):
        if as_text:
            step = {name: [(sign, texts(row)) for sign, row in rows] for name, rows in step.items()}  # noqa: PLW2901
        for name, changes in step.items():
            for sign, row in changes:
                tables[name][row] += 1 if sign == "+" else -1
        found = pipeline.step({name: [(sign, given(row)) for sign, row in rows] for name, rows in step.items()})
        for name, (kind, word, on) in VIEWS.items():
            for weight, row in found[named(name)].rows:
                views[name][taken(row)] += weight
            assert +views[name] == expected(kind, word, on, tables["l"], tables["r"]), (name, number)
            answers[name].add(frozenset((+views[name]).items()))
        pipeline.compact()
    assert not [name for name, seen in answers.items() if len(seen) < 4], "the steps do not change these views enough"
