"""Oracle: after every step IN, NOT IN, ANY and ALL of a query are what Python makes of SQL's three values (A4, A6).

The values are few, so duplicates, NULLs on both sides and groups without rows are frequent; in the first step the
subqueries are empty, and they become so again in the last. One pipeline holds all views.
"""

from __future__ import annotations

import operator
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pytest

import penstock
from penstock.backends.spark.change import Delta
from penstock.backends.spark.workspace import Workspace
from penstock.bind.program.compile import compile_program
from penstock.engine.engine import Engine
from penstock.plan.nodes import Recompute

PROGRAM = """
CREATE TABLE t (k INT, a INT, b INT);
CREATE TABLE u (e INT, c INT, d INT);
CREATE VIEW pairs AS SELECT * FROM t WHERE (a, b) NOT IN (SELECT c, d FROM u);
CREATE VIEW triples AS SELECT * FROM t WHERE (a, b, k) NOT IN (SELECT c, d, e FROM u);
CREATE VIEW tied AS SELECT * FROM t WHERE (a, b) NOT IN (SELECT c, d FROM u WHERE e = k);
CREATE VIEW below AS SELECT * FROM t WHERE (a, b) NOT IN (SELECT c, d FROM u WHERE e < k);
CREATE VIEW nothing AS SELECT * FROM t WHERE (a, b) NOT IN (SELECT c, d FROM u WHERE e > 99);
CREATE VIEW some AS SELECT * FROM t WHERE NOT ((a, b) IN (SELECT c, d FROM u) AND a NOT IN (SELECT d FROM u));
CREATE VIEW shown AS SELECT k, a, b, a IN (SELECT c FROM u) AS i, a NOT IN (SELECT c FROM u) AS n,
 (a, b) IN (SELECT c, d FROM u) AS ii, (a, b) NOT IN (SELECT c, d FROM u WHERE e = k) AS nn FROM t;
CREATE VIEW least AS SELECT * FROM t WHERE a <= ALL (SELECT c FROM u WHERE e = k);
CREATE VIEW quantified AS SELECT k, a, b, a > ANY (SELECT c FROM u WHERE e = k) AS a1,
 a < ALL (SELECT c FROM u WHERE e = k) AS a2, a = ANY (SELECT c FROM u WHERE e = k) AS a3,
 a <> ALL (SELECT c FROM u WHERE e = k) AS a4, a = ALL (SELECT c FROM u WHERE e = k) AS a5,
 a <> SOME (SELECT c FROM u WHERE e <> k) AS a6, a >= ANY (SELECT c + b FROM u WHERE e < k) AS a7,
 CAST(a AS STRING) < ALL (SELECT c FROM u WHERE e = k) AS a8, a = ANY (SELECT c FROM u) AS a9,
 a <> ALL (SELECT CAST(c AS STRING) FROM u) AS a10, (a, b) = ANY (SELECT c, d FROM u WHERE e = k) AS a11 FROM t;
"""
SCHEMAS = {
    "t": pa.schema([("k", pa.int32()), ("a", pa.int32()), ("b", pa.int32()), ("__weight", pa.int64())]),
    "u": pa.schema([("e", pa.int32()), ("c", pa.int32()), ("d", pa.int32()), ("__weight", pa.int64())]),
}
Step = dict[str, list[tuple]]
Truth = bool | None


def known(compare: Callable[[int, int], bool], one: int | None, other: int | None) -> Truth:
    return None if one is None or other is None else compare(one, other)


def both(values: Iterable[Truth]) -> Truth:
    """AND; TRUE over nothing."""
    found = list(values)
    return False if False in found else None if None in found else True


def either(values: Iterable[Truth]) -> Truth:
    """OR; FALSE over nothing."""
    found = list(values)
    return True if True in found else None if None in found else False


def member(row: tuple, answers: Iterable[tuple]) -> Truth:
    return either(both(known(operator.eq, x, y) for x, y in zip(row, answer, strict=True)) for answer in answers)


def holds(row: tuple, u: list[tuple]) -> dict[str, bool]:
    """For each view with a condition whether it has the row."""
    k, a, b = row
    answers = [(c, d) for _, c, d in u]
    within = {
        name: [(c, d) for e, c, d in u if known(compare, e, k)]
        for name, compare in (("tied", operator.eq), ("below", operator.lt))
    }
    alone = [(d,) for _, _, d in u]
    inner = both([member((a, b), answers), negated(member((a,), alone))])
    return {
        "pairs": member((a, b), answers) is False,
        "triples": member((a, b, k), [(c, d, e) for e, c, d in u]) is False,
        "tied": member((a, b), within["tied"]) is False,
        "below": member((a, b), within["below"]) is False,
        "nothing": True,
        "some": inner is False,
        "least": both(known(operator.le, a, c) for c, _ in within["tied"]) is True,
    }


def negated(truth: Truth) -> Truth:
    return None if truth is None else not truth


def shown(row: tuple, u: list[tuple]) -> tuple:
    """IN and NOT IN as values are TRUE or FALSE in Spark."""
    k, a, b = row
    single, pairs = [(c,) for _, c, _ in u], [(c, d) for _, c, d in u]
    tied = [(c, d) for e, c, d in u if known(operator.eq, e, k)]
    return (
        *row,
        member((a,), single) is True,
        member((a,), single) is False,
        member((a, b), pairs) is True,
        member((a, b), tied) is False,
    )


def quantified(row: tuple, u: list[tuple]) -> tuple:
    k, a, b = row
    tied = [(c, d) for e, c, d in u if known(operator.eq, e, k)]
    others = [c for e, c, _ in u if known(operator.ne, e, k)]
    sums = [None if None in (c, b) else c + b for e, c, _ in u if known(operator.lt, e, k)]
    every = [c for _, c, _ in u]
    own = [c for c, _ in tied]
    return (
        *row,
        either(known(operator.gt, a, c) for c in own),
        both(known(operator.lt, a, c) for c in own),
        either(known(operator.eq, a, c) for c in own),
        both(known(operator.ne, a, c) for c in own),
        both(known(operator.eq, a, c) for c in own),
        either(known(operator.ne, a, c) for c in others),
        either(known(operator.ge, a, c) for c in sums),
        both(known(operator.lt, a, c) for c in own),
        either(known(operator.eq, a, c) for c in every),
        both(known(operator.ne, a, c) for c in every),
        member((a, b), tied),
    )


def expected(t: Counter, u: Counter) -> dict[str, Counter]:
    """What every view holds, by definition."""
    answers = [row for row, weight in u.items() for _ in range(weight)]
    found: dict[str, Counter] = {"shown": Counter(), "quantified": Counter()}
    for row, weight in t.items():
        for name, has in holds(row, answers).items():
            found.setdefault(name, Counter()).update({row: weight} if has and weight else {})
        found["shown"][shown(row, answers)] += weight
        found["quantified"][quantified(row, answers)] += weight
    return {name: +rows for name, rows in found.items()}


def drawn(seed: int) -> Iterator[Step]:
    """The change of each table, row and weight, in steps that fill, mix and empty the subqueries."""
    draw = random.Random(seed)
    contents: dict[str, Counter] = {name: Counter() for name in SCHEMAS}
    for inserts, deletes in (
        ({"t": 24}, {}),
        ({"u": 3}, {"t": 4}),
        ({"t": 8, "u": 3}, {"t": 6, "u": 2}),
        ({}, {"u": 9}),
    ):
        step = {}
        for name, content in contents.items():
            rows = [
                (draw.choice([None, 1, 2]), draw.choice([None, 1, 2, 10]), draw.choice([None, 1, 2]))
                for _ in range(inserts.get(name, 0))
            ]
            live = sorted((content + Counter(rows)).elements(), key=repr)
            change = Counter(rows)
            change.subtract(draw.sample(live, min(deletes.get(name, 0), len(live))))
            content.update(change)
            step[name] = [(*row, weight) for row, weight in change.items() if weight]
        yield step


def table_of(rows: list[tuple], schema: pa.Schema) -> pa.Table:
    return pa.table([list(values) for values in zip(*rows, strict=True)], schema=schema)


def test_nothing_of_it_is_recomputed():
    catalog = compile_program(PROGRAM).catalog
    plans = [view.query for view in catalog.views.values()]
    assert not [node for plan in plans for node in plan.walk() if isinstance(node, Recompute)]


@pytest.mark.extended
@pytest.mark.parametrize(
    "driver_rows", [pytest.param(50_000, id="on the driver"), pytest.param(0, id="on the executors")]
)
def test_membership_equals_its_definition(interpreting, driver_rows):
    catalog = compile_program(PROGRAM).catalog
    workspace = Workspace(interpreting, driver_rows=driver_rows)
    engine = Engine(workspace)
    engine.install(catalog, list(catalog.views))
    contents: dict[str, Counter] = {name: Counter() for name in SCHEMAS}
    views: dict[str, Counter] = {name: Counter() for name in catalog.views}
    answers: dict[str, set[frozenset]] = {name: set() for name in catalog.views}
    for step in drawn(7):
        inputs = {}
        for name, rows in step.items():
            contents[name].update({tuple(values): 0 for *values, _ in rows})
            for *values, weight in rows:
                contents[name][tuple(values)] += weight
            if rows:
                inputs[name] = Delta.of_arrow(workspace, table_of(rows, SCHEMAS[name]))
        result = engine.step(inputs)
        for name, delta in result.changes.items():
            for row in delta.arrow().to_pylist():
                *values, weight = row.values()
                views[name][tuple(values)] += weight
        result.commit()
        compare(views, contents, answers)
    changed_enough(answers)


def test_membership_equals_its_definition_in_the_process():
    contents: dict[str, Counter] = {name: Counter() for name in SCHEMAS}
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        views: dict[str, Counter] = {name: Counter() for name in pipeline.catalog.views}
        answers: dict[str, set[frozenset]] = {name: set() for name in views}
        for step in drawn(7):
            for name, rows in step.items():
                for *values, weight in rows:
                    contents[name][tuple(values)] += weight
            changes = {name: list(in_ones(rows)) for name, rows in step.items()}
            for name, change in pipeline.step(changes).items():
                for weight, row in change.rows if name in views else ():
                    views[name][tuple(row)] += weight
            compare(views, contents, answers)
    changed_enough(answers)


def in_ones(rows: list[tuple]) -> Iterator[tuple[str, tuple]]:
    """A change row by row, as a pipeline takes it."""
    for *values, weight in rows:
        yield from [("+" if weight > 0 else "-", tuple(values))] * abs(weight)


def compare(views: dict[str, Counter], contents: dict[str, Counter], answers: dict[str, set[frozenset]]) -> None:
    wanted = expected(contents["t"], contents["u"])
    assert {name: +rows for name, rows in views.items()} == {name: wanted.get(name, Counter()) for name in views}
    for name, rows in views.items():
        answers[name].add(frozenset((+rows).items()))


def changed_enough(answers: dict[str, set[frozenset]]) -> None:
    few = [name for name, found in answers.items() if len(found) < 3]
    assert not few, "the steps do not change these views enough"
