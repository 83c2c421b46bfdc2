"""Oracle: after every step each recursive view equals the least fixpoint that plain Python finds (SEMANTICS A4, A6).

The graphs are small, so cycles, several paths to a node and duplicate edges are frequent, and a deletion often leaves
a row with another derivation, a later one, or with none but itself.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.tiers import EXTENDED

from penstock.backends.spark.change import Delta
from penstock.backends.spark.workspace import Workspace
from penstock.bind.program.compile import compile_program
from penstock.circuit.operators import Iterated
from penstock.engine.engine import Engine
from penstock.errors import DataError

PROGRAM = """
CREATE TABLE edges (x INT, y INT);
CREATE TABLE blocked (n INT);
DECLARE RECURSIVE VIEW closure (x INT, y INT);
CREATE VIEW closure AS SELECT x, y FROM edges UNION SELECT c.x, e.y FROM closure c JOIN edges e ON c.y = e.x;
DECLARE RECURSIVE VIEW squared (x INT, y INT);
CREATE VIEW squared AS SELECT x, y FROM edges UNION SELECT a.x, b.y FROM squared a JOIN squared b ON a.y = b.x;
DECLARE RECURSIVE VIEW even (n INT);
DECLARE RECURSIVE VIEW odd (n INT);
CREATE VIEW even AS SELECT 1 AS n UNION SELECT e.y FROM odd JOIN edges e ON odd.n = e.x;
CREATE VIEW odd AS SELECT e.y AS n FROM even JOIN edges e ON even.n = e.x WHERE e.y NOT IN (SELECT n FROM blocked);
DECLARE RECURSIVE VIEW free (n INT);
CREATE VIEW free AS SELECT n FROM (SELECT 1 AS n UNION SELECT e.y FROM edges e WHERE e.x IN (SELECT n FROM free)) s
 WHERE NOT EXISTS (SELECT 1 FROM blocked b WHERE b.n = s.n);
DECLARE RECURSIVE VIEW common (n INT);
CREATE VIEW common AS (SELECT y AS n FROM edges WHERE x = 1 UNION SELECT n + 1 FROM common WHERE n < 4)
 EXCEPT SELECT n FROM blocked;
CREATE VIEW paths AS WITH RECURSIVE p (x, y, far) AS (SELECT x, y, 1 FROM edges WHERE x = 1
 UNION ALL SELECT p.x, e.y, far + 1 FROM p LEFT JOIN edges e ON p.y = e.x WHERE far < 3) SELECT x, y, far FROM p;
"""
SCHEMAS = {
    "edges": pa.schema([("x", pa.int32()), ("y", pa.int32()), ("__weight", pa.int64())]),
    "blocked": pa.schema([("n", pa.int32()), ("__weight", pa.int64())]),
}
NODES = st.integers(1, 4)
ROWS = {"edges": st.tuples(NODES, NODES), "blocked": st.tuples(NODES)}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["edges", "edges", "edges", "blocked"]).flatmap(
            lambda name: st.tuples(st.just(name), st.lists(ROWS[name], min_size=1, max_size=4))
        ),
        st.lists(st.tuples(st.sampled_from(["edges", "edges", "blocked"]), st.integers(0, 50)), max_size=3),
    ),
    min_size=3,
    max_size=4,
)
# A cycle is shut, and loses an edge that is there twice.
A_CYCLE = [
    (("edges", [(1, 2), (2, 1), (2, 3), (2, 3)]), []),
    (("blocked", [(2,)]), [("edges", 2), ("edges", 0)]),
]


def least(step):
    """The least set that `step` gives back."""
    found = frozenset()
    while (more := frozenset(step(found))) != found:
        found = more
    return found


def expected(edges: Counter, blocked: Counter) -> dict[str, Counter]:
    """What every view holds, by definition."""
    pairs, shut = set(edges), {n for (n,) in blocked}
    closure = least(lambda known: pairs | {(x, z) for x, y in known for a, z in pairs if a == y})
    other = {"even": "odd", "odd": "even"}
    sides = least(
        lambda known: (
            {("even", 1)}
            | {(other[s], y) for s, n in known for x, y in pairs if x == n and (s == "odd" or y not in shut)}
        )
    )
    free = least(lambda known: ({1} | {y for x, y in pairs if x in known}) - shut)
    common = least(lambda known: ({y for x, y in pairs if x == 1} | {n + 1 for n in known if n < 4}) - shut)
    return {
        "closure": Counter(closure),
        "squared": Counter(closure),
        "even": Counter((n,) for side, n in sides if side == "even"),
        "odd": Counter((n,) for side, n in sides if side == "odd"),
        "free": Counter((n,) for n in free),
        "common": Counter((n,) for n in common),
        "paths": paths(edges),
    }


def paths(edges: Counter) -> Counter:
    """Paths from 1 of at most three edges, each as often as there are duplicate edges, NULL where one ends before."""
    total, last = Counter(), Counter({(x, y, 1): weight for (x, y), weight in edges.items() if x == 1})
    for far in (2, 3):
        total += last
        further = Counter()
        for (x, y, _), weight in last.items():
            met = {(x, b, far): weight * more for (a, b), more in edges.items() if a == y}
            further.update(met or {(x, None, far): weight})
        last = further
    return total + last


def change_of(rows: Counter, name: str) -> pa.Table:
    listed = [(*row, weight) for row, weight in rows.items() if weight]
    columns = zip(*listed, strict=True) if listed else [[] for _ in SCHEMAS[name]]
    return pa.table([list(values) for values in columns], schema=SCHEMAS[name])


def feed(engine: Engine, views: dict[str, Counter], changes: dict[str, Counter], *, keep: bool = True) -> None:
    inputs = {name: Delta.of_arrow(engine.workspace, change_of(rows, name)) for name, rows in changes.items()}
    result = engine.step(inputs)
    if not keep:
        result.discard()
        return
    for name, delta in result.changes.items():
        for row in delta.arrow().to_pylist():
            *values, weight = row.values()
            views[name][tuple(values)] += weight
    result.commit()


def opened(workspace: Workspace, program: str = PROGRAM) -> tuple[Engine, dict[str, Counter]]:
    catalog = compile_program(program).catalog
    engine = Engine(workspace)
    engine.install(catalog, list(catalog.views))
    return engine, {name: Counter() for name in catalog.views}


@pytest.mark.parametrize(
    ("memory_rows", "driver_rows", "compact"),
    [
        pytest.param(20_000, 50_000, False, id="on the driver", marks=pytest.mark.extended),
        pytest.param(8, 2, True, id="in between, compacted", marks=pytest.mark.extended),
    ],
)
def test_recursive_views_equal_the_least_fixpoint(interpreting, memory_rows, driver_rows, compact):
    workspace = Workspace(interpreting, driver_rows=driver_rows, memory_rows=memory_rows)

    @settings(max_examples=2, phases=list(Phase)[:3] if EXTENDED else [Phase.explicit])  # each run takes many steps
    @example(steps=A_CYCLE)
    @given(steps=STEPS)
    def run(steps):
        engine, views = opened(workspace)
        contents = {"edges": Counter(), "blocked": Counter()}
        for (name, inserted), deleted in steps:
            changes = {"edges": Counter(), "blocked": Counter()}
            changes[name].update(inserted)
            for other, place in deleted:
                live = sorted((contents[other] + changes[other]).elements())
                if live:
                    changes[other][live[place % len(live)]] -= 1
            if name == "blocked":
                feed(engine, views, changes, keep=False)  # a step that is discarded leaves nothing
            feed(engine, views, changes)
            for other, rows in changes.items():
                contents[other].update(rows)
                contents[other] += Counter()  # without rows that are gone
            if compact:
                engine.compact()
            wanted = expected(contents["edges"], contents["blocked"])
            for view, rows in wanted.items():
                assert {row: n for row, n in views[view].items() if n} == dict(rows), view

    run()


def test_all_of_it_is_by_change(spark):
    engine, _ = opened(Workspace(spark))
    found = [item for item in engine.installed[0].circuit.operators if isinstance(item, Iterated)]
    assert found
    assert [item.reason for item in found if item.rounds is None] == []


def test_nothing_is_lost_when_a_recursion_does_not_end(spark):
    engine, views = opened(
        Workspace(spark),
        "SET recursion_limit = 5; CREATE TABLE edges (x INT, y INT);"
        "CREATE VIEW far AS WITH RECURSIVE p (y, n) AS (SELECT y, 1 FROM edges WHERE x = 1"
        " UNION ALL SELECT e.y, n + 1 FROM p JOIN edges e ON p.y = e.x) SELECT y, n FROM p",
    )
    feed(engine, views, {"edges": Counter([(1, 2), (2, 3)])})
    with pytest.raises(DataError, match="still grows"):
        feed(engine, views, {"edges": Counter([(3, 2)])})
    feed(engine, views, {"edges": Counter([(3, 4)])})
    assert views["far"] == Counter([(2, 1), (3, 2), (4, 3)])
