"""What a view takes back is what it gave, to the last bit, though sums of DOUBLE depend on the order of adding."""

import random
from collections import Counter

import pytest

import penstock

PROGRAM = """CREATE TABLE t (g INT, x DOUBLE);
CREATE VIEW sums AS SELECT g, sum(x) AS s, avg(x) AS a, stddev_pop(x) AS d FROM t GROUP BY g;
CREATE VIEW whole AS SELECT sum(x) AS s, corr(x, g) AS c FROM t;
CREATE VIEW best AS SELECT g, s FROM sums ORDER BY s DESC LIMIT 2;"""
PLACES = {"on the driver": (50_000, 20_000), "on the executors": (0, 0), "moving": (50_000, 12)}


@pytest.mark.parametrize("place", PLACES)
def test_no_row_is_left_behind(spark, place):
    dice = random.Random(place)
    present, contents = [], {"sums": Counter(), "whole": Counter(), "best": Counter()}
    with penstock.Pipeline(PROGRAM, spark=spark) as pipeline:
        workspace = pipeline._opened().stepper.engine.workspace
        workspace.driver_rows, workspace.memory_rows = PLACES[place]
        for step in range(8):
            dice.shuffle(present)
            gone = [present.pop() for _ in range(min(len(present), dice.randrange(4)))]
            come = [(dice.randrange(3), dice.choice([0.1, 0.7, 1e9, 6.11, -0.3])) for _ in range(9)]
            present += come
            changes = pipeline.step({"t": [("-", row) for row in gone] + [("+", row) for row in come]})
            for name, content in contents.items():
                for weight, row in changes[name].rows:
                    content[row] += weight
                left = [row for row, weight in content.items() if weight]
                assert all(content[row] == 1 for row in left), (step, name, content)
                assert len(left) == {"sums": len({g for g, _ in present}), "whole": 1, "best": 2}[name]
            if step == 4:
                pipeline.compact()
