"""What a view takes back is what it gave, to the last bit, though sums of DOUBLE depend on the order of adding."""

import random
from collections import Counter

import pytest
from tests.tiers import either

import penstock

# What is only ever inserted is added up change by change; what may be deleted is computed anew for its group.
VIEWS = """CREATE VIEW sums AS SELECT g, sum(x) AS s, avg(x) AS a, avg(x) FILTER (WHERE x < 1) AS d FROM t GROUP BY g;
CREATE VIEW spread AS SELECT g, stddev_pop(x) AS s FROM t GROUP BY g;
CREATE VIEW whole AS SELECT sum(x) AS s, avg(cast(x AS FLOAT)) AS c FROM t;
CREATE VIEW best AS SELECT g, s FROM sums ORDER BY s DESC LIMIT 2;
CREATE VIEW beside AS SELECT DISTINCT g, sum(x) OVER (PARTITION BY g) AS s, avg(x) OVER (ORDER BY g) AS a FROM t;"""
TABLES = {
    "deletions": "CREATE TABLE t (g INT, x DOUBLE);",
    "insertions": "CREATE TABLE t (g INT, x DOUBLE) WITH ('append_only' = 'true');",
}
# How many rows lie on the driver, those of a change and those of state; in the process there is no such place.
PLACES = {"on the driver": (50_000, 20_000), "on the executors": (0, 0), "moving": (50_000, 12), "in the process": None}
VALUES = [0.1, 0.7, 1e9, 6.11, -0.3, None]


QUICK = {("deletions", "moving"), ("deletions", "in the process"), ("insertions", "in the process")}


@pytest.mark.both
@pytest.mark.parametrize(
    ("table", "place"),
    [
        pytest.param(table, place, marks=() if (table, place) in QUICK else pytest.mark.extended)
        for table in TABLES
        for place in PLACES
    ],
)
def test_no_row_is_left_behind(interpreting, table, place):
    dice = random.Random(place)
    present = []
    contents = {name: Counter() for name in ("sums", "spread", "whole", "best", "beside")}
    rows = PLACES[place]
    engine = "native" if rows is None else "spark"
    with penstock.Pipeline(TABLES[table] + VIEWS, spark=interpreting, engine=engine) as pipeline:
        if rows is not None:
            workspace = pipeline._opened().stepper.engine.workspace
            workspace.driver_rows, workspace.memory_rows = rows
        for step in range(either(4, 8)):
            dice.shuffle(present)
            most = min(len(present), dice.randrange(4)) if table == "deletions" else 0
            gone = [present.pop() for _ in range(most)]
            come = [(dice.randrange(3), dice.choice(VALUES)) for _ in range(9)]
            present += come
            changes = pipeline.step({"t": [("-", row) for row in gone] + [("+", row) for row in come]})
            groups = len({g for g, _ in present})
            for name, content in contents.items():
                for weight, row in changes[name].rows:
                    content[row] += weight
                left = [row for row, weight in content.items() if weight]
                assert all(content[row] == 1 for row in left), (step, name, content)
                assert len(left) == {"whole": 1, "best": min(2, groups)}.get(name, groups)
            if step == either(2, 4):
                pipeline.compact()
